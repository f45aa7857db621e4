package allocate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

const (
	number = "volcano.sh/vgpu-number"
	uuidA  = "GPU-aaaaaaaa-0000-4000-8000-000000000000"
	uuidB  = "GPU-bbbbbbbb-0000-4000-8000-000000000001"
	uuidC  = "GPU-cccccccc-0000-4000-8000-000000000002"
)

// rig is an Allocator that talks to a stub of the API server over HTTP.
type rig struct {
	*Allocator
	t      *testing.T
	api    *testbed.API
	ctx    context.Context
	config *config.Config
	events *record.FakeRecorder
	card   config.Card // of all cards that cards does not name
	cards  map[string]config.Card
	gpus   []hardware.GPU
	mig    *instances
}

// instances makes MIG devices by name alone.
type instances struct {
	calls []string
	err   error
}

func (i *instances) Instance(_ context.Context, uuid string, geometry config.Geometry, position int) (string, error) {
	i.calls = append(i.calls, fmt.Sprintf("%s %s %d", uuid, geometry.Group, position))
	return fmt.Sprintf("MIG-%s-%s-%d", uuid[4:8], geometry.Group, position), i.err
}

// newRig has three A100s on node-a; the test changes what it needs before it calls begin.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, api: testbed.NewAPI(), events: record.NewFakeRecorder(100), mig: &instances{}, cards: map[string]config.Card{},
		card: config.Card{Mode: config.HAMiCore, SplitCount: 10, MemoryFactor: 1, MemoryScaling: 1, CoreScaling: 1}}
	t.Cleanup(r.api.Close)
	for i, uuid := range []string{uuidA, uuidB, uuidC} {
		r.gpus = append(r.gpus, hardware.GPU{Index: i, Minor: i + 4, UUID: uuid, Name: "NVIDIA A100-SXM4-40GB", MigCapable: true, MigEnabled: true})
	}
	geometries := []config.Geometries{{Models: []string{"A100-SXM4-40GB"}, Groups: []config.Geometry{
		{Group: "group1", Instances: []config.Profile{{Name: "1g.5gb", Count: 7}}},
		{Group: "group2", Instances: []config.Profile{{Name: "2g.10gb", Count: 3}, {Name: "1g.5gb", Count: 1}}}}}}
	r.config = config.New("node-a", config.Flags{CDIAnnotationPrefix: "cdi.k8s.io/", DriverRoot: "/", HookPath: "/usr/local/vgpu"},
		config.Resources{Number: number, Memory: "volcano.sh/vgpu-memory", Cores: "volcano.sh/vgpu-cores"}, geometries,
		func(_ int, uuid string) config.Card {
			if card, ok := r.cards[uuid]; ok {
				return card
			}
			return r.card
		})
	ctx, end := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(end)
	r.ctx = ctx
	r.api.Put(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}})
	r.Allocator = New(r.options())
	return r
}

func (r *rig) options() Options {
	return Options{Config: r.config, GPUs: func() ([]hardware.GPU, error) { return r.gpus, nil }, Client: r.api.Client(),
		Root: r.t.TempDir(), Instances: r.mig, Events: r.events, Retry: 10 * time.Millisecond}
}

// follow has Run follow the pods until the test ends.
func (r *rig) follow() {
	r.t.Helper()
	ctx, end := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := r.Run(ctx); err != nil {
			r.t.Error(err)
		}
	}()
	r.t.Cleanup(func() { end(); <-ended })
	r.wait("the pods are known", r.Synced)
}

func (r *rig) wait(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited 10 s in vain until %s", what)
		}
	}
}

// pod is one that waits for devices of this assignment, with a container that requests them for each slot.
func pod(name, assigned string, since int) *v1.Pod {
	result := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{
			"volcano.sh/bind-phase": "allocating", "volcano.sh/vgpu-node": "node-a", "volcano.sh/vgpu-time": fmt.Sprint(since),
			"volcano.sh/devices-to-allocate": assigned, "volcano.sh/vgpu-ids-new": assigned}},
		Spec:   v1.PodSpec{NodeName: "node-a"},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
	for i, slot := range strings.Split(assigned, ";") {
		result.Spec.Containers = append(result.Spec.Containers, container(fmt.Sprintf("c%d", i), strings.Count(slot, ":")))
	}
	return result
}

func container(name string, devices int) v1.Container {
	result := v1.Container{Name: name}
	if devices > 0 {
		result.Resources.Limits = v1.ResourceList{number: *resource.NewQuantity(int64(devices), resource.DecimalSI)}
	}
	return result
}

// phase is what a pod's annotations say of its allocation: phase, time and what is left.
func (r *rig) phase(name string) string {
	r.t.Helper()
	found := r.api.Pod("team-a", name)
	if found == nil {
		return "gone"
	}
	return fmt.Sprintf("%s %s %q", found.Annotations["volcano.sh/bind-phase"], found.Annotations["volcano.sh/vgpu-time"],
		found.Annotations["volcano.sh/devices-to-allocate"])
}

func (r *rig) expectPhase(name, expected string) {
	r.t.Helper()
	if phase := r.phase(name); phase != expected {
		r.t.Errorf("pod %s: %s, expected %s", name, phase, expected)
	}
}

// folderSuffix is the end of the path of the container's folder in an answer: "<uid>_<container>".
func (r *rig) served(ids ...string) string {
	r.t.Helper()
	response, err := r.Allocate(r.ctx, number, ids)
	if err != nil {
		r.t.Errorf("%v: %v", ids, err)
		return ""
	}
	for _, mount := range response.Mounts {
		if mount.ContainerPath == "/tmp/vgpu" {
			return strings.TrimPrefix(mount.HostPath, "/usr/local/vgpu/vgpu/containers/")
		}
	}
	return response.Envs[visibleDevices]
}

func (r *rig) expectServed(expected string, ids ...string) {
	r.t.Helper()
	if served := r.served(ids...); served != expected {
		r.t.Errorf("%v: %q was served, expected %q", ids, served, expected)
	}
}

func (r *rig) expectRefused(text string, ids ...string) {
	r.t.Helper()
	if response, err := r.Allocate(r.ctx, number, ids); err == nil || !strings.Contains(err.Error(), text) {
		r.t.Errorf("%v: %v, %v, expected an error with %q", ids, response, err, text)
	}
}

// requests are those of the stub with this beginning.
func (r *rig) requests(beginning string) int {
	all := r.api.Requests()
	all = slices.DeleteFunc(all, func(q testbed.Request) bool { return !strings.HasPrefix(q.String(), beginning) })
	return len(all)
}

// knows says whether a version of a pod has been seen.
func (t *table) knows(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.states[uid] != nil
}
