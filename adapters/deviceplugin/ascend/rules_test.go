package ascend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vgpualloc.example/adapters/deviceplugin/ascend/fakechips"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

const (
	toAllocate = "hami.io/Ascend910B3-devices-to-allocate"
	forRuntime = "huawei.com/Ascend910B3"
	vir05      = "vir05_1c_16g"
	vir10      = "vir10_3c_32g"
)

// started is a stand whose plugin has begun, on a node with these annotations and pods.
func started(t *testing.T, isSoft bool, annotations map[string]string, pods ...*v1.Pod) *stand {
	t.Helper()
	s := newStand(t, "node-a", annotations)
	s.write(t, "/ascend.yaml", fmt.Sprintf(testConfig, isSoft))
	s.options.Library, s.options.Exec = fakechips.New(machine(6)), &fakechips.Programs{}
	if _, err := s.plugin().start(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		s.api.Put(pod)
	}
	return s
}

// part is a promise of a template of a chip, and what is for the runtime.
func part(chip int, template string, memory int) (entry, runtime string) {
	return fmt.Sprintf("CHIP-%d,Ascend910B3,%d,0:", chip, memory), fmt.Sprintf(`{"UUID":"CHIP-%d","temp":%q}`, chip, template)
}

// partPod is a pod whose containers have one part each, of these chips.
func partPod(name string, chips ...int) *v1.Pod {
	var slots, runtime, containers []string
	for i, chip := range chips {
		entry, for1 := part(chip, vir05, 16384)
		slots, runtime, containers = append(slots, entry), append(runtime, for1), append(containers, fmt.Sprintf("c%d", i))
	}
	return podOf("default", name, "node-a", map[string]string{toAllocate: strings.Join(slots, ";") + ";",
		forRuntime: "[" + strings.Join(runtime, ",") + "]"}, containers...)
}

// state is what of a pod changes: its phase and what is left to allocate.
func (s *stand) state(name string) string {
	pod := s.api.Pod("default", name)
	return pod.Annotations[bindPhase] + " " + pod.Annotations[toAllocate]
}

func (s *stand) isLocked() bool {
	_, is := s.api.Node("node-a").Annotations[lockAnnotation]
	return is
}

// gets makes a call for one container with so many ids and compares the chips that it gets, or a part of the refusal.
func (s *stand) gets(t *testing.T, count int, want string) {
	t.Helper()
	answers, err := s.allocate(count)
	if err != nil {
		if !strings.Contains(err.Error(), want) || want == "" {
			t.Errorf("%v, expected %q", err, want)
		}
		return
	}
	if got := answers[0].Envs[visibleDevices]; got != want {
		t.Errorf("chips %q, expected %q", got, want)
	}
}

func (s *stand) is(t *testing.T, name, want string) {
	t.Helper()
	if got := s.state(name); got != want {
		t.Errorf("pod %s: %q, expected %q", name, got, want)
	}
}

func lockOf(pod string) map[string]string {
	return map[string]string{lockAnnotation: "2026-01-01T00:00:00Z,default," + pod}
}

func TestAPodIsServedContainerByContainer(t *testing.T) { // N33, N35
	s := started(t, false, lockOf("p"), partPod("p", 0, 3))
	s.gets(t, 1, "10")
	s.is(t, "p", "allocating ;CHIP-3,Ascend910B3,16384,0:;")
	if !s.isLocked() {
		t.Error("the lock is released after the first of two containers")
	}
	s.gets(t, 1, "13")
	s.is(t, "p", "success ;;")
	if s.isLocked() {
		t.Error("the lock stays after the last container")
	}
	s.gets(t, 1, "no binding pod found on node node-a")
	s.is(t, "p", "success ;;") // N34
}

func TestSeveralContainersInOneCall(t *testing.T) {
	s := started(t, false, map[string]string{lockAnnotation: "2026-01-01T00:00:00Z"}, partPod("p", 0, 3))
	answers, err := s.allocate(1, 1)
	if err != nil || len(answers) != 2 || answers[0].Envs[visibleDevices] != "10" || answers[1].Envs[visibleDevices] != "13" {
		t.Errorf("answers %v: %v", answers, err)
	}
	s.is(t, "p", "success ;;")
	if s.isLocked() {
		t.Error("the lock stays")
	}
}

func TestACallWithoutContainersTouchesNothing(t *testing.T) { // N38
	s := started(t, false, lockOf("p"), partPod("p", 0))
	if _, err := s.allocate(); err == nil {
		t.Error("it is answered")
	}
	s.is(t, "p", "allocating CHIP-0,Ascend910B3,16384,0:;")
	if !s.isLocked() {
		t.Error("the lock is released")
	}
}

func TestALockThatServesNobody(t *testing.T) { // N36
	for _, lock := range []string{"", "a,b", "garbage", "2026-01-01T00:00:00Z,a,b,c", "2026-01-01T00:00:00Z,default,ghost"} {
		s := started(t, false, map[string]string{lockAnnotation: lock}, partPod("p", 2, 1))
		s.gets(t, 1, "12")
		if s.isLocked() {
			t.Errorf("lock %q stays", lock)
		}
	}
}

func TestALockedPodIsLookedAt(t *testing.T) { // N37
	for name, change := range map[string]func(pod *v1.Pod){
		"another node":     func(pod *v1.Pod) { pod.Spec.NodeName = "node-b" },
		"given to another": func(pod *v1.Pod) { pod.Annotations[nodeAnnotation] = "node-b" },
		"runs":             func(pod *v1.Pod) { pod.Status.Phase = v1.PodRunning },
		"failed":           func(pod *v1.Pod) { pod.Annotations[bindPhase] = phaseFailed },
		"asks for something": func(pod *v1.Pod) {
			pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{"cpu": resource.MustParse("1")}
		},
	} {
		locked := partPod("locked", 0)
		change(locked)
		s := started(t, false, lockOf("locked"), locked, partPod("waits", 4))
		s.gets(t, 1, "14")
		if !s.isLocked() {
			t.Errorf("%s: the lock of another pod is released", name)
		}
		s.is(t, "waits", "success ;")
	}
}

func TestWithoutALockTheNumberDecides(t *testing.T) {
	many := partPod("a-many", 0)
	many.Annotations[toAllocate] = "CHIP-0,Ascend910B3,65536,0:CHIP-1,Ascend910B3,65536,0:;"
	many.Annotations[forRuntime] = `[{"UUID":"CHIP-0"},{"UUID":"CHIP-1"}]`
	s := started(t, false, nil, many, partPod("b-one", 5))
	s.gets(t, 1, "15")
	s.is(t, "a-many", "allocating CHIP-0,Ascend910B3,65536,0:CHIP-1,Ascend910B3,65536,0:;")
	s.gets(t, 3, "device number not matched: annotation has 2, request has 3")
	if !strings.HasPrefix(s.state("a-many"), phaseFailed) {
		t.Errorf("the only pod that waits is %q, expected failed", s.state("a-many"))
	}
}

func TestPodsOfOthersAreLeftAlone(t *testing.T) {
	other := podOf("default", "other", "node-a", nil, "main")
	other.Spec.Containers[0].Resources.Limits = v1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	s := started(t, false, nil, other)
	s.gets(t, 1, "no binding pod found")
	s.is(t, "other", "allocating ")
}

func TestWhatWasNotPromisedIsNotGiven(t *testing.T) { // N39, N43
	whole := "CHIP-0,Ascend910B3,65536,0:;"
	for name, one := range map[string]struct {
		isSoft               bool
		mode, slots, runtime string
		want                 string
	}{
		"soft pod, node with templates": {false, softMode, "CHIP-0,Ascend910B3,4096,20:;", `[{"UUID":"CHIP-0","memory":4096,"core":20}]`, `hami-vnpu-core: "false"`},
		"template, soft node":           {true, "", "CHIP-0,Ascend910B3,16384,0:;", `[{"UUID":"CHIP-0","temp":"vir05_1c_16g"}]`, `hami-vnpu-core: "true"`},
		"whole card, soft node":         {true, "", whole, `[{"UUID":"CHIP-0"}]`, ""},
		"uuid without an entry":         {false, "", whole, `[{"UUID":"CHIP-1"}]`, "no entry for the runtime"},
		"no entries":                    {false, "", whole, `null`, "no entry for the runtime"},
		"part without a template":       {false, "", "CHIP-0,Ascend910B3,4096,0:;", `[{"UUID":"CHIP-0"}]`, "nothing limits the container"},
		"slice without memory":          {true, softMode, "CHIP-0,Ascend910B3,4096,0:;", `[{"UUID":"CHIP-0","core":5}]`, "nothing limits the container"},
		"chip that is sick":             {false, "", "CHIP-5,Ascend910B3,65536,0:;", `[{"UUID":"CHIP-5"}]`, "not healthy (health code 7)"},
		"chip of another node":          {false, "", "CHIP-9,Ascend910B3,65536,0:;", `[{"UUID":"CHIP-9"}]`, "unknown uuid: CHIP-9"},
		"a chip twice": {false, "", "CHIP-0,Ascend910B3,65536,0:CHIP-0,Ascend910B3,65536,0:;", `[{"UUID":"CHIP-0"},{"UUID":"CHIP-0"}]`,
			"promised twice to one container"},
		"two templates": {false, "", "CHIP-0,Ascend910B3,16384,0:CHIP-1,Ascend910B3,32768,0:;",
			`[{"UUID":"CHIP-0","temp":"vir05_1c_16g"},{"UUID":"CHIP-1","temp":"vir10_3c_32g"}]`, "expected one template"},
		"no annotation for the runtime": {false, "", whole, "", "annotation huawei.com/Ascend910B3 not set"},
		"not a number":                  {false, "", "CHIP-0,Ascend910B3,x,0:;", `[{"UUID":"CHIP-0"}]`, "invalid memory field"},
		"not JSON":                      {false, "", whole, `[`, "build runtimeInfo lookup"},
	} {
		annotations := map[string]string{toAllocate: one.slots, forRuntime: one.runtime, modeAnnotation: one.mode}
		if one.runtime == "" {
			delete(annotations, forRuntime)
		}
		s := started(t, one.isSoft, lockOf("p"), podOf("default", "p", "node-a", annotations, "main"))
		s.options.Library.(*fakechips.Library).SetHealth(5, 7)
		if _, err := s.lists.allocator.chips.read(context.Background()); err != nil {
			t.Fatal(err)
		}
		_, err := s.allocate(strings.Count(one.slots, ":"))
		if one.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: %v, expected %q", name, err, one.want)
			continue
		}
		events := s.api.Events()
		if !strings.HasPrefix(s.state("p"), phaseFailed) || s.isLocked() || len(events) != 1 || events[0].Message != err.Error() {
			t.Errorf("%s: pod %q, locked %t, events %v; expected a failed pod and one event", name, s.state("p"), s.isLocked(), events)
		}
	}
}

func TestEntriesForTheRuntimeAreReadByPlace(t *testing.T) {
	pod := partPod("p", 0, 0, 1)
	pod.Annotations[forRuntime] = `[{"UUID":"CHIP-0","temp":"vir05_1c_16g"},{"UUID":"CHIP-0","temp":"vir10_3c_32g"},{"UUID":"CHIP-1","temp":"vir05_1c_16g"}]`
	s := started(t, false, nil, pod)
	for _, template := range []string{vir05, vir10, vir05} {
		answers, err := s.allocate(1)
		if err != nil || answers[0].Envs[vnpuSpecs] != template {
			t.Errorf("answers %v (%v), expected %s", answers, err, template)
		}
	}
}

func TestASliceHasItsLimitsAndItsFolder(t *testing.T) {
	pod := podOf("default", "p", "node-a", map[string]string{modeAnnotation: softMode,
		toAllocate: "CHIP-2,Ascend910B3,4096,0:;;CHIP-3,Ascend910B3,8192,40:;", // one for each, HAMi's way
		forRuntime: `[{"UUID":"CHIP-2","memory":4096,"core":0},{"UUID":"CHIP-3","memory":8192}]`}, "side", "main")
	pod.Spec.InitContainers = []v1.Container{{Name: "first"}}
	s := started(t, true, nil, pod)
	for _, want := range []struct{ container, envs string }{
		{"first", `{"ASCEND_VISIBLE_DEVICES":"12","NPU_GLOBAL_SHM_PATH":"/hami-shared-region/12_global_registry","NPU_LOCAL_SHM_PATH":"/hami-vnpu-shmem/vnpu_local_shmem","NPU_MEM_QUOTA":"4096","NPU_PRIORITY":"0"}`},
		{"main", `{"ASCEND_VISIBLE_DEVICES":"13","NPU_GLOBAL_SHM_PATH":"/hami-shared-region/13_global_registry","NPU_LOCAL_SHM_PATH":"/hami-vnpu-shmem/vnpu_local_shmem","NPU_MEM_QUOTA":"8192"}`},
	} {
		answers, err := s.allocate(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(answers[0].Envs); got != want.envs {
			t.Errorf("environment %s, expected %s", got, want.envs)
		}
		folder := softFolder + "/containers/uid-p_" + want.container
		lines := mountsOf(answers[0])
		if len(lines) != 8 || lines[7] != text([]any{folder, "/hami-vnpu-shmem", false}) || !strings.Contains(lines[5], "/etc/ld.so.preload") {
			t.Errorf("mounts %v", lines)
		}
		if is, err := os.Stat(filepath.Join(s.root, folder)); err != nil || is.Mode().Perm() != 0o777 {
			t.Errorf("folder %s: %v %v", folder, is, err)
		}
	}
}

func TestVolcanosSlotsAreOfContainersThatAsk(t *testing.T) {
	pod := partPod("p", 0)
	asks := v1.ResourceList{testResource: resource.MustParse("1")}
	pod.Spec.Containers = []v1.Container{{Name: "side"}, {Name: "npu", Resources: v1.ResourceRequirements{Limits: asks}}}
	if name, err := containerOf(pod, 1, 0, testResource); err != nil || name != "npu" {
		t.Errorf("slot 0 of 1 is %s (%v), expected npu", name, err)
	}
	if name, err := containerOf(pod, 2, 0, testResource); err != nil || name != "side" {
		t.Errorf("slot 0 of 2 is %s (%v), expected side", name, err)
	}
	if _, err := containerOf(pod, 3, 2, testResource); err == nil {
		t.Error("slot 2 has a container, expected an error")
	}
}

func TestCallsAtOnce(t *testing.T) {
	var pods []*v1.Pod
	for i := range 24 {
		pods = append(pods, partPod(fmt.Sprintf("p%02d", i), i%5))
	}
	s := started(t, false, nil, pods...)
	var wait sync.WaitGroup
	var mutex sync.Mutex
	var handedOut []string
	for range pods {
		wait.Add(1)
		go func() {
			defer wait.Done()
			answers, err := s.allocate(1)
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			handedOut = append(handedOut, answers[0].Envs[visibleDevices])
		}()
	}
	wait.Wait()
	var want []string
	for i := range pods {
		want = append(want, fmt.Sprint(10+i%5))
		s.is(t, fmt.Sprintf("p%02d", i), "success ;")
	}
	slices.Sort(handedOut)
	slices.Sort(want)
	if !slices.Equal(handedOut, want) {
		t.Errorf("handed out %v, expected %v", handedOut, want)
	}
}

func TestRefusalsOfTheAPIServer(t *testing.T) {
	s := started(t, false, lockOf("p"), partPod("p", 0))
	s.api.SetFaults(testbed.Fault{Verb: "PATCH", Resource: "pods", Code: 403, Times: 2}, testbed.Fault{Verb: "PATCH", Resource: "nodes", Code: 500, Times: 2})
	s.gets(t, 1, "erase allocated containers annotation: injected fault")
	s.is(t, "p", "failed CHIP-0,Ascend910B3,16384,0:;")
	if s.isLocked() {
		t.Error("the lock stays")
	}
	s = started(t, false, lockOf("p"), partPod("p", 0))
	s.api.SetFaults(testbed.Fault{Verb: "GET", Resource: "pods", Code: 500, Times: 1})
	s.gets(t, 1, "get pending pod error: injected fault")
	s.is(t, "p", "allocating CHIP-0,Ascend910B3,16384,0:;")
	s.gets(t, 1, "10")
}

func TestSuccessIsNotOverwritten(t *testing.T) { // N34; the plugin before this one writes it with the first of several containers
	pod := partPod("p", 0)
	pod.Annotations[bindPhase] = phaseSuccess
	s := started(t, false, nil, pod)
	s.gets(t, 2, "device number not matched")
	s.is(t, "p", "success CHIP-0,Ascend910B3,16384,0:;")
	s.gets(t, 1, "10")
}

func TestALockThatWasTakenAgainStays(t *testing.T) {
	s := started(t, false, lockOf("p"))
	node := s.api.Node("node-a")
	before := readLock(node)
	node.Annotations[lockAnnotation] = "2026-01-01T00:00:01Z,default,q"
	s.api.Put(node)
	if err := before.release(context.Background(), s.options.Client, "node-a", 1); err != nil || !s.isLocked() {
		t.Errorf("locked %t: %v", s.isLocked(), err)
	}
}
