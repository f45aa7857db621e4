// Package nvidia answers what the device plugin asks about NVIDIA's GPUs, through NVML (libnvidia-ml.so.1, which comes with the
// driver).
package nvidia

import (
	"errors"
	"fmt"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// ErrClosed is what calls answer after Close.
var ErrClosed = errors.New("the library has been closed")

// Options say where the library is.
type Options struct {
	// Path is that of libnvidia-ml.so.1; empty: where the loader finds it.
	Path string
}

// Library is NVML, initialised. It implements hardware.Library. GPUs named DGX Display, which drive a DGX Station's screens and
// compute nothing, are left out.
type Library struct {
	api nvml.Interface
	mps bool // the driver tells processes that compute through MPS
	// calls is held for reading by every call, so that Close waits for them.
	calls  sync.RWMutex
	closed bool
	// Cards by index as they were last read in full, for one that has been lost since.
	known      map[int]hardware.GPU
	knownMutex sync.Mutex
}

var _ hardware.Library = (*Library)(nil)

// New loads NVML and initialises it. An error says what is missing: library, driver, or functions that this package needs.
func New(options Options) (*Library, error) {
	api, err := acquire(options.Path)
	if err != nil {
		return nil, err
	}
	mps := api.Extensions().LookupSymbol("nvmlDeviceGetMPSComputeRunningProcesses") == nil
	return &Library{api: api, mps: mps, known: map[int]hardware.GPU{}}, nil
}

// Close gives NVML back. Later calls answer ErrClosed; a second Close does nothing.
func (l *Library) Close() error {
	l.calls.Lock()
	defer l.calls.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return release()
}

// begin holds the library open until the function that it returns is called.
func (l *Library) begin() (func(), error) {
	l.calls.RLock()
	if l.closed {
		l.calls.RUnlock()
		return nil, ErrClosed
	}
	return l.calls.RUnlock, nil
}

// open is begin with the handle of a GPU.
func (l *Library) open(uuid string) (device nvml.Device, end func(), err error) {
	if end, err = l.begin(); err != nil {
		return nil, nil, err
	}
	if device, err = l.device(uuid); err != nil {
		end()
		return nil, nil, err
	}
	return device, end, nil
}

// retried runs a call again where somebody has shut NVML down in between.
func (l *Library) retried(call func() nvml.Return) nvml.Return {
	code := call()
	if code != nvml.ERROR_UNINITIALIZED {
		return code
	}
	if code := l.api.Init(); code != nvml.SUCCESS {
		return code
	}
	return call()
}

// device is the handle of a GPU.
func (l *Library) device(uuid string) (nvml.Device, error) {
	var device nvml.Device
	code := l.retried(func() (code nvml.Return) {
		device, code = l.api.DeviceGetHandleByUUID(uuid)
		return code
	})
	if code == nvml.ERROR_NOT_FOUND || code == nvml.ERROR_INVALID_ARGUMENT {
		return nil, fmt.Errorf("GPU %s: %w", uuid, hardware.ErrUnknown)
	}
	if err := l.failed("nvmlDeviceGetHandleByUUID", code); err != nil {
		return nil, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return device, nil
}
