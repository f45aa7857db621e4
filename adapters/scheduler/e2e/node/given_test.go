package node

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

// said is the log of a container that has one card by HAMi-core: lines as the kubelet keeps them.
func said(lines ...string) string {
	var result strings.Builder
	for _, line := range lines {
		result.WriteString("2026-11-28T22:00:00.000000001Z stdout F " + line + "\n")
	}
	return result.String()
}

var hamiCoreLines = []string{
	"env NVIDIA_VISIBLE_DEVICES=GPU-a", "env CUDA_DEVICE_MEMORY_LIMIT_0=8192m", "env CUDA_DEVICE_SM_LIMIT=25", "env CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/vgpu/x.cache",
	"mount /usr/local/vgpu/libvgpu.so /n/vgpu/libvgpu.so ro", "mount /etc/ld.so.preload /n/vgpu/ld.so.preload ro", "mount /tmp/vgpu /n/vgpu/vgpu/containers/uid_c0 rw",
	"mount /tmp/vgpulock /n/tmp/vgpulock rw",
	"libvgpu device 0: 8192 MiB, 25 % of its multiprocessors, cache /tmp/vgpu/x.cache", "libvgpu cache written", "nvidia-smi GPU-a 8192 MiB NVIDIA A100-SXM4-40GB",
	"cuda 4096 MiB: 0, 4097 MiB more: 2", "end",
}

func TestALogIsReadOnceAllIsSaid(t *testing.T) {
	given, err := readGiven(said(hamiCoreLines...))
	if err != nil || given.Environment["CUDA_DEVICE_SM_LIMIT"] != "25" || given.Mounts["/tmp/vgpu"] != (Mount{Root: "/n/vgpu/vgpu/containers/uid_c0"}) ||
		!slices.Equal(given.Devices, []Seen{{"GPU-a", 8192, "NVIDIA A100-SXM4-40GB"}}) {
		t.Errorf("read %+v, error %v", given, err)
	}
	if _, err := readGiven(said(hamiCoreLines[:5]...)); !errors.Is(err, ErrNotYet) {
		t.Errorf("error %v of a log that ends early, expected ErrNotYet", err)
	}
}

func testNode() (*Node, *corev1.Pod) {
	pod := &corev1.Pod{}
	pod.UID = "uid"
	pod.Spec.Containers = []corev1.Container{{Name: "c0", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"volcano.sh/vgpu-number": resource.MustParse("1")}}}}
	return &Node{Options: Options{Dir: "/n"}}, pod
}

var expectations = Expectations{Modes: map[string]string{"GPU-a": "hami-core", "GPU-m": "mig", "GPU-p": "mps"},
	GPUs: []Seen{{"GPU-a", 40960, "A100"}, {"GPU-m", 40960, "A100"}, {"GPU-p", 40960, "A100"}},
	Devices: map[string]MigDevice{"MIG-1": {Seen: Seen{"MIG-1", 4864, "A100 MIG 1g.5gb"}, GPU: "GPU-m", Instance: fake.Instance{Size: 1}},
		"MIG-3": {Seen: Seen{"MIG-3", 19968, "A100 MIG 3g.20gb"}, GPU: "GPU-m", Instance: fake.Instance{Size: 4}}},
	Profile: func(share Share) (Profile, bool) {
		return Profile{Name: "1g.5gb", MemoryMiB: 5120}, share.Group == "group1"
	}}

func compare(t *testing.T, decision string, lines ...string) []string {
	t.Helper()
	node, pod := testNode()
	pod.Annotations = map[string]string{"volcano.sh/vgpu-ids-new": decision}
	shares, err := Decision(pod, 4)
	if err != nil {
		t.Fatal(err)
	}
	given, err := readGiven(said(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return node.Compare(pod, "c0", shares["c0"], given, expectations)
}

const hamiCoreDecision = "GPU-a,NVIDIA,2048,25:"

func TestWhatWasDecidedIsWhatWasGiven(t *testing.T) {
	if faults := compare(t, hamiCoreDecision, hamiCoreLines...); len(faults) > 0 {
		t.Errorf("faults %q, expected none", faults)
	}
	mig := []string{"env NVIDIA_VISIBLE_DEVICES=MIG-1", "nvidia-smi MIG-1 4864 MiB A100 MIG 1g.5gb", "cuda not limited by a library", "end"}
	if faults := compare(t, "GPU-m[group1-2],NVIDIA,1250,0:", mig...); len(faults) > 0 {
		t.Errorf("faults %q of a MIG device, expected none", faults)
	}
	mps := []string{"env NVIDIA_VISIBLE_DEVICES=GPU-p", "env CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M", "env CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50",
		"env CUDA_MPS_PIPE_DIRECTORY=/mps/volcano.sh/vgpu-number/pipe", "mount /mps/volcano.sh/vgpu-number/pipe /n/run/nvidia/mps/volcano.sh/vgpu-number/pipe rw",
		"mount /dev/shm /n/run/nvidia/mps/shm rw", "nvidia-smi GPU-p 40960 MiB A100", "cuda not limited by a library", "end"}
	if faults := compare(t, "GPU-p,NVIDIA,1024,50:", mps...); len(faults) > 0 {
		t.Errorf("faults %q of MPS, expected none", faults)
	}
}

// Every line that a container says is held against something: with any of them changed or left out there is a fault.
func TestEveryLineCounts(t *testing.T) {
	for i, line := range hamiCoreLines[:len(hamiCoreLines)-1] {
		without := slices.Delete(slices.Clone(hamiCoreLines), i, i+1)
		if len(compare(t, hamiCoreDecision, without...)) == 0 {
			t.Errorf("no fault without line %q", line)
		}
		changed := slices.Clone(hamiCoreLines)
		changed[i] = strings.NewReplacer("8192", "8193", "25", "26", "GPU-a", "GPU-b", "/n/", "/m/", "x.cache", "y.cache", "written", "cannot be written", ": 2", ": 0").Replace(line)
		if len(compare(t, hamiCoreDecision, changed...)) == 0 {
			t.Errorf("no fault with %q instead of %q", changed[i], line)
		}
	}
}

func TestAnotherMigDeviceIsAFault(t *testing.T) {
	for _, lines := range [][]string{
		{"env NVIDIA_VISIBLE_DEVICES=MIG-3", "nvidia-smi MIG-3 19968 MiB A100 MIG 3g.20gb"}, // another profile
		{"env NVIDIA_VISIBLE_DEVICES=MIG-9", "nvidia-smi MIG-9 4864 MiB A100 MIG 1g.5gb"},   // not in the hardware
		{"env NVIDIA_VISIBLE_DEVICES=MIG-1", "nvidia-smi MIG-3 19968 MiB A100 MIG 3g.20gb"},
		{"env NVIDIA_VISIBLE_DEVICES=GPU-m", "nvidia-smi GPU-m 40960 MiB A100"},
		{"env NVIDIA_VISIBLE_DEVICES=MIG-1", "env CUDA_DEVICE_SM_LIMIT=10", "nvidia-smi MIG-1 4864 MiB A100 MIG 1g.5gb"},
	} {
		if len(compare(t, "GPU-m[group1-2],NVIDIA,1250,0:", append(lines, "cuda not limited by a library", "end")...)) == 0 {
			t.Errorf("no fault of %q", lines)
		}
	}
}

func TestDecisionsThatCannotBeReadAreErrors(t *testing.T) {
	for _, text := range []string{"", "GPU-a", "GPU-a,NVIDIA,x,1:", "GPU-a[group],NVIDIA,1,1:", "GPU-a,NVIDIA,1,1:;GPU-a,NVIDIA,1,1:;"} {
		_, pod := testNode()
		pod.Annotations = map[string]string{"volcano.sh/vgpu-ids-new": text}
		if shares, err := Decision(pod, 1); err == nil {
			t.Errorf("%q is read as %v, expected an error", text, shares)
		}
	}
}

// ofHAMiPod is a pod in HAMi's spelling of which the second of two containers asks.
func ofHAMiPod(decision, instances string) *corev1.Pod {
	_, pod := testNode()
	pod.Spec.Containers = []corev1.Container{{Name: "none"}, {Name: "c1", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}}}
	pod.Annotations = map[string]string{"hami.io/vgpu-devices-allocated": decision, "hami.io/vgpu-mig-allocations": instances}
	return pod
}

func TestDecisionsOfHAMi(t *testing.T) {
	const instance = `[{"containerIndex":1,"deviceIndex":0,"gpuUUID":"GPU-m","profile":"1g.10gb","placement":{"start":2,"size":2}}]`
	shares, err := Decision(ofHAMiPod(";GPU-m,NVIDIA,9851,15:;", instance), 1)
	expected := Share{Card: "GPU-m", Profile: "1g.10gb", Position: 2, Slices: 2, MemoryMiB: 9851, Cores: 15}
	if err != nil || len(shares) != 1 || len(shares["c1"]) != 1 || shares["c1"][0] != expected {
		t.Errorf("read %v, error %v, expected %v", shares, err, expected)
	}
	for _, wrong := range []*corev1.Pod{ofHAMiPod("GPU-m,NVIDIA,9851,15:;", ""), ofHAMiPod(";GPU-m,NVIDIA,9851,15:;", "{"),
		ofHAMiPod(";GPU-m,NVIDIA,9851,15:;", strings.Replace(instance, `x":0`, `x":1`, 1)), ofHAMiPod(";GPU-m,NVIDIA,9851,15:;", strings.Replace(instance, `x":1`, `x":2`, 1))} {
		if shares, err := Decision(wrong, 1); err == nil {
			t.Errorf("%v is read as %v, expected an error", wrong.Annotations, shares)
		}
	}
	places := expectations
	places.Profile = func(share Share) (Profile, bool) { return Profile{Name: share.Profile, MemoryMiB: 9851}, true }
	for _, place := range []fake.Instance{{Size: 2, Start: 2}, {Size: 2, Start: 0}, {Size: 1, Start: 2}} {
		places.Devices = map[string]MigDevice{"MIG-2": {Seen: Seen{"MIG-2", 9851, "A100 MIG 1g.10gb"}, GPU: "GPU-m", Instance: place}}
		given, err := readGiven(said("env NVIDIA_VISIBLE_DEVICES=MIG-2", "nvidia-smi MIG-2 9851 MiB A100 MIG 1g.10gb", "cuda not limited by a library", "end"))
		if err != nil {
			t.Fatal(err)
		}
		node, pod := testNode()
		faults := node.Compare(pod, "c1", []Share{expected}, given, places)
		if isRight := place.Size == 2 && place.Start == 2; isRight != (len(faults) == 0) {
			t.Errorf("faults %q of %+v", faults, place)
		}
	}
}
