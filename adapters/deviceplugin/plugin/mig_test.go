package plugin_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/hardware/nvidia"
)

// pod is one that the scheduler has just bound to the node.
func pod(name, devices string) *corev1.Pod {
	asked := corev1.ResourceList{"volcano.sh/vgpu-number": resource.MustParse("1"), "volcano.sh/vgpu-memory": resource.MustParse("40")}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID("uid-" + name),
		CreationTimestamp: metav1.Now(), Annotations: map[string]string{"volcano.sh/vgpu-node": "node-a", "volcano.sh/vgpu-time": "1",
			"volcano.sh/bind-phase": "allocating", "volcano.sh/vgpu-mode": "mig", "volcano.sh/vgpu-ids-new": devices,
			"volcano.sh/devices-to-allocate": devices}},
		Spec: corev1.PodSpec{NodeName: "node-a", Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Limits: asked, Requests: asked}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending}}
}

const cutCard = "GPU-00000000-0000-4000-8000-000000000000"

// cutting is a plugin with one card in mode MIG, which the fake NVML holds.
func cutting(t *testing.T, arguments ...string) (*rig, hardware.Library) {
	t.Helper()
	return cuttingCard(t, fake.GPU{UUID: cutCard, Name: "NVIDIA A100-SXM4-40GB", MemoryBytes: 40 << 30, MigCapable: true, MigEnabled: true,
		ComputeCapability: "8.0"}, arguments...)
}

func cuttingCard(t *testing.T, gpu fake.GPU, arguments ...string) (*rig, hardware.Library) {
	t.Helper()
	path := fake.NeedLibrary(t)
	state, err := fake.New(filepath.Join(t.TempDir(), "state.json"), fake.State{GPUs: []fake.GPU{gpu}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fake.Variable, state.Path())
	library, err := nvidia.New(nvidia.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = library.Close() })
	r := newRig(t, nil, deviceConfig, map[string]string{"/config/config.json": `{"nodeconfig":[{"name":"node-a","operatingmode":"mig"}]}`})
	r.library = library
	return r.start(arguments...), library
}

// ofHAMi is a pod that HAMi's scheduler has just bound to the node, with a MIG device of this profile at this place.
func ofHAMi(name, profile string, start int) *corev1.Pod {
	result := pod(name, "")
	const devices = cutCard + ",NVIDIA,4864,15:;"
	asked := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1"), "nvidia.com/gpumem": resource.MustParse("4000")}
	result.Annotations = map[string]string{"hami.io/vgpu-node": "node-a", "hami.io/vgpu-time": "1", "hami.io/bind-phase": "allocating",
		"hami.io/vgpu-devices-allocated": devices, "hami.io/vgpu-devices-to-allocate": devices,
		"hami.io/vgpu-mig-allocations": fmt.Sprintf(`[{"containerIndex":0,"deviceIndex":0,"gpuUUID":%q,"profile":%q,"placement":{"start":%d,"size":1}}]`,
			cutCard, profile, start)}
	result.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: asked, Requests: asked}
	return result
}

// A pod of HAMi holds its MIG device as long as it is there and no longer, whether something runs on the device or not.
func TestPodsOfHAMiHoldTheirInstances(t *testing.T) {
	r, _ := cutting(t, "--scheduler=hami")
	r.wait("HAMi's resource", func() bool { return len(r.kubelet.Lists("nvidia.com/gpu")) > 0 })
	allocate := func(pod *corev1.Pod) error {
		r.api.Put(pod)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := r.kubelet.Allocate(ctx, "nvidia.com/gpu", []string{cutCard + "-0"})
		return err
	}
	if err := allocate(ofHAMi("small", "1g.5gb", 3)); err != nil {
		t.Fatal(err)
	}
	if err := allocate(ofHAMi("refused", "7g.40gb", 0)); err == nil || !strings.Contains(err.Error(), "1g.5gb@3 (pod d/small)") {
		t.Errorf("all of the card while a pod has an instance: %v", err)
	}
	for _, name := range []string{"small", "refused"} {
		r.api.Delete(pod(name, ""))
	}
	if err := allocate(ofHAMi("large", "7g.40gb", 0)); err != nil {
		t.Errorf("all of the card when the pod has gone: %v", err)
	}
}

// TestCutsCards: pods get MIG instances that are made for them; the layout changes once the first pod is gone and not before.
func TestCutsCards(t *testing.T) {
	r, library := cutting(t)
	r.serving()
	const card = cutCard
	allocate := func(name, place string) (string, error) {
		r.api.Put(pod(name, card+"["+place+"],NVIDIA,40,0:"))
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		answer, err := r.kubelet.Allocate(ctx, "volcano.sh/vgpu-number", []string{card + "-0"})
		if err != nil {
			return "", err
		}
		if phase := r.api.Pod("d", name).Annotations["volcano.sh/bind-phase"]; phase != "success" {
			t.Errorf("%s: phase %q", name, phase)
		}
		return answer.ContainerResponses[0].Envs["NVIDIA_VISIBLE_DEVICES"], nil
	}
	instances := func() (starts []uint32) {
		list, err := library.Instances(card)
		if err != nil {
			t.Fatal(err)
		}
		for _, instance := range list {
			starts = append(starts, instance.Size)
		}
		return starts
	}
	uuid, err := allocate("small", "group1-3")
	if err != nil || !strings.HasPrefix(uuid, "MIG-") || len(instances()) == 0 {
		t.Fatalf("%q %v, instances %v", uuid, err, instances())
	}
	if uuid, err := allocate("refused", "group3-0"); err == nil {
		t.Errorf("another layout while a pod holds an instance: %s", uuid)
	}
	if phase := r.api.Pod("d", "refused").Annotations["volcano.sh/bind-phase"]; phase != "failed" {
		t.Errorf("the refused pod's phase is %q", phase)
	}
	for _, name := range []string{"small", "refused"} {
		r.api.Delete(pod(name, ""))
	}
	if uuid, err := allocate("large", "group3-1"); err != nil || !strings.HasPrefix(uuid, "MIG-") {
		t.Errorf("%q %v", uuid, err)
	}
	if sizes := instances(); len(sizes) == 0 || sizes[len(sizes)-1] != 4 {
		t.Errorf("memory slices of the instances %v, expected 3g.20gb", sizes)
	}
	if text := r.registered(); !strings.HasSuffix(text, ",true,mig:") {
		t.Errorf("registered %s", text)
	}
}
