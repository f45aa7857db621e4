package nvidia

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

func TestGPUsAreReadInTheOrderOfTheirIndexes(t *testing.T) {
	screens := t4(2)
	screens.Name = "NVIDIA DGX Display"
	library, _ := open(t, fake.State{GPUs: []fake.GPU{t4(0), a100(1), screens, t4(3)}})
	gpus, err := library.GPUs()
	must(t, err)
	expected := []hardware.GPU{
		{Index: 0, UUID: uuidOf(0), Name: "Tesla T4", MemoryBytes: 15 << 30, Minor: 0, ComputeCapability: "7.5", PCIBus: "0000:10:00.0"},
		{Index: 1, UUID: uuidOf(1), Name: "NVIDIA A100-SXM4-40GB", MemoryBytes: 40 << 30, Minor: 1, ComputeCapability: "8.0",
			PCIBus: "0000:11:00.0", MigCapable: true, MigEnabled: true},
		{Index: 3, UUID: uuidOf(3), Name: "Tesla T4", MemoryBytes: 15 << 30, Minor: 3, ComputeCapability: "7.5", PCIBus: "0000:13:00.0"},
	}
	if len(gpus) != len(expected) {
		t.Fatalf("%d GPUs, expected 3: the one that drives screens is left out", len(gpus))
	}
	for position, gpu := range gpus {
		if gpu != expected[position] {
			t.Errorf("GPU %+v, expected %+v", gpu, expected[position])
		}
	}
}

func TestACardWithoutAMinorNumberIsKept(t *testing.T) {
	without := t4(0)
	without.Minor = -1
	library, _ := open(t, fake.State{GPUs: []fake.GPU{without}})
	gpus, err := library.GPUs()
	must(t, err)
	if len(gpus) != 1 || gpus[0].Minor != -1 || gpus[0].Fault != nil {
		t.Fatalf("GPUs %+v, expected one with minor -1 and no fault", gpus)
	}
}

func TestOneSickCardLeavesTheOthersAlone(t *testing.T) {
	for _, call := range []string{"nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMigMode"} {
		for _, code := range []int{fake.ReturnUnknown, fake.ReturnGPUIsLost} {
			library, machine := open(t, fake.State{GPUs: []fake.GPU{t4(0), a100(1)}})
			must(t, machine.AddFaults(fake.Fault{Call: call, GPU: uuidOf(1), Return: code}))
			gpus, err := library.GPUs()
			must(t, err)
			if len(gpus) != 2 || gpus[0].Fault != nil || gpus[1].Fault == nil {
				t.Fatalf("%s: GPUs %+v, expected a fault of the second alone", call, gpus)
			}
			if !strings.Contains(gpus[1].Fault.Error(), call) {
				t.Errorf("fault %q does not name %s", gpus[1].Fault, call)
			}
			if lost := errors.Is(gpus[1].Fault, hardware.ErrLost); lost != (code == fake.ReturnGPUIsLost) {
				t.Errorf("%s, result %d: is it lost? %v", call, code, lost)
			}
			must(t, library.Close())
		}
	}
}

func TestALostCardKeepsItsNameAndComesBack(t *testing.T) {
	library, machine := open(t, fake.State{GPUs: []fake.GPU{a100(0), t4(1)}})
	before, err := library.GPUs()
	must(t, err)
	must(t, machine.EditGPU(0, func(gpu *fake.GPU) { gpu.Lost = true }))
	gpus, err := library.GPUs()
	must(t, err)
	if gpus[0].UUID != uuidOf(0) || gpus[0].MemoryBytes != 40<<30 || !errors.Is(gpus[0].Fault, hardware.ErrLost) {
		t.Errorf("lost card %+v, expected what it was, and the fault", gpus[0])
	}
	for name, call := range map[string]func() error{
		"Instances":   func() error { _, err := library.Instances(uuidOf(0)); return err },
		"Use":         func() error { _, err := library.Use(uuidOf(0)); return err },
		"Processes":   func() error { _, err := library.Processes(uuidOf(0)); return err },
		"Create":      func() error { _, err := library.CreateInstance(uuidOf(0), 19, 0, 1); return err },
		"SetMigMode":  func() error { return library.SetMigMode(uuidOf(0), false) },
		"DestroyNone": func() error { return library.DestroyInstance(uuidOf(0), 7) },
	} {
		if err := call(); !errors.Is(err, hardware.ErrLost) {
			t.Errorf("%s of the lost card: %v", name, err)
		}
	}
	must(t, machine.EditGPU(0, func(gpu *fake.GPU) { gpu.Lost = false }))
	gpus, err = library.GPUs()
	must(t, err)
	if gpus[0] != before[0] {
		t.Errorf("card %+v after it came back, expected %+v", gpus[0], before[0])
	}
}

func TestFailuresOfTheLibraryAsAWhole(t *testing.T) {
	path := fake.NeedLibrary(t)
	if _, err := New(Options{Path: filepath.Join(t.TempDir(), "libnvidia-ml.so.1")}); err == nil {
		t.Error("no error for a library that is not there")
	}
	t.Setenv(fake.Variable, "")
	if _, err := New(Options{Path: path}); err == nil || !strings.Contains(err.Error(), "failed to initialize NVML: nvmlInit: Driver Not Loaded") {
		t.Errorf("error %v of a machine without a driver", err)
	}
	library, machine := open(t, fake.State{GPUs: []fake.GPU{t4(0)}})
	if _, err := New(Options{Path: path + ".other"}); err == nil || !strings.Contains(err.Error(), "this process uses") {
		t.Errorf("error %v of a second library in one process", err)
	}
	must(t, machine.AddFaults(fake.Fault{Call: "nvmlDeviceGetCount", Return: fake.ReturnGPUIsLost}))
	if _, err := library.GPUs(); err == nil || err.Error() != "nvmlDeviceGetCount: GPU is lost" {
		t.Errorf("error %v of the count", err)
	}
	if _, err := library.Use("GPU-none"); !errors.Is(err, hardware.ErrUnknown) {
		t.Errorf("error %v of a card that is not there", err)
	}
}

func TestAFaultAfterSomeCallsComesThenAndNotBefore(t *testing.T) {
	library, machine := open(t, fake.State{GPUs: []fake.GPU{t4(0)}})
	must(t, machine.AddFaults(fake.Fault{Call: "nvmlDeviceGetMemoryInfo", Return: fake.ReturnUnknown, AfterCalls: 2, Times: 1}))
	var failed []bool
	for range 4 {
		_, err := library.Use(uuidOf(0))
		failed = append(failed, err != nil)
	}
	if failed[0] || failed[1] || !failed[2] || failed[3] {
		t.Errorf("which of four calls failed: %v, expected the third", failed)
	}
}

func TestAfterCloseCallsAnswerThatAndAnotherLibraryMayCome(t *testing.T) {
	library, _ := open(t, fake.State{GPUs: []fake.GPU{t4(0)}})
	watch, _, err := library.Watch([]string{uuidOf(0)})
	must(t, err)
	must(t, library.Close())
	must(t, library.Close())
	if _, err := library.GPUs(); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v after Close", err)
	}
	if _, _, err := watch.Next(t.Context(), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v of a watch after Close", err)
	}
	must(t, watch.Close())
	again, _ := open(t, fake.State{GPUs: []fake.GPU{t4(0), t4(1)}})
	if gpus, err := again.GPUs(); err != nil || len(gpus) != 2 {
		t.Errorf("%d GPUs and error %v of the second machine", len(gpus), err)
	}
}

func TestNVMLIsInitialisedAgainWhenSomebodyShutItDown(t *testing.T) {
	library, _ := open(t, fake.State{GPUs: []fake.GPU{t4(0)}})
	for name, call := range map[string]func() error{
		"GPUs":  func() error { _, err := library.GPUs(); return err },
		"Use":   func() error { _, err := library.Use(uuidOf(0)); return err },
		"Watch": func() error { _, _, err := library.Watch(nil); return err },
	} {
		library.api.Shutdown()
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUseAndProcesses(t *testing.T) {
	instance := uint32(7)
	card, cut := t4(0), a100(1)
	card.UsedBytes, card.SMPercent = 3<<30, 41
	card.Processes = []fake.Process{{PID: 11, MemoryBytes: 1 << 30}}
	cut.Processes = []fake.Process{{PID: 12, GI: &instance, MemoryBytes: 2 << 30}}
	library, _ := open(t, fake.State{GPUs: []fake.GPU{card, cut}, Instances: []fake.Instance{{GPU: 1, GI: 7, ProfileID: 19, Size: 1}}})
	use, err := library.Use(uuidOf(0))
	if err != nil || use != (hardware.Use{MemoryBytes: 3 << 30, SMPercent: 41}) {
		t.Errorf("use %+v, error %v", use, err)
	}
	if use, err = library.Use(uuidOf(1)); err != nil || use != (hardware.Use{MemoryBytes: 2 << 30}) {
		t.Errorf("use of a card with MIG %+v, error %v", use, err)
	}
	processes, err := library.Processes(uuidOf(0))
	if err != nil || len(processes) != 1 || processes[0] != (hardware.Process{PID: 11, GI: hardware.NoInstance, MemoryBytes: 1 << 30}) {
		t.Errorf("processes %+v, error %v", processes, err)
	}
	processes, err = library.Processes(uuidOf(1))
	if err != nil || len(processes) != 1 || processes[0] != (hardware.Process{PID: 12, GI: 7, MemoryBytes: 2 << 30}) {
		t.Errorf("processes of a card with MIG %+v, error %v", processes, err)
	}
}

func TestManyGoroutinesUseTheLibraryWhileItIsClosed(t *testing.T) {
	library, _ := open(t, fake.State{GPUs: []fake.GPU{a100(0), t4(1)}})
	var users sync.WaitGroup
	for user := range 8 {
		users.Add(1)
		go func() {
			defer users.Done()
			for range 50 {
				if _, err := library.GPUs(); err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
				if instance, err := library.CreateInstance(uuidOf(0), 19, uint32(user%7), 1); err == nil {
					if err := library.DestroyInstance(uuidOf(0), instance.GI); err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, hardware.ErrUnknown) {
						t.Error(err)
					}
				}
			}
		}()
	}
	must(t, library.Close())
	users.Wait()
}
