package allocate

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// answered is what one pod with one container gets.
func (r *rig) answered(waiting *v1.Pod) *pluginapi.ContainerAllocateResponse {
	r.t.Helper()
	r.api.Put(waiting)
	slots, err := volcano.read(waiting.Annotations[volcano.devices])
	if err != nil {
		r.t.Fatal(err)
	}
	ids := make([]string, len(slots[0]))
	for i, entry := range slots[0] {
		ids[i] = entry.UUID + "-0"
	}
	response, err := r.Allocate(r.ctx, number, ids)
	if err != nil {
		r.t.Fatal(err)
	}
	return response
}

func expectEnvs(t *testing.T, response *pluginapi.ContainerAllocateResponse, expected map[string]string) {
	t.Helper()
	envs := maps.Clone(response.Envs)
	if cache, ok := envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"]; ok {
		envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = randomUUID.ReplaceAllString(cache, "random")
	}
	if !maps.Equal(envs, expected) {
		t.Errorf("envs are\n%v, expected\n%v", envs, expected)
	}
}

func expectMounts(t *testing.T, response *pluginapi.ContainerAllocateResponse, expected ...string) {
	t.Helper()
	var mounts []string
	for _, mount := range response.Mounts {
		text := mount.HostPath + " " + mount.ContainerPath
		if mount.ReadOnly {
			text += " ro"
		}
		mounts = append(mounts, text)
	}
	if !slices.Equal(mounts, expected) {
		t.Errorf("mounts are\n%s, expected\n%s", strings.Join(mounts, "\n"), strings.Join(expected, "\n"))
	}
}

func TestHAMiCore(t *testing.T) {
	r := newRig(t)
	r.card.MemoryFactor, r.card.CoreScaling = 10, 1.5
	r.config.Flags.GDRCopy, r.config.Flags.MOFED = true, true
	response := r.answered(pod("p", uuidB+",NVIDIA,300,30:"+uuidA+",NVIDIA,0,0:", 1))
	expectEnvs(t, response, map[string]string{
		visibleDevices: uuidB + "," + uuidA, "CUDA_DEVICE_MEMORY_LIMIT_0": "3000m", "CUDA_DEVICE_MEMORY_LIMIT_1": "0m",
		"CUDA_DEVICE_SM_LIMIT": "30", "CUDA_DEVICE_SM_LIMIT_0": "30", "CUDA_DEVICE_SM_LIMIT_1": "0",
		"CUDA_DEVICE_MEMORY_SHARED_CACHE": "/tmp/vgpu/random.cache", "CUDA_OVERSUBSCRIBE": "true",
		"NVIDIA_GDRCOPY": "enabled", "NVIDIA_MOFED": "enabled"})
	expectMounts(t, response, "/usr/local/vgpu/libvgpu.so /usr/local/vgpu/libvgpu.so ro",
		"/usr/local/vgpu/vgpu/containers/uid-p_c0 /tmp/vgpu", "/tmp/vgpulock /tmp/vgpulock",
		"/usr/local/vgpu/ld.so.preload /etc/ld.so.preload ro")
	if len(response.Devices)+len(response.CdiDevices)+len(response.Annotations) > 0 {
		t.Errorf("expected neither devices nor annotations: %v", response)
	}
	for folder, mode := range map[string]os.FileMode{"/usr/local/vgpu/vgpu/containers": 0o755,
		"/usr/local/vgpu/vgpu/containers/uid-p_c0": 0o777, "/tmp/vgpulock": 0o777} {
		info, err := os.Stat(filepath.Join(r.Root, folder))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, expected mode %o", folder, info, err, mode)
		}
	}
	again := r.answered(pod("q", uuidA+",NVIDIA,1,7:"+uuidB+",NVIDIA,1,7:", 1))
	if again.Envs["CUDA_DEVICE_SM_LIMIT"] != "7" || again.Envs["CUDA_DEVICE_SM_LIMIT_0"] != "" {
		t.Errorf("equal cores need one limit: %v", again.Envs)
	}
	if again.Envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"] == response.Envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"] {
		t.Error("two containers have the same cache")
	}
}

func TestAContainersFolderIsEmpty(t *testing.T) {
	r := newRig(t)
	old := filepath.Join(r.Root, "/usr/local/vgpu/vgpu/containers/uid-p_c0/old.cache")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.answered(pod("p", uuidA+",NVIDIA,1,1:", 1))
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%v: a cache of before is still there", err)
	}
}

func TestKeysOfHAMiCore(t *testing.T) {
	r := newRig(t)
	r.config.Flags.HookPath, r.config.Flags.DisableCoreLimit = "/hook//", true
	r.card.CoreScaling, r.card.MemoryScaling = 1, 2
	response := r.answered(pod("p", uuidA+",NVIDIA,1,1:", 1))
	if response.Envs["GPU_CORE_UTILIZATION_POLICY"] != "disable" || response.Envs["CUDA_OVERSUBSCRIBE"] != "true" {
		t.Errorf("envs: %v", response.Envs)
	}
	expectMounts(t, response, "/hook/libvgpu.so /usr/local/vgpu/libvgpu.so ro", "/hook/vgpu/containers/uid-p_c0 /tmp/vgpu",
		"/tmp/vgpulock /tmp/vgpulock", "/hook/ld.so.preload /etc/ld.so.preload ro")
	r.config.Flags.HookPath = ""
	if response := r.answered(pod("q", uuidA+",NVIDIA,1,1:", 1)); response.Mounts[0].HostPath != "/usr/local/vgpu/libvgpu.so" {
		t.Errorf("without a hook path the library is at %s", response.Mounts[0].HostPath)
	}
}

func TestControlIsLeftOutByItsValue(t *testing.T) {
	r := newRig(t)
	for value, isLoaded := range map[string]bool{"true": false, "1": false, "false": true, "0": true, "": true, "maybe": true} {
		waiting := pod("p"+value, uuidA+",NVIDIA,1,1:", 1)
		waiting.Spec.Containers[0].Env = []v1.EnvVar{{Name: "OTHER", Value: "true"}, {Name: "CUDA_DISABLE_CONTROL", Value: value}}
		mounts := r.answered(waiting).Mounts
		if (mounts[len(mounts)-1].ContainerPath == "/etc/ld.so.preload") != isLoaded {
			t.Errorf("CUDA_DISABLE_CONTROL=%q: mounts %v", value, mounts)
		}
	}
}

func TestWaysToListDevices(t *testing.T) {
	cards := uuidB + ",NVIDIA,1,1:" + uuidA + ",NVIDIA,1,1:" + uuidB + ",NVIDIA,1,1:"
	const prefix = "k8s.device-plugin.nvidia.com/gpu="
	cases := []struct {
		strategies  []string
		id          string
		visible     string
		mounts      string
		cri, values string
	}{
		{nil, "uuid", uuidB + "," + uuidA, "", "", ""},
		{[]string{"envvar"}, "index", "1,0", "", "", ""},
		{[]string{"envvar", "volume-mounts"}, "index", devicesFolder, devicesFolder + "/1," + devicesFolder + "/0", "", ""},
		{[]string{"cdi-cri"}, "uuid", "", "", prefix + uuidB + "," + prefix + uuidA, ""},
		{[]string{"cdi-annotations", "envvar"}, "uuid", uuidB + "," + uuidA, "", "", prefix + uuidB + "," + prefix + uuidA},
	}
	for _, c := range cases {
		r := newRig(t)
		r.config.Flags.DeviceListStrategies, r.config.Flags.DeviceIDStrategy = c.strategies, c.id
		response := r.answered(pod("p", cards, 1))
		var mounts, cri, values []string
		for _, mount := range response.Mounts {
			if mount.HostPath == "/dev/null" {
				mounts = append(mounts, mount.ContainerPath)
			}
		}
		for _, device := range response.CdiDevices {
			cri = append(cri, device.Name)
		}
		for key, value := range response.Annotations {
			if !strings.HasPrefix(key, "cdi.k8s.io/nvidia-device-plugin_") || !randomUUID.MatchString(key) {
				t.Errorf("annotation %s", key)
			}
			values = append(values, value)
		}
		if response.Envs[visibleDevices] != c.visible || strings.Join(mounts, ",") != c.mounts || strings.Join(cri, ",") != c.cri ||
			strings.Join(values, ";") != c.values {
			t.Errorf("%v, %s: %v, mounts %v, devices %v, annotations %v", c.strategies, c.id, response.Envs, mounts, cri, values)
		}
		if response.Envs["CUDA_DEVICE_MEMORY_LIMIT_2"] != "1m" {
			t.Errorf("each entry has its limit: %v", response.Envs)
		}
	}
}

func TestDeviceFiles(t *testing.T) {
	r := newRig(t)
	r.config.Flags.PassDeviceSpecs, r.config.Flags.DriverRoot = true, "/run/nvidia/driver"
	if err := os.MkdirAll(filepath.Join(r.Root, "/dev/nvidiactl"), 0o755); err != nil {
		t.Fatal(err)
	}
	unknown := hardware.GPU{Index: 3, Minor: -1, UUID: "GPU-minor"}
	r.gpus = append(r.gpus, unknown)
	files := func(response *pluginapi.ContainerAllocateResponse) (result []string) {
		for _, device := range response.Devices {
			result = append(result, device.HostPath+" "+device.ContainerPath+" "+device.Permissions)
		}
		return result
	}
	found := files(r.answered(pod("p", uuidB+",NVIDIA,1,1:GPU-other,NVIDIA,1,1:GPU-minor,NVIDIA,1,1:", 1)))
	expected := []string{"/run/nvidia/driver/dev/nvidiactl /dev/nvidiactl rw", "/run/nvidia/driver/dev/nvidia5 /dev/nvidia5 rw"}
	if !slices.Equal(found, expected) {
		t.Errorf("%v, expected %v", found, expected)
	}
	r.config.Flags.DevRoot = "/"
	if found = files(r.answered(pod("q", uuidB+",NVIDIA,1,1:", 1))); found[1] != "/dev/nvidia5 /dev/nvidia5 rw" {
		t.Errorf("--dev-root has no effect: %v", found)
	}
}

func TestMPS(t *testing.T) {
	r := newRig(t)
	r.card.Mode, r.card.MemoryFactor, r.config.Flags.MPSRoot = config.MPS, 2, "/mps-root"
	response := r.answered(pod("p", uuidA+",NVIDIA,2048,50:"+uuidB+",NVIDIA,0,25:"+uuidC+",NVIDIA,1000,0:", 1))
	expectEnvs(t, response, map[string]string{
		visibleDevices: uuidA + "," + uuidB + "," + uuidC, "CUDA_MPS_PIPE_DIRECTORY": "/mps/volcano.sh/vgpu-number/pipe",
		"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4096M,2=2000M", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25"})
	expectMounts(t, response, "/mps-root/volcano.sh/vgpu-number/pipe /mps/volcano.sh/vgpu-number/pipe", "/mps-root/shm /dev/shm")
	if _, err := os.Stat(filepath.Join(r.Root, "/tmp/vgpulock")); !os.IsNotExist(err) {
		t.Errorf("%v: a folder of HAMi-core was made", err)
	}
	r.config.Flags.MPSRoot = ""
	unlimited := r.answered(pod("q", uuidA+",NVIDIA,0,0:", 1))
	if unlimited.Mounts[1].HostPath != "/run/nvidia/mps/shm" || len(unlimited.Envs) != 2 {
		t.Errorf("%v, expected no limits and the daemon's usual folder", unlimited)
	}
}

func TestAResourceThatAnotherPluginSharesByMPS(t *testing.T) {
	r := newRig(t)
	r.config.Flags.SharedByMPS = true
	response := r.answered(pod("p", uuidA+",NVIDIA,1,1:", 1))
	if response.Envs["CUDA_MPS_PIPE_DIRECTORY"] == "" || response.Envs["CUDA_DEVICE_MEMORY_LIMIT_0"] != "1m" || len(response.Mounts) != 6 {
		t.Errorf("%v, expected MPS beside HAMi-core", response)
	}
}

func TestModesOfCards(t *testing.T) {
	r := newRig(t)
	r.cards[uuidB] = config.Card{Mode: config.MIG, MemoryFactor: 1}
	if response := r.answered(pod("p", uuidB+",NVIDIA,1,1:", 1)); len(response.Envs) != 1 || response.Envs[visibleDevices] != uuidB || len(response.Mounts) > 0 {
		t.Errorf("a whole card in mode mig: %v", response)
	}
	if response := r.answered(pod("q", uuidA+",NVIDIA,1,1:", 1)); response.Envs["CUDA_DEVICE_MEMORY_LIMIT_0"] != "1m" {
		t.Errorf("the other card: %v", response.Envs)
	}
}

func TestResourcesThatOnlyCount(t *testing.T) {
	r := newRig(t)
	for _, resource := range []string{"volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"} {
		response, err := r.Allocate(r.ctx, resource, []string{uuidA + "-memory-0"})
		if err != nil || len(response.Envs)+len(response.Mounts) > 0 {
			t.Errorf("%s: %v, %v, expected an empty answer", resource, response, err)
		}
	}
	if log := r.api.Requests(); len(log) > 0 {
		t.Errorf("the API server was asked: %v", log)
	}
}

// TestAFolderIsNewAndOpen: what is in the place of a container's folder goes, and all may write, whatever the umask.
func TestAFolderIsNewAndOpen(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "containers", "uid_c")
	for round := range 2 {
		if err := makeEmpty(folder); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(folder)
		info, statErr := os.Stat(folder)
		if err != nil || statErr != nil || len(entries) > 0 || info.Mode().Perm() != 0o777 {
			t.Errorf("round %d: %v, %v, %v: expected an empty folder for all", round, entries, info, errors.Join(err, statErr))
		}
		if err := os.WriteFile(filepath.Join(folder, "old.cache"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFolderIsNoLink: a link in the place of a folder is refused, and what it points to stays as it is.
func TestAFolderIsNoLink(t *testing.T) {
	target, link := t.TempDir(), filepath.Join(t.TempDir(), "vgpulock")
	if err := errors.Join(os.Chmod(target, 0o700), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := openToAll(link); err == nil {
		t.Error("a link was taken for a folder")
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the link's target is %v, %v", info.Mode(), err)
	}
}
