package plugin_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

func last(lists [][]*pluginapi.Device) []*pluginapi.Device { return lists[len(lists)-1] }

// sick are the cards whose devices are not healthy, joined.
func sick(devices []*pluginapi.Device) string {
	cards := []string{}
	for _, device := range devices {
		uuid := strings.Join(strings.Split(device.ID, "-")[:2], "-")
		if device.Health != pluginapi.Healthy && !slices.Contains(cards, uuid) {
			cards = append(cards, uuid)
		}
	}
	slices.Sort(cards)
	return strings.Join(cards, " ")
}

func TestServesRegistersAndWithdraws(t *testing.T) {
	r := newRig(t, newMachine(2), deviceConfig, map[string]string{"/config/config.json": `{"nodeconfig":[{"name":"node-a","devicecorescaling":1.5,` +
		`"devices":[{"index":0,"operatingmode":"mps","devicesplitcount":2}]}]}`}).start().serving()
	for resource, count := range map[string]int{"number": 6, "memory": 1280, "cores": 300} {
		if devices := r.kubelet.Lists("volcano.sh/vgpu-" + resource)[0]; len(devices) != count || sick(devices) != "" {
			t.Errorf("%s: %d devices, expected %d", resource, len(devices), count)
		}
	}
	if id := r.kubelet.Lists("volcano.sh/vgpu-memory")[0][0].ID; id != "GPU-1-memory-0" { // minor 1 comes first
		t.Errorf("the first memory device is %s", id)
	}
	const text = "GPU-1,4,640,NVIDIA-NVIDIA A100-SXM4-40GB,true,hami-core:GPU-0,2,640,NVIDIA-NVIDIA A100-SXM4-40GB,true,mps:"
	if r.registered() != text {
		t.Errorf("registered %s\nexpected %s", r.registered(), text)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if now := r.api.Node("node-a").Annotations; len(now) != 1 || now["example.com/other"] != "keep" {
		t.Errorf("annotations after the end: %v", now)
	}
	if sockets, _ := filepath.Glob(r.root + "/var/lib/kubelet/device-plugins/nvidia-*"); len(sockets) > 0 {
		t.Errorf("sockets after the end: %v", sockets)
	}
}

func TestHealthGoesAndComesBack(t *testing.T) {
	r := newRig(t, newMachine(2), deviceConfig, nil).start().serving()
	r.machine.events <- hardware.Event{UUID: "GPU-0", Xid: 13} // of an application
	r.machine.events <- hardware.Event{UUID: "GPU-0", Kind: hardware.DoubleBitECC}
	r.machine.events <- hardware.Event{UUID: "GPU-0", Xid: 94}
	r.wait("an unhealthy card", func() bool { return sick(last(r.kubelet.Lists("volcano.sh/vgpu-cores"))) == "GPU-0" })
	r.wait("its registration", func() bool {
		return strings.Contains(r.registered(), "GPU-0,4,640,NVIDIA-NVIDIA A100-SXM4-40GB,false,")
	})
	r.wait("three events", func() bool { return r.count("health") == 3 })
	r.wait("a list for the one that counts", func() bool { return len(r.kubelet.Lists("volcano.sh/vgpu-number")) == 2 })
	r.wait("its return", func() bool { return !strings.Contains(r.registered(), "false") })
	r.wait("its return to the kubelet", func() bool { return sick(last(r.kubelet.Lists("volcano.sh/vgpu-number"))) == "" })
}

// A card that needs a reset stays out over SIGHUP, restarts of the kubelet and of the plugin, until it was seen to be away (N10).
func TestHealthIsKept(t *testing.T) {
	r := newRig(t, newMachine(2), deviceConfig, nil).start().serving()
	r.machine.events <- hardware.Event{UUID: "GPU-1", Xid: 79}
	isOut := func() bool {
		lists := r.kubelet.Lists("volcano.sh/vgpu-memory")
		return len(lists) > 0 && sick(last(lists)) == "GPU-1" && strings.Contains(r.registered(), "GPU-1,4,640,NVIDIA-NVIDIA A100-SXM4-40GB,false,")
	}
	r.wait("an unhealthy card", isOut)
	r.plugin.Reload()
	r.wait("registration after SIGHUP", func() bool { return r.count("registered") == 2 && isOut() })
	if err := r.kubelet.Restart(); err != nil {
		t.Fatal(err)
	}
	r.wait("registration after the kubelet's restart", func() bool { return r.count("registered") == 3 && isOut() })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.wait("registration after the plugin's restart", func() bool { return r.count("registered") == 4 && isOut() })
	r.machine.edit(func(gpus []hardware.GPU) { gpus[1].Fault = hardware.ErrLost })
	rounds := r.count("annotated")
	r.wait("looks at the lost card", func() bool { return r.count("annotated") > rounds+3 })
	r.machine.edit(func(gpus []hardware.GPU) { gpus[1].Fault = nil })
	r.wait("the card that was reset", func() bool { return !strings.Contains(r.registered(), "false") })
	if _, err := os.Stat(r.root + "/usr/local/vgpu/vgpualloc/health.json"); !os.IsNotExist(err) {
		t.Errorf("the state is still kept: %v", err)
	}
}

func TestSomebodySaysThatACardIsRepaired(t *testing.T) {
	r := newRig(t, newMachine(1), deviceConfig, nil).start().serving()
	r.machine.events <- hardware.Event{Xid: 48, UUID: "GPU-0"}
	r.wait("an unhealthy card", func() bool { return strings.Contains(r.registered(), "false") })
	node := r.api.Node("node-a")
	node.Annotations["volcano.sh/vgpu-repaired"] = "GPU-0"
	r.api.Put(node)
	r.wait("the card", func() bool { return strings.Contains(r.registered(), "true") })
	r.wait("the annotation to go", func() bool { _, has := r.api.Node("node-a").Annotations["volcano.sh/vgpu-repaired"]; return !has })
}

// Cards that cannot be read are registered as not healthy, the others are served (N4, N5), and what is read later counts.
func TestSickCards(t *testing.T) {
	machine := newMachine(3)
	machine.gpus[0].Fault, machine.gpus[0].MemoryBytes, machine.gpus[0].Name = errors.New("Unknown Error"), 0, ""
	machine.gpus[1].Minor = -1
	machine.gpus[2].UUID, machine.gpus[2].Fault = "", errors.New("Unknown Error")
	r := newRig(t, machine, deviceConfig, nil).start()
	r.wait("registration", func() bool { return r.registered() != "" })
	if text := r.registered(); text != "GPU-1,4,640,NVIDIA-NVIDIA A100-SXM4-40GB,true,hami-core:GPU-0,4,0,NVIDIA-,false,hami-core:" {
		t.Errorf("registered %s", text)
	}
	machine.edit(func(gpus []hardware.GPU) {
		gpus[0].Fault, gpus[0].MemoryBytes, gpus[0].Name = nil, 16<<30, "NVIDIA A2"
	})
	r.wait("the card that is read", func() bool { return strings.Contains(r.registered(), "GPU-0,4,256,NVIDIA-NVIDIA A2,true,hami-core:") })
	r.wait("its memory", func() bool { return len(last(r.kubelet.Lists("volcano.sh/vgpu-memory"))) == 640+256 })
}

// A card that no annotation could name is left out, with an event, and the others are served.
func TestCardsThatCannotBeNamed(t *testing.T) {
	for name, one := range map[string]struct {
		change     func(gpus []hardware.GPU)
		registered int
		words      string
	}{
		"uuid": {func(gpus []hardware.GPU) { gpus[0].UUID = "GPU-0,x" }, 2, `GPU 0 is left out: uuid "GPU-0,x"`},
		"name": {func(gpus []hardware.GPU) { gpus[1].Name = "NVIDIA: A100" }, 2, `GPU 1 is left out: name "NVIDIA: A100"`},
		"twice": {func(gpus []hardware.GPU) { gpus[2].UUID = gpus[0].UUID }, 1,
			"GPU 2 is left out: uuid GPU-0: GPU 0 has it too"},
	} {
		t.Run(name, func(t *testing.T) {
			machine := newMachine(3)
			machine.edit(one.change)
			r := newRig(t, machine, deviceConfig, nil).start().serving()
			if count := strings.Count(r.registered(), ":"); count != one.registered || strings.Count(r.registered(), ",") != 5*count {
				t.Errorf("registered %s, expected %d cards", r.registered(), one.registered)
			}
			r.wait("an event", func() bool {
				return slices.ContainsFunc(r.api.Events(), func(event corev1.Event) bool { return strings.Contains(event.Message, one.words) })
			})
		})
	}
}

func TestUnwatchedCards(t *testing.T) {
	machine := newMachine(3)
	machine.failures = map[string]error{"GPU-0": fmt.Errorf("old: %w", hardware.ErrUnsupported), "GPU-1": errors.New("Unknown Error")}
	r := newRig(t, machine, deviceConfig, nil).start().serving()
	r.wait("the unhealthy card", func() bool { return sick(last(r.kubelet.Lists("volcano.sh/vgpu-number"))) == "GPU-1" })
	machine.mutex.Lock()
	machine.failures = map[string]error{}
	machine.mutex.Unlock()
	r.wait("the card that is watched", func() bool { return sick(last(r.kubelet.Lists("volcano.sh/vgpu-number"))) == "" })
	machine.events <- hardware.Event{Xid: 94} // of a card that cannot be named
	r.wait("all", func() bool { return sick(last(r.kubelet.Lists("volcano.sh/vgpu-number"))) == "GPU-0 GPU-1 GPU-2" })
}

func TestNoCards(t *testing.T) {
	r := newRig(t, newMachine(1), deviceConfig, map[string]string{
		"/config/config.json": `{"nodeconfig":[{"name":"node-a","filterdevices":{"uuid":["GPU-0"],"index":[]}}]}`})
	node := r.api.Node("node-a")
	node.Annotations["volcano.sh/node-vgpu-register"] = "GPU-old,10,1000,NVIDIA-Old,true,hami-core:"
	r.api.Put(node)
	r.start()
	r.wait("idle", func() bool { return r.count("idle") == 1 && r.count("annotated") > 0 })
	if _, has := r.api.Node("node-a").Annotations["volcano.sh/node-vgpu-register"]; has || len(r.kubelet.Registrations()) > 0 {
		t.Errorf("annotations %v, registrations %v", r.api.Node("node-a").Annotations, r.kubelet.Registrations())
	}
	if err := os.WriteFile(r.root+"/config/config.json", []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.plugin.Reload()
	r.serving()
}

func TestRefusals(t *testing.T) {
	configured := func(lines string) string { return "nvidia:\n  " + lines + "\n" }
	for name, one := range map[string]struct {
		configMap string
		arguments []string
		gpus      int
		change    func(*machine)
		words     string
	}{
		"no ConfigMap":      {words: "expected it in namespace kube-system or volcano-system"},
		"broken ConfigMap":  {configMap: "nvidia: [broken", words: "device-config.yaml"},
		"negative number":   {configMap: configured("deviceSplitCount: -10"), words: "nvidia.deviceSplitCount -10"},
		"a list too long":   {configMap: configured("gpuMemoryFactor: 1"), gpus: 4, words: "set gpuMemoryFactor to at least 3"},
		"library":           {configMap: deviceConfig, change: func(m *machine) { m.broken = errors.New("Driver Not Loaded") }, words: "Driver Not Loaded"},
		"MIG with single":   {configMap: deviceConfig, arguments: []string{"--mig-strategy=single"}, change: func(m *machine) { m.gpus[0].MigEnabled = true }, words: "GPU-0 has MIG on"},
		"missing file":      {configMap: deviceConfig, arguments: []string{"--config-file=/plugin.yaml"}, words: "--config-file"},
		"name not accepted": {configMap: configured("resourceCountName: vgpu"), words: `nvidia.resourceCountName "vgpu"`},
	} {
		t.Run(name, func(t *testing.T) {
			machine := newMachine(max(1, one.gpus))
			if one.change != nil {
				one.change(machine)
			}
			newRig(t, machine, one.configMap, nil).start(one.arguments...).refused(one.words)
		})
	}
}

func TestMigStrategyMixedLeavesCardsOut(t *testing.T) {
	machine := newMachine(2)
	machine.gpus[0].MigEnabled = true
	r := newRig(t, machine, deviceConfig, nil).start("--mig-strategy=mixed").serving()
	if text := r.registered(); strings.Contains(text, "GPU-0") || !strings.Contains(text, "GPU-1") {
		t.Errorf("registered %s", text)
	}
}

// An API server that cannot answer yet is waited for; one that forbids is not (N1).
func TestTheAPIServerIsAwaited(t *testing.T) {
	r := newRig(t, newMachine(1), deviceConfig, nil)
	r.api.SetFaults(testbed.Fault{Verb: "GET", Resource: "configmaps", Code: 500, Times: 3},
		testbed.Fault{Verb: "PATCH", Resource: "nodes", Code: 409, Times: 2})
	r.start().serving()
	other := newRig(t, newMachine(1), deviceConfig, nil)
	other.api.SetFaults(testbed.Fault{Verb: "GET", Resource: "configmaps", Code: 403, Times: 100})
	other.start().refused("cannot be read")
}

// Where there is no list of MIG geometries and a card is to be cut, a first one is written (R028).
func TestFirstMIGConfiguration(t *testing.T) {
	machine := newMachine(1)
	machine.gpus[0].MigCapable, machine.gpus[0].MigEnabled = true, true
	r := newRig(t, machine, deviceConfig, map[string]string{"/config/config.json": `{"nodeconfig":[{"name":"node-a","operatingmode":"mig"}]}`}).start().serving()
	found := &corev1.ConfigMap{}
	list, err := r.api.Client().CoreV1().ConfigMaps("volcano-system").Get(t.Context(), "volcano-vgpu-device-config", metav1.GetOptions{})
	if found = list; err != nil {
		t.Fatal(err)
	}
	text := found.Data["device-config.yaml"]
	if !strings.HasPrefix(text, "# the cluster's\nnvidia:\n") || !strings.Contains(text, "models: [A100-SXM4-40GB") ||
		!strings.Contains(text, "gpuMemoryFactor: 64") {
		t.Errorf("written:\n%s", text)
	}
	if registered := r.registered(); !strings.HasSuffix(registered, ",true,mig:") {
		t.Errorf("registered %s", registered)
	}
}

func TestBothSchedulers(t *testing.T) {
	r := newRig(t, newMachine(1), deviceConfig, map[string]string{"/sys/bus/pci/devices/0000:00:00.0/numa_node": "1\n"}).start("--scheduler=volcano,hami").serving()
	r.wait("HAMi's resource", func() bool { return len(r.kubelet.Lists("nvidia.com/gpu")) > 0 })
	const text = `[{"id":"GPU-0","index":0,"count":4,"devmem":40960,"devcore":100,"type":"NVIDIA A100-SXM4-40GB","numa":1,"mode":"hami-core","health":true}]`
	now := r.api.Node("node-a").Annotations
	if now["hami.io/node-nvidia-register"] != text || !strings.HasPrefix(now["hami.io/node-handshake"], "Reported_") {
		t.Errorf("annotations %v", now)
	}
	if devices := r.kubelet.Lists("nvidia.com/gpu")[0]; len(devices) != 4 || devices[3].ID != "GPU-0-3" {
		t.Errorf("devices %v", devices)
	}
}

// A reload with a configuration that is wrong keeps the one before.
func TestReloadKeepsWhatWorks(t *testing.T) {
	r := newRig(t, newMachine(1), deviceConfig, nil).start().serving()
	put := func(text string) {
		r.api.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "volcano-system", Name: "volcano-vgpu-device-config"},
			Data: map[string]string{"device-config.yaml": text}})
	}
	put("nvidia: [broken")
	r.plugin.Reload()
	r.wait("a second registration", func() bool { return r.count("registered") == 2 })
	put(strings.Replace(deviceConfig, "deviceSplitCount: 4", "deviceSplitCount: 9", 1))
	r.plugin.Reload()
	r.wait("the new split count", func() bool { return strings.HasPrefix(r.registered(), "GPU-0,9,") })
}

func TestMetrics(t *testing.T) {
	r := newRig(t, newMachine(2), deviceConfig, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.listen = func(string) (net.Listener, error) { return listener, nil }
	r.start().serving()
	get := func(path string) string {
		answer, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v", path, answer.StatusCode, err)
		}
		return string(text)
	}
	get("/healthz")
	r.machine.events <- hardware.Event{UUID: "GPU-1", Xid: 79}
	r.wait("the event", func() bool { return r.count("health") == 1 })
	text := get("/metrics")
	for _, line := range []string{`vgpualloc_plugin_device_healthy{NodeName="node-a",deviceuuid="GPU-0"} 1`,
		`vgpualloc_plugin_device_healthy{NodeName="node-a",deviceuuid="GPU-1"} 0`, `vgpualloc_plugin_xid_events_total{`,
		`vgpualloc_plugin_kubelet_registrations_total{`} {
		if !strings.Contains(text, line) {
			t.Errorf("%s is not in\n%s", line, text)
		}
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get("http://" + listener.Addr().String() + "/healthz"); err == nil {
		t.Error("metrics are served after the end")
	}
	taken := newRig(t, newMachine(1), deviceConfig, nil)
	taken.listen = func(string) (net.Listener, error) { return nil, errors.New("address already in use") }
	taken.start().refused("--metrics-listen")
}

func TestDeviceConfigIsMade(t *testing.T) {
	r := newRig(t, newMachine(1), "", nil).start("--create-device-config", "--gpu-memory-factor=4").serving()
	if text := r.registered(); !strings.HasPrefix(text, "GPU-0,10,10240,") {
		t.Errorf("registered %s", text)
	}
}
