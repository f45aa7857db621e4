package nvidia

import (
	"errors"
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// GPUs are the cards in the order of their indexes. What of a card cannot be read is in its Fault, and the field is as it was read
// before, if it was. A minor number, compute capability or PCI address that the driver does not say is no fault.
func (l *Library) GPUs() ([]hardware.GPU, error) {
	end, err := l.begin()
	if err != nil {
		return nil, err
	}
	defer end()
	var count int
	code := l.retried(func() (code nvml.Return) {
		count, code = l.api.DeviceGetCount()
		return code
	})
	if err := l.failed("nvmlDeviceGetCount", code); err != nil {
		return nil, err
	}
	gpus := make([]hardware.GPU, 0, count)
	for index := range count {
		if gpu := l.gpu(index); !drivesScreens(gpu.Name) {
			gpus = append(gpus, gpu)
		}
	}
	return gpus, nil
}

func drivesScreens(name string) bool { return name == "NVIDIA DGX Display" || name == "DGX Display" }

// gpu reads one card, with what was known of it where it cannot be read.
func (l *Library) gpu(index int) hardware.GPU {
	l.knownMutex.Lock()
	result, remembered := l.known[index]
	l.knownMutex.Unlock()
	if !remembered {
		result = hardware.GPU{Index: index, Minor: -1}
	}
	result.Fault = nil
	device, code := l.api.DeviceGetHandleByIndex(index)
	if err := l.failed("nvmlDeviceGetHandleByIndex", code); err != nil {
		result.Fault = fmt.Errorf("GPU %d: %w", index, err)
		return result
	}
	result.Fault = l.read(device, &result)
	if result.Fault == nil {
		l.knownMutex.Lock()
		l.known[index] = result
		l.knownMutex.Unlock()
	}
	return result
}

// read fills in what the driver says.
func (l *Library) read(device nvml.Device, gpu *hardware.GPU) error {
	var faults []error
	// note keeps a failure, and tells whether the call has succeeded.
	note := func(call string, code nvml.Return, needed bool) bool {
		if code != nvml.SUCCESS && (needed || code == nvml.ERROR_GPU_IS_LOST) {
			faults = append(faults, fmt.Errorf("GPU %d: %w", gpu.Index, l.failed(call, code)))
		}
		return code == nvml.SUCCESS
	}
	if uuid, code := device.GetUUID(); note("nvmlDeviceGetUUID", code, true) {
		gpu.UUID = uuid
	}
	if name, code := device.GetName(); note("nvmlDeviceGetName", code, true) {
		gpu.Name = name
	}
	if memory, code := device.GetMemoryInfo(); note("nvmlDeviceGetMemoryInfo", code, true) {
		gpu.MemoryBytes = memory.Total
	}
	gpu.Minor = -1
	if minor, code := device.GetMinorNumber(); note("nvmlDeviceGetMinorNumber", code, false) {
		gpu.Minor = minor
	}
	if major, minor, code := device.GetCudaComputeCapability(); note("nvmlDeviceGetCudaComputeCapability", code, false) {
		gpu.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	}
	if pci, code := device.GetPciInfo(); note("nvmlDeviceGetPciInfo", code, false) {
		gpu.PCIBus = pciAddress(pci.BusId[:])
	}
	mode, _, code := device.GetMigMode()
	if code == nvml.ERROR_NOT_SUPPORTED {
		gpu.MigCapable, gpu.MigEnabled = false, false
	} else if note("nvmlDeviceGetMigMode", code, true) {
		gpu.MigCapable, gpu.MigEnabled = true, mode == nvml.DEVICE_MIG_ENABLE
	}
	return errors.Join(faults...)
}

// pciAddress is an address as the kernel spells it, 0000:17:00.0: NVML's domain has eight digits.
func pciAddress(text []uint8) string {
	length := 0
	for length < len(text) && text[length] != 0 {
		length++
	}
	address := strings.ToLower(string(text[:length]))
	if domain, rest, hasDomain := strings.Cut(address, ":"); hasDomain && len(domain) == 8 {
		return strings.TrimPrefix(domain, "0000") + ":" + rest
	}
	return address
}
