package nvidia

import (
	"fmt"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// placements is the function that says where instances of a profile may begin.
const placements = "nvmlDeviceGetGpuInstancePossiblePlacements_v2"

// Profiles is hardware.Profiler's.
func (l *Library) Profiles(uuid string) ([]hardware.Profile, error) {
	if l.api.Extensions().LookupSymbol(placements) != nil {
		return nil, fmt.Errorf("%s: %w", placements, hardware.ErrUnsupported)
	}
	device, err := l.device(uuid)
	if err != nil {
		return nil, err
	}
	var result []hardware.Profile
	for description, err := range l.gpuProfiles(device) {
		if err != nil {
			return nil, err
		}
		places, code := device.GetGpuInstancePossiblePlacements(&description)
		if absent(code) {
			continue
		}
		if err := l.failed(placements, code); err != nil {
			return nil, err
		}
		profile := hardware.Profile{ID: description.Id, MemoryMiB: int64(description.MemorySizeMB), Slices: int(description.SliceCount),
			Instances: int(description.InstanceCount), Multiprocessors: int(description.MultiprocessorCount)}
		for _, place := range places {
			profile.Places = append(profile.Places, hardware.Place{Start: place.Start, Size: place.Size})
		}
		result = append(result, profile)
	}
	return result, nil
}
