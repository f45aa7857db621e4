package ascend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
	files "vgpualloc.example/adapters/deviceplugin/config"
)

// Plugin serves the chips of one node. New makes one; Run is called once.
type Plugin struct {
	options   Options
	reload    chan struct{}
	newServer func(options Options, chip chipConfig, allocator *allocator) server
}

// New is a Plugin that does nothing before Run.
func New(options Options) *Plugin {
	if options.Env == nil {
		options.Env = func(string) (string, bool) { return "", false }
	}
	if options.Exec == nil {
		options.Exec = chips.Programs{}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Observe == nil {
		options.Observe = func(string) {}
	}
	standard := func(value *time.Duration, normal time.Duration) {
		if *value == 0 {
			*value = normal
		}
	}
	standard(&options.Register, 30*time.Second)
	standard(&options.FirstAfter, time.Second)
	standard(&options.RetryAfter, 5*time.Second)
	standard(&options.ReleaseWait, 100*time.Millisecond)
	return &Plugin{options: options, reload: make(chan struct{}, 1), newServer: newServer}
}

// Reload registers again at the kubelet and at the API server, as for SIGHUP. It does not wait for that, and does nothing before Run.
func (p *Plugin) Reload() {
	select {
	case p.reload <- struct{}{}:
	default: // one is waiting
	}
}

// running is what a Run works with.
type running struct {
	*Plugin
	settings settings
	config   *config
	chips    *inventory
	server   server
}

// server is the kubelet's side: package kubelet has it.
type server interface {
	// Set replaces the list of devices and waits for nobody.
	Set(devices []*pluginapi.Device)
	// Register serves and registers again.
	Register()
	// Run serves until the context ends.
	Run(ctx context.Context) error
}

// Run serves until the context ends: then the sockets are gone, and what was written into the cluster stays. An error is why the chips
// cannot be served.
func (p *Plugin) Run(ctx context.Context) error {
	r, err := p.start(ctx)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.server.Run(ctx) }()
	err = r.follow(ctx, ended)
	end()
	return err
}

// start does all that comes before the kubelet is told.
func (p *Plugin) start(ctx context.Context) (*running, error) {
	of, err := readSettings(p.options.Arguments, p.options.Env)
	if err != nil {
		return nil, files.Wrong(err)
	}
	model, err := p.options.Library.Model(ctx)
	if err != nil {
		return nil, fmt.Errorf("kind of the chips: %w", err)
	}
	here, err := readConfig(p.options.Root, of, model, func(err error) { klog.ErrorS(err, "The configuration may not do what it says") })
	if err != nil {
		return nil, files.Wrong(err)
	}
	if keys := append(of.withoutEffect, here.ofSchedulers...); len(keys) > 0 {
		klog.InfoS("Flags and keys without effect on a node; schedulers may read them", "names", strings.Join(keys, " "))
	}
	if p.options.IdleEvery > 0 {
		of.idleEvery = p.options.IdleEvery
	}
	r := &running{Plugin: p, settings: of, config: here, chips: &inventory{library: p.options.Library, filter: here.filter}}
	r.report(r.chips.destroyIdle(ctx, true))
	if _, err = r.chips.read(ctx); err != nil {
		return nil, fmt.Errorf("chips: %w", err)
	}
	states := r.chips.states()
	if err = prepare(ctx, p.options.Root, of, here.isSoft, states, p.options.Exec); err != nil {
		return nil, err
	}
	r.server = p.newServer(p.options, here.chip, &allocator{client: p.options.Client, config: here, chips: r.chips, root: p.options.Root,
		node: of.node, hookPath: of.hookPath, releasePause: p.options.ReleaseWait, now: p.options.Now})
	r.server.Set(devicesOf(states, here.slots))
	return r, nil
}

// follow registers at the API server from time to time, and looks for idle vNPUs, until the server or the context ends.
func (r *running) follow(ctx context.Context, ended <-chan error) error {
	registration := time.NewTimer(max(r.options.FirstAfter, 0))
	defer registration.Stop()
	idle := time.NewTicker(r.settings.idleEvery)
	defer idle.Stop()
	for {
		select {
		case err := <-ended:
			if err == nil && ctx.Err() == nil {
				err = errors.New("the server for the kubelet has ended")
			}
			return err
		case <-r.reload:
			r.server.Register()
			registration.Reset(0)
		case <-idle.C:
			r.report(r.chips.destroyIdle(ctx, false))
		case <-registration.C:
			pause := r.options.Register
			if err := r.register(ctx); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "The chips could not be registered; it is tried again", "after", r.options.RetryAfter)
				pause = r.options.RetryAfter
			}
			r.options.Observe("annotated")
			registration.Reset(pause)
		}
	}
}

// register reads the chips anew, tells the kubelet of what has changed, and writes the node's annotations.
func (r *running) register(ctx context.Context) error {
	changed, err := r.chips.read(ctx)
	if err != nil {
		klog.ErrorS(err, "The chips cannot be read; what was read before holds")
	}
	states := r.chips.states()
	if changed {
		r.server.Set(devicesOf(states, r.config.slots))
		r.options.Observe("health")
	}
	node, err := r.options.Client.CoreV1().Nodes().Get(ctx, r.settings.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	annotations, err := registrationOf(r.config, states, r.options.Now(), r.settings.reportOffset)
	if err != nil {
		return err
	}
	return annotateNode(ctx, r.options.Client, node.ObjectMeta, "", annotations)
}

// report writes down idle vNPUs that could not be destroyed; it is tried again.
func (r *running) report(err error) {
	if err != nil {
		klog.ErrorS(err, "Idle vNPUs stay")
	}
}
