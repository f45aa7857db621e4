package ascend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
	"vgpualloc.example/adapters/deviceplugin/ascend/fakechips"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

const (
	testConfig = `{"vnpus":{"hamiVnpuCore":%t,"configs":[{"commonWord":"Ascend910B3","chipName":"910B3","resourceName":"huawei.com/Ascend910B3",
		"memoryAllocatable":65536,"memoryCapacity":65536,"aiCore":20,"aiCPU":7,"templates":[
		{"name":"vir10_3c_32g","memory":32768,"aiCore":10,"aiCPU":3},{"name":"vir05_1c_16g","memory":16384,"aiCore":5,"aiCPU":1}]}]}}`
	testResource = "huawei.com/Ascend910B3"
)

// machine are so many healthy chips of a 910B3; their physical ids count from 10.
func machine(count int) fakechips.Machine {
	result := fakechips.Machine{ChipType: "Ascend", ChipName: "910B3"}
	for i := range int32(count) {
		result.NPUs = append(result.NPUs, fakechips.NPU{LogicID: i, PhyID: 10 + i, CardID: i, VDie: fmt.Sprintf("CHIP-%d", i)})
	}
	return result
}

// runningStand is a stand with a kubelet, whose plugin runs.
type runningStand struct {
	*stand
	t       *testing.T
	chips   *fakechips.Library
	kubelet *testbed.Kubelet
	plugin  *Plugin
	end     context.CancelFunc
	ended   chan error

	mutex    sync.Mutex
	observed map[string]int
}

// run starts a plugin with a kubelet; change completes the options.
func run(t *testing.T, kubelet testbed.KubeletOptions, chips *fakechips.Library, change func(s *stand)) *runningStand {
	t.Helper()
	s := newStand(t, "node-a", nil)
	s.write(t, "/ascend.yaml", fmt.Sprintf(testConfig, false))
	short, err := os.MkdirTemp("", "a") // a socket's path has few bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	if err = os.CopyFS(short, os.DirFS(s.root)); err != nil {
		t.Fatal(err)
	}
	s.root, s.options.Root = short, short
	folder := filepath.Join(short, socketFolder)
	if err = os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &runningStand{stand: s, t: t, chips: chips, ended: make(chan error, 1), observed: map[string]int{}}
	s.options.Library, s.options.Exec = chips, &fakechips.Programs{}
	s.options.Register, s.options.RetryAfter = 20*time.Millisecond, 20*time.Millisecond
	s.options.KubeletRetry, s.options.KubeletPoll = 10*time.Millisecond, 20*time.Millisecond
	s.options.Observe = func(event string) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.observed[event]++
	}
	if change != nil {
		change(s)
	}
	if r.kubelet, err = testbed.NewKubelet(folder, kubelet); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kubelet.Close)
	var ctx context.Context
	ctx, r.end = context.WithCancel(context.Background())
	r.plugin = New(s.options)
	go func() { r.ended <- r.plugin.Run(ctx) }()
	t.Cleanup(r.end)
	return r
}

// count is how often something was observed.
func (r *runningStand) count(event string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.observed[event]
}

// until waits for something.
func (r *runningStand) until(what string, holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(5 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("not in 5 s: %s", what)
		}
	}
}

// stop ends the plugin and has its error.
func (r *runningStand) stop() error {
	r.t.Helper()
	r.end()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(5 * time.Second):
		r.t.Fatal("the plugin does not end")
		return nil
	}
}

// unhealthy are the vdies that the kubelet was told of last as not healthy, and how many ids it has.
func (r *runningStand) unhealthy() (vdies map[string]bool, ids int) {
	lists := r.kubelet.Lists(testResource)
	vdies = map[string]bool{}
	if len(lists) == 0 {
		return vdies, 0
	}
	for _, device := range lists[len(lists)-1] {
		if device.Health != pluginapi.Healthy {
			vdies[device.ID[:strings.LastIndexByte(device.ID, '-')]] = true
		}
	}
	return vdies, len(lists[len(lists)-1])
}

func (r *runningStand) registered() string {
	return r.api.Node("node-a").Annotations[registerPrefix+"Ascend910B3"]
}

func TestThePluginServesTheKubelet(t *testing.T) {
	r := run(t, testbed.KubeletOptions{}, fakechips.New(machine(2)), nil)
	r.until("the kubelet has the list, and the node its annotation", func() bool {
		_, ids := r.unhealthy()
		return ids == 8 && r.registered() != ""
	})
	first := r.kubelet.Registrations()[0]
	if first.Endpoint != "Ascend910B3.sock" || first.ResourceName != testResource || first.Options.GetPreferredAllocationAvailable {
		t.Errorf("registration %v", first)
	}
	r.api.Put(podOf("default", "p", "node-a", map[string]string{"hami.io/Ascend910B3-devices-to-allocate": "CHIP-1,Ascend910B3,16384,0:;",
		"huawei.com/Ascend910B3": `[{"UUID":"CHIP-1","temp":"vir05_1c_16g"}]`}, "main"))
	answer, err := r.kubelet.Allocate(context.Background(), testResource, []string{"CHIP-0-3"})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(answer.ContainerResponses[0].Envs); got != `{"ASCEND_VISIBLE_DEVICES":"11","ASCEND_VNPU_SPECS":"vir05_1c_16g"}` {
		t.Errorf("environment %s", got)
	}
	if _, err = r.kubelet.Client(testResource).GetPreferredAllocation(context.Background(), &pluginapi.PreferredAllocationRequest{}); err == nil ||
		!strings.Contains(err.Error(), "not supported") {
		t.Errorf("preferred allocation: %v", err)
	}
	if err = r.stop(); err != nil {
		t.Error(err)
	}
	if _, err = os.Stat(filepath.Join(r.root, socketFolder, "Ascend910B3.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
	if r.registered() == "" {
		t.Error("the registration is gone, expected it to stay")
	}
}

func TestEveryChipRecovers(t *testing.T) { // N40
	chips := fakechips.New(machine(3))
	r := run(t, testbed.KubeletOptions{}, chips, nil)
	r.until("the kubelet has the list", func() bool { _, ids := r.unhealthy(); return ids == 12 })
	chips.SetHealth(1, 3)
	r.until("chip 1 is withdrawn", func() bool { vdies, _ := r.unhealthy(); return len(vdies) == 1 && vdies["CHIP-1"] })
	r.until("schedulers know", func() bool { return strings.Count(r.registered(), `"health":true`) == 2 })
	chips.SetHealth(1, 0)
	r.until("chip 1 is back", func() bool { vdies, _ := r.unhealthy(); return len(vdies) == 0 })
	r.until("schedulers know", func() bool { return strings.Count(r.registered(), `"health":true`) == 3 })
	if r.count("health") != 2 {
		t.Errorf("%d changes of health, expected 2", r.count("health"))
	}
}

func TestNobodyReadsTheList(t *testing.T) { // N41
	sick := machine(2)
	sick.NPUs[0].HealthCode = 1
	r := run(t, testbed.KubeletOptions{NoLists: true}, fakechips.New(sick), nil)
	r.until("the node has its annotation", func() bool { return strings.Count(r.registered(), `"health":true`) == 1 })
	r.chips.SetHealth(1, 2)
	r.until("a change is registered", func() bool { return strings.Count(r.registered(), `"health":true`) == 0 })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func TestTheKubeletRestarts(t *testing.T) { // N42
	r := run(t, testbed.KubeletOptions{}, fakechips.New(machine(1)), nil)
	r.until("the kubelet has the list", func() bool { _, ids := r.unhealthy(); return ids == 4 })
	r.kubelet.Stop()
	time.Sleep(50 * time.Millisecond) // some registrations are in vain
	if err := r.kubelet.Start(); err != nil {
		t.Fatal(err)
	}
	r.until("the kubelet has the list again", func() bool { _, ids := r.unhealthy(); return ids == 4 })
	before := r.count("annotated")
	r.plugin.Reload()
	r.until("the kubelet has a second registration", func() bool { return len(r.kubelet.Registrations()) >= 2 && r.count("annotated") > before })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func TestTheAPIServerRefusesAtFirst(t *testing.T) {
	r := run(t, testbed.KubeletOptions{}, fakechips.New(machine(1)), func(s *stand) {
		s.api.SetFaults(testbed.Fault{Verb: "GET", Resource: "nodes", Code: 500, Times: 1}, testbed.Fault{Verb: "PATCH", Resource: "nodes", Code: 403, Times: 2})
	})
	r.until("the node has its annotation", func() bool { return r.registered() != "" })
	refused := 0
	for _, request := range r.api.Requests() {
		if request.Code >= 400 {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d requests were refused before, expected 3", refused)
	}
}

func TestIdlePartsAreDestroyed(t *testing.T) {
	with := machine(2)
	with.NPUs[0].VNPUs = []fakechips.VNPU{{ID: 100}, {ID: 101, ContainerUsed: 1}}
	r := run(t, testbed.KubeletOptions{}, fakechips.New(with), func(s *stand) { s.options.IdleEvery = 30 * time.Millisecond })
	r.until("it serves", func() bool { return r.registered() != "" })
	if got := text(r.chips.Calls()); got != `["DestroyVirtualDevice logic=0 id=100 -\u003e ok"]` {
		t.Errorf("calls at the start %s", got)
	}
	r.chips.Edit(func(now *fakechips.Machine) { now.NPUs[1].VNPUs = []fakechips.VNPU{{ID: 7}} })
	r.until("the part is destroyed", func() bool { return len(r.chips.Calls()) == 2 })
}

func TestAPartIsIdleOnlyAtTheSecondLook(t *testing.T) {
	with := machine(1)
	with.NPUs[0].VNPUs = []fakechips.VNPU{{ID: 1}}
	library := fakechips.New(with)
	looks := &inventory{library: library, filter: func(chips.Chip) bool { return false }}
	for look, calls := range []int{0, 1} {
		if err := looks.destroyIdle(context.Background(), false); err != nil || len(library.Calls()) != calls {
			t.Errorf("look %d: calls %v (%v), expected %d", look, library.Calls(), err, calls)
		}
	}
}
