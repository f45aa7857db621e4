package scenario

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/measure"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// group is a group of `needed` pods, of which some run and others wait.
func group(cluster *check.Cluster, name string, needed, running, waiting int) {
	cluster.Groups = append(cluster.Groups, objects.PodGroup(name, needed, ""))
	for i := range running + waiting {
		pod := objects.Pod(objects.PodSpec{Name: fmt.Sprintf("%s-%d", name, i), Group: name})
		if i < running {
			pod.Spec.NodeName = "a"
		}
		cluster.Pods = append(cluster.Pods, pod)
	}
}

func TestForgotten(t *testing.T) {
	cases := []struct {
		name                     string
		needed, running, waiting int
		fits                     []string
		change                   func(*check.Cluster)
		forgotten                int
	}{
		{name: "fits nowhere", needed: 1, waiting: 1},
		{name: "fits", needed: 1, waiting: 1, fits: []string{"b"}, forgotten: 1},
		{name: "each for itself", needed: 1, waiting: 3, fits: []string{"b"}, forgotten: 3},
		{name: "a gang for which one node may be too few", needed: 3, waiting: 3, fits: []string{"a", "b"}},
		{name: "a gang with a node for each", needed: 2, waiting: 2, fits: []string{"a", "b"}, forgotten: 2},
		{name: "a gang that lacks one", needed: 3, running: 2, waiting: 1, fits: []string{"b"}, forgotten: 1},
		{name: "more than the gang needs", needed: 2, running: 2, waiting: 1, fits: []string{"b"}, forgotten: 1},
		{name: "a gang that is not all there", needed: 3, waiting: 2, fits: []string{"a", "b", "c"}},
		{name: "without a group", needed: 1, waiting: 2, fits: []string{"b"}, forgotten: 2, change: func(cluster *check.Cluster) {
			cluster.Groups = nil
		}},
		{name: "a node that is not ready", needed: 1, waiting: 1, fits: []string{"b"}, change: func(cluster *check.Cluster) {
			cluster.Nodes[1].Status.Conditions[0].Status = corev1.ConditionFalse
		}},
		{name: "a node that takes no more", needed: 1, waiting: 1, fits: []string{"b"}, change: func(cluster *check.Cluster) {
			cluster.Nodes[1].Spec.Unschedulable = true
		}},
		{name: "a node with a taint", needed: 1, waiting: 1, fits: []string{"b"}, change: func(cluster *check.Cluster) {
			cluster.Nodes[1].Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}},
		{name: "a node without the label", needed: 1, waiting: 1, fits: []string{"b"}, change: func(cluster *check.Cluster) {
			cluster.Pods[0].Spec.NodeSelector = map[string]string{"zone": "1"}
		}},
		{name: "a node that is gone", needed: 1, waiting: 1, fits: []string{"z"}},
	}
	for _, each := range cases {
		t.Run(each.name, func(t *testing.T) {
			var cluster check.Cluster
			for _, name := range []string{"a", "b", "c"} {
				cluster.Nodes = append(cluster.Nodes, objects.Volcano(name, "hami-core", 1).Node)
			}
			group(&cluster, "g", each.needed, each.running, each.waiting)
			if each.change != nil {
				each.change(&cluster)
			}
			forgotten, err := forgottenIn(cluster, func(*corev1.Pod) (explanation, error) {
				var answer explanation
				for _, node := range []string{"a", "b", "c", "z"} {
					answer.Nodes = append(answer.Nodes, struct {
						Name string `json:"name"`
						Fits bool   `json:"fits"`
					}{node, slices.Contains(each.fits, node)})
				}
				return answer, nil
			})
			if err != nil || len(forgotten) != each.forgotten {
				t.Errorf("%v, error %v; expected %d forgotten", forgotten, err, each.forgotten)
			}
		})
	}
	var cluster check.Cluster
	group(&cluster, "g", 1, 0, 1)
	refused := errors.New("refused")
	if _, err := forgottenIn(cluster, func(*corev1.Pod) (explanation, error) { return explanation{}, refused }); !errors.Is(err, refused) {
		t.Errorf("error %v, expected %v", err, refused)
	}
}

func TestKindsThatWereNeverBound(t *testing.T) {
	env := &Env{Recorder: measure.NewRecorder()}
	summary := &Summary{Violations: map[string]int{}}
	for _, name := range []string{"hami-core-00001-0", "mig-123456-1"} {
		env.Recorder.Creating(name)
	}
	env.Recorder.Hear(bindOf("hami-core-00001-0"))
	env.Recorder.Hear(bindOf("hami-core-00001-0")) // it runs now
	if _, bound := env.Recorder.Kinds(); bound["hami-core"] != 1 {
		t.Errorf("bound %v, expected one of hami-core", bound)
	}
	if env.neverBound(summary); summary.Violations[ruleNeverBound] != 1 || len(summary.Examples) != 1 {
		t.Errorf("%v, expected one kind, mig", summary.Violations)
	}
	env.Recorder.Hear(bindOf("mig-123456-1"))
	summary.Violations = map[string]int{}
	if env.neverBound(summary); len(summary.Violations) != 0 {
		t.Errorf("%v, expected nothing: both kinds were bound", summary.Violations)
	}
}

func bindOf(name string) *corev1.Pod {
	pod := objects.Pod(objects.PodSpec{Name: name})
	pod.Spec.NodeName, pod.UID = "a", types.UID(name)
	return pod
}
