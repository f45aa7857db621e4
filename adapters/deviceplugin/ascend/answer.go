package ascend

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Environment of containers.
const (
	visibleDevices = "ASCEND_VISIBLE_DEVICES"
	vnpuSpecs      = "ASCEND_VNPU_SPECS"
	memoryQuota    = "NPU_MEM_QUOTA" // MiB
	priority       = "NPU_PRIORITY"  // percent
	globalRegistry = "NPU_GLOBAL_SHM_PATH"
	localRegistry  = "NPU_LOCAL_SHM_PATH"
)

// answer is what a container gets: the chips that it was promised, as it was promised them.
func (a *allocator) answer(pod *v1.Pod, slots, slot int, promised []promise) (*pluginapi.ContainerAllocateResponse, error) {
	isSoft := pod.Annotations[modeAnnotation] == softMode
	ids, err := a.chipsOf(promised, isSoft)
	if err != nil {
		return nil, err
	}
	if isSoft != a.config.isSoft && (isSoft || promised[0].runtime.Template != "") {
		return nil, fmt.Errorf("pod annotation %s: %q, but node %s has %s: \"%t\"", modeAnnotation, pod.Annotations[modeAnnotation], a.node,
			softAnnotation, a.config.isSoft)
	}
	response := &pluginapi.ContainerAllocateResponse{Envs: map[string]string{visibleDevices: strings.Join(ids, ",")}}
	if isSoft {
		return response, a.limit(response, pod, slots, slot, promised, ids[0])
	}
	if template := promised[0].runtime.Template; template != "" {
		response.Envs[vnpuSpecs] = template
	}
	return response, nil
}

// chipsOf are the physical ids of what was promised, if all of it is there and is one thing.
func (a *allocator) chipsOf(promised []promise, isSoft bool) ([]string, error) {
	var ids []string
	for i, one := range promised {
		chip, is := a.chips.find(one.UUID)
		if !is {
			return nil, fmt.Errorf("unknown uuid: %s", one.UUID)
		}
		ids = append(ids, strconv.Itoa(int(chip.PhyID)))
		if !chip.isHealthy {
			return nil, fmt.Errorf("uuid %s: the chip is not healthy (%s)", one.UUID, chip.why)
		}
		for _, other := range promised[:i] {
			if other.UUID == one.UUID {
				return nil, fmt.Errorf("uuid %s: promised twice to one container, expected chips that differ", one.UUID)
			}
		}
		if one.problem != nil {
			return nil, one.problem
		}
		if !isSoft && one.runtime.Template != promised[0].runtime.Template {
			return nil, fmt.Errorf("temp: %q and %q in one container, expected one template", promised[0].runtime.Template, one.runtime.Template)
		}
		isLimited := isSoft && one.runtime.Memory != nil || !isSoft && one.runtime.Template != ""
		if !isLimited && one.Memory < a.config.chip.MemoryAllocatable {
			return nil, fmt.Errorf("uuid %s: %d of %d MiB are promised and nothing limits the container to them, expected a template or memory "+
				"for the runtime", one.UUID, one.Memory, a.config.chip.MemoryAllocatable)
		}
	}
	return ids, nil
}

// limit adds what limits a container in software, and makes the container's folder.
func (a *allocator) limit(response *pluginapi.ContainerAllocateResponse, pod *v1.Pod, slots, slot int, promised []promise,
	first string) error {
	name, err := containerOf(pod, slots, slot, a.config.chip.ResourceName)
	if err != nil {
		return err
	}
	number := func(variable string, field func(entry runtimeEntry) *int64) {
		for _, one := range promised {
			if value := field(one.runtime); value != nil {
				response.Envs[variable] = strconv.FormatInt(*value, 10)
				return
			}
		}
	}
	number(memoryQuota, func(entry runtimeEntry) *int64 { return entry.Memory })
	number(priority, func(entry runtimeEntry) *int64 { return entry.Core })
	response.Envs[globalRegistry] = "/hami-shared-region/" + first + "_global_registry"
	response.Envs[localRegistry] = "/hami-vnpu-shmem/vnpu_local_shmem"
	folder := filepath.Join(a.hookPath, "containers", string(pod.UID)+"_"+name)
	if err = openFolder(a.root, folder); err != nil {
		return err
	}
	same := func(path string) *pluginapi.Mount {
		return &pluginapi.Mount{HostPath: path, ContainerPath: path, ReadOnly: true}
	}
	response.Mounts = []*pluginapi.Mount{
		same("/usr/local/bin/npu-smi"),
		same("/etc/ascend_install.info"),
		same("/usr/local/Ascend/driver/lib64/driver"),
		same("/usr/local/Ascend/driver/version.info"),
		{HostPath: softFolder, ContainerPath: "/hami-vnpu-core", ReadOnly: true},
		{HostPath: softFolder + "/ld.so.preload", ContainerPath: "/etc/ld.so.preload", ReadOnly: true},
		{HostPath: sharedRegion, ContainerPath: "/hami-shared-region"},
		{HostPath: folder, ContainerPath: "/hami-vnpu-shmem"},
	}
	return nil
}
