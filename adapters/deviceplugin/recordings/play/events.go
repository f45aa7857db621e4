package play

import (
	"context"
	"sync"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// eventful is a library whose watches get the events of a case, whatever came of the registration of cards: the fake library of the
// recordings gave them to every event set.
type eventful struct {
	hardware.Library
	in *cases.Input

	mu        sync.Mutex
	ready     bool
	tried     bool // somebody wanted to watch
	sets      int
	requested int // how often a watch asked for more after its last event
	wakeUp    chan struct{}
}

func newEventful(library hardware.Library, in *cases.Input) *eventful {
	return &eventful{Library: library, in: in, wakeUp: make(chan struct{})}
}

// deliver lets the events come.
func (e *eventful) deliver() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ready {
		e.ready = true
		close(e.wakeUp)
	}
}

// isOver says whether the events have been handled.
func (e *eventful) isOver() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tried && e.requested >= e.sets
}

// Watch is that of the library, with the case's events.
func (e *eventful) Watch(uuids []string) (hardware.Watch, map[string]error, error) {
	watch, problems, err := e.Library.Watch(uuids)
	e.mu.Lock()
	e.tried = true
	if err == nil {
		e.sets++
	}
	e.mu.Unlock()
	if err != nil {
		return watch, problems, err
	}
	return &eventWatch{Watch: watch, of: e}, problems, nil
}

type eventWatch struct {
	hardware.Watch
	of   *eventful
	next int
	over bool
}

// Next is the next event of the case.
func (w *eventWatch) Next(ctx context.Context, wait time.Duration) (hardware.Event, bool, error) {
	select {
	case <-w.of.wakeUp:
	case <-ctx.Done():
		return hardware.Event{}, false, nil
	case <-time.After(wait):
		return hardware.Event{}, false, nil
	}
	if w.next < len(w.of.in.XidEvents) {
		event := w.of.in.XidEvents[w.next]
		w.next++
		kind := map[string]hardware.EventKind{"xid": hardware.XidCritical, "ecc_double": hardware.DoubleBitECC, "ecc_single": hardware.SingleBitECC}[event.Type]
		uuid := ""
		if event.GPU >= 0 && event.GPU < len(w.of.in.GPUs) {
			uuid = w.of.in.GPUs[event.GPU].UUID
		}
		return hardware.Event{UUID: uuid, Kind: kind, Xid: event.Xid}, true, nil
	}
	if !w.over {
		w.over = true
		w.of.mu.Lock()
		w.of.requested++
		w.of.mu.Unlock()
	}
	return w.Watch.Next(ctx, wait)
}
