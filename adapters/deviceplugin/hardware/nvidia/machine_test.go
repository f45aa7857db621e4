package nvidia

import (
	"fmt"
	"path/filepath"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

func uuidOf(index int) string { return fmt.Sprintf("GPU-00000000-0000-4000-8000-00000000000%d", index) }

func a100(index int) fake.GPU {
	return fake.GPU{UUID: uuidOf(index), Name: "NVIDIA A100-SXM4-40GB", MemoryBytes: 40 << 30, Minor: index, ComputeCapability: "8.0",
		PCIBus: fmt.Sprintf("0000:1%d:00.0", index), MigCapable: true, MigEnabled: true}
}

func t4(index int) fake.GPU {
	return fake.GPU{UUID: uuidOf(index), Name: "Tesla T4", MemoryBytes: 15 << 30, Minor: index, ComputeCapability: "7.5",
		PCIBus: fmt.Sprintf("0000:1%d:00.0", index)}
}

// open writes a machine and opens the library on it.
func open(t *testing.T, state fake.State) (*Library, *fake.Machine) {
	t.Helper()
	path := fake.NeedLibrary(t)
	machine, err := fake.New(filepath.Join(t.TempDir(), "state.json"), state)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fake.Variable, machine.Path())
	library, err := New(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := library.Close(); err != nil {
			t.Error(err)
		}
	})
	return library, machine
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func instancesOf(t *testing.T, library *Library, index int) []hardware.Instance {
	t.Helper()
	instances, err := library.Instances(uuidOf(index))
	must(t, err)
	return instances
}

func expectCalls(t *testing.T, machine *fake.Machine, expected ...string) {
	t.Helper()
	calls, err := machine.Calls()
	must(t, err)
	if fmt.Sprint(calls) != fmt.Sprint(expected) {
		t.Fatalf("the driver saw\n%q\nexpected\n%q", calls, expected)
	}
}
