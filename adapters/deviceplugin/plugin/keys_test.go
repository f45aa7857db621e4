package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/plugin"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// setup is all that a plugin is configured by.
type setup struct {
	arguments []string
	bare      bool // no flags but arguments
	env       map[string]string
	keys      string            // lines of section nvidia
	noDevice  bool              // there is no ConfigMap
	node      string            // fields of node-a's entry in config.json
	files     map[string]string // by path; "/plugin.yaml" is for --config-file
	xids      []uint64          // that the driver reports
	migOn     bool
	failures  int  // of attempts to open the library
	quiet     bool // the kubelet takes no registration
	promise   string
}

// run is a plugin that serves, or has refused to.
type run struct {
	*rig
	setup
	refusal string
	address string // that metrics are configured to be served at
	served  net.Listener
}

// cutMachine is a machine whose cards are cut in memory.
type cutMachine struct {
	*machine
	instances []hardware.Instance
}

func (m *cutMachine) Instances(string) ([]hardware.Instance, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.instances), nil
}

func (m *cutMachine) CreateInstance(_ string, profile, start, size uint32) (hardware.Instance, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	instance := hardware.Instance{GI: uint32(len(m.instances) + 1), ProfileID: profile, Start: start, Size: size, Compute: []uint32{0},
		UUID: fmt.Sprintf("MIG-%d-slices-at-%d", size, start)}
	m.instances = append(m.instances, instance)
	slices.SortFunc(m.instances, func(left, right hardware.Instance) int { return int(left.Start) - int(right.Start) })
	return instance, nil
}

// began is a plugin of this setup, once it serves or has ended.
func began(t *testing.T, with setup) *run {
	t.Helper()
	machine := newMachine(1)
	machine.gpus[0].MigCapable, machine.gpus[0].MigEnabled = with.migOn, with.migOn
	configMap := "nvidia:\n  " + strings.ReplaceAll(with.keys, "\n", "\n  ") + "\n"
	if !strings.Contains(with.keys, "gpuMemoryFactor") {
		configMap += "  gpuMemoryFactor: 64\n"
	}
	if with.noDevice {
		configMap = ""
	}
	files := map[string]string{"/dev/nvidiactl": "", "/etc/vgpualloc": ""}
	for path, text := range with.files {
		files[path] = text
	}
	if with.node != "" {
		files["/config/config.json"] = `{"nodeconfig":[{"name":"node-a",` + with.node + `}]}`
	}
	r := &run{rig: newRig(t, machine, configMap, files), setup: with}
	r.api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-b"}})
	var err error
	if r.served, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	r.listen = func(address string) (net.Listener, error) {
		r.address = address
		return r.served, nil
	}
	library, failures := &cutMachine{machine: machine}, with.failures
	arguments := with.arguments
	if !with.bare {
		arguments = append([]string{"--node-name=node-a"}, arguments...)
	}
	const short = 20 * time.Millisecond
	made, err := plugin.New(plugin.Options{Arguments: arguments, Root: r.root, Client: r.api.Client(), Observe: r.observe, Listen: r.listen,
		Env: func(name string) (string, bool) { value, has := with.env[name]; return value, has },
		Open: func(context.Context, config.Flags) (hardware.Library, error) {
			if failures--; failures >= 0 {
				return nil, errors.New("Driver Not Loaded")
			}
			return library, nil
		},
		Intervals: plugin.Intervals{Register: 2 * short, RegisterRetry: short, KubeletRetry: short, KubeletPoll: short, EventWait: short,
			Recheck: short, Quiet: time.Hour, API: short, Lists: time.Second, Feedback: short, Patience: -1}})
	if err != nil {
		r.refusal = err.Error()
		return r
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.plugin, r.cancel, r.ended = made, cancel, make(chan error, 1)
	go func() { r.ended <- made.Run(ctx) }()
	for _, xid := range with.xids {
		machine.events <- hardware.Event{UUID: "GPU-0", Xid: xid}
	}
	r.wait("serving, or the end", func() bool {
		select {
		case err := <-r.ended:
			r.isEnded = true
			r.refusal = fmt.Sprint(err)
			return true
		default:
		}
		hasLists := r.count("registered") > 0
		for _, request := range r.kubelet.Registrations() {
			hasLists = hasLists && len(r.kubelet.Lists(request.ResourceName)) > 0
		}
		return r.count("annotated") > 0 && (r.count("idle") > 0 || (with.quiet || hasLists) && r.count("health") >= len(with.xids))
	})
	return r
}

// text of an annotation of a node.
func annotation(node, name string) func(r *run) string {
	return func(r *run) string { return r.api.Node(node).Annotations[name] }
}

var registration = annotation("node-a", "volcano.sh/node-vgpu-register")

// refusal is why the plugin does not serve; "serves": it does.
func refusal(r *run) string {
	switch {
	case r.refusal == "":
		return "serves"
	case r.plugin != nil && !strings.Contains(warnings(r), r.refusal):
		return "no event says: " + r.refusal
	}
	return r.refusal
}

// warnings are the events of the node.
func warnings(r *run) string {
	texts := []string{}
	r.wait("events", func() bool { return len(r.api.Events()) > 0 || r.isEnded || r.count("annotated") > 3 })
	for _, event := range r.api.Events() {
		texts = append(texts, event.Message)
	}
	return strings.Join(texts, "; ")
}

// devices is how many of a resource the kubelet was offered.
func devices(resource string) func(r *run) string {
	return func(r *run) string {
		lists := r.kubelet.Lists(resource)
		if len(lists) == 0 {
			return "none"
		}
		return fmt.Sprint(len(lists[0]))
	}
}

var random = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// answered are the parts of the answer to a pod's container that have a text, or why there is none.
func answered(part string) func(r *run) string {
	return func(r *run) string {
		if r.refusal != "" {
			return r.refusal
		}
		promise := r.promise
		if promise == "" {
			promise = "GPU-0,NVIDIA,40,30:"
		}
		waiting := pod("p", promise)
		r.api.Put(waiting)
		defer r.api.Delete(waiting)
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		answer, err := r.kubelet.Allocate(ctx, "volcano.sh/vgpu-number", []string{"GPU-0-0"})
		if err != nil {
			return err.Error()
		}
		all := []string{}
		for _, container := range answer.ContainerResponses {
			for name, value := range container.Envs {
				all = append(all, name+"="+value)
			}
			for _, mount := range container.Mounts {
				all = append(all, "mount "+mount.HostPath)
			}
			for _, device := range container.Devices {
				all = append(all, "device "+device.HostPath)
			}
			for name, value := range container.Annotations {
				all = append(all, "annotation "+random.ReplaceAllString(name, "RANDOM")+"="+value)
			}
			for _, device := range container.CdiDevices {
				all = append(all, "cdi "+device.Name)
			}
		}
		all = slices.DeleteFunc(all, func(text string) bool { return !strings.Contains(text, part) })
		slices.Sort(all)
		return strings.Join(all, "|")
	}
}

// file is whether there is one.
func file(path string) func(r *run) string {
	return func(r *run) string {
		_, err := os.Stat(r.root + path)
		return fmt.Sprint(err == nil)
	}
}

// keyCase is a documented key, or several that say the same, and what is seen with it and without it. The texts are parts.
type keyCase struct {
	keys          string // joined by blanks
	with, without setup
	look          func(r *run) string
	is, was       string
}

// baseline is a plugin that several cases look at, one after the other.
type baseline struct {
	mutex  sync.Mutex
	parent *testing.T // which ends after all cases
	run    *run
}

// TestEveryKeyHasAnEffect runs the plugin with each key and without it: what is seen differs.
func TestEveryKeyHasAnEffect(t *testing.T) {
	baselines := map[string]*baseline{}
	for _, one := range slices.Concat(flagCases(), deviceCases(), nodeCases(), migCases()) {
		key := fmt.Sprintf("%+v", one.without)
		if baselines[key] == nil {
			baselines[key] = &baseline{parent: t}
		}
		t.Run(one.keys, func(t *testing.T) {
			t.Parallel()
			with := one.look(began(t, one.with))
			base := baselines[key]
			base.mutex.Lock()
			defer base.mutex.Unlock()
			if base.run == nil {
				base.run = began(base.parent, one.without)
			}
			without := one.look(base.run)
			if !strings.Contains(with, one.is) || one.is == "" && with != "" {
				t.Errorf("with it: %s\nexpected %s", with, one.is)
			}
			if !strings.Contains(without, one.was) || one.was == "" && without != "" {
				t.Errorf("without it: %s\nexpected %s", without, one.was)
			}
			if with == without {
				t.Errorf("the same with it and without it: %s", with)
			}
		})
	}
}

// elsewhere are documented names whose tests are elsewhere: the file of the test, from this module's folder.
var elsewhere = map[string]string{"--kubeconfig": "main_test.go", "KUBECONFIG": "main_test.go", "--vendor": "main_test.go",
	"--version": "main_test.go", "-v": "config/keys_test.go", "--v": "config/keys_test.go", "NVML_LIBRARY": "main_test.go",
	"NVIDIA_VISIBLE_DEVICES":     "../delivery/chart/templates/device-plugin.yaml", // read by the container runtime
	"NVIDIA_DRIVER_CAPABILITIES": "../delivery/chart/templates/device-plugin.yaml",
	"NVIDIA_MIG_CONFIG_DEVICES":  "../delivery/chart/templates/device-plugin.yaml",
	"NVIDIA_MIG_MONITOR_DEVICES": "../delivery/chart/templates/device-plugin.yaml",
	"memory":                     "config/keys_test.go"}

// TestEveryDocumentedKeyHasACase: no documented key is without a case, and no case is of a key that is not documented.
func TestEveryDocumentedKeyHasACase(t *testing.T) {
	page, err := testbed.Page("docs/deploy/device-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, table := range []struct {
		heading, title string
		columns        int
	}{{"## Flags", "flag", 2}, {"## Flags", "variable", 1}, {"## Flags", "key of the file", 1}, {"## The device configuration", "key", 1},
		{"## Settings of single nodes and cards", "key of an entry", 1},
		{"## Settings of single nodes and cards", "key of a card in `devices`", 1}, {"## MIG", "key", 1}} {
		section, err := testbed.Section(page, table.heading)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := testbed.Keys(section, table.title, table.columns)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			documented[key] = true
		}
	}
	for _, name := range []string{"name", "memory", "count"} { // of an instance
		documented[name] = true
	}
	covered := map[string]bool{}
	for _, one := range slices.Concat(flagCases(), deviceCases(), nodeCases(), migCases()) {
		for _, key := range strings.Fields(one.keys) {
			covered[key] = true
			if !documented[key] {
				t.Errorf("%s has a case and is not documented", key)
			}
		}
	}
	for key, path := range elsewhere {
		text, err := os.ReadFile(filepath.Join("..", path))
		if err != nil || !strings.Contains(string(text), strings.TrimLeft(key, "-")) {
			t.Errorf("%s: no test in %s: %v", key, path, err)
		}
		covered[key] = true
	}
	for key := range documented {
		if !covered[key] {
			t.Errorf("%s is documented and has no case", key)
		}
	}
	checkFlags(t, documented)
	checkDialects(t, covered)
}

// checkFlags: the documented flags are those that there are.
func checkFlags(t *testing.T, documented map[string]bool) {
	for key := range documented {
		name, isFlag := strings.CutPrefix(key, "--")
		if isFlag && config.FlagSet().Lookup(name) == nil {
			t.Errorf("%s is documented and no flag", key)
		}
	}
	for _, name := range config.Names() {
		if !documented[name] {
			t.Errorf("%s is not documented", name)
		}
	}
}

var keyLike = regexp.MustCompile(`^[a-z]+[A-Z][A-Za-z]*$`)

// checkDialects: the keys of the device configuration that the pages of the dialects name have a case, or the plugin warns of them.
func checkDialects(t *testing.T, covered map[string]bool) {
	for path, heading := range map[string]string{"docs/dialects/hami.md": "## Device configuration", "docs/dialects/volcano.md": "## Configuration"} {
		page, err := testbed.Page(path)
		if err != nil {
			t.Fatal(err)
		}
		section, err := testbed.Section(page, heading)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, key := range testbed.Quoted(section) {
			if !keyLike.MatchString(key) {
				continue
			}
			count++
			if covered[key] {
				continue
			}
			flags, err := config.ReadFlags([]string{"--node-name=n"}, func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			read, err := config.Build(flags, []byte("nvidia: {"+key+": 1}"), nil)
			if err != nil || !strings.Contains(strings.Join(read.Warnings, ";"), key+" has no effect on the node") {
				t.Errorf("%s: key %s has no case, and no warning says that it has no effect: %v", path, key, err)
			}
		}
		if count == 0 {
			t.Errorf("%s: no key was found under %s", path, heading)
		}
	}
}
