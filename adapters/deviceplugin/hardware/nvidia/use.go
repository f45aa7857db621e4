package nvidia

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// Use is the memory in use on the whole card, and its SM utilisation: 0 where the driver does not measure it, as with MIG.
func (l *Library) Use(uuid string) (hardware.Use, error) {
	device, end, err := l.open(uuid)
	if err != nil {
		return hardware.Use{}, err
	}
	defer end()
	memory, code := device.GetMemoryInfo()
	if err := l.failed("nvmlDeviceGetMemoryInfo", code); err != nil {
		return hardware.Use{}, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	rates, code := device.GetUtilizationRates()
	if code == nvml.ERROR_NOT_SUPPORTED {
		return hardware.Use{MemoryBytes: memory.Used}, nil
	}
	if err := l.failed("nvmlDeviceGetUtilizationRates", code); err != nil {
		return hardware.Use{}, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return hardware.Use{MemoryBytes: memory.Used, SMPercent: rates.Gpu}, nil
}

// Processes are those that compute, draw, or compute through MPS on a card or on an instance of it. The number is the host's.
func (l *Library) Processes(uuid string) ([]hardware.Process, error) {
	device, end, err := l.open(uuid)
	if err != nil {
		return nil, err
	}
	defer end()
	return l.processes(uuid, device)
}

func (l *Library) processes(uuid string, device nvml.Device) ([]hardware.Process, error) {
	type kind struct {
		call string
		list func() ([]nvml.ProcessInfo, nvml.Return)
	}
	kinds := []kind{{"nvmlDeviceGetComputeRunningProcesses", device.GetComputeRunningProcesses},
		{"nvmlDeviceGetGraphicsRunningProcesses", device.GetGraphicsRunningProcesses}}
	if l.mps {
		kinds = append(kinds, kind{"nvmlDeviceGetMPSComputeRunningProcesses", device.GetMPSComputeRunningProcesses})
	}
	var processes []hardware.Process
	seen := map[[2]uint32]bool{}
	for _, kind := range kinds {
		list, code := kind.list()
		if code == nvml.ERROR_NOT_SUPPORTED {
			continue
		}
		if err := l.failed(kind.call, code); err != nil {
			return nil, fmt.Errorf("GPU %s: %w", uuid, err)
		}
		for _, running := range list {
			key := [2]uint32{running.Pid, running.GpuInstanceId}
			if seen[key] {
				continue
			}
			seen[key] = true
			process := hardware.Process{PID: running.Pid, GI: running.GpuInstanceId, MemoryBytes: running.UsedGpuMemory}
			if process.MemoryBytes == notAvailable {
				process.MemoryBytes = 0
			}
			processes = append(processes, process)
		}
	}
	return processes, nil
}

// notAvailable is NVML's number for memory that it cannot tell.
const notAvailable = ^uint64(0)
