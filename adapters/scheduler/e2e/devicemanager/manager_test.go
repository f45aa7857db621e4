//go:build tier2

package devicemanager

import (
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

func limits(cards, mib, percent int) map[string]string {
	return map[string]string{number: fmt.Sprint(cards), memory: fmt.Sprint(mib / factor), cores: fmt.Sprint(percent)}
}

func entry(card, mib, percent int) string {
	return fmt.Sprintf("%s,NVIDIA,%d,%d:", uuid(card), mib/factor, percent)
}

func expect(t *testing.T, environment, expected map[string]string) {
	t.Helper()
	for name, value := range expected {
		if environment[name] != value {
			t.Errorf("%s is %q, expected %q; all: %v", name, environment[name], value, environment)
		}
	}
}

func TestTheKubeletCountsTheCardsAndContainersGetWhatWasDecided(t *testing.T) {
	r := newRig(t, "hami-core", "hami-core", "mps")
	r.awaitCards(3)
	if text := r.api.Node(nodeName).Annotations["volcano.sh/node-vgpu-register"]; strings.Count(text, ",true,hami-core:") != 2 || strings.Count(text, ",true,mps:") != 1 {
		t.Errorf("the node registers %q, expected two cards for HAMi-core and one for MPS", text)
	}
	pod := r.decide("one", limits(1, 8192, 25), entry(1, 8192, 25))
	expect(t, r.environment(pod), map[string]string{"NVIDIA_VISIBLE_DEVICES": uuid(1), "CUDA_DEVICE_MEMORY_LIMIT_0": "8192m", "CUDA_DEVICE_SM_LIMIT": "25"})
	if phase, rest := r.annotation(pod, "volcano.sh/bind-phase"), r.annotation(pod, "volcano.sh/devices-to-allocate"); phase != "success" || strings.Contains(rest, "GPU") {
		t.Errorf("afterwards bind-phase is %q and devices-to-allocate %q, expected success and nothing", phase, rest)
	}
	both := r.decide("both", limits(2, 2048, 10), entry(0, 2048, 10)+entry(1, 2048, 10))
	expect(t, r.environment(both), map[string]string{"NVIDIA_VISIBLE_DEVICES": uuid(0) + "," + uuid(1), "CUDA_DEVICE_MEMORY_LIMIT_1": "2048m"})
	mps := r.decide("mps", limits(1, 4096, 50), entry(2, 4096, 50))
	expect(t, r.environment(mps), map[string]string{"NVIDIA_VISIBLE_DEVICES": uuid(2), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4096M",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50", "CUDA_DEVICE_MEMORY_LIMIT_0": ""})
	if used := r.used(number); used != 4 {
		t.Errorf("the kubelet has %d shares of cards in use, expected 4", used)
	}
}

func TestMoreThanThereIsIsRefusedByTheKubelet(t *testing.T) {
	r := newRig(t, "hami-core")
	r.awaitCards(1)
	pod := r.decide("much", limits(11, 1024, 1), strings.Repeat(entry(0, 1024, 1), 11))
	if _, err := r.allocate(pod); err == nil {
		t.Error("11 shares of a card that has 10 were given out")
	}
	if phase := r.annotation(pod, "volcano.sh/bind-phase"); phase != "allocating" {
		t.Errorf("bind-phase is %q, expected that the plugin was never asked", phase)
	}
}

func TestAMigCardIsCutOtherwiseForTheNextPod(t *testing.T) {
	r := newRig(t, "mig")
	r.awaitCards(1)
	place := func(group string, position, mib int) string {
		return fmt.Sprintf("%s[%s-%d],NVIDIA,%d,0:", uuid(0), group, position, mib/factor)
	}
	first := r.decide("first", limits(1, 20480, 0), place("group3", 1, 20480))
	device := r.environment(first)["NVIDIA_VISIBLE_DEVICES"]
	if !strings.HasPrefix(device, "MIG-") {
		t.Errorf("the device is %q, expected a MIG device", device)
	}
	if sizes := sizes(r); !maps.Equal(sizes, map[uint32]int{4: 2}) {
		t.Errorf("instances by their memory slices: %v, expected two of 4", sizes)
	}
	r.end(first)
	second := r.decide("second", limits(1, 5120, 0), place("group1", 3, 5120))
	if other := r.environment(second)["NVIDIA_VISIBLE_DEVICES"]; !strings.HasPrefix(other, "MIG-") || other == device {
		t.Errorf("the second device is %q after %q, expected another", other, device)
	}
	if sizes := sizes(r); !maps.Equal(sizes, map[uint32]int{1: 7}) {
		t.Errorf("instances by their memory slices: %v, expected seven of 1", sizes)
	}
}

// sizes counts the instances of the machine by their memory slices.
func sizes(r *rig) map[uint32]int {
	r.Helper()
	state, err := r.machine.Read()
	if err != nil {
		r.Fatal(err)
	}
	result := map[uint32]int{}
	for _, instance := range state.Instances {
		result[instance.Size]++
	}
	return result
}

func TestACardThatFallsIllIsWithdrawnAndThePodOnItKeepsIt(t *testing.T) {
	r := newRig(t, "hami-core", "hami-core")
	r.awaitCards(2)
	pod := r.decide("early", limits(1, 1024, 10), entry(0, 1024, 10))
	r.environment(pod)
	if err := r.machine.AddEvents(fake.Event{GPU: 0, Xid: 79, Type: fake.EventXid}); err != nil {
		t.Fatal(err)
	}
	r.awaitCards(1)
	r.eventually("the annotation says that the card is ill", func() bool {
		return strings.Contains(r.api.Node(nodeName).Annotations["volcano.sh/node-vgpu-register"], ",false,")
	})
	expect(t, r.environment(r.decide("late", limits(1, 1024, 10), entry(1, 1024, 10))), map[string]string{"NVIDIA_VISIBLE_DEVICES": uuid(1)})
	if used := r.used(number); used != 2 {
		t.Errorf("the kubelet has %d shares of cards in use, expected that of the ill card and the other one", used)
	}
}

func TestAKubeletThatComesBackFindsTheCardsAndWhatIsInUse(t *testing.T) {
	r := newRig(t, "hami-core", "hami-core")
	r.awaitCards(2)
	pod := r.decide("early", limits(1, 2048, 10), entry(0, 2048, 10))
	before := r.environment(pod)
	if err := r.manager.Stop(); err != nil {
		t.Fatal(err)
	}
	r.startManager() // which removes the plugin's sockets
	r.awaitCards(2)
	after := r.environment(pod)
	if !maps.Equal(before, after) {
		t.Errorf("the pod is given %v by the second kubelet, and was given %v", after, before)
	}
	expect(t, r.environment(r.decide("late", limits(1, 1024, 5), entry(1, 1024, 5))), map[string]string{"NVIDIA_VISIBLE_DEVICES": uuid(1)})
}

func TestAPluginThatIsKilledComesBack(t *testing.T) {
	r := newRig(t, "hami-core")
	r.awaitCards(1)
	if err := r.plugin.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.eventually("nothing is offered without the plugin", func() bool { return r.offers()[number] == 0 })
	r.startPlugin(fake.NeedLibrary(t))
	r.awaitCards(1)
	expect(t, r.environment(r.decide("late", limits(1, 1024, 5), entry(0, 1024, 5))), map[string]string{"NVIDIA_VISIBLE_DEVICES": uuid(0)})
}

func TestAPluginThatIsToldToEndTakesItsSocketsAndItsRegistrationAway(t *testing.T) {
	r := newRig(t, "hami-core")
	r.awaitCards(1)
	if err := r.plugin.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := r.plugin.Wait()
	if _, failed := err.(*exec.ExitError); failed {
		t.Errorf("the plugin ended with %v, expected 0", err)
	}
	for _, endpoint := range []string{"nvidia-vgpu-number.sock", "nvidia-vgpu-memory.sock", "nvidia-vgpu-cores.sock"} {
		if isServed(endpoint) {
			t.Errorf("%s is still served", endpoint)
		}
	}
	if text, there := r.api.Node(nodeName).Annotations["volcano.sh/node-vgpu-register"]; there {
		t.Errorf("the node still registers %q", text)
	}
}
