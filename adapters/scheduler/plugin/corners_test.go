package plugin

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vcv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"

	"vgpualloc.example/adapters/live"
	e2e "vgpualloc.example/adapters/scheduler/e2e/objects"
	"vgpualloc.example/adapters/vga"
)

func leaving(p *v1.Pod) *v1.Pod {
	now := metav1.NewTime(time.Now().Add(30 * time.Second))
	grace := int64(30)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &grace
	p.Finalizers = []string{"x/y"}
	return p
}

// A victim of the last session is still terminating: it makes room enough.
func TestNoMoreVictimsWhileOneTerminates(t *testing.T) {
	high, low := util.BuildPriorityClass("high", 1000), util.BuildPriorityClass("low", 10)
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("a", 16384), node("b", 16384)},
		Pods: []*v1.Pod{leaving(running("v1", "pg1", "a", "GPU-a-0", 8000)),
			running("v2", "pg1", "b", "GPU-b-0", 8000), pod("wants", "pg3", 12000)},
		PodGroups: []*vcv1.PodGroup{group("pg1", 0, "q", "low", vcv1.PodGroupRunning),
			group("pg3", 1, "q", "high", vcv1.PodGroupInqueue)},
		PriClass:      []*schedulingv1.PriorityClass{high, low},
		ExpectBindMap: map[string]string{}, ExpectEvicted: []string{}, ExpectEvictNum: 0,
	}, nil)
	s.Run([]framework.Action{allocate.New(), preempt.New()})
	s.check(t)
	s.Close()
}

// The card is free; the node's CPU is full of plain pods.
func TestPlainVictimsMakeRoomOfCPU(t *testing.T) {
	high, low := util.BuildPriorityClass("high", 1000), util.BuildPriorityClass("low", 10)
	plain := pod("v1", "pg1", 0)
	plain.Spec.NodeName, plain.Status.Phase = "a", v1.PodRunning
	plain.Annotations["volcano.sh/preemptable"] = "true"
	big := amounts("cpu", "64")
	plain.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: big, Limits: big}
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("a", 16384)},
		Pods:  []*v1.Pod{plain, pod("wants", "pg3", 12000)},
		PodGroups: []*vcv1.PodGroup{group("pg1", 0, "q", "low", vcv1.PodGroupRunning),
			group("pg3", 1, "q", "high", vcv1.PodGroupInqueue)},
		PriClass:      []*schedulingv1.PriorityClass{high, low},
		ExpectBindMap: map[string]string{}, ExpectEvicted: []string{"ns/v1"}, ExpectEvictNum: 1,
	}, nil)
	s.Run([]framework.Action{allocate.New(), preempt.New()})
	s.check(t)
	if task := s.ssn.Jobs["ns/pg3"].Tasks["ns-wants"]; task.Status.String() != "Pipelined" {
		t.Error(task.Status)
	}
	s.Close()
}

// Bad arguments at the start: a plain pod is none of this plugin's business.
func TestBadArgumentsLetPlainPodsPass(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes:         []*v1.Node{node("a", 16384)},
		Pods:          []*v1.Pod{pod("plain", "pg", 0)},
		PodGroups:     []*vcv1.PodGroup{group("pg", 1, "q", "", vcv1.PodGroupInqueue)},
		ExpectBindMap: map[string]string{"ns/plain": "a"}, ExpectBindsNum: 1,
	}, framework.Arguments{"vgpualloc.polciy": "fgd"})
	s.Run([]framework.Action{allocate.New()})
	s.check(t)
}

func follow(m *mirror, c *live.Cluster, nodes []*v1.Node, pods []*v1.Pod) {
	ssn := &framework.Session{Nodes: map[string]*api.NodeInfo{}, Jobs: map[api.JobID]*api.JobInfo{}}
	for _, n := range nodes {
		ssn.Nodes[n.Name] = api.NewNodeInfo(n)
	}
	job := api.NewJobInfo("j")
	for _, p := range pods {
		job.AddTaskInfo(api.NewTaskInfo(p))
	}
	ssn.Jobs["j"] = job
	m.follow(ssn, c)
}

// A pod waits for the cluster's first HAMi node.
func TestWantsDevicesAfterTheFirstHAMiNode(t *testing.T) {
	c, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newMirror()
	p := util.BuildPod("ns", "p", "", v1.PodPending, nil, "pg", nil, nil)
	p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"nvidia.com/gpu": resource.MustParse("1"), "nvidia.com/gpumem": resource.MustParse("4000")}
	plain := util.BuildPod("ns", "w", "", v1.PodPending, nil, "pg", nil, nil)
	plain.Spec.Containers[0].Resources.Limits = v1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	follow(&m, c, []*v1.Node{node("a", 16384)}, []*v1.Pod{p, plain})
	follow(&m, c, []*v1.Node{node("a", 16384), e2e.HAMi("h", 2).Node}, []*v1.Pod{p, plain})
	for _, uid := range []string{"ns-p", "ns-w"} {
		if m.pods[uid].wantsDevices != c.WantsDevices(uid) {
			t.Error(uid, "plugin:", m.pods[uid].wantsDevices, "core:", c.WantsDevices(uid))
		}
	}
}

func TestWantsDevicesAfterAnotherConfiguration(t *testing.T) {
	c, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newMirror()
	p := util.BuildPod("ns", "p", "", v1.PodPending, nil, "pg", nil, nil)
	p.Spec.Containers[0].Resources.Limits = v1.ResourceList{"example.com/vgpu": resource.MustParse("1"), "volcano.sh/vgpu-memory": resource.MustParse("4000")}
	q := util.BuildPod("ns", "q", "", v1.PodPending, nil, "pg", nil, nil)
	q.Spec.Containers[0].Resources.Limits = v1.ResourceList{"example.com/vgpu": resource.MustParse("1")}
	follow(&m, c, []*v1.Node{node("a", 16384)}, []*v1.Pod{p, q})
	config := "nvidia:\n  resourceCountName: example.com/vgpu\n  resourceMemoryName: volcano.sh/vgpu-memory\n  resourceCoreName: volcano.sh/vgpu-cores\n"
	if err := c.Configure(vga.Options{DeviceConfig: config}); err != nil {
		t.Fatal(err)
	}
	follow(&m, c, []*v1.Node{node("a", 16384)}, []*v1.Pod{p, q})
	for _, uid := range []string{"ns-p", "ns-q"} {
		if m.pods[uid].wantsDevices != c.WantsDevices(uid) {
			t.Error(uid, "plugin:", m.pods[uid].wantsDevices, "core:", c.WantsDevices(uid))
		}
	}
}
