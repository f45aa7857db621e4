package allocate

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/mps"
)

// hasMode says whether some of a container's cards are shared in this way.
func hasMode(parts []part, mode config.Mode) bool {
	for i := range parts {
		if parts[i].card.Mode == mode {
			return true
		}
	}
	return false
}

// memoryMiB is how much memory an entry grants; 0: there is no limit.
func (p *part) memoryMiB(dialect *dialect) int64 {
	if dialect.isInMiB {
		return p.Memory
	}
	return p.Memory * int64(max(1, p.card.MemoryFactor))
}

// addMPS adds how a program reaches the control daemon of MPS. Its folder on the host is the one that NVIDIA's daemon uses for the
// resource.
func (a *Allocator) addMPS(response *pluginapi.ContainerAllocateResponse, resource string, parts []part) {
	if !hasMode(parts, config.MPS) && !a.Config.Flags.SharedByMPS {
		return
	}
	root := a.Config.Flags.MPSRoot
	pipe := path.Join("/mps", resource, "pipe")
	response.Envs["CUDA_MPS_PIPE_DIRECTORY"] = pipe
	response.Mounts = append(response.Mounts,
		&pluginapi.Mount{HostPath: mps.PipeFolder(root, resource), ContainerPath: pipe},
		&pluginapi.Mount{HostPath: mps.SharedMemory(root), ContainerPath: "/dev/shm"})
}

// addLimits adds what keeps a container within its share: HAMi-core's, or MPS's. A MIG device needs neither.
func (a *Allocator) addLimits(response *pluginapi.ContainerAllocateResponse, claim *claim, parts []part) error {
	if hasMode(parts, config.MPS) {
		addMPSLimits(response, claim.dialect, parts)
	}
	if hasMode(parts, config.HAMiCore) {
		return a.addHAMiCore(response, claim, parts)
	}
	return nil
}

// addMPSLimits adds the pinned memory of each device, and the threads of the client: MPS has one number for all devices of a client,
// so the smallest share counts.
func addMPSLimits(response *pluginapi.ContainerAllocateResponse, dialect *dialect, parts []part) {
	var pinned []string
	threads := int64(0)
	ordinals := map[string]int{}
	memory := map[int]int64{}
	for i := range parts {
		ordinal, isSecond := ordinals[parts[i].id]
		if !isSecond {
			ordinal = len(ordinals)
			ordinals[parts[i].id] = ordinal
		}
		memory[ordinal] += parts[i].memoryMiB(dialect)
		if cores := parts[i].Cores; cores > 0 && (threads == 0 || cores < threads) {
			threads = cores
		}
	}
	for ordinal := range len(ordinals) {
		if memory[ordinal] > 0 {
			pinned = append(pinned, fmt.Sprintf("%d=%dM", ordinal, memory[ordinal]))
		}
	}
	if len(pinned) > 0 {
		response.Envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = strings.Join(pinned, ",")
	}
	if threads > 0 {
		response.Envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = strconv.FormatInt(threads, 10)
	}
}

// addHAMiCore adds the limits that HAMi-core's library reads, and the library.
func (a *Allocator) addHAMiCore(response *pluginapi.ContainerAllocateResponse, claim *claim, parts []part) error {
	unique, err := a.randomUUID()
	if err != nil {
		return err
	}
	isOversubscribed, differs := false, false
	for i := range parts {
		response.Envs[fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_%d", i)] = fmt.Sprintf("%dm", parts[i].memoryMiB(claim.dialect))
		differs = differs || parts[i].Cores != parts[0].Cores
		isOversubscribed = isOversubscribed || parts[i].card.CoreScaling > 1 || parts[i].card.MemoryScaling > 1
	}
	response.Envs["CUDA_DEVICE_SM_LIMIT"] = strconv.FormatInt(parts[0].Cores, 10)
	for i := range parts {
		if differs { // where all are equal the one above is enough
			response.Envs[fmt.Sprintf("CUDA_DEVICE_SM_LIMIT_%d", i)] = strconv.FormatInt(parts[i].Cores, 10)
		}
	}
	response.Envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = "/tmp/vgpu/" + unique + ".cache"
	if isOversubscribed {
		response.Envs["CUDA_OVERSUBSCRIBE"] = "true"
	}
	if a.Config.Flags.DisableCoreLimit {
		response.Envs["GPU_CORE_UTILIZATION_POLICY"] = "disable"
	}
	claim.mountsFolder = true
	hook := a.hookPath()
	response.Mounts = append(response.Mounts,
		&pluginapi.Mount{HostPath: path.Join(hook, "libvgpu.so"), ContainerPath: "/usr/local/vgpu/libvgpu.so", ReadOnly: true},
		&pluginapi.Mount{HostPath: a.folderOf(claim), ContainerPath: "/tmp/vgpu"},
		&pluginapi.Mount{HostPath: lockFolder, ContainerPath: lockFolder})
	if !isControlDisabled(claim.container) {
		response.Mounts = append(response.Mounts,
			&pluginapi.Mount{HostPath: path.Join(hook, "ld.so.preload"), ContainerPath: "/etc/ld.so.preload", ReadOnly: true})
	}
	return nil
}

// hookPath is the folder of HAMi-core's library on the host.
func (a *Allocator) hookPath() string {
	if configured := a.Config.Flags.HookPath; configured != "" {
		return path.Clean(configured)
	}
	return hookPathDefault
}

// isControlDisabled says whether a container asks for HAMi-core's library not to be loaded.
func isControlDisabled(container *v1.Container) bool {
	for i := range container.Env {
		if container.Env[i].Name == "CUDA_DISABLE_CONTROL" {
			disabled, err := strconv.ParseBool(container.Env[i].Value)
			return err == nil && disabled
		}
	}
	return false
}
