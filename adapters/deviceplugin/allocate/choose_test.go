package allocate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
)

func one(uuid string) string { return uuid + ",NVIDIA,100,10:" }

// changed is a pod with a change.
func changed(waiting *v1.Pod, change func(*v1.Pod)) *v1.Pod {
	change(waiting)
	return waiting
}

func TestThePodOfTheIds(t *testing.T) {
	r := newRig(t)
	r.api.Put(pod("old", one(uuidA), 10))
	r.api.Put(pod("new", one(uuidB), 20))
	r.api.Put(pod("two", one(uuidA)+one(uuidB), 5))
	r.follow()
	r.expectServed("uid-new_c0", uuidB+"-7")             // whose card it is
	r.expectServed("uid-old_c0", uuidC+"-0")             // nobody's card: who was assigned first
	r.expectServed("uid-two_c0", uuidC+"-1", uuidC+"-2") // two ids
	r.expectRefused("cannot get valid pod", uuidA+"-0")
	if lists := r.requests("LIST pods"); lists != 4 {
		t.Errorf("%d lists, expected one at the start and one for each call that named no pod's cards", lists)
	}
	for _, request := range r.api.Requests() {
		if request.Verb == "LIST" && request.Selector != "spec.nodeName=node-a" {
			t.Errorf("%s: expected the pods of the node alone", request)
		}
	}
}

func TestTheOrderOfAssignment(t *testing.T) {
	r := newRig(t)
	created := metav1.Now()
	r.api.Put(pod("c", one(uuidA), 10))
	r.api.Put(changed(pod("a", one(uuidA), 10), func(p *v1.Pod) { p.CreationTimestamp = metav1.NewTime(created.Add(time.Hour)) }))
	r.api.Put(changed(pod("b", one(uuidA), 10), func(p *v1.Pod) { p.CreationTimestamp = created }))
	r.api.Put(changed(pod("d", one(uuidA), 0), func(p *v1.Pod) { delete(p.Annotations, "volcano.sh/vgpu-time") }))
	r.api.Put(pod("e", one(uuidA), 9))
	for _, name := range []string{"e", "c", "b", "a", "d"} {
		r.expectServed("uid-"+name+"_c0", uuidA+"-0")
	}
}

func TestPodsThatComeLaterAreServedAsTheyCame(t *testing.T) {
	r := newRig(t)
	r.api.Put(pod("there", one(uuidA), 30))
	r.follow()
	for _, each := range []struct {
		name string
		time int
	}{{"z", 10}, {"y", 10}, {"x", 5}} { // by assignment and name they would be served the other way round
		r.api.Put(pod(each.name, one(uuidA), each.time))
	}
	for _, name := range []string{"there", "z", "y", "x"} {
		r.expectServed("uid-"+name+"_c0", uuidA+"-0")
	}
}

func TestPodsThatDoNotWait(t *testing.T) {
	now := metav1.Now()
	for what, change := range map[string]func(*v1.Pod){
		"runs":              func(p *v1.Pod) { p.Status.Phase = v1.PodRunning },
		"has succeeded":     func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded },
		"has failed":        func(p *v1.Pod) { p.Annotations["volcano.sh/bind-phase"] = "failed" },
		"is served":         func(p *v1.Pod) { p.Annotations["volcano.sh/bind-phase"] = "success" },
		"has no phase":      func(p *v1.Pod) { delete(p.Annotations, "volcano.sh/bind-phase") },
		"is promised away":  func(p *v1.Pod) { p.Annotations["volcano.sh/vgpu-node"] = "node-b" },
		"is on a node":      func(p *v1.Pod) { p.Spec.NodeName = "node-b" },
		"is being deleted":  func(p *v1.Pod) { p.DeletionTimestamp = &now; p.Finalizers = []string{"x/y"} },
		"has nothing left":  func(p *v1.Pod) { p.Annotations["volcano.sh/devices-to-allocate"] = ";" },
		"has no assignment": func(p *v1.Pod) { p.Annotations["volcano.sh/devices-to-allocate"] = "garbage" },
	} {
		r := newRig(t)
		r.api.Put(changed(pod("p", one(uuidA), 1), change))
		before := r.phase("p")
		r.expectRefused("cannot get valid pod", uuidA+"-0")
		if after := r.phase("p"); after != before {
			t.Errorf("a pod that %s became %s", what, after)
		}
	}
}

func TestContainersOneByOne(t *testing.T) {
	r := newRig(t)
	waiting := pod("p", one(uuidA)+";"+one(uuidB)+one(uuidC)+";"+one(uuidC), 1)
	waiting.Spec.Containers = slices.Insert(waiting.Spec.Containers, 0, container("sidecar", 0))
	r.api.Put(waiting)
	r.follow()
	r.expectRefused("cannot get valid pod", uuidB+"-0", uuidC+"-0") // it is not that container's turn
	r.expectServed("uid-p_c0", uuidA+"-0")
	r.expectPhase("p", fmt.Sprintf("allocating 1 %q", ";"+one(uuidB)+one(uuidC)+";"+one(uuidC)))
	r.expectServed("uid-p_c1", uuidB+"-0", uuidC+"-0")
	r.expectServed("uid-p_c2", uuidC+"-1")
	r.expectPhase("p", `success 18446744073709551615 ";;"`)
	r.expectRefused("cannot get valid pod", uuidC+"-1")
}

func TestContainersOfSlots(t *testing.T) {
	gpu, plain := func(name string) v1.Container { return container(name, 1) }, func(name string) v1.Container { return container(name, 0) }
	cases := []struct {
		what            string
		initial, others []v1.Container
		slots           int
		expected        string
	}{
		{"a slot for the container that requests", nil, []v1.Container{plain("side"), gpu("main")}, 1, "main"},
		{"slots for all containers", nil, []v1.Container{gpu("a"), plain("b"), gpu("c")}, 3, "a c"},
		{"an init container without devices", []v1.Container{plain("init")}, []v1.Container{gpu("main")}, 1, "main"},
		{"an init container without a slot", []v1.Container{gpu("init")}, []v1.Container{plain("side"), gpu("main")}, 1, "init main"},
		{"an init container with a slot", []v1.Container{gpu("init")}, []v1.Container{plain("side"), gpu("main")}, 2, "init main"},
		{"no requests: slots count containers", []v1.Container{plain("init")}, []v1.Container{plain("a"), plain("b")}, 2, "a b"},
		{"no requests: slots count all", []v1.Container{plain("init")}, []v1.Container{plain("a"), plain("b")}, 3, "init a b"},
	}
	for _, c := range cases {
		r := newRig(t)
		waiting := pod("p", strings.TrimSuffix(strings.Repeat(one(uuidA)+";", c.slots), ";"), 1)
		if c.what == "slots for all containers" {
			waiting.Annotations["volcano.sh/devices-to-allocate"] = one(uuidA) + ";;" + one(uuidA)
			waiting.Annotations["volcano.sh/vgpu-ids-new"] = one(uuidA) + ";;" + one(uuidA)
		}
		waiting.Spec.InitContainers, waiting.Spec.Containers = c.initial, c.others
		r.api.Put(waiting)
		var order []string
		for range strings.Fields(c.expected) {
			order = append(order, strings.TrimPrefix(r.served(uuidA+"-0"), "uid-p_"))
		}
		if strings.Join(order, " ") != c.expected {
			t.Errorf("%s: %v were served, expected %s", c.what, order, c.expected)
		}
		if found := r.phase("p"); !strings.HasPrefix(found, "success ") {
			t.Errorf("%s: afterwards %s", c.what, found)
		}
	}
}

func TestAnInitContainerUsesDevicesOfALaterOne(t *testing.T) {
	r := newRig(t)
	waiting := pod("p", one(uuidA)+";"+one(uuidB)+one(uuidC), 1)
	waiting.Spec.InitContainers = []v1.Container{container("first", 2), container("second", 1)}
	r.api.Put(waiting)
	r.follow()
	response, err := r.Allocate(r.ctx, number, []string{uuidB + "-0", uuidC + "-0"})
	if err != nil || response.Envs[visibleDevices] != uuidB+","+uuidC {
		t.Fatalf("first: %v, %v", response, err)
	}
	r.expectPhase("p", fmt.Sprintf("allocating 1 %q", one(uuidA)+";"+one(uuidB)+one(uuidC)))
	r.expectServed("uid-p_second", uuidA+"-0")
	r.expectServed("uid-p_c0", uuidA+"-0")
	r.expectServed("uid-p_c1", uuidB+"-0", uuidC+"-0")
	r.expectPhase("p", `success 18446744073709551615 ";"`)
}

func TestIdsTheKubeletShouldPrefer(t *testing.T) {
	r := newRig(t)
	available := []string{uuidA + "-0", uuidA + "-1", uuidB + "-0", uuidB + "-1", uuidC + "-0"}
	if ids := r.Prefer(r.ctx, number, available, nil, 1); ids != nil {
		t.Errorf("%v, though nobody waits", ids)
	}
	r.api.Put(pod("p", one(uuidB)+one(uuidB)+one(uuidC), 1))
	r.api.Put(pod("q", one(uuidC), 1))
	for _, c := range []struct {
		must     []string
		size     int
		expected string
	}{
		{nil, 3, uuidB + "-0 " + uuidB + "-1 " + uuidC + "-0"},
		{[]string{uuidB + "-1"}, 3, uuidB + "-1 " + uuidB + "-0 " + uuidC + "-0"},
		{nil, 1, uuidC + "-0"},
		{nil, 2, ""},
		{[]string{uuidA + "-0"}, 1, uuidA + "-0"},
	} {
		if ids := strings.Join(r.Prefer(r.ctx, number, available, c.must, c.size), " "); ids != c.expected {
			t.Errorf("must %v, size %d: %q, expected %q", c.must, c.size, ids, c.expected)
		}
	}
	if ids := r.Prefer(r.ctx, "volcano.sh/vgpu-memory", available, nil, 3); ids != nil {
		t.Errorf("memory: %v", ids)
	}
}

func TestWhatTheKubeletHasHandedOutIsNotChosen(t *testing.T) {
	r := newRig(t)
	questions := 0
	options := r.options()
	options.Assigned = func() (Holds, error) {
		questions++
		return func(uid, container, resource string) bool {
			return uid == "uid-old" && container == "c0" && resource == number
		}, nil
	}
	r.Allocator = New(options)
	r.api.Put(pod("old", one(uuidA), 1))
	r.api.Put(pod("new", one(uuidA), 2))
	r.api.Put(pod("other", one(uuidB), 3))
	r.follow()
	r.expectServed("uid-other_c0", uuidB+"-0")
	if questions != 0 {
		t.Errorf("%d questions, though one pod alone has the cards of the ids", questions)
	}
	r.expectServed("uid-new_c0", uuidA+"-0")
	if questions != 1 {
		t.Errorf("%d questions, expected 1", questions)
	}
	r.expectServed("uid-old_c0", uuidA+"-0") // the only one that is left
	r.api.Put(pod("next", one(uuidA), 4))
	r.api.Put(pod("last", one(uuidA), 5))
	r.wait("the pods are known", func() bool { return r.pods.knows("uid-last") && r.pods.knows("uid-next") })
	r.expectServed("uid-next_c0", uuidA+"-0")
	if questions != 1 {
		t.Errorf("%d questions, though both pods came while the kubelet was served by this process", questions)
	}
}

func TestACardInTwoModes(t *testing.T) {
	r := newRig(t)
	r.cards[uuidA] = config.Card{Mode: config.MPS, MemoryFactor: 1}
	response := r.answered(pod("p", one(uuidA)+one(uuidB), 1))
	if response.Envs["CUDA_MPS_PIPE_DIRECTORY"] == "" || response.Envs["CUDA_DEVICE_MEMORY_LIMIT_1"] != "100m" {
		t.Errorf("%v, expected both limits", response.Envs)
	}
}
