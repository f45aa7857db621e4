package plugin

import (
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	vcv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/uthelper"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// keeping is a status updater that remembers what it was asked to write.
type keeping struct {
	util.FakeStatusUpdater
	mutex sync.Mutex
	pods  []*v1.Pod
}

func (k *keeping) UpdatePodStatus(p *v1.Pod) (*v1.Pod, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.pods = append(k.pods, p.DeepCopy())
	return p, nil
}

// What could not be bound, as its node is locked for another pod, is told so by its status only: the API server would keep
// annotations that come with a status.
func TestNothingIsWrittenOnAPodThatIsNotBound(t *testing.T) {
	p := vgpu("p", "3000", "")
	w := newWorld(t, seedConfiguration("deviceshare.VGPUEnable: true", "deviceshare.NodeLockEnable: true"), nil, []*v1.Node{node("a", 16384)}, p)
	kept := &keeping{}
	w.cache.StatusUpdater = kept
	w.session(0)
	time.Sleep(200 * time.Millisecond)
	kept.mutex.Lock()
	defer kept.mutex.Unlock()
	if len(kept.pods) == 0 {
		t.Error("no status was written")
	}
	for _, p := range kept.pods {
		if p.Annotations["volcano.sh/vgpu-node"] != "" {
			t.Error("UpdateStatus of a pod that is not bound writes", p.Annotations)
		}
	}
}

// The pod fits on x. Which node was tried last for eviction is no matter.
func TestReclaimBeforeAllocate(t *testing.T) {
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("x", 16384), node("y", 8192)},
		Pods:  []*v1.Pod{running("v1", "pg1", "y", "GPU-y-0", 6000), pod("wants", "pg3", 15000)},
		PodGroups: []*vcv1.PodGroup{group("pg1", 0, "q1", "low", vcv1.PodGroupRunning),
			group("pg3", 1, "q2", "high", vcv1.PodGroupInqueue)},
		Queues:        []*vcv1.Queue{util.BuildQueue("q1", 1, nil), util.BuildQueue("q2", 1, nil)},
		PriClass:      []*schedulingv1.PriorityClass{util.BuildPriorityClass("high", 1000), util.BuildPriorityClass("low", 10)},
		ExpectBindMap: map[string]string{"ns/wants": "x"}, ExpectBindsNum: 1,
	}, nil)
	s.Run([]framework.Action{reclaim.New(), allocate.New()})
	s.check(t)
	s.Close()
}

// A victim runs until it is gone: nobody is bound to what it has, whatever the order of actions.
func TestNobodyIsBoundToWhatAVictimStillHas(t *testing.T) {
	for name, queue := range map[string]string{"reclaim": "q2", "preempt": "q1"} {
		t.Run(name, func(t *testing.T) {
			action := map[string]framework.Action{"reclaim": reclaim.New(), "preempt": preempt.New()}[name]
			stays := running("w", "pg2", "y", "GPU-y-1", 12000)
			stays.Annotations["volcano.sh/preemptable"] = "false"
			r := pod("r", "pg4", 5000)
			never := v1.PreemptNever
			r.Spec.PreemptionPolicy = &never
			s := open(t, uthelper.TestCommonStruct{
				Nodes: []*v1.Node{node("y", 16384, 16384)},
				Pods:  []*v1.Pod{running("v1", "pg1", "y", "GPU-y-0", 15000), stays, pod("p", "pg3", 8000), r},
				PodGroups: []*vcv1.PodGroup{group("pg1", 0, "q1", "low", vcv1.PodGroupRunning), group("pg2", 0, "q1", "low", vcv1.PodGroupRunning),
					group("pg3", 1, queue, "high", vcv1.PodGroupInqueue), group("pg4", 1, queue, "high", vcv1.PodGroupInqueue)},
				Queues:        []*vcv1.Queue{util.BuildQueue("q1", 1, nil), util.BuildQueue("q2", 1, nil)},
				PriClass:      []*schedulingv1.PriorityClass{util.BuildPriorityClass("high", 1000), util.BuildPriorityClass("low", 10)},
				ExpectBindMap: map[string]string{}, ExpectEvicted: []string{"ns/v1"}, ExpectEvictNum: 1,
			}, nil)
			s.Run([]framework.Action{action, allocate.New()})
			s.check(t)
			s.Close()
		})
	}
}

// y has room when v1 is gone, z has it now.
func TestAPodGoesWhereThereIsRoomNow(t *testing.T) {
	stays := running("w", "pg2", "y", "GPU-y-1", 14500)
	stays.Annotations["volcano.sh/preemptable"] = "false"
	r := pod("r", "pg4", 2500)
	never := v1.PreemptNever
	r.Spec.PreemptionPolicy = &never
	s := open(t, uthelper.TestCommonStruct{
		Nodes: []*v1.Node{node("y", 20000, 16384), node("z", 16384)},
		Pods:  []*v1.Pod{running("v1", "pg1", "y", "GPU-y-0", 18500), stays, pod("p", "pg3", 17000), r},
		PodGroups: []*vcv1.PodGroup{group("pg1", 0, "q1", "low", vcv1.PodGroupRunning), group("pg2", 0, "q1", "low", vcv1.PodGroupRunning),
			group("pg3", 1, "q2", "high", vcv1.PodGroupInqueue), group("pg4", 1, "q2", "high", vcv1.PodGroupInqueue)},
		Queues:        []*vcv1.Queue{util.BuildQueue("q1", 1, nil), util.BuildQueue("q2", 1, nil)},
		PriClass:      []*schedulingv1.PriorityClass{util.BuildPriorityClass("high", 1000), util.BuildPriorityClass("low", 10)},
		ExpectBindMap: map[string]string{"ns/r": "z"}, ExpectBindsNum: 1, ExpectEvicted: []string{"ns/v1"}, ExpectEvictNum: 1,
	}, framework.Arguments{"vgpualloc.policy": "binpack"})
	s.Run([]framework.Action{reclaim.New(), allocate.New()})
	s.check(t)
	s.Close()
}

func TestArgumentsThatAreNoNumbers(t *testing.T) {
	for _, text := range []any{"5x", "10%", "NaN", "+Inf"} {
		if s, err := readArguments(framework.Arguments{weightArgument: text}, nil); err == nil {
			t.Error(text, "is read as", s.weight)
		}
	}
	if s, err := readArguments(framework.Arguments{nodeLockArgument: "yes"}, nil); err == nil {
		t.Error("yes is read as", s.lockNodes)
	}
}
