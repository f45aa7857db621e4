package plugin

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/cache"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// SetupBindContextExtension is of framework.BindContextHandler: the pod is handed over to be bound, and has its devices
// from here on. What is to be written on it goes along.
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
	bind.Extensions[Name] = decision.(*live.Decision)
}

// binder writes the annotations that the node side reads before a pod is bound, so that no pod is ever bound without.
type binder struct {
	engine    *Engine
	client    kubernetes.Interface
	lockNodes bool // deviceshare.NodeLockEnable
}

// PreBind is of cache.PreBinder. It is called in a goroutine of its own for each pod.
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
		klog.ErrorS(err, "Nothing more is written into the decision log")
	}
	if err := b.lock(ctx, decision); err != nil {
		b.release(uid)
		return err
	}
	annotations := make(map[string]any, len(decision.Annotations))
	for name, value := range decision.Annotations {
		annotations[name] = value
	}
	if err := b.annotate(ctx, bind, annotations); err != nil {
		b.release(uid)
		b.unlock(ctx, decision)
		return err
	}
	return nil
}

func (b *binder) lock(ctx context.Context, decision *live.Decision) error {
	if name := lockNameOf(decision.Annotations); b.lockNodes && name != "" {
		return lockNode(ctx, b.client, decision.Node, name)
	}
	return nil
}

func (b *binder) unlock(ctx context.Context, decision *live.Decision) {
	if name := lockNameOf(decision.Annotations); b.lockNodes && name != "" {
		kube.Report(unlockNode(ctx, b.client, decision.Node, name), "node", decision.Node)
	}
}

// PreBindRollBack is of cache.PreBinder: the pod could not be bound and waits again.
func (b *binder) PreBindRollBack(ctx context.Context, bind *cache.BindContext) {
	decision, decided := bind.Extensions[Name].(*live.Decision)
	if !decided {
		return
	}
	b.release(string(bind.TaskInfo.Pod.UID))
	b.unlock(ctx, decision)
	annotations := make(map[string]any, len(decision.Annotations))
	for name := range decision.Annotations {
		annotations[name] = nil // as a merge patch removes it
	}
	if err := b.annotate(ctx, bind, annotations); err != nil {
		klog.ErrorS(err, "The annotations of a pod that could not be bound stay on it", "pod",
			klog.KObj(bind.TaskInfo.Pod))
	}
}

func (b *binder) release(uid string) {
	if state, _ := b.engine.cluster.Pod(uid); state == vga.PodCommitted {
		kube.Report(b.engine.cluster.Release(uid), "pod", uid)
	}
	b.engine.decisions.Delete(uid)
}

// annotate sets annotations, or removes those that are nil, of exactly this pod.
func (b *binder) annotate(ctx context.Context, bind *cache.BindContext, annotations map[string]any) error {
	if b.client == nil {
		return nil
	}
	pod := bind.TaskInfo.Pod
	named := metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	return kube.Annotate(ctx, b.client, named, annotations)
}
