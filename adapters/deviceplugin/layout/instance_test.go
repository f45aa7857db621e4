package layout

import (
	"errors"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/vga"
)

// ones are the seven 1g.5gb of group1.
var ones = []place{at(19, 0), at(19, 1), at(19, 2), at(19, 3), at(19, 4), at(19, 5), at(19, 6)}

func refusal(t *testing.T, err error, inUse bool, parts ...string) {
	t.Helper()
	var refused *Refusal
	if !errors.As(err, &refused) || refused.InUse != inUse {
		t.Fatalf("error %v, expected a refusal with InUse %v", err, inUse)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, expected %q in it", err, part)
		}
	}
}

func TestAnEmptyGPUIsCutIntoTheGroup(t *testing.T) {
	n := newNode(t, newMemory(a100, a30), false)
	n.put("p", Waiting, "GPU-0[group2-3]")
	n.want(0, "group2", 3, migUUID("GPU-0", 19, 6))
	n.want(0, "group2", 1, migUUID("GPU-0", 14, 2))
	n.wantHolds(0, "14@0", "14@2", "14@4", "19@6")
	n.wantHolds(1)
	n.wantLedger(0)
	n.want(1, "group2", 1, migUUID("GPU-1", 5, 2))
	if len(n.changes) != 4 || n.changes[0] != "GPU-0 reconfiguring" || n.changes[1] != "GPU-0 in service" {
		t.Errorf("changes %v", n.changes)
	}
}

func TestPositionsCountProfilesByStart(t *testing.T) {
	machine := newMemory(a100) // the driver lists and numbers instances otherwise
	machine.put("GPU-0", at(9, 0), at(19, 5), at(19, 4))
	n := newNode(t, machine, false)
	n.want(0, "rev", 0, migUUID("GPU-0", 19, 4))
	n.want(0, "rev", 1, migUUID("GPU-0", 19, 5))
	n.want(0, "rev", 2, migUUID("GPU-0", 9, 0))
	n.wantUntouched()
}

func TestWhatCannotBeIsRefusedBeforeAnythingIsTouched(t *testing.T) {
	machine := newMemory(a100, "Tesla T4", "NVIDIA L4", a100)
	machine.gpus[3].MigEnabled = false
	machine.put("GPU-0", ones...)
	n := newNode(t, machine, false)
	use := func(gpu int, wanted config.Geometry, position int) error {
		_, err := n.executor.Instance(background, n.machine.gpus[gpu].UUID, wanted, position)
		return err
	}
	refusal(t, use(0, geometry(a100, "group4"), 9), false, `group "group4": got position 9, expected 0 to 0`)
	refusal(t, use(0, geometry(a100, "group4"), -1), false, "got position -1")
	refusal(t, use(0, geometry(a100, "bad"), 0), false, "instances that A100-40GB can have at once")
	refusal(t, use(0, geometry(a100, "unknownprofile"), 0), false, "5g.60gb")
	refusal(t, use(0, config.Geometry{Group: "none"}, 0), false, `profile "none" of model`)
	refusal(t, use(0, config.Geometry{Group: "3g.20gb"}, 64), false, "got start 64")
	refusal(t, use(0, config.Geometry{Instances: geometry(a100, "group1").Instances}, 0), false, "expected a name")
	refusal(t, use(0, config.Geometry{Group: "g", Instances: []config.Profile{{Name: "1g.5gb"}}}, 0), false, "got count 0")
	refusal(t, use(1, geometry(a100, "group1"), 0), false, "Tesla T4 has no MIG")
	refusal(t, use(2, geometry(a100, "group1"), 0), false, "no MIG profiles")
	refusal(t, use(3, geometry(a100, "group1"), 0), false, "MIG is off")
	_, err := n.executor.Instance(background, "GPU-none", geometry(a100, "group1"), 0)
	refusal(t, err, false, "this machine does not have it")
	if !errors.Is(err, hardware.ErrUnknown) {
		t.Error(err)
	}
	n.wantUntouched()
}

func TestAnotherGroupNeedsTheWholeGPU(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", ones...)
	n := newNode(t, machine, false)
	machine.setBusy("GPU-0", at(19, 3), true)
	_, err := n.instance(0, "group3", 1)
	refusal(t, err, true, "1g.5gb@3 (processes)")
	machine.setBusy("GPU-0", at(19, 3), false)
	n.put("p", Answered, "GPU-0[group1-5]")
	_, err = n.instance(0, "group3", 1)
	refusal(t, err, true, "1g.5gb@5 (pod team/p)")
	n.put("p", Waiting, "GPU-0[group1-5]")
	_, err = n.instance(0, "group3", 1)
	refusal(t, err, true, "1g.5gb@5 (pod team/p)")
	n.wantUntouched()
	n.put("p", Over, "GPU-0[group1-5]")
	n.want(0, "group3", 1, migUUID("GPU-0", 9, 4))
	n.wantHolds(0, "9@0", "9@4")
}

func TestWhatWasHandedOutStaysUntilItsPodIsGone(t *testing.T) {
	n := newNode(t, newMemory(a100), false)
	n.want(0, "group1", 2, migUUID("GPU-0", 19, 2)) // its pod is not in the ledger yet
	_, err := n.instance(0, "group3", 0)
	refusal(t, err, true, "1g.5gb@2 (a container that is being started)")
	n.put("p", Waiting, "GPU-0[group1-2]")
	_, err = n.instance(0, "group3", 0)
	refusal(t, err, true, "1g.5gb@2 (pod team/p)")
	n.remove("p")
	n.want(0, "group3", 0, migUUID("GPU-0", 9, 0))
}

func TestAPodThatComesAndGoesBetweenTwoLooksLeavesNothingBehind(t *testing.T) {
	n := newNode(t, newMemory(a100), false)
	n.put("p", Waiting, "GPU-0[group1-2]")
	n.want(0, "group1", 2, migUUID("GPU-0", 19, 2))
	n.put("p", Answered, "GPU-0[group1-2]")
	n.remove("p")
	n.want(0, "group3", 0, migUUID("GPU-0", 9, 0))
	n.wantHolds(0, "9@0", "9@4")
}

func TestTwoGroupsOfOnePodAreNotServedOneAfterTheOther(t *testing.T) { // N27
	n := newNode(t, newMemory(a100), false)
	n.put("p", Waiting, "GPU-0[group1-0]", "GPU-0[group3-1]")
	n.want(0, "group1", 0, migUUID("GPU-0", 19, 0))
	_, err := n.instance(0, "group3", 1)
	refusal(t, err, true, "pod team/p")
	n.wantHolds(0, texts(ones)...)
}

func TestIdleInstancesBesideAGroupGo(t *testing.T) { // N28
	machine := newMemory(a100)
	machine.put("GPU-0", at(9, 0), at(14, 4), at(19, 6))
	n := newNode(t, machine, false)
	n.want(0, "one", 0, migUUID("GPU-0", 9, 0))
	n.wantHolds(0, "9@0")
}

func TestInstancesInUseBesideAGroupStay(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(9, 0), at(14, 4), at(19, 6))
	machine.setBusy("GPU-0", at(14, 4), true)
	n := newNode(t, machine, false)
	n.want(0, "one", 0, migUUID("GPU-0", 9, 0))
	n.wantUntouched()
	_, err := n.instance(0, "group3", 0) // needs the place of the busy one
	refusal(t, err, true, "2g.10gb@4 (processes)")
	n.wantUntouched()
}

func TestAGroupIsCompletedBesideInstancesInUse(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(14, 2), at(19, 4), at(19, 5))
	machine.setBusy("GPU-0", at(14, 2), true)
	n := newNode(t, machine, false)
	n.want(0, "group2", 0, migUUID("GPU-0", 14, 0))
	n.want(0, "group2", 1, migUUID("GPU-0", 14, 2))
	n.want(0, "group2", 3, migUUID("GPU-0", 19, 6))
	n.wantHolds(0, "14@0", "14@2", "14@4", "19@6")
	n.wantLedger(0)
}

func TestAnInstanceThatIsGoneComesBackAtItsPlace(t *testing.T) {
	machine := newMemory(a100)
	n := newNode(t, machine, false)
	n.put("p", Waiting, "GPU-0[rev-1]")
	n.want(0, "rev", 1, migUUID("GPU-0", 19, 5))
	n.put("p", Answered, "GPU-0[rev-1]")
	row, _ := find(machine.instances["GPU-0"], at(19, 4))
	if err := machine.DestroyInstance("GPU-0", row.GI); err != nil {
		t.Fatal(err)
	}
	n.want(0, "rev", 0, migUUID("GPU-0", 19, 4))
	n.want(0, "rev", 1, migUUID("GPU-0", 19, 5))

	row, _ = find(machine.instances["GPU-0"], at(19, 4))
	if err := machine.DestroyInstance("GPU-0", row.GI); err != nil {
		t.Fatal(err)
	}
	again := newNode(t, machine, false) // which does not know which of the two is gone
	again.put("p", Answered, "GPU-0[rev-1]")
	_, err := again.instance(0, "rev", 0)
	refusal(t, err, false, "cannot be told")
}

func TestInstancesAtPlaces(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(19, 0), at(14, 4), at(19, 6))
	n := newNode(t, machine, true)
	n.put("p", Answered, "GPU-0[1g.5gb-0]")
	n.put("q", Waiting, "GPU-0[3g.20gb-4]")
	uuid, err := n.executor.Make(background, "GPU-0", "3g.20gb", 4)
	if err != nil || uuid != migUUID("GPU-0", 9, 4) {
		t.Fatal(uuid, err)
	}
	n.wantHolds(0, "19@0", "9@4")
	n.wantLedger(0)
	if uuid, err := n.executor.Instance(background, "GPU-0", config.Geometry{Group: "1g.5gb"}, 1); err != nil || uuid != migUUID("GPU-0", 19, 1) {
		t.Fatal(uuid, err)
	}
	_, err = n.executor.Make(background, "GPU-0", "4g.20gb", 0)
	refusal(t, err, true, "1g.5gb@0 (pod team/p)")
	_, err = n.executor.Make(background, "GPU-0", "3g.20gb", 1)
	refusal(t, err, false, "a start of it: 0, 4")
	_, err = n.executor.Make(background, "GPU-0", "9g.1gb", 1)
	refusal(t, err, false, "9g.1gb")
	n.wantHolds(0, "19@0", "19@1", "9@4")
}

func TestAFailedStepIsUndone(t *testing.T) {
	machine := newMemory(a100, a100)
	machine.put("GPU-0", ones...)
	n := newNode(t, machine, false)
	machine.fault = func(call, uuid string, where place) error {
		if call == "create" && uuid == "GPU-0" && where == at(9, 4) {
			return hardware.ErrNoRoom
		}
		return nil
	}
	_, err := n.instance(0, "group3", 0)
	var failure *ChangeError
	if !errors.As(err, &failure) || !failure.RolledBack || failure.Step != "create 3g.20gb@4" || !errors.Is(err, hardware.ErrNoRoom) {
		t.Fatalf("error %v, expected a change that was rolled back", err)
	}
	n.wantHolds(0, texts(ones)...)
	n.wantLedger(0)
	if status := n.executor.Status("GPU-0"); status.Service != InService {
		t.Error(status)
	}
	n.want(1, "group3", 0, migUUID("GPU-1", 9, 0))
	machine.fault = nil
	n.want(0, "group3", 0, migUUID("GPU-0", 9, 0))
}

func TestAFailureThatCannotBeUndoneSaysWhatIsThere(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(9, 0), at(9, 4))
	n := newNode(t, machine, false)
	machine.fault = func(call, _ string, _ place) error {
		if call == "create" {
			return hardware.ErrNoRoom
		}
		return nil
	}
	_, err := n.instance(0, "group4", 0)
	var failure *ChangeError
	if !errors.As(err, &failure) || failure.RolledBack || failure.Reached == nil || len(failure.Reached) != 0 {
		t.Fatalf("error %v, expected a change that ended with no instance", err)
	}
	n.wantHolds(0)
	n.wantLedger(0)
	where, _ := n.ledger.FindNode(nodeName)
	if service, _ := n.ledger.ServiceOf(where, "GPU-0"); service != vga.InService { // nobody misses anything
		t.Error(service)
	}
}

func TestAnInstanceThatBecomesBusyStopsTheChange(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", ones...)
	n := newNode(t, machine, false)
	machine.fault = func(call, _ string, where place) error {
		if call == "destroy" && where == at(19, 5) {
			return hardware.ErrInUse
		}
		return nil
	}
	_, err := n.instance(0, "group3", 0)
	var failure *ChangeError
	if !errors.As(err, &failure) || !failure.RolledBack || !errors.Is(err, hardware.ErrInUse) {
		t.Fatal(err)
	}
	n.wantHolds(0, texts(ones)...)
}

func TestAPodThatWaitsForWhatCannotBeTakesNothing(t *testing.T) {
	n := newNode(t, newMemory(a100), false)
	target, err := n.executor.take(background, "GPU-0")
	if err != nil {
		t.Fatal(err)
	}
	defer n.executor.leave(target, nil)
	seen, err := n.executor.look(target)
	if err != nil {
		t.Fatal(err)
	}
	seen.holdings = []holding{{pod: "team/w", profile: "5g.60gb", group: "unknownprofile", claim: Waiting}}
	if used, err := n.executor.usage(target, seen, nil); err != nil || len(used.by) > 0 {
		t.Errorf("%v, %v: expected that nothing is in use", used, err)
	}
	seen.holdings[0].claim = Answered
	if _, err := n.executor.usage(target, seen, nil); err == nil {
		t.Error("a container that was answered with a profile that the model has not is no disagreement")
	}
}
