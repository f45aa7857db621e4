package nvidia

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/dl"
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
		if err := check(path); err != nil {
			return nil, fmt.Errorf("failed to initialize NVML: %w", err)
		}
		var options []nvml.LibraryOption
		if path != "" {
			options = append(options, nvml.WithLibraryPath(path))
		}
		api = nvml.New(options...)
	}
	if code := api.Init(); code != nvml.SUCCESS {
		return nil, fmt.Errorf("failed to initialize NVML: %w", newError(api, "nvmlInit", code))
	}
	loaded.path, loaded.api = path, api
	loaded.users++
	return api, nil
}

// check loads a library and gives it back: the process would end at a call of a function that it lacks, or wait for a pipe for ever.
func check(path string) error {
	if path == "" {
		path = "libnvidia-ml.so.1"
	}
	if strings.Contains(path, "/") { // the loader looks nowhere else
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("NVML_LIBRARY: %w", err)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("NVML_LIBRARY %s (%s): expected a plain file, the driver's libnvidia-ml.so.1", path, info.Mode())
		}
	}
	library := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	if err := library.Open(); err != nil {
		return err
	}
	for _, symbol := range needed {
		if err := library.Lookup(symbol); err != nil {
			_ = library.Close()
			return fmt.Errorf("%s has no function %s: expected libnvidia-ml.so.1 of a driver that knows MIG", path, symbol)
		}
	}
	return library.Close()
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
	nvmlInit_v2 nvmlShutdown nvmlErrorString nvmlDeviceGetCount_v2
	nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByUUID nvmlDeviceGetUUID nvmlDeviceGetName nvmlDeviceGetMemoryInfo
	nvmlDeviceGetMinorNumber nvmlDeviceGetCudaComputeCapability nvmlDeviceGetPciInfo_v3 nvmlDeviceGetUtilizationRates
	nvmlDeviceGetComputeRunningProcesses nvmlDeviceGetGraphicsRunningProcesses nvmlDeviceGetMigMode nvmlDeviceSetMigMode
	nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetGpuInstanceId nvmlDeviceGetComputeInstanceId
	nvmlDeviceGetDeviceHandleFromMigDeviceHandle nvmlDeviceGetGpuInstanceProfileInfo nvmlDeviceCreateGpuInstanceWithPlacement
	nvmlDeviceGetGpuInstances nvmlDeviceGetGpuInstanceById nvmlGpuInstanceGetInfo nvmlGpuInstanceDestroy
	nvmlGpuInstanceGetComputeInstanceProfileInfo nvmlGpuInstanceGetComputeInstances nvmlGpuInstanceCreateComputeInstance
	nvmlComputeInstanceGetInfo_v2 nvmlComputeInstanceDestroy nvmlEventSetCreate nvmlEventSetWait_v2 nvmlEventSetFree
	nvmlDeviceRegisterEvents nvmlDeviceGetSupportedEventTypes`)
