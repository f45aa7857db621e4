package allocate

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ofNode selects the pods of a node at the API server.
func (a *Allocator) ofNode() string {
	return fields.OneTermEqualSelector("spec.nodeName", a.Config.Node).String()
}

// Run follows the pods of the node, and tells the API server what it has refused before, until the context ends.
func (a *Allocator) Run(ctx context.Context) error {
	pods := a.Client.CoreV1().Pods(metav1.NamespaceAll)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = a.ofNode()
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = a.ofNode()
			return pods.Watch(ctx, options)
		},
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { a.hear(object) },
			UpdateFunc: func(_, object any) { a.hear(object) },
			DeleteFunc: a.forget,
		},
		Transform: func(object any) (any, error) {
			if pod, ok := object.(*v1.Pod); ok {
				pod.ManagedFields = nil
			}
			return object, nil
		},
	})
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		informer.RunWithContext(ctx)
	}()
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		a.pods.follow()
		a.synced.Store(true)
		if a.Followed != nil {
			a.Followed()
		}
	}
	a.retryFailures(ctx)
	<-followed
	return nil
}

// Synced says whether Run knows the pods that were there when it began.
func (a *Allocator) Synced() bool { return a.synced.Load() }

func (a *Allocator) hear(object any) {
	if pod, ok := object.(*v1.Pod); ok {
		a.pods.put(pod)
		if isUnfinished(pod) {
			a.failed.add(pod, phaseSuccess)
		}
		if a.Heard != nil {
			a.Heard(pod)
		}
	}
}

func (a *Allocator) forget(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if pod, ok := object.(*v1.Pod); ok {
		a.pods.remove(pod.UID)
		a.failed.remove(pod.UID)
		if a.Gone != nil {
			a.Gone(pod)
		}
	}
}

// listLimit is how long a list of the node's pods may take.
const listLimit = 10 * time.Second

// list asks the API server for the pods of the node.
func (a *Allocator) list(ctx context.Context) error {
	ctx, end := context.WithTimeout(ctx, listLimit)
	defer end()
	pods, err := a.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: a.ofNode()})
	if err != nil {
		return err
	}
	a.pods.replace(pods.Items, pods.ResourceVersion)
	return nil
}
