package layout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/vga"
)

// geometries are those of the recorded configuration.
var geometries = map[string][]config.Geometry{
	a100: {
		{Group: "group1", Instances: []config.Profile{{Name: "1g.5gb", MemoryMiB: 5120, Count: 7}}},
		{Group: "group2", Instances: []config.Profile{{Name: "2g.10gb", MemoryMiB: 10240, Count: 3}, {Name: "1g.5gb", MemoryMiB: 5120, Count: 1}}},
		{Group: "group3", Instances: []config.Profile{{Name: "3g.20gb", MemoryMiB: 20480, Count: 2}}},
		{Group: "group4", Instances: []config.Profile{{Name: "7g.40gb", MemoryMiB: 40960, Count: 1}}},
		{Group: "one", Instances: []config.Profile{{Name: "3g.20gb", MemoryMiB: 20480, Count: 1}}},
		{Group: "mix", Instances: []config.Profile{{Name: "3g.20gb", MemoryMiB: 20480, Count: 1}, {Name: "2g.10gb", MemoryMiB: 10240, Count: 1},
			{Name: "1g.10gb", MemoryMiB: 9856, Count: 1}}},
		{Group: "rev", Instances: []config.Profile{{Name: "1g.5gb", MemoryMiB: 5120, Count: 2}, {Name: "3g.20gb", MemoryMiB: 20480, Count: 1}}},
		{Group: "bad", Instances: []config.Profile{{Name: "3g.20gb", MemoryMiB: 20480, Count: 3}}},
		{Group: "unknownprofile", Instances: []config.Profile{{Name: "5g.60gb", MemoryMiB: 60000, Count: 1}}},
	},
	a30: {
		{Group: "group1", Instances: []config.Profile{{Name: "1g.6gb", MemoryMiB: 6144, Count: 4}}},
		{Group: "group2", Instances: []config.Profile{{Name: "2g.12gb", MemoryMiB: 12288, Count: 2}}},
		{Group: "group3", Instances: []config.Profile{{Name: "4g.24gb", MemoryMiB: 24576, Count: 1}}},
	},
}

func geometry(model, group string) config.Geometry {
	found, _ := geometryOf(model, group)
	return found
}

func geometryOf(model, group string) (config.Geometry, bool) {
	for _, candidate := range geometries[model] {
		if candidate.Group == group {
			return candidate, true
		}
	}
	return config.Geometry{}, false
}

// node is a node with its pods, its ledger and an executor.
type node struct {
	t        testing.TB
	machine  *memory // nil: another library is used
	ledger   *vga.Cluster
	executor *Executor

	lock    sync.Mutex
	claims  map[string]Claim
	changes []string
}

var drawing *board

const nodeName = "node-a"

// newNode starts a program on a machine; pods that run there are put again by the caller.
func newNode(t testing.TB, machine *memory, native bool, edit ...func(*Options)) *node {
	t.Helper()
	return newNodeOf(t, machine, machine.gpus, native, edit...)
}

// newNodeOf starts a program on any library, whose GPUs are these.
func newNodeOf(t testing.TB, library hardware.Library, gpus []hardware.GPU, native bool, edit ...func(*Options)) *node {
	t.Helper()
	result := &node{t: t, claims: map[string]Claim{}}
	result.machine, _ = library.(*memory)
	var options vga.Options
	if !native {
		options.DeviceConfig = deviceConfig()
	}
	var err error
	if result.ledger, err = vga.New(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(result.ledger.Close)
	result.upsert(nodeObject(gpus))
	settings := Options{Library: library, Ledger: result.ledger, Node: nodeName, Claim: result.claim,
		Changed: func(gpuUUID string, service Service, _ string) {
			result.lock.Lock()
			defer result.lock.Unlock()
			result.changes = append(result.changes, gpuUUID+" "+service.String())
		}}
	if !native {
		settings.Geometry = geometryOf
	}
	for _, change := range edit {
		change(&settings)
	}
	if result.executor, err = New(settings); err != nil {
		t.Fatal(err)
	}
	if drawing == nil {
		drawing = result.executor.board // which all tests plan on, as its plans are made once then
	} else {
		result.executor.board.close()
		result.executor.board = drawing
	}
	result.executor.closeBoard = func() {}
	t.Cleanup(func() {
		if err := result.executor.Close(background); err != nil {
			t.Error(err)
		}
	})
	return result
}

func (n *node) claim(podUID, _ string) Claim {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.claims[podUID]
}

func (n *node) upsert(object string) {
	n.t.Helper()
	if _, err := n.ledger.Upsert([]byte(object)); err != nil {
		n.t.Fatal(err)
	}
}

// deviceConfig is the geometries without those that the core would refuse.
func deviceConfig() string {
	var lists []map[string]any
	for model, groups := range geometries {
		var allowed []map[string]any
		for _, group := range groups {
			if group.Group == "bad" || group.Group == "unknownprofile" {
				continue
			}
			var instances []map[string]any
			for _, kind := range group.Instances {
				instances = append(instances, map[string]any{"name": kind.Name, "memory": kind.MemoryMiB, "count": kind.Count})
			}
			allowed = append(allowed, map[string]any{"group": group.Group, "geometries": instances})
		}
		lists = append(lists, map[string]any{"models": []string{model}, "allowedGeometries": allowed})
	}
	text, err := json.Marshal(map[string]any{"nvidia": map[string]any{"resourceCountName": "volcano.sh/vgpu-number",
		"resourceMemoryName": "volcano.sh/vgpu-memory", "resourceMemoryPercentageName": "volcano.sh/vgpu-memory-percentage",
		"resourceCoreName": "volcano.sh/vgpu-cores", "deviceSplitCount": 10, "deviceMemoryScaling": 1, "deviceCoreScaling": 1,
		"gpuMemoryFactor": 1, "knownMigGeometries": lists}})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func nodeObject(gpus []hardware.GPU) string {
	register := ""
	for _, gpu := range gpus {
		if gpu.MigCapable {
			register += fmt.Sprintf("%s,10,40960,NVIDIA-%s,true,mig:", gpu.UUID, gpu.Name)
		}
	}
	return fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q,"annotations":{"volcano.sh/node-vgpu-register":%q}},"status":{"allocatable":
		{"cpu":"64","memory":"256Gi","pods":"110","volcano.sh/vgpu-number":"70","volcano.sh/vgpu-memory":"409600","volcano.sh/vgpu-cores":"700"}}}`,
		nodeName, register)
}

// put has a pod that was given parts: "GPU-0[group1-3]".
func (n *node) put(name string, claim Claim, parts ...string) {
	n.t.Helper()
	n.lock.Lock()
	n.claims["uid-"+name] = claim
	n.lock.Unlock()
	ids := ""
	for _, part := range parts {
		ids += part + ",NVIDIA,1000,0:"
	}
	n.upsert(fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"namespace":"team","uid":%q,"annotations":{"volcano.sh/vgpu-ids-new":%q,
		"volcano.sh/vgpu-node":%q,"volcano.sh/vgpu-time":"1790000000"}},"spec":{"nodeName":%q,"containers":[{"name":"main","resources":
		{"limits":{"volcano.sh/vgpu-number":"%d","volcano.sh/vgpu-memory":"1000"}}}]},"status":{"phase":"Pending"}}`,
		name, "uid-"+name, ids, nodeName, nodeName, len(parts)))
}

func (n *node) remove(name string) {
	n.t.Helper()
	if err := n.ledger.RemovePod("uid-" + name); err != nil {
		n.t.Fatal(err)
	}
}

// instance asks for a position of a group that the recorded configuration has.
func (n *node) instance(gpu int, group string, position int) (string, error) {
	return n.executor.Instance(background, n.machine.gpus[gpu].UUID, geometry(n.machine.gpus[gpu].Name, group), position)
}

func (n *node) want(gpu int, group string, position int, expected string) {
	n.t.Helper()
	if uuid, err := n.instance(gpu, group, position); err != nil || uuid != expected {
		n.t.Errorf("position %d of %s on GPU %d is %s, error %v; expected %s", position, group, gpu, uuid, err, expected)
	}
}

func (n *node) wantHolds(gpu int, expected ...string) {
	n.t.Helper()
	slices.Sort(expected)
	if holds := n.machine.holds(n.machine.gpus[gpu].UUID); !slices.Equal(holds, expected) {
		n.t.Errorf("GPU %d holds %v, expected %v", gpu, holds, expected)
	}
}

// wantUntouched checks that no changing call was made since the machine was prepared.
func (n *node) wantUntouched() {
	n.t.Helper()
	if len(n.machine.log) != 0 {
		n.t.Errorf("changing calls %v, expected none", n.machine.log)
	}
}

// wantLedger checks that the ledger notes what the machine holds.
func (n *node) wantLedger(gpu int) {
	n.t.Helper()
	if difference := n.ledgerDiffers(gpu); difference != "" {
		n.t.Error(difference)
	}
}

func (n *node) ledgerDiffers(gpu int) string {
	noted, err := n.noted(n.machine.gpus[gpu].UUID)
	if err != nil {
		return err.Error()
	}
	if holds := n.machine.holds(n.machine.gpus[gpu].UUID); !slices.Equal(noted, holds) {
		return fmt.Sprintf("the ledger notes %s of GPU %d, which holds %s", strings.Join(noted, " "), gpu, strings.Join(holds, " "))
	}
	return ""
}

// noted are the instances that the ledger says exist on a GPU, sorted.
func (n *node) noted(gpuUUID string) ([]string, error) {
	where, err := n.ledger.FindNode(nodeName)
	if err != nil {
		return nil, err
	}
	text, err := n.ledger.Layout(where, gpuUUID)
	if err != nil {
		return nil, err
	}
	var layout struct {
		Instances []struct {
			ProfileID uint32 `json:"profile_id"`
			Start     uint32 `json:"start"`
			Exists    bool   `json:"exists"`
		} `json:"instances"`
	}
	if err := json.Unmarshal([]byte(text), &layout); err != nil {
		return nil, err
	}
	var noted []string
	for _, instance := range layout.Instances {
		if instance.Exists {
			noted = append(noted, place{instance.ProfileID, instance.Start}.text())
		}
	}
	slices.Sort(noted)
	return noted, nil
}

func at(profileID, start uint32) place { return place{profileID, start} }
