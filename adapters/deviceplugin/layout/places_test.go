package layout

import (
	"errors"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

func (m *memory) lose(t *testing.T, gpuUUID string, where place) {
	t.Helper()
	instance, is := find(m.instances[gpuUUID], where)
	if !is {
		t.Fatalf("%s has no instance %s", gpuUUID, where.text())
	}
	if err := m.DestroyInstance(gpuUUID, instance.GI); err != nil {
		t.Fatal(err)
	}
}

func TestAPodsInstanceComesBackWhereItWas(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(9, 0), at(19, 4), at(19, 6))
	n := newNode(t, machine, false)
	n.want(0, "rev", 1, migUUID("GPU-0", 19, 6))
	n.put("p", Answered, "GPU-0[rev-1]")
	machine.lose(t, "GPU-0", at(19, 6))
	n.repair()
	n.wantHolds(0, "9@0", "19@4", "19@6")
	machine.lose(t, "GPU-0", at(19, 4))
	machine.lose(t, "GPU-0", at(9, 0))
	n.want(0, "rev", 2, migUUID("GPU-0", 9, 0))
	n.wantHolds(0, "9@0", "19@4", "19@6")
}

func TestAnotherGroupsPodKeepsItsInstance(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(9, 0), at(9, 4))
	n := newNode(t, machine, false)
	n.put("p", Answered, "GPU-0[group3-0]")
	_, err := n.instance(0, "one", 0) // whose only instance would be that of p
	refusal(t, err, true, "3g.20gb@0 (pod team/p)")
	_, err = n.instance(0, "mix", 1)
	refusal(t, err, true, "3g.20gb@0 (pod team/p)")
	n.wantUntouched()
}

func TestADriverThatDoesOtherThanItSaysIsNoticed(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(9, 0), at(9, 4))
	library := &liar{memory: machine}
	n := newNodeOf(t, library, machine.gpus, false)
	_, err := n.executor.Instance(background, "GPU-0", geometry(a100, "group4"), 0)
	var failure *ChangeError
	if !errors.As(err, &failure) || !strings.Contains(err.Error(), "the driver reports success, but the instance is not there") {
		t.Fatalf("error %v, expected the step that was not carried out", err)
	}
	if failure.RolledBack || len(failure.Reached) != 0 {
		t.Errorf("%+v", failure)
	}
}

// liar makes no instance and says that it has.
type liar struct{ *memory }

func (l *liar) CreateInstance(uuid string, profileID, start, size uint32) (hardware.Instance, error) {
	return hardware.Instance{GI: 1, ProfileID: profileID, Start: start, Size: size, Compute: []uint32{0}, UUID: migUUID(uuid, profileID, start)}, nil
}

func TestProfilesAreNamed(t *testing.T) {
	n := newNode(t, newMemory(a100), false)
	for _, row := range []struct {
		model string
		id    uint32
		name  string
	}{{a100, 9, "3g.20gb"}, {a30, 14, "1g.6gb"}, {h100, 15, "1g.20gb"}, {a100, 77, ""}, {"Tesla T4", 0, ""}} {
		if name := n.executor.ProfileName(row.model, row.id); name != row.name {
			t.Errorf("profile %d of %s is %q, expected %q", row.id, row.model, name, row.name)
		}
	}
}
