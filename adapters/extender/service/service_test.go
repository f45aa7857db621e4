package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/extender/service"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/livetest"
	"vgpualloc.example/adapters/vga"
)

// events of the decision log, once the service is closed or has flushed.
func (s *scene) events(t *testing.T, kind string) []decisionlog.Line {
	t.Helper()
	if err := s.Cluster().Flush(); err != nil {
		t.Fatal(err)
	}
	return livetest.Events(t, s.log, kind)
}

func TestAPodIsFilteredOrderedAndBoundWithItsDevices(t *testing.T) {
	wants := pod("p", 10000)
	s := open(t, newAPI(node("a", 16384), node("b", 16384, 16384), node("c", 16384), node("small", 8192),
		running("other", "c", 0, 4000, 0), wants))
	result := s.filter(t, wants, "a", "b", "c", "small", "nowhere")
	if !slices.Equal(*result.NodeNames, []string{"a", "b", "c"}) || result.Nodes != nil || result.Error != "" {
		t.Error(result)
	}
	if !strings.Contains(result.FailedNodes["small"], "memory") || !strings.Contains(result.FailedNodes["nowhere"], "not known") {
		t.Error(result.FailedNodes)
	}
	scores := s.prioritize(t, wants, "a", "b", "c", "small")
	if scores["c"] != extenderv1.MaxExtenderPriority || scores["a"] >= 10 || scores["b"] >= 10 || scores["small"] != 0 {
		t.Error("the fullest card is best under binpack", scores)
	}
	if failure := s.bind(t, wants, "c"); failure != "" {
		t.Fatal(failure)
	}
	bound := s.api.present(t, "p")
	if bound.Spec.NodeName != "c" || bound.Annotations["volcano.sh/vgpu-node"] != "c" ||
		!strings.HasPrefix(bound.Annotations["volcano.sh/vgpu-ids-new"], "GPU-c-0,NVIDIA,10000,") ||
		bound.Annotations["volcano.sh/bind-phase"] != "allocating" {
		t.Error(bound.Spec.NodeName, bound.Annotations)
	}
	if s.state(wants) != vga.PodCommitted {
		t.Error(s.state(wants))
	}
	if decisions := s.events(t, "decide"); len(decisions) != 1 || decisions[0].Node != "c" || decisions[0].Only != nil {
		t.Error("all nodes that fit were candidates", decisions)
	}
	if len(s.events(t, "commit")) > 1 || len(s.events(t, "rollback")) != 0 {
		t.Error("the log does not tell what happened")
	}
}

// kube-scheduler weighs other things too; its choice is no decision of the core's, and the log says so.
func TestAnotherNodeThanTheBestIsTheOnlyCandidateInTheLog(t *testing.T) {
	wants := pod("p", 10000)
	s := open(t, newAPI(node("a", 16384), node("b", 40960), wants))
	s.filter(t, wants, "a", "b")
	if failure := s.bind(t, wants, "b"); failure != "" {
		t.Fatal(failure)
	}
	decisions := s.events(t, "decide")
	if len(decisions) != 1 || !slices.Equal(decisions[0].Only, []string{"b"}) {
		t.Error(decisions)
	}
}

func TestNodesAsObjectsAreAnsweredAsObjects(t *testing.T) {
	wants := pod("p", 10000)
	big, small := node("big", 16384), node("small", 8192)
	s := open(t, newAPI(big, small, wants))
	result := &extenderv1.ExtenderFilterResult{}
	s.ask(t, "filter", extenderv1.ExtenderArgs{Pod: wants, Nodes: &v1.NodeList{Items: []v1.Node{*small, *big}}}, result)
	if result.NodeNames != nil || len(result.Nodes.Items) != 1 || result.Nodes.Items[0].Name != "big" ||
		result.Nodes.Items[0].Annotations["volcano.sh/node-vgpu-register"] == "" {
		t.Error(result)
	}
}

// Where no node takes a pod, numbers say why; preemption helps on some nodes and not on others.
func TestRefusalsSayWhatIsMissingAndWherePreemptionHelps(t *testing.T) {
	wants := pod("p", 10000)
	cordoned := node("cordoned", 16384)
	cordoned.Spec.Unschedulable = true
	s := open(t, newAPI(node("full", 16384), node("small", 8192), cordoned, node("elsewhere", 16384),
		running("other", "full", 0, 9000, 0), wants))
	result := s.filter(t, wants, "full", "small", "cordoned")
	if len(*result.NodeNames) != 0 {
		t.Fatal(*result.NodeNames)
	}
	if why := result.FailedNodes["full"]; !strings.Contains(why, "10000 MiB wanted") {
		t.Error(why)
	}
	if why := result.FailedAndUnresolvableNodes["small"]; !strings.Contains(why, "10000 MiB wanted") {
		t.Error(why)
	}
	if why := result.FailedAndUnresolvableNodes["cordoned"]; !strings.Contains(why, "unschedulable") {
		t.Error(why)
	}
	if len(result.FailedNodes)+len(result.FailedAndUnresolvableNodes) != 3 {
		t.Error(result)
	}
}

func TestARequestThatNobodyCanServeIsRefusedOnEveryNode(t *testing.T) {
	wants := pod("p", 10000)
	wants.Spec.Containers[0].Resources.Limits["volcano.sh/vgpu-cores"] = amounts("x", "5T")["x"]
	s := open(t, newAPI(node("a", 16384), wants))
	result := s.filter(t, wants, "a")
	if len(*result.NodeNames) != 0 || !strings.Contains(result.FailedAndUnresolvableNodes["a"], "cannot be served") {
		t.Error(result)
	}
	if failure := s.bind(t, wants, "a"); failure == "" {
		t.Error("it was bound")
	}
}

func TestPodsWithoutDevicesPass(t *testing.T) {
	plain := pod("plain", 0)
	s := open(t, newAPI(node("a", 16384), plain))
	if result := s.filter(t, plain, "a", "unknown"); len(*result.NodeNames) != 2 {
		t.Error(result)
	}
	if scores := s.prioritize(t, plain, "a"); scores["a"] != 0 {
		t.Error(scores)
	}
	if failure := s.bind(t, plain, "a"); failure != "" {
		t.Error(failure)
	}
	if bound := s.api.present(t, "plain"); bound.Spec.NodeName != "a" || len(bound.Annotations) != 0 {
		t.Error(bound)
	}
}

// All pods are told at the same time that they fit; there is room for four.
func TestPodsInFlightNeverGetTheSameDevice(t *testing.T) {
	a := newAPI(node("n", 16384, 16384, 16384, 16384))
	s := open(t, a)
	var pods []*v1.Pod
	for i := range 24 {
		pods = append(pods, pod(fmt.Sprint("p", i), 9000))
	}
	a.create(t, pods...)
	for _, each := range pods {
		eventually(t, "the pod is known", func() bool { return s.state(each) == vga.PodWaiting })
		if result := s.filter(t, each, "n"); len(*result.NodeNames) != 1 {
			t.Fatal(result)
		}
	}
	var all sync.WaitGroup
	failures := make([]string, len(pods))
	for i := range pods {
		all.Add(1)
		go func() {
			defer all.Done()
			failures[i] = s.bind(t, pods[i], "n")
		}()
	}
	all.Wait()
	devices := map[string]int{}
	for i, each := range pods {
		bound := a.present(t, each.Name)
		if failures[i] == "" {
			devices[strings.Split(bound.Annotations["volcano.sh/vgpu-ids-new"], ",")[0]]++
		} else if bound.Spec.NodeName != "" || len(bound.Annotations) != 0 || !strings.Contains(failures[i], "9000 MiB wanted") {
			t.Error(failures[i], bound.Spec.NodeName, bound.Annotations)
		}
	}
	if len(devices) != 4 || devices["GPU-n-0"] != 1 || devices["GPU-n-3"] != 1 {
		t.Error(devices)
	}
	if warnings, err := s.Cluster().Warnings(); err != nil || len(warnings) != 0 {
		t.Error(warnings, err)
	}
}

func TestOnePodIsBoundOnce(t *testing.T) {
	wants := pod("p", 9000)
	a := newAPI(node("a", 16384), node("b", 16384), wants)
	s := open(t, a)
	var all sync.WaitGroup
	var mutex sync.Mutex
	succeeded := 0
	for i := range 16 {
		all.Add(1)
		go func() {
			defer all.Done()
			if s.bind(t, wants, []string{"a", "b"}[i%2]) == "" {
				mutex.Lock()
				defer mutex.Unlock()
				succeeded++
			}
		}()
	}
	all.Wait()
	bound := a.present(t, "p")
	if succeeded != 1 || bound.Annotations["volcano.sh/vgpu-node"] != bound.Spec.NodeName {
		t.Error(succeeded, bound.Spec.NodeName, bound.Annotations)
	}
	if _, where := s.Cluster().Pod("uid-p"); where != bound.Spec.NodeName {
		t.Error(where, bound.Spec.NodeName)
	}
}

func TestBindingsThatMakeNoSense(t *testing.T) {
	bound, wants := running("bound", "a", 0, 4000, 0), pod("p", 4000)
	a := newAPI(node("a", 16384), bound, wants)
	s := open(t, a)
	other := wants.DeepCopy()
	other.UID = "uid-of-another"
	if failure := s.bind(t, other, "a"); !strings.Contains(failure, "uid-of-another") {
		t.Error(failure)
	}
	if failure := s.bind(t, bound, "a"); !strings.Contains(failure, "bound to node a already") {
		t.Error(failure)
	}
	renamed := wants.DeepCopy()
	renamed.Name = "q"
	if failure := s.bind(t, renamed, "a"); !strings.Contains(failure, "is that of pod ns/p") {
		t.Error(failure)
	}
	if failure := s.bind(t, wants, "nowhere"); failure != "node nowhere is not known here" {
		t.Error(failure)
	}
	if a.bindings != 0 || s.state(wants) != vga.PodWaiting {
		t.Error(a.bindings, s.state(wants))
	}
}

// Another scheduler, or an earlier one, wrote on pods and did not bind them.
func TestAfterARestartWhatCountsIsWhatIsBound(t *testing.T) {
	left, theirs := written("left", "a", 0, 9000), written("theirs", "b", 0, 9000)
	theirs.Spec.SchedulerName = "volcano"
	wants, more := pod("p", 9000), pod("q", 9000)
	a := newAPI(node("a", 16384), node("b", 16384), node("c", 16384), running("runs", "c", 0, 9000, 0), left, theirs, wants, more)
	s := open(t, a)
	if result := s.filter(t, wants, "a", "b", "c"); !slices.Equal(*result.NodeNames, []string{"a"}) {
		t.Error("a pod that is being bound by others has its devices, one that runs too", result)
	}
	eventually(t, "annotations of a pod that was never bound are removed", func() bool {
		return a.present(t, "left").Annotations["volcano.sh/vgpu-ids-new"] == ""
	})
	if kept := a.present(t, "left").Annotations; len(kept) != 1 || kept["example.com/of-the-owner"] != "kept" {
		t.Error(kept)
	}
	if kept := a.present(t, "theirs").Annotations; kept["volcano.sh/vgpu-ids-new"] == "" {
		t.Error(kept)
	}
	if failure := s.bind(t, wants, "a"); failure != "" {
		t.Error(failure)
	}
	// Asking about a pod says whose it is, whatever it is called.
	eventually(t, "what the other scheduler left is taken back", func() bool {
		result := s.filter(t, theirs, "a", "b", "c")
		return slices.Equal(*result.NodeNames, []string{"b"})
	})
	again := open(t, a)
	if result := again.filter(t, more, "a", "b", "c"); len(*result.NodeNames) > 1 {
		t.Error(result)
	}
	if state, where := again.Cluster().Pod("uid-p"); state != vga.PodCommitted || where != "a" {
		t.Error(state, where)
	}
}

func TestPodsAndNodesThatGoGiveBack(t *testing.T) {
	runs, wants := running("runs", "a", 0, 9000, 0), pod("p", 9000)
	a := newAPI(node("a", 16384), runs, wants)
	s := open(t, a)
	if result := s.filter(t, wants, "a"); len(*result.NodeNames) != 0 {
		t.Error(result)
	}
	a.remove(t, "runs")
	eventually(t, "there is room", func() bool { return len(*s.filter(t, wants, "a").NodeNames) == 1 })
	if err := a.CoreV1().Nodes().Delete(context.Background(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is gone", func() bool { return len(*s.filter(t, wants, "a").NodeNames) == 0 })
	if _, err := a.CoreV1().Nodes().Create(context.Background(), node("a", 16384), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is back", func() bool { return len(*s.filter(t, wants, "a").NodeNames) == 1 })
}

// Nobody may be able to remove the annotations that a scheduler left; they count for nothing all the same, also when the
// pod or its node is told of again.
func TestAnnotationsThatStayCountForNothing(t *testing.T) {
	left, wants := written("left", "a", 0, 9000), pod("p", 9000)
	a := newAPI(left, wants)
	a.patchFailure = errors.New("forbidden")
	s := open(t, a)
	if _, err := a.CoreV1().Nodes().Create(context.Background(), node("a", 16384), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is room", func() bool { return len(*s.filter(t, wants, "a").NodeNames) == 1 })
	a.set(func() {
		again := left.DeepCopy()
		again.Labels = map[string]string{"changed": "yes"}
		if err := a.store(again); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the change is known", func() bool { return len(s.events(t, "release")) >= 2 })
	if s.state(left) != vga.PodWaiting {
		t.Error(s.state(left))
	}
	if failure := s.bind(t, wants, "a"); failure != "" {
		t.Error(failure)
	}
}

// Every dialect's annotations are those that its node side reads.
func TestOtherDialects(t *testing.T) {
	annotated := func(node *v1.Node, name, value string) *v1.Node {
		node.Annotations = map[string]string{name: value}
		return node
	}
	asking := func(name string, pairs ...string) *v1.Pod {
		result := pod(name, 0)
		result.Spec.Containers[0].Resources.Limits = amounts(append(pairs, "cpu", "1")...)
		return result
	}
	hami := annotated(node("hami"), "hami.io/node-nvidia-register", `[{"id":"GPU-h","count":10,"devmem":16384,"devcore":100,`+
		`"type":"NVIDIA-Tesla T4","mode":"hami-core","health":true}]`)
	hami.Status.Allocatable["nvidia.com/gpu"] = amounts("x", "10")["x"]
	npu := annotated(node("npu"), "hami.io/node-register-Ascend310P", `[{"id":"npu-a","index":0,"count":7,"devmem":21527,`+
		`"devcore":8,"type":"Ascend310P","health":true}]`)
	npu.Status.Allocatable["huawei.com/Ascend310P"] = amounts("x", "7")["x"]
	first := asking("first", "nvidia.com/gpu", "1", "nvidia.com/gpumem", "9000")
	second := asking("second", "huawei.com/Ascend310P", "1", "huawei.com/Ascend310P-memory", "3000")
	a := newAPI(hami, npu, node("plain"), first, second)
	s := open(t, a)
	for _, wanted := range []struct {
		pod              *v1.Pod
		node, annotation string
	}{{first, "hami", "hami.io/vgpu-devices-to-allocate"}, {second, "npu", "hami.io/Ascend310P-devices-to-allocate"}} {
		result := s.filter(t, wanted.pod, "hami", "npu", "plain")
		if !slices.Equal(*result.NodeNames, []string{wanted.node}) {
			t.Error(wanted.node, result)
		}
		if failure := s.bind(t, wanted.pod, wanted.node); failure != "" {
			t.Error(failure)
		}
		if written := a.present(t, wanted.pod.Name).Annotations; written[wanted.annotation] == "" {
			t.Error(wanted.annotation, written)
		}
	}
}

// kube-scheduler may know of a pod earlier.
func TestAPodThatIsNotKnownYetIsWaitedFor(t *testing.T) {
	a := newAPI(node("a", 16384))
	s := open(t, a, func(settings *service.Settings) { settings.Patience = 1e10 })
	wants := pod("p", 9000)
	answered := make(chan *extenderv1.ExtenderFilterResult)
	go func() { answered <- s.filter(t, wants, "a") }()
	a.create(t, wants)
	if result := <-answered; len(*result.NodeNames) != 1 {
		t.Error(result)
	}
}

func TestTheDevicesConfigurationIsFollowed(t *testing.T) {
	wants := pod("p", 0)
	wants.Spec.Containers[0].Resources.Limits["example.com/gpu"] = amounts("x", "1")["x"]
	named := func(count string) *v1.ConfigMap {
		return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "volcano-vgpu-device-config"},
			Data: map[string]string{"device-config.yaml": "nvidia:\n  resourceCountName: " + count + "\n"}}
	}
	a := newAPI(node("a", 16384), wants, named("volcano.sh/vgpu-number"))
	s := open(t, a)
	tell := func(config *v1.ConfigMap) {
		if _, err := a.CoreV1().ConfigMaps("kube-system").Update(context.Background(), config, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if s.Cluster().WantsDevices("uid-p") {
		t.Error("nobody said yet what example.com/gpu is")
	}
	tell(named("example.com/gpu"))
	eventually(t, "the new name is read", func() bool { return s.Cluster().WantsDevices("uid-p") })
	tell(named("[a, list]"))
	tell(named("volcano.sh/vgpu-number"))
	eventually(t, "a bad one changes nothing and the next is read", func() bool { return !s.Cluster().WantsDevices("uid-p") })
}
