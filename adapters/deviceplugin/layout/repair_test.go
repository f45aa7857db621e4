package layout

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/vga"
)

func (n *node) repair() map[string]Finding {
	n.t.Helper()
	findings, err := n.executor.Repair(background)
	if err != nil {
		n.t.Fatal(err)
	}
	result := map[string]Finding{}
	for _, finding := range findings {
		result[finding.GPU] = finding
	}
	return result
}

func (n *node) service(gpuUUID string) vga.Service {
	n.t.Helper()
	where, err := n.ledger.FindNode(nodeName)
	if err != nil {
		n.t.Fatal(err)
	}
	service, err := n.ledger.ServiceOf(where, gpuUUID)
	if err != nil {
		n.t.Fatal(err)
	}
	return service
}

func TestRepairMakesAgainWhatPodsHave(t *testing.T) {
	machine := newMemory(a100, a100, a30, "Tesla T4") // after a reboot: no instances
	machine.put("GPU-1", at(19, 0))
	n := newNode(t, machine, false)
	n.put("p", Answered, "GPU-0[group2-3]")
	n.put("w", Waiting, "GPU-2[group1-3]")
	findings := n.repair()
	if len(findings) != 3 {
		t.Fatal(findings)
	}
	n.wantHolds(0, "14@0", "14@2", "14@4", "19@6")
	n.wantHolds(1, "19@0")
	n.wantHolds(2)
	for gpu := range 3 {
		n.wantLedger(gpu)
	}
	for _, finding := range findings {
		if finding.Err != nil || finding.Status.Service != InService {
			t.Errorf("%+v", finding)
		}
	}
}

func TestRepairMakesPlacesAgain(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(14, 0), at(19, 6))
	n := newNode(t, machine, true)
	n.put("p", Answered, "GPU-0[3g.20gb-4]")
	n.put("q", Answered, "GPU-0[1g.5gb-1]")
	n.repair()
	n.wantHolds(0, "9@4", "19@1")
	n.wantLedger(0)
}

func TestRepairDestroysWhatIsHalfMade(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", at(14, 0), at(19, 6))
	machine.instances["GPU-0"][0].Compute, machine.instances["GPU-0"][0].UUID = nil, ""
	n := newNode(t, machine, false)
	n.repair()
	n.wantHolds(0, "14@0")
	n.wantLedger(0)
}

func TestAGPUThatCannotBeRepairedIsWithdrawn(t *testing.T) {
	machine := newMemory(a100, a100, a100, a100)
	machine.put("GPU-0", at(19, 4)) // one of the two of rev, and nobody knows which
	machine.put("GPU-1", at(14, 0))
	machine.setBusy("GPU-1", at(14, 0), true)
	machine.gpus[2].MigEnabled = false
	n := newNode(t, machine, false)
	n.put("p", Answered, "GPU-0[rev-1]")
	n.put("q", Answered, "GPU-1[group4-0]")
	n.put("r", Answered, "GPU-2[group4-0]")
	n.put("s", Answered, "GPU-3[group4-0]")
	n.put("t", Answered, "GPU-3[group1-0]")
	findings := n.repair()
	for gpu, part := range map[string]string{"GPU-0": "pod team/p", "GPU-1": "pod team/q", "GPU-2": "MIG is off, and pod team/r",
		"GPU-3": "not all there"} {
		status := findings[gpu].Status
		if status.Service != Withdrawn || !strings.Contains(status.Reason, part) || n.service(gpu) != vga.Draining {
			t.Errorf("%s: %+v, in the ledger %d; expected withdrawn because of %q", gpu, status, n.service(gpu), part)
		}
	}
	n.wantUntouched()
	n.remove("p")
	n.remove("q")
	n.repair()
	if n.service("GPU-0") != vga.InService || n.service("GPU-1") != vga.InService {
		t.Error("without their pods nobody misses anything")
	}
}

func TestAGPUThatIsSharedOtherwiseIsLeftAlone(t *testing.T) {
	machine := newMemory(a100, a100)
	machine.gpus[1].MigEnabled = false
	n := newNode(t, machine, false)
	n.upsert(strings.Replace(nodeObject(machine.gpus), ",true,mig:\"", ",true,hami-core:\"", 1)) // the last one
	n.put("p", Answered, "GPU-1")
	findings := n.repair()
	if finding := findings["GPU-1"]; finding.Err != nil || finding.Status.Service != InService || n.service("GPU-1") != vga.InService {
		t.Errorf("%+v, in the ledger %d; expected it in service", finding, n.service("GPU-1"))
	}
	refusal(t, n.executor.EnableMig(background, "GPU-1"), true, "pod team/p has a part of it")
	machine.gpus[1].MigEnabled = true // by somebody else, under the pod
	if status := n.repair()["GPU-1"].Status; status.Service != Withdrawn || !strings.Contains(status.Reason, "kind 'slice'") {
		t.Errorf("%+v, expected it withdrawn", status)
	}
}

func TestALostGPUIsWithdrawnAndComesBack(t *testing.T) {
	machine := newMemory(a100)
	n := newNode(t, machine, false)
	machine.fault = func(call, _ string, _ place) error {
		if call == "instances" {
			return hardware.ErrLost
		}
		return nil
	}
	if _, err := n.instance(0, "group1", 0); !errors.Is(err, hardware.ErrLost) {
		t.Error(err)
	}
	if finding := n.repair()["GPU-0"]; finding.Status.Service != Withdrawn || !errors.Is(finding.Err, hardware.ErrLost) {
		t.Errorf("%+v", finding)
	}
	machine.fault = nil
	if finding := n.repair()["GPU-0"]; finding.Status.Service != InService {
		t.Errorf("%+v", finding)
	}
}

func TestMigIsSwitchedOnForOneIdleGPU(t *testing.T) { // N26
	machine := newMemory(a100, a100)
	machine.gpus[0].MigEnabled = false
	machine.put("GPU-1", at(0, 0))
	machine.setBusy("GPU-1", at(0, 0), true)
	n := newNode(t, machine, false, func(options *Options) {
		options.MayEnable = func(gpuUUID string) bool { return gpuUUID == "GPU-0" }
	})
	machine.processes["GPU-0"] = []hardware.Process{{PID: 7, GI: hardware.NoInstance}}
	_, err := n.instance(0, "group3", 0)
	refusal(t, err, true, "1 processes run")
	n.wantUntouched()
	machine.processes["GPU-0"] = nil
	n.put("p", Waiting, "GPU-0[group3-0]")
	n.want(0, "group3", 0, migUUID("GPU-0", 9, 0))
	if machine.log[0] != "mode GPU-0 true" || strings.Contains(strings.Join(machine.log, " "), "GPU-1") {
		t.Error(machine.log)
	}
	if err := n.executor.EnableMig(background, "GPU-0"); err != nil {
		t.Error(err)
	}
}

func TestAPendingMigModeIsSaid(t *testing.T) {
	machine := newMemory(a100)
	machine.gpus[0].MigEnabled, machine.pending = false, true
	n := newNode(t, machine, false)
	if err := n.executor.EnableMig(background, "GPU-0"); !errors.Is(err, hardware.ErrPending) {
		t.Fatal(err)
	}
	n.repair()
	if status := n.executor.Status("GPU-0"); status.Service != Withdrawn || !strings.Contains(status.Reason, "reset") {
		t.Error(status)
	}
	machine.gpus[0].MigEnabled = true // somebody has reset it
	n.repair()
	if status := n.executor.Status("GPU-0"); status.Service != InService {
		t.Error(status)
	}
}

func TestAChangeWaitsForInstancesThatAreGivenBack(t *testing.T) {
	machine := newMemory(a100)
	machine.put("GPU-0", ones...)
	machine.setBusy("GPU-0", at(19, 2), true)
	refreshed := 0
	var n *node
	n = newNode(t, machine, false, func(options *Options) {
		options.Patience = 5 * time.Second
		options.Refresh = func(context.Context) error {
			if refreshed++; refreshed == 2 {
				n.remove("p")
				machine.setBusy("GPU-0", at(19, 2), false)
			}
			return nil
		}
	})
	n.put("p", Answered, "GPU-0[group1-2]")
	n.want(0, "group3", 0, migUUID("GPU-0", 9, 0))
	if refreshed != 2 {
		t.Errorf("the ledger was refreshed %d times, expected 2", refreshed)
	}
}

func TestASlowCallHoldsOnlyItsGPU(t *testing.T) {
	machine := newMemory(a100, a100)
	var lock sync.Mutex
	hold := make(chan struct{})
	isFirst := true
	machine.delay = func(call string) time.Duration {
		lock.Lock()
		wait := call == "CreateInstance" && isFirst
		if wait {
			isFirst = false
		}
		lock.Unlock()
		if wait {
			<-hold
		}
		return 0
	}
	n := newNode(t, machine, false, func(options *Options) { options.StepLimit = 100 * time.Millisecond })
	_, err := n.instance(0, "group3", 0)
	if err == nil || !strings.Contains(err.Error(), "creating an instance has not returned within 100ms") {
		t.Fatal(err)
	}
	if status := n.executor.Status("GPU-0"); status.Service != Withdrawn || n.service("GPU-0") != vga.Draining {
		t.Error(status)
	}
	n.want(1, "group3", 0, migUUID("GPU-1", 9, 0))
	limited, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	if _, err := n.executor.Instance(limited, "GPU-0", geometry(a100, "group3"), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := n.executor.Close(limited); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("Close:", err)
	}
	close(hold)
	for n.executor.Status("GPU-0").Service != InService {
		time.Sleep(time.Millisecond)
	}
	n.wantHolds(0, "9@0") // what the slow call has made after all
	n.wantLedger(0)
}

func TestAnEndedContextStopsBetweenSteps(t *testing.T) {
	machine := newMemory(a100)
	n := newNode(t, machine, false)
	limited, cancel := context.WithCancel(background)
	machine.fault = func(string, string, place) error {
		if machine.calls == 3 {
			cancel()
		}
		return nil
	}
	_, err := n.executor.Instance(limited, "GPU-0", geometry(a100, "group1"), 0)
	var failure *ChangeError
	if !errors.As(err, &failure) || !errors.Is(err, context.Canceled) || len(failure.Reached) != 3 {
		t.Fatalf("error %v, expected a change that stopped after 3 steps", err)
	}
	n.wantLedger(0)
	if status := n.executor.Status("GPU-0"); status.Service != InService {
		t.Error(status)
	}
}

func TestManyPodsAtOnce(t *testing.T) {
	machine := newMemory(a100, a100, a30)
	machine.put("GPU-0", at(9, 0), at(9, 4))
	n := newNode(t, machine, false)
	var pods sync.WaitGroup
	for gpu, count := range []int{7, 7, 4} {
		for position := range count {
			pods.Add(1)
			go func() {
				defer pods.Done()
				profile := map[string]uint32{a100: 19, a30: 14}[machine.gpus[gpu].Name]
				n.want(gpu, "group1", position, migUUID(machine.gpus[gpu].UUID, profile, uint32(position)))
			}()
		}
	}
	pods.Wait()
	if len(machine.log) != 2+7+7+4 {
		t.Errorf("%d changing calls, expected each GPU to be cut once: %v", len(machine.log), machine.log)
	}
}
