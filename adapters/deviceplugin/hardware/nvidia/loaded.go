package nvidia

import (
	"fmt"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// loaded is NVML as this process has it. go-nvml keeps what it found in a library in variables of its own package, which loading
// another one overwrites; so a process has one at a time, which all that use it share.
var loaded struct {
	sync.Mutex
	path  string
	api   nvml.Interface
	users int
}

// acquire loads and initialises the library, or shares the one that is there.
func acquire(path string) (nvml.Interface, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.users > 0 && loaded.path != path {
		return nil, fmt.Errorf("failed to initialize NVML: path %q, but this process uses %q", path, loaded.path)
	}
	api := loaded.api
	if loaded.users == 0 {
		var options []nvml.LibraryOption
		if path != "" {
			options = append(options, nvml.WithLibraryPath(path))
		}
		api = nvml.New(options...)
	}
	if code := api.Init(); code != nvml.SUCCESS {
		return nil, fmt.Errorf("failed to initialize NVML: %w", newError(api, "nvmlInit", code))
	}
	for _, symbol := range needed {
		if err := api.Extensions().LookupSymbol(symbol); err != nil {
			api.Shutdown()
			return nil, fmt.Errorf("failed to initialize NVML: the driver's library is too old: %w", err)
		}
	}
	loaded.path, loaded.api = path, api
	loaded.users++
	return api, nil
}

// release is the end of what one acquire gave.
func release() error {
	loaded.Lock()
	defer loaded.Unlock()
	code := loaded.api.Shutdown()
	if loaded.users--; loaded.users == 0 {
		loaded.api = nil
	}
	if code == nvml.SUCCESS || code == nvml.ERROR_UNINITIALIZED {
		return nil
	}
	return fmt.Errorf("nvmlShutdown: result %d", code)
}

// needed are the functions without which the process would end at the call, as go-nvml binds them when they are first called.
var needed = strings.Fields(`
	nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByUUID nvmlDeviceGetUUID nvmlDeviceGetName nvmlDeviceGetMemoryInfo
	nvmlDeviceGetMinorNumber nvmlDeviceGetCudaComputeCapability nvmlDeviceGetPciInfo_v3 nvmlDeviceGetUtilizationRates
	nvmlDeviceGetComputeRunningProcesses nvmlDeviceGetGraphicsRunningProcesses nvmlDeviceGetMigMode nvmlDeviceSetMigMode
	nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetGpuInstanceId nvmlDeviceGetComputeInstanceId
	nvmlDeviceGetDeviceHandleFromMigDeviceHandle nvmlDeviceGetGpuInstanceProfileInfo nvmlDeviceCreateGpuInstanceWithPlacement
	nvmlDeviceGetGpuInstances nvmlDeviceGetGpuInstanceById nvmlGpuInstanceGetInfo nvmlGpuInstanceDestroy
	nvmlGpuInstanceGetComputeInstanceProfileInfo nvmlGpuInstanceGetComputeInstances nvmlGpuInstanceCreateComputeInstance
	nvmlComputeInstanceGetInfo_v2 nvmlComputeInstanceDestroy nvmlEventSetCreate nvmlEventSetWait_v2 nvmlEventSetFree
	nvmlDeviceRegisterEvents nvmlDeviceGetSupportedEventTypes`)
