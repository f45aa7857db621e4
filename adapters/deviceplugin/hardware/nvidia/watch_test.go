package nvidia

import (
	"context"
	"errors"
	"testing"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

// nextOf waits for an event that must come.
func nextOf(t *testing.T, watch hardware.Watch) hardware.Event {
	t.Helper()
	event, ok, err := watch.Next(t.Context(), 2*time.Second)
	if err != nil || !ok {
		t.Fatalf("no event, error %v", err)
	}
	return event
}

func TestEventsReachEveryWatchOfTheirCard(t *testing.T) {
	library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0), t4(1)}, Events: []fake.Event{{GPU: 0, Xid: 13, Type: fake.EventXid}}})
	both, refused, err := library.Watch([]string{uuidOf(0), uuidOf(1)})
	if err != nil || len(refused) != 0 {
		t.Fatalf("refused %v, error %v", refused, err)
	}
	second, _, err := library.Watch([]string{uuidOf(1)})
	must(t, err)
	must(t, machine.AddEvents(fake.Event{GPU: 0, Xid: 79, Type: fake.EventXid}, fake.Event{GPU: 1, Type: fake.EventECCDouble},
		fake.Event{GPU: 1, Type: fake.EventECCSingle}, fake.Event{GPU: -1, Xid: 48, Type: fake.EventXid}))
	expected := []hardware.Event{{UUID: uuidOf(0), Xid: 79}, {UUID: uuidOf(1), Kind: hardware.DoubleBitECC}, {UUID: uuidOf(1), Kind: hardware.SingleBitECC}, {Xid: 48}}
	for _, event := range expected {
		if seen := nextOf(t, both); seen != event {
			t.Errorf("event %+v, expected %+v", seen, event)
		}
	}
	for _, event := range expected[1:] {
		if seen := nextOf(t, second); seen != event {
			t.Errorf("event %+v of the second card's watch, expected %+v", seen, event)
		}
	}
	if event, ok, err := both.Next(t.Context(), 20*time.Millisecond); ok || err != nil {
		t.Errorf("event %+v, error %v when there is none", event, err)
	}
	must(t, both.Close())
	must(t, both.Close())
	must(t, second.Close())
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	library, _ := open(t, fake.State{GPUs: []fake.GPU{t4(0)}})
	watch, _, err := library.Watch([]string{uuidOf(0)})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, ok, err := watch.Next(ctx, time.Minute); ok || err != nil {
		t.Errorf("event %v, error %v", ok, err)
	}
	if waited := time.Since(began); waited > 5*time.Second {
		t.Errorf("the wait took %v", waited)
	}
}

func TestWhyACardCannotBeWatched(t *testing.T) {
	for _, example := range []struct {
		call        string
		code        int
		unsupported bool
	}{
		{"nvmlDeviceRegisterEvents", fake.ReturnNotSupported, true},
		{"nvmlDeviceRegisterEvents", fake.ReturnGPUIsLost, false},
		{"nvmlDeviceGetSupportedEventTypes", fake.ReturnNotSupported, false},
		{"nvmlDeviceGetSupportedEventTypes", fake.ReturnUnknown, false},
		{"nvmlDeviceGetHandleByUUID", fake.ReturnNotSupported, false},
	} {
		library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0), t4(1)}})
		must(t, machine.AddFaults(fake.Fault{Call: example.call, GPU: uuidOf(1), Return: example.code}))
		watch, refused, err := library.Watch([]string{uuidOf(0), uuidOf(1)})
		must(t, err)
		if len(refused) != 1 || refused[uuidOf(1)] == nil || errors.Is(refused[uuidOf(1)], hardware.ErrUnsupported) != example.unsupported {
			t.Errorf("%s = %d: refused %v", example.call, example.code, refused)
		}
		must(t, watch.Close())
		must(t, library.Close())
	}
	library, machine := open(t, fake.State{GPUs: []fake.GPU{t4(0)}})
	must(t, machine.AddFaults(fake.Fault{Call: "nvmlEventSetCreate", Return: fake.ReturnNotSupported}))
	if _, _, err := library.Watch([]string{uuidOf(0)}); !errors.Is(err, hardware.ErrUnsupported) {
		t.Errorf("no event sets: %v", err)
	}
}

func TestALostCardMakesNoCallerSpin(t *testing.T) {
	library, machine := open(t, fake.State{GPUs: []fake.GPU{t4(0)}})
	watch, _, err := library.Watch([]string{uuidOf(0)})
	must(t, err)
	must(t, machine.EditGPU(0, func(gpu *fake.GPU) { gpu.Lost = true }))
	began := time.Now()
	for range 3 {
		if _, _, err := watch.Next(t.Context(), 50*time.Millisecond); !errors.Is(err, hardware.ErrLost) {
			t.Errorf("error %v", err)
		}
	}
	if waited := time.Since(began); waited < 90*time.Millisecond {
		t.Errorf("three errors in %v, expected a pause before the second and the third", waited)
	}
	must(t, machine.EditGPU(0, func(gpu *fake.GPU) { gpu.Lost = false }))
	must(t, machine.AddEvents(fake.Event{Xid: 62, Type: fake.EventXid}))
	if event := nextOf(t, watch); event.Xid != 62 {
		t.Errorf("event %+v after the card came back", event)
	}
}
