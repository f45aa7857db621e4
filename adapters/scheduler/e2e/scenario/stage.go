package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// A stage is where one fault is provoked: nodes of its own, and pods that can go nowhere else.
type stage struct {
	env    *Env
	prefix string
	nodes  []objects.NodeWithExtras
	pods   []string // in the order in which they came
	seen   map[string]seen
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
func (stage *stage) add(ctx context.Context, node objects.NodeWithExtras) error {
	node.Node.Labels["e2e/stage"] = stage.prefix
	stage.nodes = append(stage.nodes, node)
	if err := stage.env.AddNode(ctx, node); err != nil {
		return err
	}
	return stage.settle(ctx)
}

// pod posts one pod and waits until the scheduler has had its say.
func (stage *stage) pod(ctx context.Context, name string, spec objects.PodSpec) error {
	return stage.group(ctx, 1, map[string]objects.PodSpec{name: spec}, name)
}

// group posts pods of one group, which are all scheduled in one session if at least that many are needed.
func (stage *stage) group(ctx context.Context, needed int, specs map[string]objects.PodSpec, names ...string) error {
	group := stage.prefix + "-" + strings.Join(names, "-")
	unit := Unit{Group: objects.PodGroup(group, needed, specs[names[0]].Priority)}
	for _, name := range names {
		spec := specs[name]
		spec.Name, spec.Group = stage.prefix+"-"+name, group
		spec.NodeSelector = map[string]string{"e2e/stage": stage.prefix}
		unit.Pods = append(unit.Pods, objects.Pod(spec))
		// A name may come back after its first pod has gone; what is seen last counts.
		if !slices.Contains(stage.pods, name) {
			stage.pods = append(stage.pods, name)
		}
	}
	if err := stage.env.Submit(ctx, []Unit{unit}, 0); err != nil {
		return err
	}
	return stage.settle(ctx)
}

// settle waits for sessions that have begun after the last change, and looks at all pods.
func (stage *stage) settle(ctx context.Context) error {
	if stage.env.Plane.Scheduler.Pid() == 0 {
		return nil
	}
	first, deadline, crashes := -1, time.Now().Add(20*time.Second), stage.env.Crashes()
	for {
		if stage.env.Crashes() > crashes+1 {
			break // started again, it has ended again, and so it will go on
		}
		now, err := stage.env.Plane.Sessions()
		if err == nil && (first < 0 || now < first) {
			first = now
		}
		if err == nil && first >= 0 && now-first >= sessionsToSettle && stage.env.Recorder.Quiet() > 2*stage.env.Control.Period && stage.starting() == 0 {
			break
		}
		if time.Now().After(deadline) {
			break // a scheduler that does not come to an end of its sessions is a finding, too
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return stage.look(ctx)
}

// change gives the stage's nodes another label.
func (stage *stage) change(ctx context.Context) error {
	label := fmt.Appendf(nil, `{"metadata":{"labels":{"e2e/changed":"%d"}}}`, time.Now().UnixNano())
	for _, node := range stage.nodes {
		if _, err := stage.env.Client.CoreV1().Nodes().Patch(ctx, node.Node.Name, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return stage.settle(ctx)
}

func (stage *stage) starting() int {
	count := 0
	for _, pod := range stage.env.list() {
		if pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

func (stage *stage) look(ctx context.Context) error {
	for _, name := range stage.pods {
		pod, err := stage.env.Client.CoreV1().Pods(objects.Namespace).Get(ctx, stage.prefix+"-"+name, metav1.GetOptions{})
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
	return nil
}

// remove deletes a pod and waits until it has gone.
func (stage *stage) remove(ctx context.Context, names ...string) error {
	if err := stage.tellToEnd(ctx, names...); err != nil {
		return err
	}
	deadline := time.Now().Add(time.Minute)
	for _, name := range names {
		for stage.there(name) {
			if time.Now().After(deadline) {
				return fmt.Errorf("pod %s is still there a minute after it was deleted", name)
			}
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return stage.settle(ctx)
}

func (stage *stage) tellToEnd(ctx context.Context, names ...string) error {
	var pods []*corev1.Pod
	for _, name := range names {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: stage.prefix + "-" + name}})
	}
	return stage.env.Delete(ctx, pods)
}

func (stage *stage) there(name string) bool {
	_, err := stage.env.Pods.Pods(objects.Namespace).Get(stage.prefix + "-" + name)
	return err == nil
}

// close removes what the stage has posted.
func (stage *stage) close(ctx context.Context) error {
	var left []string
	for _, name := range stage.pods {
		if stage.there(name) {
			left = append(left, name)
		}
	}
	if err := stage.remove(ctx, left...); err != nil {
		return err
	}
	for _, node := range stage.nodes {
		if err := stage.env.Client.CoreV1().Nodes().Delete(ctx, node.Node.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}
