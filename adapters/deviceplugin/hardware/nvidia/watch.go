package nvidia

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// slice is how long one call of NVML waits: what the end of a context, of the watch or of the library takes at most.
const slice = 200 * time.Millisecond

// pause is kept after a failed wait before the next: a lost card fails every one at once.
const pause = time.Second

// watchedTypes are the events that a card is registered for, those of them that it supports.
const watchedTypes = uint64(nvml.EventTypeXidCriticalError | nvml.EventTypeDoubleBitEccError | nvml.EventTypeSingleBitEccError)

type watch struct {
	library *Library
	mutex   sync.Mutex // for what follows
	set     nvml.EventSet
	closed  bool
	failed  bool // the last wait
}

// Watch registers cards for critical Xids and memory errors. Of a card whose events cannot be had the map says why:
// errors.Is(err, hardware.ErrUnsupported) where the driver cannot register it, and another error where it could not be looked up
// or does not say what it supports.
func (l *Library) Watch(uuids []string) (hardware.Watch, map[string]error, error) {
	end, err := l.begin()
	if err != nil {
		return nil, nil, err
	}
	defer end()
	var set nvml.EventSet
	code := l.retried(func() (code nvml.Return) {
		set, code = l.api.EventSetCreate()
		return code
	})
	if err := l.failed("nvmlEventSetCreate", code); err != nil {
		return nil, nil, err
	}
	refused := map[string]error{}
	for _, uuid := range uuids {
		if err := l.register(set, uuid); err != nil {
			refused[uuid] = err
		}
	}
	return &watch{library: l, set: set}, refused, nil
}

func (l *Library) register(set nvml.EventSet, uuid string) error {
	device, err := l.device(uuid)
	if errors.Is(err, hardware.ErrUnsupported) {
		return errors.New(err.Error()) // for the same reason as below
	}
	if err != nil {
		return err
	}
	supported, code := device.GetSupportedEventTypes()
	if code != nvml.SUCCESS {
		// Not wrapped: a card that does not say what it supports is not one that is too old.
		return fmt.Errorf("GPU %s: nvmlDeviceGetSupportedEventTypes: %s", uuid, newError(l.api, "", code).Text)
	}
	if supported&watchedTypes == 0 {
		return fmt.Errorf("GPU %s: events: %w", uuid, hardware.ErrUnsupported)
	}
	if err := l.failed("nvmlDeviceRegisterEvents", device.RegisterEvents(supported&watchedTypes, set)); err != nil {
		return fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return nil
}

// Next waits for an event; the end of the context is no error. After an error the next call first waits, so that a lost card does
// not make callers spin.
func (w *watch) Next(ctx context.Context, wait time.Duration) (hardware.Event, bool, error) {
	until := time.Now().Add(wait)
	if w.hasFailed() {
		select {
		case <-ctx.Done():
			return hardware.Event{}, false, nil
		case <-time.After(min(wait, pause)):
		}
	}
	for {
		if ctx.Err() != nil {
			return hardware.Event{}, false, nil
		}
		event, ok, err := w.wait(max(0, min(time.Until(until), slice)))
		if ok || err != nil {
			return event, ok, err
		}
		if !time.Now().Before(until) {
			return hardware.Event{}, false, nil
		}
	}
}

func (w *watch) hasFailed() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.failed
}

// wait is one call of NVML.
func (w *watch) wait(duration time.Duration) (hardware.Event, bool, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return hardware.Event{}, false, ErrClosed
	}
	end, err := w.library.begin()
	if err != nil {
		return hardware.Event{}, false, err
	}
	defer end()
	data, code := w.library.api.EventSetWait(w.set, uint32((duration+time.Millisecond-1)/time.Millisecond))
	w.failed = code != nvml.SUCCESS && code != nvml.ERROR_TIMEOUT
	if code == nvml.ERROR_TIMEOUT {
		return hardware.Event{}, false, nil
	}
	if err := w.library.failed("nvmlEventSetWait", code); err != nil {
		return hardware.Event{}, false, err
	}
	event := hardware.Event{UUID: sourceOf(data.Device)}
	switch data.EventType {
	case nvml.EventTypeXidCriticalError:
		event.Kind, event.Xid = hardware.XidCritical, data.EventData
	case nvml.EventTypeDoubleBitEccError:
		event.Kind = hardware.DoubleBitECC
	case nvml.EventTypeSingleBitEccError:
		event.Kind = hardware.SingleBitECC
	default:
		return hardware.Event{}, false, nil
	}
	return event, true, nil
}

// sourceOf is the uuid of the GPU that an event is of, of a MIG device its GPU; empty where it cannot be read.
func sourceOf(device nvml.Device) string {
	uuid, code := device.GetUUID()
	if code != nvml.SUCCESS {
		return ""
	}
	if !strings.HasPrefix(uuid, "MIG-") {
		return uuid
	}
	parent, code := device.GetDeviceHandleFromMigDeviceHandle()
	if code != nvml.SUCCESS {
		return ""
	}
	if uuid, code = parent.GetUUID(); code != nvml.SUCCESS {
		return ""
	}
	return uuid
}

// Close ends the watch; a second one does nothing.
func (w *watch) Close() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	end, err := w.library.begin()
	if err != nil {
		return nil // the library has ended, and its event sets with it
	}
	defer end()
	return w.library.failed("nvmlEventSetFree", w.library.api.EventSetFree(w.set))
}
