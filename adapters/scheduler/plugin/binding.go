package plugin

import (
	"context"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// SetupBindContextExtension is of framework.BindContextHandler: the pod is handed over to be bound, and has its devices
// from here on.
func (p *plugin) SetupBindContextExtension(_ *k8sframework.CycleState, bind *cache.BindContext) {
	if p.cluster == nil || !p.wantsDevices(bind.TaskInfo) {
		return
	}
	uid := string(bind.TaskInfo.Pod.UID)
	decision, decided := p.engine.decisions.Load(uid)
	if !decided {
		return // the binder refuses it
	}
	if err := p.cluster.Commit(uid); err != nil {
		klog.ErrorS(err, "A pod that is to be bound is not reserved", "pod", klog.KObj(bind.TaskInfo.Pod))
		return
	}
	p.handedOver[uid] = struct{}{}
	bind.Extensions[Name] = decision.(*live.Decision)
}

// annotated is a task whose pod has annotations more. The pod itself is the cache's.
func annotated(task *api.TaskInfo, annotations map[string]string) *api.TaskInfo {
	pod := *task.Pod
	pod.Annotations = map[string]string{}
	maps.Copy(pod.Annotations, task.Pod.Annotations)
	maps.Copy(pod.Annotations, annotations)
	result := task.Clone()
	result.Pod = &pod
	return result
}

// binder is asked before and after pods are bound.
type binder struct {
	engine    *Engine
	client    kubernetes.Interface
	lockNodes bool // deviceshare.NodeLockEnable
}

// PreBind is of cache.PreBinder. It is called in a goroutine of its own for each pod. Volcano's binder writes the
// annotations of the pod that it is given together with the binding, in one request: so no pod is ever bound without what
// the node side reads.
func (b *binder) PreBind(ctx context.Context, bind *cache.BindContext) error {
	pod := bind.TaskInfo.Pod
	uid := string(pod.UID)
	decision, decided := bind.Extensions[Name].(*live.Decision)
	if !decided {
		if !b.engine.cluster.WantsDevices(uid) {
			return nil
		}
		return fmt.Errorf("plugin %s has not decided on devices of pod %s/%s", Name, pod.Namespace, pod.Name)
	}
	if decision.Node != bind.TaskInfo.NodeName {
		b.release(uid)
		return fmt.Errorf("plugin %s decided on devices of node %s for pod %s/%s, which is to be bound to %s", Name,
			decision.Node, pod.Namespace, pod.Name, bind.TaskInfo.NodeName)
	}
	if err := b.engine.cluster.Flush(); err != nil { // what is bound is in the log
		klog.ErrorS(err, "The decision log is not as it should be")
	}
	if name := lockNameOf(decision.Annotations); b.lockNodes && name != "" {
		if err := lockNode(ctx, b.client, decision.Node, name); err != nil {
			b.release(uid)
			return err
		}
	}
	bind.TaskInfo = annotated(bind.TaskInfo, decision.Annotations)
	return nil
}

// PreBindRollBack is of cache.PreBinder: the API server did not confirm that the pod is bound. It may be bound all the
// same, as when the answer was lost, and then it has its devices. Until that is known it keeps them; Volcano looks at the
// pod anew when this returns.
//
// Where this scheduler may not know, as it has no right to read pods, the pod keeps its devices, its annotations and the
// lock of its node: a pod that runs has them, and nobody else may get them. They are its own until its object shows it
// bound, or a session has it waiting again, which takes its devices back; the lock ends by itself.
func (b *binder) PreBindRollBack(ctx context.Context, bind *cache.BindContext) {
	decision, decided := bind.Extensions[Name].(*live.Decision)
	if !decided {
		return
	}
	present, err := b.lookTwice(ctx, bind.TaskInfo.Pod, decision)
	if err != nil {
		klog.ErrorS(err, "A pod keeps its devices", "pod", klog.KObj(bind.TaskInfo.Pod), "node", decision.Node)
		return
	}
	if present != nil && present.Spec.NodeName == decision.Node {
		return
	}
	b.release(string(bind.TaskInfo.Pod.UID))
	if name := lockNameOf(decision.Annotations); b.lockNodes && name != "" {
		kube.Report(unlockNode(ctx, b.client, decision.Node, name), "node", decision.Node)
	}
}

// clean removes what Volcano writes on a pod, with its status, when it could not be bound. The API server refuses that if
// the pod has changed meanwhile. A binding that is still carried out afterwards writes its annotations again.
func (b *binder) clean(ctx context.Context, present *v1.Pod, decision *live.Decision) {
	removed := map[string]any{}
	for name := range decision.Annotations {
		if _, there := present.Annotations[name]; there {
			removed[name] = nil
		}
	}
	if err := kube.Annotate(ctx, b.client, present.ObjectMeta, removed); err != nil && !apierrors.IsConflict(err) {
		klog.ErrorS(err, "Annotations stay on a pod that could not be bound", "pod", klog.KObj(present))
	}
}

// How long a binding may take to show whose answer was lost, and pauses while the API server does not answer.
const bindingShows, firstPause, longestPause = time.Second, 50 * time.Millisecond, 5 * time.Second

// For how long an API server may say that this scheduler must not read pods: one that has just started does not know
// all roles yet. A variable for tests.
var forbiddenPatience = 10 * time.Second

// lookTwice is the pod as it is, or nil if it is gone. That it is not bound counts only if it is so twice. Each time it
// is cleaned, so that nobody sees annotations on a pod that waits for longer than that takes.
func (b *binder) lookTwice(ctx context.Context, pod *v1.Pod, decision *live.Decision) (*v1.Pod, error) {
	present, err := b.look(ctx, pod)
	if present != nil && present.Spec.NodeName == "" {
		b.clean(ctx, present, decision)
		time.Sleep(bindingShows)
		present, err = b.look(ctx, pod)
	}
	if present != nil && present.Spec.NodeName == "" {
		b.clean(ctx, present, decision)
	}
	return present, err
}

// look asks the API server, and goes on asking until it answers. It is an error if that is not going to happen.
func (b *binder) look(ctx context.Context, pod *v1.Pod) (*v1.Pod, error) {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		present, err := b.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case err == nil && present.UID == pod.UID:
			return present, nil
		case err == nil || apierrors.IsNotFound(err):
			return nil, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("whether pod %s/%s is bound is not known: %w", pod.Namespace, pod.Name, ctx.Err())
		case apierrors.IsForbidden(err) && time.Since(began) >= forbiddenPatience:
			return nil, fmt.Errorf("whether pod %s/%s is bound is not known: this scheduler's role lacks the verb get of "+
				"pods: %w", pod.Namespace, pod.Name, err)
		}
		klog.ErrorS(err, "Whether a pod is bound is not known yet", "pod", klog.KObj(pod))
		time.Sleep(pause)
	}
}

func (b *binder) release(uid string) {
	if state, _ := b.engine.cluster.Pod(uid); state == vga.PodCommitted {
		kube.Report(b.engine.cluster.Release(uid), "pod", uid)
	}
	b.engine.decisions.Delete(uid)
}
