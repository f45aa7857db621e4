package model

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// baseResponse names the devices of a container.
func (m *machine) baseResponse(uuids []string) cases.Response {
	s := m.vgpu.settings
	result := cases.Response{Envs: map[string]string{}}
	ids := uuids
	if s.idStrategy == "index" {
		ids = m.indexes(uuids)
	}
	has := func(strategy string) bool { return slices.Contains(s.strategies, strategy) }
	var names []string
	for _, id := range ids {
		names = append(names, "k8s.device-plugin.nvidia.com/gpu="+id)
	}
	if has("envvar") {
		result.Envs["NVIDIA_VISIBLE_DEVICES"] = strings.Join(ids, ",")
	}
	if has("cdi-annotations") && len(names) > 0 {
		result.Annotations = map[string]string{s.cdiPrefix + "nvidia-device-plugin_<random-uuid>": strings.Join(names, ",")}
	}
	if has("cdi-cri") {
		result.CDIDevices = names
	}
	if s.sharing.kind == "mps" {
		root := "/mps/" + s.names[count]
		result.Envs["CUDA_MPS_PIPE_DIRECTORY"] = root + "/pipe"
		result.Mounts = append(result.Mounts,
			cases.Mount{HostPath: s.mpsRoot + "/" + s.names[count] + "/pipe", ContainerPath: root + "/pipe"},
			cases.Mount{HostPath: s.mpsRoot + "/shm", ContainerPath: "/dev/shm"})
	}
	if has("volume-mounts") {
		result.Envs["NVIDIA_VISIBLE_DEVICES"] = "/var/run/nvidia-container-devices"
		for _, id := range ids {
			result.Mounts = append(result.Mounts, cases.Mount{HostPath: "/dev/null", ContainerPath: path.Join("/var/run/nvidia-container-devices", id)})
		}
	}
	for name, on := range s.switches {
		if on {
			result.Envs[name] = "enabled"
		}
	}
	if s.passSpecs {
		result.Devices = m.deviceSpecs(uuids)
	}
	return result
}

// indexes are the NVML indexes of known cards, as texts sorted.
func (m *machine) indexes(uuids []string) []string {
	var result []string
	for _, uuid := range uuids {
		for _, of := range m.vgpu.cards {
			if of.UUID == uuid {
				result = append(result, strconv.Itoa(of.index))
			}
		}
	}
	sort.Strings(result)
	return result
}

func (m *machine) deviceSpecs(uuids []string) []string {
	var result []string
	add := func(node string) {
		result = append(result, path.Join(m.vgpu.settings.driverRoot, node)+"|"+node+"|rw")
	}
	for _, node := range []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"} {
		if slices.Contains(m.in.DevNodes, node) {
			add(node)
		}
	}
	for _, of := range m.vgpu.cards {
		if slices.Contains(uuids, of.UUID) {
			add(fmt.Sprintf("/dev/nvidia%d", of.Minor))
		}
	}
	return result
}

// addHAMiCore adds what the library in the container reads.
func (m *machine) addHAMiCore(response *cases.Response, p *pod, slot int, devices []entry) {
	s := m.vgpu.settings
	for i, e := range devices {
		limit := number(e.fields[2]) * int32(s.factor)
		response.Envs[fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_%d", i)] = fmt.Sprintf("%dm", limit)
	}
	response.Envs["CUDA_DEVICE_SM_LIMIT"] = strconv.Itoa(int(number(devices[0].fields[3])))
	response.Envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = "/tmp/vgpu/<random-uuid>.cache"
	if s.coreScaling > 1 {
		response.Envs["CUDA_OVERSUBSCRIBE"] = "true"
	}
	hook := m.hookPath()
	container := p.Containers[min(slot, len(p.Containers)-1)]
	folder := hook + "/vgpu/containers/" + p.UID + "_" + container.Name
	m.mkdir(folder, "0777")
	m.mkdir("/tmp/vgpulock", "0777")
	response.Mounts = append(response.Mounts,
		cases.Mount{HostPath: hook + "/libvgpu.so", ContainerPath: "/usr/local/vgpu/libvgpu.so", ReadOnly: true},
		cases.Mount{HostPath: folder, ContainerPath: "/tmp/vgpu"},
		cases.Mount{HostPath: "/tmp/vgpulock", ContainerPath: "/tmp/vgpulock"})
	if _, ok := container.Env["CUDA_DISABLE_CONTROL"]; !ok {
		response.Mounts = append(response.Mounts, cases.Mount{HostPath: hook + "/ld.so.preload", ContainerPath: "/etc/ld.so.preload", ReadOnly: true})
	}
}

func (m *machine) hookPath() string {
	hook, _ := m.in.Getenv("HOOK_PATH", "/usr/local/vgpu")
	return hook
}
