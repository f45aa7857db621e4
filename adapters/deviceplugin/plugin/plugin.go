package plugin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/health"
	"vgpualloc.example/adapters/deviceplugin/metrics"
	"vgpualloc.example/adapters/deviceplugin/pause"
)

// Plugin is one device plugin.
type Plugin struct {
	options   Options
	intervals Intervals
	flags     config.Flags
	reload    chan struct{}

	// These belong to Run.
	library hardware.Library
	monitor *health.Monitor
	events  record.EventRecorder
	current *holder
	metrics *metrics.Metrics // nil: they are not served
}

// New reads the command line. The error is of what it says.
func New(options Options) (*Plugin, error) {
	if options.Env == nil {
		options.Env = func(string) (string, bool) { return "", false }
	}
	if options.Client == nil || options.Library == nil && options.Open == nil {
		return nil, errors.New("plugin: Options.Client and one of Library and Open are needed")
	}
	if options.Observe == nil {
		options.Observe = func(string) {}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Random == nil {
		options.Random = rand.Reader
	}
	flags, err := config.ReadFlags(options.Arguments, options.Env)
	if err != nil {
		return nil, err
	}
	if flags.Node == "" {
		return nil, errors.New("--node-name (NODE_NAME) is empty: expected the name of this node")
	}
	return &Plugin{options: options, intervals: options.Intervals.withDefaults(), flags: flags, reload: make(chan struct{}, 1),
		current: &holder{}}, nil
}

// Flags are what the command line and the environment say.
func (p *Plugin) Flags() config.Flags { return p.flags }

// Reload has Run read everything anew and register again, as on SIGHUP. Which cards are healthy stays known.
func (p *Plugin) Reload() {
	select {
	case p.reload <- struct{}{}:
	default:
	}
}

// Run is the plugin until the context ends; what it registered is withdrawn then. An error is why it cannot start.
func (p *Plugin) Run(ctx context.Context) error {
	refused := func(err error) error {
		if ctx.Err() == nil {
			p.refuse(ctx, err)
		}
		return err
	}
	endMetrics, err := p.serveMetrics(ctx) // first: whoever looks whether the plugin lives may look at once
	if err != nil {
		return refused(err)
	}
	defer endMetrics()
	flags, err := p.readFlags()
	if err != nil {
		return refused(err)
	}
	closeLibrary, err := p.openLibrary(ctx, flags)
	if err != nil {
		return refused(err)
	}
	defer closeLibrary()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: p.options.Client.CoreV1().Events("")})
	defer broadcaster.Shutdown()
	p.events = broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "vgpualloc-device-plugin", Host: p.flags.Node})
	p.monitor = health.New(health.Options{Library: p.library, Disabled: p.flags.DisabledXids, Enabled: p.flags.EnabledXids,
		StateFile: p.options.Root + p.flags.StateFile, BootFile: p.options.Root + "/proc/sys/kernel/random/boot_id",
		Wait: p.intervals.EventWait, Recheck: p.intervals.Recheck, Quiet: p.intervals.Quiet, Now: p.options.Now,
		Changed: p.current.publish, Read: p.current.replace, Handled: func() { p.options.Observe("health") }, Report: p.reportHealth,
		Event: func(event hardware.Event) {
			if event.Kind == hardware.XidCritical {
				p.metrics.Xid(event.UUID, event.Xid)
			}
		}})
	next, err := p.prepare(ctx)
	if err != nil {
		return refused(err)
	}
	for next != nil {
		next, err = p.serve(ctx, next)
		if err != nil {
			return err
		}
	}
	return nil
}

// openLibrary waits for a library that cannot be opened where the flags say so.
func (p *Plugin) openLibrary(ctx context.Context, flags config.Flags) (func(), error) {
	if p.options.Library != nil {
		p.library = p.options.Library
		return func() {}, nil
	}
	for {
		opened, err := p.options.Open(ctx, flags)
		if err == nil {
			p.library = opened
			return func() {
				if err := opened.Close(); err != nil {
					klog.ErrorS(err, "The library could not be given back")
				}
			}, nil
		}
		if flags.FailOnInitError || ctx.Err() != nil {
			return nil, fmt.Errorf("failed to initialize NVML: %w", err)
		}
		klog.ErrorS(err, "NVML cannot be initialised; trying again, as --fail-on-init-error=false says")
		pause.For(ctx, p.intervals.Recheck)
	}
}

// reportHealth tells of health in the log and, of cards, in the node's events.
func (p *Plugin) reportHealth(what string, err error) {
	if err == nil {
		klog.InfoS("Health", "what", what)
		p.event(v1.EventTypeNormal, "GPUHealth", what)
		return
	}
	klog.ErrorS(err, "Health", "what", what)
	p.event(v1.EventTypeWarning, "GPUHealth", what+": "+err.Error())
}

// refuse writes an event at once: the program ends next.
func (p *Plugin) refuse(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	now := metav1.NewTime(p.options.Now())
	_, err := p.options.Client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: p.flags.Node + ".", Namespace: metav1.NamespaceDefault},
		InvolvedObject: v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: p.flags.Node},
		Type:           v1.EventTypeWarning, Reason: "DevicePluginRefusesToStart", Message: short(why.Error()),
		Source:         v1.EventSource{Component: "vgpualloc-device-plugin", Host: p.flags.Node},
		FirstTimestamp: now, LastTimestamp: now, Count: 1}, metav1.CreateOptions{})
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "An event could not be written", "text", why.Error())
	}
}

// short is a text as Kubernetes takes it in an event: 1024 bytes.
func short(text string) string {
	const textMax = 1000
	if len(text) > textMax {
		return strings.ToValidUTF8(text[:textMax], "")
	}
	return text
}

// event is one of the Node.
func (p *Plugin) event(kind, reason, text string) {
	if p.events == nil {
		return
	}
	p.events.Event(&v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: p.flags.Node}, kind, reason, short(text))
}
