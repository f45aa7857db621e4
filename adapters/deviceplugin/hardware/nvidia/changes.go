package nvidia

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// CreateInstance makes a GPU instance at a place, in memory slices, and a compute instance that is all of it. With an error
// nothing has been made, as far as the driver could take it back: the error says when it could not.
func (l *Library) CreateInstance(uuid string, profileID, start, size uint32) (hardware.Instance, error) {
	device, end, err := l.open(uuid)
	if err != nil {
		return hardware.Instance{}, err
	}
	defer end()
	// Of the profile NVML takes the number alone.
	profile := nvml.GpuInstanceProfileInfo{Id: profileID}
	place := nvml.GpuInstancePlacement{Start: start, Size: size}
	handle, code := device.CreateGpuInstanceWithPlacement(&profile, &place)
	if err := l.failed("nvmlDeviceCreateGpuInstanceWithPlacement", code); err != nil {
		return hardware.Instance{}, fmt.Errorf("GPU %s, profile %d at %d:%d: %w", uuid, profileID, start, size, err)
	}
	result, err := l.completed(device, handle)
	if err != nil {
		err = fmt.Errorf("GPU %s, profile %d at %d:%d: %w", uuid, profileID, start, size, err)
		if code := handle.Destroy(); code != nvml.SUCCESS {
			err = errors.Join(err, fmt.Errorf("and the GPU instance stays: %w", l.failed("nvmlGpuInstanceDestroy", code)))
		}
		return hardware.Instance{}, err
	}
	return result, nil
}

// completed gives a new GPU instance its compute instance. With an error it has none.
func (l *Library) completed(device nvml.Device, handle nvml.GpuInstance) (hardware.Instance, error) {
	info, code := handle.GetInfo()
	if err := l.failed("nvmlGpuInstanceGetInfo", code); err != nil {
		return hardware.Instance{}, err
	}
	whole, err := l.wholeProfile(handle)
	if err != nil {
		return hardware.Instance{}, err
	}
	part, code := handle.CreateComputeInstance(&whole)
	if err := l.failed("nvmlGpuInstanceCreateComputeInstance", code); err != nil {
		return hardware.Instance{}, err
	}
	partInfo, uuid, err := l.described(device, info.Id, part)
	if err != nil {
		if code := part.Destroy(); code != nvml.SUCCESS {
			err = errors.Join(err, l.failed("nvmlComputeInstanceDestroy", code))
		}
		return hardware.Instance{}, err
	}
	return hardware.Instance{GI: info.Id, ProfileID: info.ProfileId, Start: info.Placement.Start, Size: info.Placement.Size,
		Compute: []uint32{partInfo.Id}, UUID: uuid}, nil
}

// described is what a new compute instance and its MIG device are called.
func (l *Library) described(device nvml.Device, gi uint32, part nvml.ComputeInstance) (nvml.ComputeInstanceInfo, string, error) {
	info, code := part.GetInfo()
	if err := l.failed("nvmlComputeInstanceGetInfo", code); err != nil {
		return info, "", err
	}
	uuids, err := l.migUUIDs(device)
	if err != nil {
		return info, "", err
	}
	if uuids[gi].uuid == "" {
		return info, "", fmt.Errorf("GPU instance %d has no MIG device although it has a compute instance", gi)
	}
	return info, uuids[gi].uuid, nil
}

// wholeProfile is the compute instance profile with the most slices that a GPU instance takes: all of it.
func (l *Library) wholeProfile(of nvml.GpuInstance) (nvml.ComputeInstanceProfileInfo, error) {
	var result nvml.ComputeInstanceProfileInfo
	for profile := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		description, code := of.GetComputeInstanceProfileInfo(profile, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if absent(code) {
			continue
		}
		if err := l.failed("nvmlGpuInstanceGetComputeInstanceProfileInfo", code); err != nil {
			return result, err
		}
		if description.SliceCount > result.SliceCount {
			result = description
		}
	}
	if result.SliceCount == 0 {
		return result, fmt.Errorf("the GPU instance has no profile of compute instances: %w", hardware.ErrUnsupported)
	}
	return result, nil
}

// DestroyInstance destroys an instance on which nothing runs, its compute instances first. With an error the compute instances
// that were already gone have been made again, as far as the driver could: the error says when it could not.
func (l *Library) DestroyInstance(uuid string, gi uint32) error {
	device, end, err := l.open(uuid)
	if err != nil {
		return err
	}
	defer end()
	if err := l.destroy(uuid, device, gi); err != nil {
		return fmt.Errorf("GPU %s, GPU instance %d: %w", uuid, gi, err)
	}
	return nil
}

func (l *Library) destroy(uuid string, device nvml.Device, gi uint32) error {
	handle, code := device.GetGpuInstanceById(int(gi))
	if err := l.failed("nvmlDeviceGetGpuInstanceById", code); err != nil {
		return err
	}
	processes, err := l.processes(uuid, device)
	if err != nil {
		return err
	}
	for _, process := range processes {
		if process.GI == gi {
			return fmt.Errorf("process %d runs on it: %w", process.PID, hardware.ErrInUse)
		}
	}
	parts, err := l.computeInstances(handle)
	if err != nil {
		return err
	}
	for position, part := range parts {
		if code := part.handle.Destroy(); code != nvml.SUCCESS {
			return l.restored(handle, parts[:position], l.failed("nvmlComputeInstanceDestroy", code))
		}
	}
	if code := handle.Destroy(); code != nvml.SUCCESS {
		return l.restored(handle, parts, l.failed("nvmlGpuInstanceDestroy", code))
	}
	return nil
}

// restored makes compute instances again that were destroyed before a failure.
func (l *Library) restored(of nvml.GpuInstance, gone []computeInstance, failure error) error {
	for _, part := range gone {
		profile := nvml.ComputeInstanceProfileInfo{Id: part.info.ProfileId}
		if _, code := of.CreateComputeInstance(&profile); code != nvml.SUCCESS {
			return errors.Join(failure, fmt.Errorf("and compute instance %d is gone: %w", part.info.Id,
				l.failed("nvmlGpuInstanceCreateComputeInstance", code)))
		}
	}
	return failure
}

// SetMigMode switches MIG on or off. ErrPending: the driver has noted it, and it takes a reset of the card.
func (l *Library) SetMigMode(uuid string, enabled bool) error {
	device, end, err := l.open(uuid)
	if err != nil {
		return err
	}
	defer end()
	mode := nvml.DEVICE_MIG_DISABLE
	if enabled {
		mode = nvml.DEVICE_MIG_ENABLE
	}
	activation, code := device.SetMigMode(mode)
	if err := l.failed("nvmlDeviceSetMigMode", code); err != nil {
		return fmt.Errorf("GPU %s: %w", uuid, err)
	}
	current, _, code := device.GetMigMode()
	if err := l.failed("nvmlDeviceGetMigMode", code); err != nil {
		return fmt.Errorf("GPU %s: %w", uuid, err)
	}
	if current != mode {
		return fmt.Errorf("GPU %s: MIG mode: %w (%s)", uuid, hardware.ErrPending, newError(l.api, "nvmlDeviceSetMigMode", activation).Text)
	}
	return nil
}
