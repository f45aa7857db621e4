package plugin_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/plugin"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// machine is a hardware.Library without MIG.
type machine struct {
	mutex    sync.Mutex
	gpus     []hardware.GPU
	events   chan hardware.Event
	failures map[string]error // of Watch
	broken   error            // of GPUs

	unwatchable error // of Watch as a whole
}

func newMachine(count int) *machine {
	made := &machine{events: make(chan hardware.Event, 16), failures: map[string]error{}}
	for i := range count {
		made.gpus = append(made.gpus, hardware.GPU{Index: i, UUID: fmt.Sprintf("GPU-%d", i), Name: "NVIDIA A100-SXM4-40GB",
			MemoryBytes: 40960 << 20, Minor: count - i, PCIBus: fmt.Sprintf("00000000:%02X:00.0", i)})
	}
	return made
}

func (m *machine) edit(change func(gpus []hardware.GPU)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	change(m.gpus)
}

func (m *machine) GPUs() ([]hardware.GPU, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.gpus), m.broken
}
func (m *machine) Instances(string) ([]hardware.Instance, error) { return nil, nil }
func (m *machine) CreateInstance(string, uint32, uint32, uint32) (hardware.Instance, error) {
	return hardware.Instance{}, hardware.ErrUnsupported
}
func (m *machine) DestroyInstance(string, uint32) error         { return hardware.ErrUnsupported }
func (m *machine) SetMigMode(string, bool) error                { return hardware.ErrUnsupported }
func (m *machine) Use(string) (hardware.Use, error)             { return hardware.Use{}, nil }
func (m *machine) Processes(string) ([]hardware.Process, error) { return nil, nil }
func (m *machine) Close() error                                 { return nil }
func (m *machine) Watch([]string) (hardware.Watch, map[string]error, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return &watch{m}, m.failures, m.unwatchable
}

type watch struct{ *machine }

func (w *watch) Next(ctx context.Context, wait time.Duration) (hardware.Event, bool, error) {
	select {
	case event := <-w.events:
		return event, true, nil
	case <-ctx.Done():
	case <-time.After(wait):
	}
	return hardware.Event{}, false, nil
}

// rig is a plugin with a kubelet, an API server and a machine.
type rig struct {
	t        *testing.T
	machine  *machine
	api      *testbed.API
	kubelet  *testbed.Kubelet
	root     string
	plugin   *plugin.Plugin
	cancel   context.CancelFunc
	ended    chan error
	isEnded  bool
	mutex    sync.Mutex
	observed []string
	listen   func(string) (net.Listener, error)
	env      map[string]string
	recheck  time.Duration
	library  hardware.Library // instead of the machine
	askMPS   func(ctx context.Context, folder string) error
}

const deviceConfig = `# the cluster's
nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceCoreName: volcano.sh/vgpu-cores
  deviceSplitCount: 4
  gpuMemoryFactor: 64
`

// newRig: `files` are of the machine, by path; configMap "" is none.
func newRig(t *testing.T, machine *machine, configMap string, files map[string]string) *rig {
	t.Helper()
	root, err := os.MkdirTemp("", "r")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, machine: machine, api: testbed.NewAPI(), root: root, askMPS: func(context.Context, string) error { return nil }}
	folder := filepath.Join(root, "/var/lib/kubelet/device-plugins")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r.kubelet, err = testbed.NewKubelet(folder, testbed.KubeletOptions{}); err != nil {
		t.Fatal(err)
	}
	r.api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Annotations: map[string]string{"example.com/other": "keep"}}})
	if configMap != "" {
		r.api.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "volcano-system", Name: "volcano-vgpu-device-config"},
			Data: map[string]string{"device-config.yaml": configMap}})
	}
	t.Cleanup(func() {
		_ = r.end()
		r.kubelet.Close()
		r.api.Close()
		_ = os.RemoveAll(root)
	})
	return r
}

func (r *rig) start(arguments ...string) *rig {
	r.t.Helper()
	if r.library == nil {
		r.library = r.machine
	}
	made, err := plugin.New(plugin.Options{Arguments: append([]string{"--node-name=node-a", "--liveness-annotation="}, arguments...),
		Root: r.root, Client: r.api.Client(), Library: r.library, Observe: r.observe, Listen: r.listen, AskMPS: r.askMPS,
		Env: func(name string) (string, bool) { value, has := r.env[name]; return value, has },
		Intervals: plugin.Intervals{Register: 50 * time.Millisecond, RegisterRetry: 10 * time.Millisecond, KubeletRetry: 10 * time.Millisecond,
			KubeletPoll: 50 * time.Millisecond, EventWait: 20 * time.Millisecond, Recheck: max(40*time.Millisecond, r.recheck),
			Quiet: 100 * time.Millisecond, API: 10 * time.Millisecond, Lists: 2 * time.Second, MPS: 20 * time.Millisecond, Feedback: 20 * time.Millisecond, Patience: -1}})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.plugin, r.cancel, r.ended, r.isEnded = made, cancel, make(chan error, 1), false
	go func() { r.ended <- made.Run(ctx) }()
	return r
}

func (r *rig) observe(event string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.observed = append(r.observed, event)
}

func (r *rig) count(event string) (count int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, one := range r.observed {
		if one == event {
			count++
		}
	}
	return count
}

// end is SIGTERM.
func (r *rig) end() error {
	if r.cancel == nil || r.isEnded {
		return nil
	}
	r.isEnded = true
	r.cancel()
	return <-r.ended
}

func (r *rig) wait(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(8 * time.Second); !is(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(end) {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.t.Fatalf("%s did not come; observed %v, node %v", what, r.observed, r.api.Node("node-a").Annotations)
		}
	}
}

func (r *rig) registered() string {
	return r.api.Node("node-a").Annotations["volcano.sh/node-vgpu-register"]
}

func (r *rig) serving() *rig {
	r.t.Helper()
	r.wait("serving", func() bool {
		for _, resource := range []string{"number", "memory", "cores"} {
			if len(r.kubelet.Lists("volcano.sh/vgpu-"+resource)) == 0 {
				return false
			}
		}
		return r.registered() != "" && r.count("registered") > 0
	})
	return r
}

// refused is the error with which Run ended by itself.
func (r *rig) refused(words string) {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.isEnded = true
		if err == nil || !strings.Contains(err.Error(), words) {
			r.t.Errorf("ended with %v, expected %q", err, words)
		}
	case <-time.After(8 * time.Second):
		r.t.Errorf("still running, expected %q", words)
	}
	if events := r.api.Events(); len(events) == 0 || !strings.Contains(events[len(events)-1].Message, words) {
		r.t.Errorf("events %v, expected one with %q", events, words)
	}
	if len(r.kubelet.Registrations()) > 0 || r.registered() != "" {
		r.t.Errorf("refused and registered: %v %q", r.kubelet.Registrations(), r.registered())
	}
}
