package nvidia

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

func TestAnInstanceIsMadeAtItsPlaceAndDestroyed(t *testing.T) {
	library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0)}})
	late, err := library.CreateInstance(uuidOf(0), 9, 4, 4)
	must(t, err)
	early, err := library.CreateInstance(uuidOf(0), 14, 2, 2)
	must(t, err)
	if early.UUID == "" || early.UUID == late.UUID || !strings.HasPrefix(early.UUID, "MIG-") {
		t.Errorf("uuids %q and %q, expected two of MIG devices", early.UUID, late.UUID)
	}
	instances := instancesOf(t, library, 0)
	if len(instances) != 2 || instances[0].Start != 2 || instances[1].Start != 4 {
		t.Fatalf("instances %+v, expected those at 2 and 4", instances)
	}
	for position, expected := range []hardware.Instance{early, late} {
		if instances[position].UUID != expected.UUID || instances[position].GI != expected.GI || !slices.Equal(instances[position].Compute, []uint32{0}) {
			t.Errorf("instance %+v, expected %+v as it was made", instances[position], expected)
		}
	}
	must(t, library.DestroyInstance(uuidOf(0), early.GI))
	expectCalls(t, machine, "CreateGpuInstance gpu=0 profile=9 -> gi=2 placement=4:4", "CreateComputeInstance gpu=0 gi=2 profile=2 -> ci=0",
		"CreateGpuInstance gpu=0 profile=14 -> gi=4 placement=2:2", "CreateComputeInstance gpu=0 gi=4 profile=1 -> ci=0",
		"ComputeInstanceDestroy gpu=0 gi=4 ci=0", "GpuInstanceDestroy gpu=0 gi=4")
	if err := library.DestroyInstance(uuidOf(0), early.GI); !errors.Is(err, hardware.ErrUnknown) {
		t.Errorf("a second destroy: %v", err)
	}
	again, err := library.CreateInstance(uuidOf(0), 14, 2, 2)
	if err != nil || again.UUID != early.UUID {
		t.Errorf("the same place again has uuid %q, error %v, expected %q", again.UUID, err, early.UUID)
	}
}

func TestUUIDsFollowInstancesWhateverTheOrderOfTheDriver(t *testing.T) {
	state := fake.State{GPUs: []fake.GPU{a100(0)}, Instances: []fake.Instance{{GI: 1, ProfileID: 9, Size: 4}, {GI: 5, ProfileID: 14, Start: 4, Size: 2}, {GI: 13, ProfileID: 19, Start: 6, Size: 1}}}
	state.MigUUIDs = []fake.MigUUID{{GPU: uuidOf(0), GI: 1, ProfileID: 9, UUID: "MIG-three"}, {GPU: uuidOf(0), GI: 5, ProfileID: 14, UUID: "MIG-two"}, {GPU: uuidOf(0), GI: 13, ProfileID: 19, UUID: "MIG-one"}}
	for _, order := range []string{"", "reverse"} {
		state.IndexOrder = order
		library, _ := open(t, state)
		var uuids []string
		for _, instance := range instancesOf(t, library, 0) {
			uuids = append(uuids, instance.UUID)
		}
		if !slices.Equal(uuids, []string{"MIG-three", "MIG-two", "MIG-one"}) {
			t.Errorf("order %q: uuids %v by ascending start", order, uuids)
		}
		must(t, library.Close())
	}
}

func TestWhatTheDriverRefuses(t *testing.T) {
	off := a100(1)
	off.MigEnabled = false
	library, _ := open(t, fake.State{GPUs: []fake.GPU{a100(0), off, t4(2)}})
	_, err := library.CreateInstance(uuidOf(0), 9, 0, 4)
	must(t, err)
	if _, err := library.CreateInstance(uuidOf(0), 19, 3, 1); !errors.Is(err, hardware.ErrNoRoom) {
		t.Errorf("overlap: %v", err)
	}
	if _, err := library.CreateInstance(uuidOf(0), 9, 2, 4); err == nil || errors.Is(err, hardware.ErrNoRoom) {
		t.Errorf("a place that the profile does not have: %v", err)
	}
	if _, err := library.CreateInstance(uuidOf(1), 9, 0, 4); !errors.Is(err, hardware.ErrUnsupported) {
		t.Errorf("MIG is off: %v", err)
	}
	if err := library.SetMigMode(uuidOf(2), true); !errors.Is(err, hardware.ErrUnsupported) {
		t.Errorf("a card without MIG: %v", err)
	}
	if err := library.SetMigMode(uuidOf(0), false); !errors.Is(err, hardware.ErrInUse) {
		t.Errorf("MIG off with an instance: %v", err)
	}
	if instances := instancesOf(t, library, 1); len(instances) != 0 {
		t.Errorf("instances %+v without MIG", instances)
	}
	if instances := instancesOf(t, library, 2); len(instances) != 0 {
		t.Errorf("instances %+v of a card without MIG", instances)
	}
}

func TestTheGPUInstanceGoesWhenItsComputeInstanceFails(t *testing.T) {
	for _, call := range []string{"nvmlGpuInstanceCreateComputeInstance", "nvmlGpuInstanceGetComputeInstanceProfileInfo", "nvmlGpuInstanceGetInfo",
		"nvmlComputeInstanceGetInfo", "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceCreateGpuInstance"} {
		library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0)}})
		must(t, machine.AddFaults(fake.Fault{Call: call, Return: fake.ReturnInsufficientResources}))
		if _, err := library.CreateInstance(uuidOf(0), 9, 0, 4); !errors.Is(err, hardware.ErrNoRoom) {
			t.Errorf("%s fails: %v", call, err)
		}
		state, err := machine.Read()
		if err != nil || len(state.Instances) != 0 {
			t.Errorf("%s fails: instances %+v stay, error %v", call, state.Instances, err)
		}
		must(t, library.Close())
	}
}

func TestARollBackThatFailsIsSaid(t *testing.T) {
	library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0)}})
	must(t, machine.AddFaults(fake.Fault{Call: "nvmlGpuInstanceCreateComputeInstance", Return: fake.ReturnUnknown},
		fake.Fault{Call: "nvmlGpuInstanceDestroy", Return: fake.ReturnInUse}))
	if _, err := library.CreateInstance(uuidOf(0), 9, 0, 4); err == nil || !strings.Contains(err.Error(), "and the GPU instance stays") {
		t.Errorf("error %v", err)
	}
	instances := instancesOf(t, library, 0)
	if len(instances) != 1 || len(instances[0].Compute) != 0 || instances[0].UUID != "" {
		t.Errorf("instances %+v, expected one without compute instance and uuid", instances)
	}
	must(t, machine.ClearFaults())
	must(t, library.DestroyInstance(uuidOf(0), instances[0].GI))
}

func TestABusyInstanceIsNotTouched(t *testing.T) {
	library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0)}, Instances: []fake.Instance{{GI: 1, ProfileID: 9, Size: 4}, {GI: 2, ProfileID: 9, Start: 4, Size: 4}}})
	must(t, machine.MarkBusy(0, 1, true))
	instances := instancesOf(t, library, 0)
	if !instances[0].Busy || instances[1].Busy {
		t.Errorf("instances %+v, expected the first to be busy", instances)
	}
	if err := library.DestroyInstance(uuidOf(0), 1); !errors.Is(err, hardware.ErrInUse) {
		t.Errorf("destroy: %v", err)
	}
	expectCalls(t, machine)
	must(t, machine.MarkBusy(0, 1, false))
	must(t, library.DestroyInstance(uuidOf(0), 1))
}

func TestADestroyThatFailsHalfWayIsTakenBack(t *testing.T) {
	halves := []fake.ComputeInstance{{CI: 0, Profile: 0}, {CI: 1, Profile: 1}}
	for _, fault := range []fake.Fault{{Call: "nvmlGpuInstanceDestroy", Return: fake.ReturnUnknown}, {Call: "nvmlComputeInstanceDestroy", Return: fake.ReturnUnknown, AfterCalls: 1}} {
		library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0)}, Instances: []fake.Instance{{GI: 1, ProfileID: 9, Size: 4, Compute: halves}}})
		before := instancesOf(t, library, 0)
		must(t, machine.AddFaults(fault))
		if err := library.DestroyInstance(uuidOf(0), 1); err == nil || !strings.Contains(err.Error(), "Unknown Error") {
			t.Errorf("%s fails: %v", fault.Call, err)
		}
		after := instancesOf(t, library, 0)
		if len(after) != 1 || after[0].UUID != before[0].UUID || !slices.Equal(after[0].Compute, before[0].Compute) {
			t.Errorf("%s fails: %+v, expected %+v as before", fault.Call, after, before)
		}
		must(t, library.Close())
	}
}

func TestMigModeAtOnceAndPending(t *testing.T) {
	free, held := a100(0), a100(1)
	free.MigEnabled, held.MigEnabled, held.MigNeedsReset = false, false, true
	library, machine := open(t, fake.State{GPUs: []fake.GPU{free, held}})
	must(t, library.SetMigMode(uuidOf(0), true))
	if err := library.SetMigMode(uuidOf(1), true); !errors.Is(err, hardware.ErrPending) {
		t.Errorf("a card that needs a reset: %v", err)
	}
	gpus, err := library.GPUs()
	must(t, err)
	if !gpus[0].MigEnabled || gpus[1].MigEnabled {
		t.Errorf("MIG is on: %v, %v, expected the first alone", gpus[0].MigEnabled, gpus[1].MigEnabled)
	}
	must(t, machine.Reset(1))
	if gpus, err = library.GPUs(); err != nil || !gpus[1].MigEnabled {
		t.Errorf("after the reset %+v, error %v", gpus[1], err)
	}
	expectCalls(t, machine, "SetMigMode gpu=0 mode=1", "SetMigMode gpu=1 mode=1")
}
