package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	vcv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/conformance"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/livetest"
	"vgpualloc.example/adapters/vga"
)

// The fake clients of volcano.sh/apis v1.14.0 do not know the lists by watch that newer clients ask for.
func init() { _ = utilfeature.DefaultMutableFeatureGate.Set("WatchListClient=false") }

func amounts(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// node has cards of a memory each, shared by HAMi-core.
func node(name string, memories ...int) *v1.Node {
	register, sum := "", 0
	for i, memory := range memories {
		register += fmt.Sprintf("GPU-%s-%d,10,%d,NVIDIA,true,hami-core:", name, i, memory)
		sum += memory
	}
	result := util.BuildNode(name, amounts("cpu", "64", "memory", "256Gi", "pods", "110", "volcano.sh/vgpu-number",
		fmt.Sprint(10*len(memories)), "volcano.sh/vgpu-memory", fmt.Sprint(sum), "volcano.sh/vgpu-cores",
		fmt.Sprint(100*len(memories))), nil)
	result.Annotations = map[string]string{"volcano.sh/node-vgpu-register": register}
	return result
}

// pod of a group asks for one share of a card; without one, if memory is 0.
func pod(name, group string, memory int) *v1.Pod {
	requests := amounts()
	if memory > 0 {
		requests = amounts("volcano.sh/vgpu-number", "1", "volcano.sh/vgpu-memory", fmt.Sprint(memory))
	}
	result := util.BuildPod("ns", name, "", v1.PodPending, requests, group, nil, nil)
	result.Spec.Containers[0].Name = "main"
	result.Spec.Containers[0].Resources.Limits = requests
	return result
}

// running is a pod that has its share of a card.
func running(name, group, node, card string, memory int) *v1.Pod {
	result := pod(name, group, memory)
	result.Spec.NodeName = node
	result.Status.Phase = v1.PodRunning
	result.Annotations["volcano.sh/preemptable"] = "true"
	result.Annotations["volcano.sh/vgpu-node"] = node
	result.Annotations["volcano.sh/vgpu-ids-new"] = fmt.Sprintf("%s,NVIDIA,%d,0:", card, memory)
	result.Annotations["volcano.sh/devices-to-allocate"] = ""
	result.Annotations["volcano.sh/bind-phase"] = "success"
	return result
}

func group(name string, members int32, queue, priority string, phase vcv1.PodGroupPhase) *vcv1.PodGroup {
	return util.BuildPodGroupWithPrio(name, "ns", queue, members, nil, phase, priority)
}

// scene is one session of the plugin beside Volcano's, with its decision log.
type scene struct {
	*uthelper.TestCommonStruct
	engine *Engine
	ssn    *framework.Session
	log    string
}

func open(t *testing.T, objects uthelper.TestCommonStruct, arguments framework.Arguments,
	configurations ...conf.Configuration) *scene {
	t.Helper()
	s := &scene{TestCommonStruct: &objects, engine: NewEngine(), log: filepath.Join(t.TempDir(), "decisions.jsonl")}
	given := framework.Arguments{logArgument: s.log}
	for name, value := range arguments {
		given[name] = value
	}
	objects.Plugins = map[string]framework.PluginBuilder{Name: s.engine.New, gang.PluginName: gang.New,
		priority.PluginName: priority.New, conformance.PluginName: conformance.New}
	if objects.Queues == nil {
		objects.Queues = []*vcv1.Queue{util.BuildQueue("q", 1, nil)}
	}
	yes := true
	all := func(name string, arguments framework.Arguments) conf.PluginOption {
		return conf.PluginOption{Name: name, EnabledJobReady: &yes, EnabledJobPipelined: &yes, EnabledJobStarving: &yes,
			EnabledJobOrder: &yes, EnabledTaskOrder: &yes, EnabledPredicate: &yes, EnabledNodeOrder: &yes,
			EnabledBestNode: &yes, EnabledPreemptable: &yes, EnabledReclaimable: &yes, EnabledAllocatable: &yes,
			Arguments: arguments}
	}
	s.ssn = objects.RegisterSession([]conf.Tier{{Plugins: []conf.PluginOption{all(Name, given),
		all(priority.PluginName, nil), all(gang.PluginName, nil), all(conformance.PluginName, nil)}}}, configurations)
	for _, pod := range objects.Pods { // what is written on them has to be somewhere
		_, err := s.ssn.KubeClient().CoreV1().Pods("ns").Create(context.Background(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := s.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// annotations are those that a pod is bound with.
func (s *scene) annotations(t *testing.T, pod string) map[string]string {
	t.Helper()
	decision, decided := s.engine.decisions.Load("ns-" + pod)
	if !decided {
		return nil
	}
	return decision.(*live.Decision).Annotations
}

// events of the decision log.
func (s *scene) events(t *testing.T, kind string) []decisionlog.Line {
	t.Helper()
	return livetest.Events(t, s.log, kind)
}

func (s *scene) check(t *testing.T) {
	t.Helper()
	if err := s.CheckAll(0); err != nil {
		t.Error(err)
	}
}

func TestPodsGoWhereTheCoreSaysAndAreBoundWithTheirAnnotations(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("small", 16384), node("big", 16384, 81920)},
		Pods:  []*v1.Pod{pod("large", "pg1", 40000), pod("little", "pg2", 10000), pod("plain", "pg3", 0)},
		PodGroups: []*vcv1.PodGroup{group("pg1", 1, "q", "", vcv1.PodGroupInqueue),
			group("pg2", 1, "q", "", vcv1.PodGroupInqueue), group("pg3", 1, "q", "", vcv1.PodGroupInqueue)},
		MinimalBindCheck: true, ExpectBindsNum: 3,
	}, framework.Arguments{"vgpualloc.policy": "binpack"})
	s.Run([]framework.Action{allocate.New()})
	s.check(t)
	written := s.annotations(t, "large")
	if written["volcano.sh/vgpu-node"] != "big" || !strings.HasPrefix(written["volcano.sh/vgpu-ids-new"], "GPU-big-1,NVIDIA,40000,") ||
		written["volcano.sh/bind-phase"] != "allocating" {
		t.Error(written)
	}
	if written := s.annotations(t, "plain"); written["volcano.sh/vgpu-node"] != "" {
		t.Error(written)
	}
	if state, where := s.engine.cluster.Pod("ns-large"); state != vga.PodCommitted || where != "big" {
		t.Error(state, where)
	}
	s.Close()
	decisions := s.events(t, "decide")
	if len(decisions) != 2 || len(s.events(t, "commit")) != 2 || len(s.events(t, "rollback")) != 0 {
		t.Error(decisions)
	}
}

func TestAGangThatDoesNotFitLeavesNothing(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("a", 16384, 16384)},
		Pods:  []*v1.Pod{pod("p1", "pg", 12000), pod("p2", "pg", 12000), pod("p3", "pg", 12000), pod("other", "pg2", 16000)},
		PodGroups: []*vcv1.PodGroup{group("pg", 3, "q", "", vcv1.PodGroupInqueue),
			group("pg2", 1, "q", "", vcv1.PodGroupInqueue)},
		ExpectBindMap: map[string]string{"ns/other": "a"}, ExpectBindsNum: 1,
	}, nil)
	s.Run([]framework.Action{allocate.New()})
	s.check(t)
	for _, name := range []string{"p1", "p2", "p3"} {
		if state, _ := s.engine.cluster.Pod("ns-" + name); state != vga.PodWaiting {
			t.Error(name, state)
		}
		if written := s.annotations(t, name); written["volcano.sh/vgpu-ids-new"] != "" {
			t.Error(written)
		}
	}
	job := s.ssn.Jobs["ns/pg"]
	if words := job.FitError(); !strings.Contains(words, "12000 MiB wanted") {
		t.Error(words)
	}
	s.Close()
	stands := map[string]bool{}
	for _, decision := range s.events(t, "decide") {
		stands[decision.UID] = true
	}
	for _, taken := range s.events(t, "rollback") {
		delete(stands, taken.UID)
	}
	if len(stands) != 1 || !stands["ns-other"] {
		t.Error(stands)
	}
	if refusals := s.events(t, "refuse"); len(refusals) != 1 || refusals[0].Pod != "ns/p3" {
		t.Error(refusals)
	}
}

// Amounts added up over the node say that there is room: no card has it.
func TestPreemptionMakesRoomOnADevice(t *testing.T) {
	t.Run("node by node", func(t *testing.T) { preemptionMakesRoom(t) })
	t.Run("on copies of nodes", func(t *testing.T) {
		preemptionMakesRoom(t, conf.Configuration{Name: "preempt",
			Arguments: map[string]interface{}{preempt.EnableTopologyAwarePreemptionKey: true}})
	})
}

func preemptionMakesRoom(t *testing.T, configurations ...conf.Configuration) {
	high, low := util.BuildPriorityClass("high", 1000), util.BuildPriorityClass("low", 10)
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("a", 16384, 16384), node("empty"), node("small", 8192), node("full", 16384)},
		Pods: []*v1.Pod{running("v1", "pg1", "a", "GPU-a-0", 8000), running("v2", "pg2", "a", "GPU-a-1", 8000),
			running("v3", "pg1", "small", "GPU-small-0", 8000), running("v4", "pg2", "full", "GPU-full-0", 8000),
			running("v5", "pg1", "a", "GPU-a-1", 2000), pod("wants", "pg3", 12000)},
		PodGroups: []*vcv1.PodGroup{group("pg1", 0, "q", "low", vcv1.PodGroupRunning),
			group("pg2", 0, "q", "high", vcv1.PodGroupRunning), group("pg3", 1, "q", "high", vcv1.PodGroupInqueue)},
		PriClass:      []*schedulingv1.PriorityClass{high, low},
		ExpectBindMap: map[string]string{}, ExpectEvicted: []string{"ns/v1"}, ExpectEvictNum: 1,
	}, nil, configurations...)
	s.Run([]framework.Action{allocate.New(), preempt.New()})
	s.check(t)
	s.Close()
	if state, _ := s.engine.cluster.Pod("ns-wants"); state != vga.PodWaiting {
		t.Error("room is made, and the pod has nothing yet", state)
	}
	if state, _ := s.engine.cluster.Pod("ns-v1"); state != vga.PodCommitted {
		t.Error("the victim runs until it is gone", state)
	}
}

func TestReclaimAsksForWholeRoom(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("a", 16384), node("empty"), node("small", 8192)},
		Pods: []*v1.Pod{running("v1", "pg1", "a", "GPU-a-0", 6000), running("v2", "pg1", "a", "GPU-a-0", 6000),
			running("v3", "pg1", "small", "GPU-small-0", 6000), pod("wants", "pg3", 15000)},
		PodGroups: []*vcv1.PodGroup{group("pg1", 0, "q1", "low", vcv1.PodGroupRunning),
			group("pg3", 1, "q2", "high", vcv1.PodGroupInqueue)},
		Queues:        []*vcv1.Queue{util.BuildQueue("q1", 1, nil), util.BuildQueue("q2", 1, nil)},
		PriClass:      []*schedulingv1.PriorityClass{util.BuildPriorityClass("high", 1000), util.BuildPriorityClass("low", 10)},
		ExpectBindMap: map[string]string{}, ExpectEvicted: []string{"ns/v1", "ns/v2"}, ExpectEvictNum: 2,
	}, nil)
	s.Run([]framework.Action{allocate.New(), reclaim.New()})
	s.check(t)
	s.Close()
}

func TestAPodThatCouldNotBeBoundHasNothing(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes:         []*v1.Node{node("a", 16384)},
		Pods:          []*v1.Pod{pod("p", "pg", 12000)},
		PodGroups:     []*vcv1.PodGroup{group("pg", 1, "q", "", vcv1.PodGroupInqueue)},
		ExpectBindMap: map[string]string{"ns/p": "a"}, ExpectBindsNum: 1,
	}, nil)
	s.Run([]framework.Action{allocate.New()})
	s.check(t)
	decision, _ := s.engine.decisions.Load("ns-p")
	task := s.ssn.Jobs["ns/pg"].Tasks["ns-p"]
	bind := &cache.BindContext{TaskInfo: task, Extensions: map[string]cache.BindContextExtension{Name: decision}}
	bind.TaskInfo.Pod.UID = "ns-p"
	pods := s.ssn.KubeClient().CoreV1().Pods("ns")
	object, err := pods.Get(context.Background(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.Spec.NodeName = "a" // the answer was lost, not the request
	if _, err := pods.Update(context.Background(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	asked := &binder{engine: s.engine, client: s.ssn.KubeClient()}
	asked.PreBindRollBack(context.Background(), bind)
	if state, _ := s.engine.cluster.Pod("ns-p"); state != vga.PodCommitted {
		t.Error(state)
	}
	// Volcano has written the annotations with the pod's status. They go at once, the devices when the answer cannot come any more.
	object.Spec.NodeName = ""
	object.Annotations = maps.Clone(decision.(*live.Decision).Annotations)
	if _, err := pods.Update(context.Background(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { asked.PreBindRollBack(context.Background(), bind); close(done) }()
	for deadline := time.Now().Add(10 * time.Second); len(object.Annotations) > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		if object, err = pods.Get(context.Background(), "p", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if state, _ := s.engine.cluster.Pod("ns-p"); len(object.Annotations) > 0 || state != vga.PodCommitted {
		t.Errorf("annotations %v, state %v: expected that they go before the devices", object.Annotations, state)
	}
	<-done
	if state, _ := s.engine.cluster.Pod("ns-p"); state != vga.PodWaiting {
		t.Error(state)
	}
	s.Close()
}

func TestOnePodAtATimeStartsOnALockedNode(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes:            []*v1.Node{node("a", 16384)},
		Pods:             []*v1.Pod{pod("p", "pg1", 2000), pod("q", "pg2", 2000)},
		PodGroups:        []*vcv1.PodGroup{group("pg1", 1, "q", "", vcv1.PodGroupInqueue), group("pg2", 1, "q", "", vcv1.PodGroupInqueue)},
		MinimalBindCheck: true, ExpectBindsNum: 1,
	}, framework.Arguments{nodeLockArgument: true})
	nodes := s.ssn.KubeClient().CoreV1().Nodes()
	if _, err := nodes.Create(context.Background(), node("a", 16384), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Run([]framework.Action{allocate.New()})
	s.check(t)
	locked, err := nodes.Get(context.Background(), "a", metav1.GetOptions{})
	if err != nil || locked.Annotations["hamivgpu"] == "" {
		t.Error(locked.Annotations, err)
	}
	var states []vga.PodState
	for _, uid := range []string{"ns-p", "ns-q"} {
		state, _ := s.engine.cluster.Pod(uid)
		states = append(states, state)
	}
	if states[0]+states[1] != vga.PodCommitted+vga.PodWaiting {
		t.Error("one is bound and one waits", states)
	}
	client := s.ssn.KubeClient()
	if err := lockNode(context.Background(), client, "a", "hamivgpu"); err == nil || !strings.Contains(err.Error(), "is locked since") {
		t.Error(err)
	}
	locked.Annotations["hamivgpu"] = "2020-01-01T00:00:00Z" // whoever took it has gone
	if _, err := nodes.Update(context.Background(), locked, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := lockNode(context.Background(), client, "a", "hamivgpu"); err != nil {
		t.Error(err)
	}
	if err := unlockNode(context.Background(), client, "a", "hamivgpu"); err != nil {
		t.Error(err)
	}
	s.Close()
}

func TestBadArgumentsAreTold(t *testing.T) {
	for _, arguments := range []framework.Arguments{{"vgpualloc.policy": "best"}, {"vgpualloc.polciy": "fgd"},
		{"deviceshare.SchedulePolicy": "bestfit"}, {"vgpualloc.weight": "much"},
		{"vgpualloc.decision-log-max-mib": "-1"}, {"vgpualloc.decision-log-max-mib": "1GiB"}} {
		s := open(t, uthelper.TestCommonStruct{
			Nodes:         []*v1.Node{node("a", 16384)},
			Pods:          []*v1.Pod{pod("p", "pg", 12000)},
			PodGroups:     []*vcv1.PodGroup{group("pg", 1, "q", "", vcv1.PodGroupInqueue)},
			ExpectBindMap: map[string]string{},
		}, arguments)
		s.Run([]framework.Action{allocate.New()})
		s.check(t)
		for name := range arguments {
			short := strings.TrimPrefix(strings.TrimPrefix(name, "vgpualloc."), "deviceshare.")
			if words := s.ssn.Jobs["ns/pg"].FitError(); !strings.Contains(words, short) {
				t.Error(name, words)
			}
		}
		s.Close()
	}
}

func TestWhatIsSetForMindClusterIsPassedOn(t *testing.T) {
	for text, word := range map[string]string{"false": "", "true": "presetVirtualDevice"} {
		settings, err := readArguments(framework.Arguments{"deviceshare.AscendMindClusterVNPUEnable": true},
			[]conf.Configuration{{Name: "init-params", Arguments: map[string]interface{}{"presetVirtualDevice": text}},
				{Name: "allocate", Arguments: map[string]interface{}{"other": "thing"}}})
		if err != nil || strings.Contains(settings.deviceshare, "other") {
			t.Error(settings, err)
		}
		cluster, err := live.New(settings.options("", ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cluster.Tell([]byte(`{"kind":"Pod","metadata":{"name":"p","uid":"p",
			"labels":{"ring-controller.atlas":"ascend-310P","vnpu-level":"low"}},"spec":{"containers":[{"name":"main",
			"resources":{"limits":{"huawei.com/npu-core":"2"}}}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		answers, err := cluster.Ask("p", "default/p")
		if err != nil || (answers.Failure() != nil) != (word != "") || answers.Failure() != nil &&
			!strings.Contains(answers.Failure().Error(), word) {
			t.Error(text, answers, err)
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestExplainNamesThePod(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes:     []*v1.Node{node("a", 16384)},
		Pods:      []*v1.Pod{pod("p", "pg", 20000)},
		PodGroups: []*vcv1.PodGroup{group("pg", 1, "q", "", vcv1.PodGroupInqueue)},
	}, nil)
	text, known, err := s.engine.Explain("ns", "p")
	if err != nil || !known || !json.Valid([]byte(text)) || !strings.Contains(text, "20000") {
		t.Error(text, known, err)
	}
	if _, known, _ := s.engine.Explain("ns", "nobody"); known {
		t.Error("nobody is known")
	}
	s.Close()
}
