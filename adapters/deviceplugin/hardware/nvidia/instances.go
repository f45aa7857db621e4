package nvidia

import (
	"fmt"
	"iter"
	"sort"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// Instances are a card's, by ascending start; none where MIG is off. MIG devices are found by their GPU instance's number, as
// their order is the driver's.
func (l *Library) Instances(uuid string) ([]hardware.Instance, error) {
	device, end, err := l.open(uuid)
	if err != nil {
		return nil, err
	}
	defer end()
	mode, _, code := device.GetMigMode()
	if code == nvml.ERROR_NOT_SUPPORTED || (code == nvml.SUCCESS && mode != nvml.DEVICE_MIG_ENABLE) {
		return nil, nil
	}
	if err := l.failed("nvmlDeviceGetMigMode", code); err != nil {
		return nil, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return l.instances(uuid, device)
}

func (l *Library) instances(uuid string, device nvml.Device) ([]hardware.Instance, error) {
	gpuInstances, err := l.gpuInstances(device)
	if err != nil {
		return nil, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	if len(gpuInstances) == 0 {
		return nil, nil
	}
	uuids, err := l.migUUIDs(device)
	if err != nil {
		return nil, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	processes, err := l.processes(uuid, device)
	if err != nil {
		return nil, err
	}
	busy := map[uint32]bool{}
	for _, process := range processes {
		busy[process.GI] = true
	}
	result := make([]hardware.Instance, 0, len(gpuInstances))
	for number, gpuInstance := range gpuInstances {
		parts, err := l.computeInstances(gpuInstance.handle)
		if err != nil {
			return nil, fmt.Errorf("GPU %s, GPU instance %d: %w", uuid, number, err)
		}
		compute := make([]uint32, 0, len(parts))
		for _, part := range parts {
			compute = append(compute, part.info.Id)
		}
		result = append(result, hardware.Instance{GI: number, ProfileID: gpuInstance.info.ProfileId,
			Start: gpuInstance.info.Placement.Start, Size: gpuInstance.info.Placement.Size, Compute: compute,
			UUID: uuids[number].uuid, Busy: busy[number]})
	}
	sort.Slice(result, func(left, right int) bool {
		if result[left].Start != result[right].Start {
			return result[left].Start < result[right].Start
		}
		return result[left].GI < result[right].GI
	})
	return result, nil
}

type gpuInstance struct {
	handle nvml.GpuInstance
	info   nvml.GpuInstanceInfo
}

// gpuProfiles are the profiles of which a card can have GPU instances. After an error there is none more.
func (l *Library) gpuProfiles(device nvml.Device) iter.Seq2[nvml.GpuInstanceProfileInfo, error] {
	return func(yield func(nvml.GpuInstanceProfileInfo, error) bool) {
		for profile := range nvml.GPU_INSTANCE_PROFILE_COUNT {
			description, code := device.GetGpuInstanceProfileInfo(profile)
			if absent(code) || (code == nvml.SUCCESS && description.InstanceCount == 0) {
				continue
			}
			err := l.failed("nvmlDeviceGetGpuInstanceProfileInfo", code)
			if !yield(description, err) || err != nil {
				return
			}
		}
	}
}

// gpuInstances are a card's by number. One that is destroyed while they are read is left out.
func (l *Library) gpuInstances(device nvml.Device) (map[uint32]gpuInstance, error) {
	result := map[uint32]gpuInstance{}
	for description, err := range l.gpuProfiles(device) {
		if err != nil {
			return nil, err
		}
		handles, code := device.GetGpuInstances(&description)
		if absent(code) {
			continue
		}
		if err := l.failed("nvmlDeviceGetGpuInstances", code); err != nil {
			return nil, err
		}
		for _, handle := range handles {
			info, code := handle.GetInfo()
			if code == nvml.ERROR_NOT_FOUND {
				continue
			}
			if err := l.failed("nvmlGpuInstanceGetInfo", code); err != nil {
				return nil, err
			}
			result[info.Id] = gpuInstance{handle, info}
		}
	}
	return result, nil
}

type computeInstance struct {
	handle nvml.ComputeInstance
	info   nvml.ComputeInstanceInfo
}

// computeInstances are a GPU instance's by ascending number.
func (l *Library) computeInstances(of nvml.GpuInstance) ([]computeInstance, error) {
	var result []computeInstance
	for profile := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		description, code := of.GetComputeInstanceProfileInfo(profile, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if absent(code) || (code == nvml.SUCCESS && description.InstanceCount == 0) {
			continue
		}
		if err := l.failed("nvmlGpuInstanceGetComputeInstanceProfileInfo", code); err != nil {
			return nil, err
		}
		handles, code := of.GetComputeInstances(&description)
		if absent(code) {
			continue
		}
		if err := l.failed("nvmlGpuInstanceGetComputeInstances", code); err != nil {
			return nil, err
		}
		for _, handle := range handles {
			info, code := handle.GetInfo()
			if code == nvml.ERROR_NOT_FOUND {
				continue
			}
			if err := l.failed("nvmlComputeInstanceGetInfo", code); err != nil {
				return nil, err
			}
			result = append(result, computeInstance{handle, info})
		}
	}
	sort.Slice(result, func(left, right int) bool { return result[left].info.Id < result[right].info.Id })
	return result, nil
}

type migDevice struct {
	ci   int
	uuid string
}

// migUUIDs are the uuids of a card's MIG devices by GPU instance, of several in one that of the lowest compute instance.
func (l *Library) migUUIDs(device nvml.Device) (map[uint32]migDevice, error) {
	count, code := device.GetMaxMigDeviceCount()
	if err := l.failed("nvmlDeviceGetMaxMigDeviceCount", code); err != nil {
		return nil, err
	}
	result := map[uint32]migDevice{}
	for index := range count {
		handle, code := device.GetMigDeviceHandleByIndex(index)
		if absent(code) {
			continue
		}
		if err := l.failed("nvmlDeviceGetMigDeviceHandleByIndex", code); err != nil {
			return nil, err
		}
		gi, code := handle.GetGpuInstanceId()
		if err := l.failed("nvmlDeviceGetGpuInstanceId", code); err != nil {
			return nil, err
		}
		ci, code := handle.GetComputeInstanceId()
		if err := l.failed("nvmlDeviceGetComputeInstanceId", code); err != nil {
			return nil, err
		}
		uuid, code := handle.GetUUID()
		if err := l.failed("nvmlDeviceGetUUID", code); err != nil {
			return nil, err
		}
		if other, known := result[uint32(gi)]; !known || ci < other.ci {
			result[uint32(gi)] = migDevice{ci, uuid}
		}
	}
	return result, nil
}
