package layout

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/hardware/nvidia"
)

var processKillPoints = flag.Int("process-kill-points", 5, "random points at which a process with the executor is killed, on the fake NVML")

// The environment of a process that lives a story.
const (
	storyVariable   = "VGPUALLOC_TEST_STORY"   // its seed
	recordsVariable = "VGPUALLOC_TEST_RECORDS" // the file with its records
)

// fakeMachine is the fake NVML as a story sees it.
type fakeMachine struct {
	machine *fake.Machine
	library hardware.Library
}

func (f *fakeMachine) list(gpu int) ([]hardware.Instance, error) {
	return f.library.Instances(cardName(gpu))
}

func cardName(gpu int) string { return fmt.Sprintf("GPU-%d", gpu) }

func (f *fakeMachine) run(uuid string, busy bool) error {
	state, err := f.machine.Read()
	if err != nil {
		return err
	}
	for gpu := range state.GPUs {
		instances, err := f.list(gpu)
		if err != nil {
			return err
		}
		for _, instance := range instances {
			if instance.UUID == uuid {
				return f.machine.MarkBusy(gpu, instance.GI, busy)
			}
		}
	}
	return nil
}

func writeRecords(path string, saved *records) error {
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// TestOneStoryInAProcess is the process that is killed: TestProcessesKilledAnywhere starts it.
func TestOneStoryInAProcess(t *testing.T) {
	if os.Getenv(storyVariable) == "" {
		return
	}
	seed, err := strconv.ParseUint(os.Getenv(storyVariable), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv(recordsVariable)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var saved records
	if err := json.Unmarshal(text, &saved); err != nil {
		t.Fatal(err)
	}
	library, err := nvidia.New(nvidia.Options{Path: fake.NeedLibrary(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := library.Close(); err != nil {
			t.Error(err)
		}
	}()
	gpus, err := library.GPUs()
	if err != nil {
		t.Fatal(err)
	}
	tale := storyOf(seed)
	machine := &fakeMachine{machine: fake.Open(os.Getenv(fake.Variable)), library: library}
	n := newNodeOf(t, library, gpus, tale.Native, mayEnable)
	findings, err := tale.restart(n, &saved)
	for _, finding := range findings {
		if finding.Status.Service != InService || finding.Err != nil {
			t.Errorf("%+v", finding)
		}
	}
	keep := func() error { return writeRecords(path, &saved) }
	if err = errors.Join(err, tale.check(n, &saved, machine), keep()); err == nil {
		err = tale.live(n, &saved, machine, keep)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fakeState is how a story begins.
func (s *story) fakeState() fake.State {
	var state fake.State
	for index, card := range s.GPUs {
		state.GPUs = append(state.GPUs, fake.GPU{UUID: cardName(index), Name: card.Name, MemoryBytes: 40 << 30, Minor: index,
			ComputeCapability: "8.0", PCIBus: fmt.Sprintf("0000:%02x:00.0", index), MigCapable: true, MigEnabled: !card.IsOff})
		table, _ := tableOf(card.Name)
		for number, at := range card.Places {
			state.Instances = append(state.Instances, fake.Instance{GPU: index, GI: uint32(number + 20), ProfileID: at.ProfileID, Start: at.Start,
				Size: table[at.ProfileID].size, Busy: slices.Contains(card.Busy, at)})
		}
	}
	return state
}

// pointOf is a random point of a story at which its process is killed; false: it changes nothing. What calls there are a run in
// memory tells.
func pointOf(t *testing.T, seed uint64, random *rand.Rand) (fake.Fault, bool) {
	t.Helper()
	tale := storyOf(seed)
	machine := tale.machine()
	n := newNode(t, machine, tale.Native, mayEnable)
	saved := &records{Pods: map[string]record{}}
	_, err := tale.restart(n, saved)
	if err = errors.Join(err, tale.live(n, saved, machine, func() error { return nil })); err != nil {
		t.Fatalf("story %d in memory: %v", seed, err)
	}
	if len(machine.log) == 0 {
		return fake.Fault{}, false
	}
	row := random.IntN(len(machine.log))
	kind, _, _ := strings.Cut(machine.log[row], " ")
	before := 0
	for _, line := range machine.log[:row] {
		if strings.HasPrefix(line, kind) {
			before++
		}
	}
	calls := map[string][]string{"create": {"nvmlDeviceCreateGpuInstance", "nvmlGpuInstanceCreateComputeInstance"},
		"destroy": {"nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy"}, "mode": {"nvmlDeviceSetMigMode"}}[kind]
	return fake.Fault{Call: calls[random.IntN(len(calls))], AfterCalls: before, Times: 1,
		Kill: []string{fake.KillBefore, fake.KillAfter}[random.IntN(2)]}, true
}

// TestProcessesKilledAnywhere kills processes by SIGKILL at random calls of the fake NVML, before or after the call has done its work,
// and starts them again: hardware, ledger, what would be registered and what pods were answered with must agree then and to the
// story's end, and no instance in use may have been destroyed, nor may it have been tried.
func TestProcessesKilledAnywhere(t *testing.T) {
	fake.NeedLibrary(t)
	folder := t.TempDir()
	var killed, answers, refusals int
	for seed := uint64(1000); killed < *processKillPoints; seed++ {
		random := rand.New(rand.NewPCG(seed, 35))
		fault, is := pointOf(t, seed, random)
		if !is {
			continue
		}
		point := fmt.Sprintf("story %d, killed %s call %d of %s", seed, fault.Kill, fault.AfterCalls+1, fault.Call)
		tale := storyOf(seed)
		state := tale.fakeState()
		state.Faults = []fake.Fault{fault}
		machine, err := fake.New(filepath.Join(folder, fmt.Sprintf("machine-%d.json", seed)), state)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, fmt.Sprintf("records-%d.json", seed))
		if err := writeRecords(path, &records{Pods: map[string]record{}}); err != nil {
			t.Fatal(err)
		}
		output, err := liveInProcess(machine, path, seed)
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: ended with %v, expected to be killed:\n%s", point, err, output)
		}
		killed++
		if err := machine.ClearFaults(); err != nil {
			t.Fatal(err)
		}
		if output, err := liveInProcess(machine, path, seed); err != nil {
			t.Fatalf("%s, started again: %v\n%s", point, err, output)
		}
		calls, err := machine.Calls()
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			if strings.Contains(call, "In use") {
				t.Fatalf("%s: %s", point, call)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var saved records
		if err := json.Unmarshal(text, &saved); err != nil || saved.Next != len(tale.Events) {
			t.Fatalf("%s: %d events of %d happened, error %v", point, saved.Next, len(tale.Events), err)
		}
		answers, refusals = answers+saved.Answers, refusals+saved.Refusals
		if saved.Failures > 0 {
			t.Fatalf("%s: %d changes failed", point, saved.Failures)
		}
	}
	t.Logf("%d processes killed: %d pods answered, %d refused", killed, answers, refusals)
}

func liveInProcess(machine *fake.Machine, recordsPath string, seed uint64) (string, error) {
	command := exec.Command(os.Args[0], "-test.run=^TestOneStoryInAProcess$", "-test.timeout=60s")
	command.Env = append(os.Environ(), storyVariable+"="+strconv.FormatUint(seed, 10), recordsVariable+"="+recordsPath,
		fake.Variable+"="+machine.Path())
	output, err := command.CombinedOutput()
	return string(output), err
}
