package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// A stage is where one fault is provoked: nodes of its own, and pods that can go nowhere else.
type stage struct {
	env    *Env
	prefix string
	nodes  []objects.NodeWithExtras
	pods   []string // in the order in which they came
	seen   map[string]seen
	// crashes and evictions are those before the fault is provoked.
	crashes, evictions int
}

// What was seen of a pod.
type seen struct {
	Bound   bool   `json:"bound"`
	Given   string `json:"given"`             // the annotation of the node side, if there is one
	Message string `json:"message,omitempty"` // why it waits
}

func (look seen) String() string {
	switch {
	case look.Bound && look.Given == "":
		return "bound without an annotation"
	case look.Bound:
		return "`" + look.Given + "`"
	case look.Given != "":
		return "waits, and has `" + look.Given + "`"
	default:
		return "waits"
	}
}

var assignments = []string{"volcano.sh/vgpu-ids-new", "hami.io/Ascend310P-devices-allocated", "huawei.com/npu-core", "volcano.sh/gpu-index"}

// add posts a node of the stage. Its name begins with the stage's, and pods are held to it by a label.
func (stage *stage) add(node objects.NodeWithExtras) {
	node.Node.Labels["e2e/stage"] = stage.prefix
	stage.nodes = append(stage.nodes, node)
	must(stage.env.addNode(node))
	stage.settle()
}

// A step does something on a stage and waits until the scheduler has had its say.
type step func(*stage)

// one posts one pod.
func one(name string, spec objects.PodSpec) step { return together(1, []string{name}, spec) }

// both posts a gang of pods "a" and "b".
func both(first, second objects.PodSpec) step { return together(2, []string{"a", "b"}, first, second) }

// several posts equal pods "a", "b", … that are scheduled in one session and do not need each other.
func several(count int, spec objects.PodSpec) step {
	return together(1, strings.Split("abcdefgh"[:count], ""), slices.Repeat([]objects.PodSpec{spec}, count)...)
}

// together posts pods of one group, which are all scheduled in one session if at least that many are needed.
func together(needed int, names []string, specs ...objects.PodSpec) step {
	return func(stage *stage) {
		group := stage.prefix + "-" + strings.Join(names, "-")
		unit := Unit{Group: objects.PodGroup(group, needed, specs[0].Priority)}
		for i, name := range names {
			spec := specs[i]
			spec.Name, spec.Group = stage.prefix+"-"+name, group
			spec.NodeSelector = map[string]string{"e2e/stage": stage.prefix}
			unit.Pods = append(unit.Pods, objects.Pod(spec))
			// A name may come back after its first pod has gone; what is seen last counts.
			if !slices.Contains(stage.pods, name) {
				stage.pods = append(stage.pods, name)
			}
		}
		must(stage.env.Submit([]Unit{unit}, 0))
		stage.settle()
	}
}

// told tells a pod to end, and does not wait until it has.
func told(name string) step { return func(stage *stage) { stage.tellToEnd(name) } }

// without deletes pods and waits until they have gone.
func without(names ...string) step {
	return func(stage *stage) {
		stage.tellToEnd(names...)
		if !stage.env.until(time.Minute, func() bool { return !slices.ContainsFunc(names, stage.there) }) {
			must(fmt.Errorf("pods %v are still there a minute after they were deleted", names))
		}
		stage.settle()
	}
}

// nodeChanges gives the stage's nodes another label: stock then counts anew, by the pods' annotations alone. It counts a pod
// twice until its node changes (counted-twice); faults that this would hide have the node change first.
func nodeChanges(stage *stage) {
	label := fmt.Appendf(nil, `{"metadata":{"labels":{"e2e/changed":"%d"}}}`, time.Now().UnixNano())
	for _, node := range stage.nodes {
		must(patch(stage.env.ctx, stage.env.nodes(), node.Node.Name, label))
	}
	stage.settle()
}

// settle waits for sessions that have begun after the last change, and looks at all pods.
func (stage *stage) settle() {
	env := stage.env
	if env.Plane.Scheduler.Pid() == 0 {
		return
	}
	crashes, sessions := env.Crashes(), env.sessionsSince()
	// A scheduler that does not come to an end of its sessions is a finding, too, and so is one that has been started again and
	// has ended again, and so it will go on.
	env.until(20*time.Second, func() bool {
		return env.Crashes() > crashes+1 ||
			sessions() >= sessionsToSettle && env.Recorder.Quiet() > 2*env.Control.Period && env.count(starting) == 0
	})
	stage.look()
}

func (stage *stage) look() {
	for _, name := range stage.pods {
		pod, err := stage.env.pods().Get(stage.env.ctx, stage.prefix+"-"+name, metav1.GetOptions{})
		if err != nil {
			continue // it has gone, and what was seen before stands
		}
		look := seen{Bound: pod.Spec.NodeName != ""}
		for _, annotation := range assignments {
			if text := pod.Annotations[annotation]; text != "" && look.Given == "" {
				look.Given = text
			}
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status != corev1.ConditionTrue {
				look.Message = condition.Message
			}
		}
		stage.seen[name] = look
	}
}

func (stage *stage) tellToEnd(names ...string) {
	var pods []*corev1.Pod
	for _, name := range names {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: stage.prefix + "-" + name}})
	}
	stage.env.delete(pods)
}

func (stage *stage) there(name string) bool {
	_, err := stage.env.known.Pods(objects.Namespace).Get(stage.prefix + "-" + name)
	return err == nil
}

// close removes what the stage has posted.
func (stage *stage) close() {
	without(stage.pods...)(stage)
	for _, node := range stage.nodes {
		must(remove(stage.env.ctx, stage.env.nodes(), node.Node.Name))
	}
}

// What a fault is seen by.

func bound(name string) func(*stage) bool {
	return func(stage *stage) bool { return stage.seen[name].Bound }
}

func waits(name string) func(*stage) bool {
	return func(stage *stage) bool { return !stage.seen[name].Bound }
}

// bare is a pod that is bound without devices.
func bare(name string) func(*stage) bool {
	return func(stage *stage) bool { return stage.seen[name].Bound && stage.seen[name].Given == "" }
}

// shared is that two pods have the same.
func shared(stage *stage) bool { return stage.different() < len(stage.seen) }

// different counts the annotations of pods that differ.
func (stage *stage) different() int {
	result := map[string]bool{}
	for _, look := range stage.seen {
		result[look.Given] = true
	}
	return len(result)
}

// crashed is that the scheduler has ended by itself.
func crashed(stage *stage) bool { return stage.env.Crashes() > stage.crashes }

func (stage *stage) evicted() int { return stage.env.Recorder.Evicted() - stage.evictions }
