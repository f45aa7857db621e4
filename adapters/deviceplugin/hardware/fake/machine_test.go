package fake

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
)

func machine(t *testing.T, state State) *Machine {
	t.Helper()
	result, err := New(filepath.Join(t.TempDir(), "state.json"), state)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestNoEditIsLostAmongManyThatWriteAtOnce(t *testing.T) {
	edited := machine(t, State{GPUs: []GPU{{UUID: "GPU-0"}}})
	var writers sync.WaitGroup
	for writer := range 8 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for range 20 {
				if err := Open(edited.Path()).AddEvents(Event{Xid: uint64(writer), Type: EventXid}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	writers.Wait()
	state, err := edited.Read()
	if err != nil || len(state.Events) != 160 {
		t.Fatalf("%d events and error %v, expected 160", len(state.Events), err)
	}
}

func TestAnEditThatFailsChangesNothing(t *testing.T) {
	edited := machine(t, State{GPUs: []GPU{{UUID: "GPU-0"}}})
	refusal := errors.New("no")
	err := edited.Edit(func(state *State) error { state.GPUs = nil; return refusal })
	if !errors.Is(err, refusal) {
		t.Fatalf("error %v, expected that of the function", err)
	}
	if state, err := edited.Read(); err != nil || len(state.GPUs) != 1 {
		t.Fatalf("%d GPUs and error %v, expected the one from before", len(state.GPUs), err)
	}
}

func TestBusyInstancesAreFoundByNumberAndBySlot(t *testing.T) {
	edited := machine(t, State{GPUs: []GPU{{}, {}}, Instances: []Instance{{GPU: 1, GI: 9}, {GPU: 1, GI: 7}, {GPU: 0, GI: 3}}})
	if err := edited.MarkSlotBusy(1, 0); err != nil {
		t.Fatal(err)
	}
	if err := edited.MarkBusy(0, 3, true); err != nil {
		t.Fatal(err)
	}
	if err := edited.MarkSlotBusy(0, 5); err != nil {
		t.Fatalf("a slot that is not there: %v, expected nothing", err)
	}
	if edited.MarkBusy(0, 7, true) == nil {
		t.Fatal("no error for an instance of another card")
	}
	state, err := edited.Read()
	if err != nil {
		t.Fatal(err)
	}
	if state.Instances[0].Busy || !state.Instances[1].Busy || !state.Instances[2].Busy {
		t.Fatalf("busy are %+v, expected GI 7 of GPU 1 and GI 3 of GPU 0", state.Instances)
	}
}

func TestAResetBringsThePendingMode(t *testing.T) {
	pending := true
	edited := machine(t, State{GPUs: []GPU{{MigPending: &pending}, {MigEnabled: true}},
		Instances: []Instance{{GPU: 1, GI: 1, Compute: []ComputeInstance{}}}})
	for index := range 2 {
		if err := edited.Reset(index); err != nil {
			t.Fatal(err)
		}
	}
	state, err := edited.Read()
	if err != nil || !state.GPUs[0].MigEnabled || state.GPUs[0].MigPending != nil {
		t.Fatalf("GPU 0 is %+v, error %v", state.GPUs[0], err)
	}
	if len(state.Instances) != 1 || state.Instances[0].Compute == nil {
		t.Fatalf("instances %+v, expected the one of GPU 1, with an empty list of compute instances", state.Instances)
	}
}
