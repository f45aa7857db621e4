package nvidia

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

// The same test is the program that is killed, and then the one that looks.
func TestTheMachineOutlivesAProgramThatIsKilled(t *testing.T) {
	if os.Getenv("VGPUALLOC_TEST_KILLED") != "" {
		library, err := New(Options{Path: fake.NeedLibrary(t)})
		must(t, err)
		_, err = library.CreateInstance(uuidOf(0), 9, 4, 4)
		t.Fatalf("still there, error %v", err)
	}
	for _, example := range []struct {
		fault             fake.Fault
		instances, inside int
	}{
		{fake.Fault{Call: "nvmlDeviceCreateGpuInstance", Kill: fake.KillBefore}, 0, 0},
		{fake.Fault{Call: "nvmlDeviceCreateGpuInstance", Kill: fake.KillAfter}, 1, 0},
		{fake.Fault{Call: "nvmlGpuInstanceCreateComputeInstance", Kill: fake.KillBefore}, 1, 0},
		{fake.Fault{Call: "nvmlGpuInstanceCreateComputeInstance", Kill: fake.KillAfter}, 1, 1},
	} {
		library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0)}, Faults: []fake.Fault{example.fault}})
		program := exec.Command(os.Args[0], "-test.run=^TestTheMachineOutlivesAProgramThatIsKilled$")
		program.Env = append(os.Environ(), "VGPUALLOC_TEST_KILLED=1", fake.LibraryVariable+"="+fake.NeedLibrary(t))
		output, err := program.CombinedOutput()
		status, ok := program.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("%+v: the program ended with %v:\n%s", example.fault, err, output)
		}
		instances := instancesOf(t, library, 0)
		if len(instances) != example.instances || (len(instances) == 1 && len(instances[0].Compute) != example.inside) {
			t.Errorf("%+v left %+v", example.fault, instances)
		}
		must(t, machine.ClearFaults())
		if example.instances == 1 {
			must(t, library.DestroyInstance(uuidOf(0), instances[0].GI))
		}
		must(t, library.Close())
	}
}

func BenchmarkInstances(b *testing.B) {
	state := fake.State{GPUs: []fake.GPU{a100(0)}}
	for place := range uint32(7) {
		state.Instances = append(state.Instances, fake.Instance{GI: 7 + place, ProfileID: 19, Start: place, Size: 1})
	}
	machine, err := fake.New(b.TempDir()+"/state.json", state)
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv(fake.Variable, machine.Path())
	library, err := New(Options{Path: fake.NeedLibrary(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer library.Close()
	for b.Loop() {
		if _, err := library.Instances(uuidOf(0)); err != nil {
			b.Fatal(err)
		}
	}
}
