package allocate

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
)

const hamiResource = "nvidia.com/gpu"

func forHAMi(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.config.HAMiResource = hamiResource
	r.Allocator = New(r.options())
	return r
}

func hamiPod(name, assigned string, containers ...v1.Container) *v1.Pod {
	result := pod(name, "", 1)
	result.Annotations = map[string]string{"hami.io/vgpu-node": "node-a", "hami.io/vgpu-time": "7", "hami.io/bind-phase": "allocating",
		"hami.io/vgpu-devices-to-allocate": assigned}
	result.Spec.Containers = containers
	return result
}

func TestHAMi(t *testing.T) {
	r := forHAMi(t)
	r.card.MemoryFactor = 4 // HAMi writes MiB
	waiting := hamiPod("p", ";"+one(uuidA)+";"+one(uuidB)+";", container("a", 0), container("b", 0))
	waiting.Spec.InitContainers = []v1.Container{{Name: "init"}}
	r.api.Put(waiting)
	node := r.api.Node("node-a")
	node.Annotations = map[string]string{"hami.io/mutex.lock": "2026-01-01T00:00:00Z,team-a,p", "hamivgpu": "2026-01-01T00:00:00Z"}
	r.api.Put(node)
	r.expectRefused("cannot get valid pod", uuidA+"-0") // of Volcano's resource
	first, err := r.Allocate(r.ctx, hamiResource, []string{uuidA + "-0"})
	if err != nil || first.Envs["CUDA_DEVICE_MEMORY_LIMIT_0"] != "100m" ||
		first.Mounts[1].HostPath != "/usr/local/vgpu/vgpu/containers/uid-p_a" {
		t.Fatalf("%v, %v", first, err)
	}
	if r.api.Node("node-a").Annotations["hami.io/mutex.lock"] == "" {
		t.Error("the lock was released before the last container")
	}
	if _, err := r.Allocate(r.ctx, hamiResource, []string{uuidB + "-0"}); err != nil {
		t.Fatal(err)
	}
	annotations := r.api.Pod("team-a", "p").Annotations
	if annotations["hami.io/bind-phase"] != "success" || annotations["hami.io/vgpu-devices-to-allocate"] != ";;;" ||
		annotations["hami.io/vgpu-time"] != "7" {
		t.Errorf("annotations %v", annotations)
	}
	if left := r.api.Node("node-a").Annotations; len(left) != 1 || left["hamivgpu"] == "" {
		t.Errorf("locks %v, expected Volcano's alone", left)
	}
}

func TestMIGDevicesThatHAMiReserved(t *testing.T) {
	const key = "hami.io/vgpu-mig-allocations"
	r := forHAMi(t)
	r.card.Mode = config.MIG
	waiting := hamiPod("p", one(uuidB)+";"+one(uuidA)+one(uuidA)+";", container("a", 0), container("b", 0))
	waiting.Annotations[key] = `[{"containerIndex":1,"deviceIndex":1,"gpuUUID":"` + uuidA + `","profile":"3g.20gb","placement":{"start":4,"size":4}},
		{"containerIndex":1,"deviceIndex":0,"gpuUUID":"` + uuidA + `","profile":"1g.5gb","placement":{"start":0,"size":1}}]`
	r.api.Put(waiting)
	whole, err := r.Allocate(r.ctx, hamiResource, []string{uuidB + "-0"})
	if err != nil || whole.Envs[visibleDevices] != uuidB {
		t.Errorf("a container without reservations: %v, %v", whole, err)
	}
	parts, err := r.Allocate(r.ctx, hamiResource, []string{uuidA + "-0", uuidA + "-1"})
	if err != nil || parts.Envs[visibleDevices] != "MIG-aaaa-1g.5gb-0,MIG-aaaa-3g.20gb-4" {
		t.Errorf("%v, %v", parts, err)
	}
	if calls := []string{uuidA + " 1g.5gb 0", uuidA + " 3g.20gb 4"}; !slices.Equal(r.mig.calls, calls) {
		t.Errorf("%v, expected %v", r.mig.calls, calls)
	}
	for name, text := range map[string]string{
		"json":    `[`,
		"device":  `[{"containerIndex":0,"deviceIndex":1,"gpuUUID":"` + uuidA + `","profile":"1g.5gb"}]`,
		"card":    `[{"containerIndex":0,"deviceIndex":0,"gpuUUID":"` + uuidB + `","profile":"1g.5gb"}]`,
		"profile": `[{"containerIndex":0,"deviceIndex":0,"gpuUUID":"` + uuidA + `","profile":"half"}]`,
		"start":   `[{"containerIndex":0,"deviceIndex":0,"gpuUUID":"` + uuidA + `","profile":"1g.5gb","placement":{"start":-1}}]`,
		"twice": `[{"gpuUUID":"` + uuidA + `","profile":"1g.5gb"},
			{"gpuUUID":"` + uuidA + `","profile":"1g.5gb","placement":{"start":1}}]`,
	} {
		wrong := hamiPod(name, one(uuidA)+";", container("a", 0))
		wrong.Annotations[key] = text
		r.api.Put(wrong)
		if response, err := r.Allocate(r.ctx, hamiResource, []string{uuidA + "-0"}); err == nil {
			t.Errorf("%s: %v", name, response)
		}
		if phase := r.api.Pod("team-a", name).Annotations["hami.io/bind-phase"]; phase != "failed" {
			t.Errorf("%s: the pod's phase is %q", name, phase)
		}
	}
	if len(r.mig.calls) != 2 {
		t.Errorf("%v: something was made for a pod that failed", r.mig.calls)
	}
}
