package allocate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

const failedPhase = "failed 18446744073709551615 "

// lock has a scheduler hold the node's lock.
func (r *rig) lock(name, value string) {
	node := r.api.Node("node-a")
	node.Annotations = map[string]string{name: value, "example.com/other": "keep"}
	r.api.Put(node)
}

func (r *rig) isLocked() bool {
	node := r.api.Node("node-a")
	_, isLocked := node.Annotations["hamivgpu"]
	if node.Annotations["example.com/other"] != "keep" {
		r.t.Errorf("node annotations %v", node.Annotations)
	}
	return isLocked
}

func TestOneWriteServesAContainer(t *testing.T) {
	r := newRig(t)
	r.lock("hamivgpu", "2026-01-01T00:00:00Z")
	r.api.Put(pod("p", one(uuidA), 1))
	r.follow()
	r.expectServed("uid-p_c0", uuidA+"-0")
	if patches := r.requests("PATCH pods"); patches != 1 {
		t.Errorf("%d writes, expected one for both the devices and the phase", patches)
	}
	if gets := r.requests("GET pods"); gets != 0 {
		t.Errorf("%d pods were read", gets)
	}
	if r.isLocked() {
		t.Error("the lock of the node is still held")
	}
}

func TestTheLockOfAnotherPodStays(t *testing.T) {
	r := newRig(t)
	r.lock("hamivgpu", "2026-01-01T00:00:00Z")
	r.expectRefused("cannot get valid pod", uuidA+"-0")
	if !r.isLocked() {
		t.Error("a call without a pod released the lock")
	}
	r.api.Put(pod("p", one(uuidA)+";"+one(uuidB), 1))
	r.expectServed("uid-p_c0", uuidA+"-0")
	if !r.isLocked() {
		t.Error("the lock was released before the last container")
	}
	r.expectServed("uid-p_c1", uuidB+"-0")
	if r.isLocked() {
		t.Error("the lock was not released with the last container")
	}
	waiting := &candidate{pod: pod("p", "", 1), dialect: hami}
	for value, own := range map[string]bool{"2026-01-01T00:00:00Z,team-a,p": true, "2026-01-01T00:00:00Z,team-a,q": false,
		"2026-01-01T00:00:00Z": false, "": false} {
		if waiting.owns(value) != own {
			t.Errorf("lock %q is the pod's own: %v, expected %v", value, !own, own)
		}
	}
}

func TestALockThatCannotBeReleasedIsReported(t *testing.T) {
	r := newRig(t)
	r.lock("hamivgpu", "2026-01-01T00:00:00Z")
	r.api.SetFaults(testbed.Fault{Verb: "PATCH", Resource: "nodes", Code: 409, Times: 2})
	r.api.Put(pod("p", one(uuidA), 1))
	r.expectServed("uid-p_c0", uuidA+"-0")
	if r.isLocked() {
		t.Error("two conflicts and the lock is still held")
	}
	r.lock("hamivgpu", "2026-01-01T00:00:00Z")
	r.api.SetFaults(testbed.Fault{Verb: "GET", Resource: "nodes", Code: 404, Times: 9})
	r.api.Put(pod("q", one(uuidA), 1))
	r.expectServed("uid-q_c0", uuidA+"-0")
	if event := <-r.events.Events; !strings.Contains(event, "NodeLockNotReleased") {
		t.Errorf("event %q", event)
	}
}

func TestARefusedWriteFailsThePod(t *testing.T) {
	for _, code := range []int{403, 404, 409, 500} {
		r := newRig(t)
		r.lock("hamivgpu", "2026-01-01T00:00:00Z")
		r.api.SetFaults(testbed.Fault{Verb: "PATCH", Resource: "pods", Code: code, Times: 1})
		r.api.Put(pod("p", one(uuidA), 1))
		r.follow()
		_, err := r.Allocate(r.ctx, number, []string{uuidA + "-0"})
		if err == nil || err.Error() != "injected fault" {
			t.Errorf("%d: %v, expected the API server's words", code, err)
		}
		r.expectPhase("p", failedPhase+fmt.Sprintf("%q", one(uuidA)))
		if r.isLocked() {
			t.Errorf("%d: the lock is still held", code)
		}
		if event := <-r.events.Events; !strings.Contains(event, "DevicesNotAllocated") || !strings.Contains(event, "injected fault") {
			t.Errorf("event %q", event)
		}
		if _, err := os.Stat(filepath.Join(r.Root, "usr")); !os.IsNotExist(err) {
			t.Errorf("%d: a folder was left behind: %v", code, err)
		}
		r.expectRefused("cannot get valid pod", uuidA+"-0")
	}
}

func TestAWriteThatCannotBeTakenNowIsTriedAgain(t *testing.T) {
	for _, code := range []int{429, 503, 504} {
		r := newRig(t)
		r.api.SetFaults(testbed.Fault{Verb: "PATCH", Resource: "pods", Code: code, Times: 2})
		r.api.Put(pod("p", one(uuidA), 1))
		r.expectServed("uid-p_c0", uuidA+"-0")
		r.expectPhase("p", `success 18446744073709551615 ""`)
	}
}

func TestAFailureThatIsNotWrittenIsWrittenLater(t *testing.T) {
	r := newRig(t)
	r.api.SetFaults(testbed.Fault{Verb: "PATCH", Resource: "pods", Code: 403, Times: 4})
	r.api.Put(pod("p", one(uuidA), 1))
	r.follow()
	r.expectRefused("injected fault", uuidA+"-0")
	r.expectRefused("cannot get valid pod", uuidA+"-0") // it is not chosen again
	r.wait("the phase is written", func() bool { return strings.HasPrefix(r.phase("p"), "failed") })
	r.wait("nothing is left to write", func() bool { return len(r.failed.all()) == 0 })
}

func TestAPodThatChangedMeanwhile(t *testing.T) {
	r := newRig(t)
	r.api.Put(pod("p", one(uuidA)+";"+one(uuidB), 1))
	r.api.Put(pod("q", one(uuidA), 2))
	if err := r.list(r.ctx); err != nil {
		t.Fatal(err)
	}
	// A status that the kubelet has written is no reason to choose again.
	r.api.Put(changed(r.api.Pod("team-a", "p"), func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }))
	r.expectServed("uid-p_c0", uuidA+"-0")
	r.api.Put(changed(r.api.Pod("team-a", "p"), func(p *v1.Pod) { p.Annotations["volcano.sh/bind-phase"] = "failed" }))
	r.expectServed("uid-q_c0", uuidA+"-1") // p was first in the cache, and has failed
	r.expectPhase("p", fmt.Sprintf("failed 1 %q", ";"+one(uuidB)))
}

func TestAPodThatHasGone(t *testing.T) {
	r := newRig(t)
	gone := pod("p", one(uuidA), 1)
	r.api.Put(gone)
	r.api.Put(pod("q", one(uuidA), 2))
	if err := r.list(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.api.Delete(gone)
	r.expectServed("uid-q_c0", uuidA+"-0")
	r.api.Put(pod("r", one(uuidA), 1))
	if err := r.list(r.ctx); err != nil {
		t.Fatal(err)
	}
	r.api.Put(changed(pod("r", one(uuidA), 1), func(p *v1.Pod) { p.UID = "another" }))
	r.expectServed("another_c0", uuidA+"-0")
}

func TestAListThatIsRefused(t *testing.T) {
	r := newRig(t)
	r.api.SetFaults(testbed.Fault{Verb: "LIST", Resource: "pods", Code: 500, Times: 1})
	r.api.Put(pod("p", one(uuidA), 1))
	r.expectRefused("injected fault", uuidA+"-0")
	r.expectPhase("p", fmt.Sprintf("allocating 1 %q", one(uuidA)))
	r.expectServed("uid-p_c0", uuidA+"-0")
}

func TestAnAssignmentThatCannotBeReadFailsItsPodAlone(t *testing.T) {
	for text, reason := range map[string]string{
		uuidA + ",NVIDIA,5:":          "invalid entry field",
		uuidA + ",NVIDIA,x,5:":        "invalid memory field",
		uuidA + ",NVIDIA,5,101:":      "invalid cores field",
		uuidA + "[group1],NVIDIA,5,5": "invalid uuid field",
		uuidA + "::1,NVIDIA,5,5:":     "expected uuid,type,memory,cores",
		uuidA + ",NVIDIA,1,1:;A,B:":   "slot 1, entry 0",
	} {
		r := newRig(t)
		bad := pod("bad", text, 2)
		for i := range bad.Spec.Containers {
			bad.Spec.Containers[i] = container(fmt.Sprintf("c%d", i), 1)
		}
		r.api.Put(bad)
		r.api.Put(pod("good", one(uuidB), 1))
		r.expectServed("uid-good_c0", uuidC+"-0")
		r.expectRefused(reason, uuidC+"-1")
		r.expectPhase("bad", failedPhase+fmt.Sprintf("%q", text))
		r.expectPhase("good", `success 18446744073709551615 ""`)
	}
}

func TestEntriesThatDoNotFitTheCall(t *testing.T) {
	cases := []struct {
		assigned, text string
		containers     []v1.Container
		ids            int
	}{
		{uuidA + ",MLU,1,1:", "device request not found", []v1.Container{container("a", 1)}, 1},
		{one(uuidA) + uuidB + ",MLU,1,1:", "device number not matched", []v1.Container{container("a", 2)}, 2},
		{one(uuidA), "device number not matched", []v1.Container{container("a", 2)}, 2},
		{one(uuidA) + ";" + one(uuidA) + ";" + one(uuidA), "has 3 slots", []v1.Container{container("a", 1)}, 1},
	}
	for _, c := range cases {
		r := newRig(t)
		waiting := pod("p", c.assigned, 1)
		waiting.Spec.Containers = c.containers
		r.api.Put(waiting)
		ids := make([]string, c.ids)
		for i := range ids {
			ids[i] = fmt.Sprintf("%s-%d", uuidC, i)
		}
		r.expectRefused(c.text, ids...)
		r.expectPhase("p", failedPhase+fmt.Sprintf("%q", c.assigned))
	}
}

func TestCallsThatCannotBeAnswered(t *testing.T) {
	r := newRig(t)
	r.api.Put(pod("p", one(uuidA), 1))
	r.expectRefused("cannot get valid pod")
	r.expectRefused("invalid allocation request for 'volcano.sh/vgpu-number': unknown device: MIG-1-0", "MIG-1-0")
	r.expectPhase("p", failedPhase+fmt.Sprintf("%q", one(uuidA)))
	r.config.Flags.DeviceIDStrategy = "index"
	r.api.Put(pod("q", one("GPU-unknown"), 1))
	r.expectRefused("has no such GPU", uuidA+"-0")
	lost := errors.New("driver lost")
	options := r.options()
	options.GPUs = func() ([]hardware.GPU, error) { return nil, lost }
	r.Allocator = New(options)
	r.api.Put(pod("r", one(uuidA), 1))
	if _, err := r.Allocate(r.ctx, number, []string{uuidA + "-0"}); !errors.Is(err, lost) {
		t.Errorf("%v, expected the library's error", err)
	}
	if !strings.HasPrefix(r.phase("r"), "failed") {
		t.Errorf("pod r: %s", r.phase("r"))
	}
}

func TestAFolderThatCannotBeMadeFailsThePod(t *testing.T) {
	r := newRig(t)
	if err := os.WriteFile(filepath.Join(r.Root, "usr"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.api.Put(pod("p", one(uuidA), 1))
	r.expectRefused("the folder of a container", uuidA+"-0")
	if !strings.HasPrefix(r.phase("p"), "failed") {
		t.Errorf("pod p: %s", r.phase("p"))
	}
}

func TestAPodWhosePhaseWasLeftOpen(t *testing.T) {
	r := newRig(t)
	running := func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }
	r.api.Put(changed(pod("served", "", 1), running))
	r.api.Put(changed(pod("waits", one(uuidA), 1), running))
	r.api.Put(pod("pending", ";", 1))
	r.follow()
	r.wait("the phase is written", func() bool { return strings.HasPrefix(r.phase("served"), "success") })
	r.expectPhase("waits", fmt.Sprintf("allocating 1 %q", one(uuidA)))
	r.expectPhase("pending", `allocating 1 ";"`)
}

func TestTheKubeletsCheckpoint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	holds, err := Checkpoint(file)()
	if err != nil || holds("uid", "c", number) {
		t.Errorf("no file: %v", err)
	}
	text := `{"Data":{"PodDeviceEntries":[{"PodUID":"uid","ContainerName":"c","ResourceName":"volcano.sh/vgpu-number",
		"DeviceIDs":{"-1":["GPU-1-0"]},"AllocResp":"AA=="}],"RegisteredDevices":{}},"Checksum":1}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if holds, err = Checkpoint(file)(); err != nil || !holds("uid", "c", number) || holds("uid", "d", number) || holds("uid", "c", "other") {
		t.Errorf("%v: the container is not known", err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Checkpoint(file)(); err == nil {
		t.Error("half a file is no error")
	}
}
