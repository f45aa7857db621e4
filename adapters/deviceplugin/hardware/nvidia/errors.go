package nvidia

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// Error is a call of NVML that failed. errors.Is finds those of package hardware in it.
type Error struct {
	Call string      // as NVML spells it
	Code nvml.Return // its result
	Text string      // NVML's of that result
}

func (e *Error) Error() string { return e.Call + ": " + e.Text }

// Unwrap is what the result means to callers, or nil.
func (e *Error) Unwrap() error {
	switch e.Code {
	case nvml.ERROR_IN_USE:
		return hardware.ErrInUse
	case nvml.ERROR_INSUFFICIENT_RESOURCES:
		return hardware.ErrNoRoom
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND:
		return hardware.ErrUnsupported
	case nvml.ERROR_GPU_IS_LOST:
		return hardware.ErrLost
	case nvml.ERROR_NOT_FOUND:
		return hardware.ErrUnknown
	case nvml.ERROR_RESET_REQUIRED:
		return hardware.ErrPending
	default:
		return nil
	}
}

// newError copies NVML's text, which is the library's memory.
func newError(api nvml.Interface, call string, code nvml.Return) *Error {
	text := strings.Clone(api.ErrorString(code))
	if text == "" {
		text = fmt.Sprintf("result %d", code)
	}
	return &Error{Call: call, Code: code, Text: text}
}

// failed is nil for a success.
func (l *Library) failed(call string, code nvml.Return) error {
	if code == nvml.SUCCESS {
		return nil
	}
	return newError(l.api, call, code)
}

// absent tells that a GPU has no such thing, which is no failure while one looks through all that there could be.
func absent(code nvml.Return) bool {
	return code == nvml.ERROR_NOT_SUPPORTED || code == nvml.ERROR_INVALID_ARGUMENT || code == nvml.ERROR_NOT_FOUND
}
