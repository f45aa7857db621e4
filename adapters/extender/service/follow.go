package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/objects"
	"vgpualloc.example/adapters/vga"
)

// Follow tells the core what there is, and what changes until the context ends or the service is closed. When it returns nil
// everything that there was at the beginning is known: first ConfigMaps, which say how nodes are read, then nodes, then pods.
func (s *Service) Follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(s.life, cancel)
	followed := make(chan error, 1)
	s.mutex.Lock()
	begun := s.inBackground(func() { followed <- s.follow(ctx) })
	s.mutex.Unlock()
	if !begun {
		cancel()
		return vga.Closed
	}
	return <-followed
}

func (s *Service) follow(ctx context.Context) error {
	s.config.Watch(s.settings.ConfigNamespace, s.settings.ConfigName, s.settings.MindCluster)
	if err := s.config.Await(ctx, s.followConfig); err != nil {
		return err
	}
	s.followConfigMaps()
	factory := informers.NewSharedInformerFactory(s.client, 0)
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	if err := s.followEach(ctx, "nodes", nodes, reducedNode, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.showNode(nil, object) },
		UpdateFunc: s.showNode,
		DeleteFunc: func(object any) { s.removeNode(last(object)) },
	}); err != nil {
		return err
	}
	s.tellEarlyNodes()
	if err := s.followEach(ctx, "pods", pods, reducedPod, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.showPod(nil, object) },
		UpdateFunc: s.showPod,
		DeleteFunc: func(object any) { s.removePod(last(object)) },
	}); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.inBackground(func() { s.keepFollowing(ctx) }) {
		return vga.Closed
	}
	s.ready.Store(true)
	return nil
}

func (s *Service) keepFollowing(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			s.followConfigMaps()
		case <-ticker.C:
			reportLog(s.cluster.RotateLog())
		}
	}
}

// followEach runs an informer of one kind and waits until what there is has been told.
func (s *Service) followEach(ctx context.Context, kind string, informer cache.SharedIndexInformer,
	reduced cache.TransformFunc, handler cache.ResourceEventHandler) error {
	if err := informer.SetTransform(reduced); err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	begun := s.inBackground(func() { informer.Run(ctx.Done()) })
	s.mutex.Unlock()
	if !begun {
		return vga.Closed
	}
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("%s: %w before all were known", kind, ctx.Err())
	}
	return nil
}

// What is kept of objects is what the core reads, and the resource version, by which informers tell what is new.
func reducedNode(object any) (any, error) {
	node, ok := object.(*v1.Node)
	if !ok {
		return object, nil // of an object that was deleted while nobody looked
	}
	result := objects.Node(node)
	result.ResourceVersion = node.ResourceVersion
	return result, nil
}

func reducedPod(object any) (any, error) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return object, nil
	}
	result := objects.Pod(pod, true)
	result.ResourceVersion = pod.ResourceVersion
	return result, nil
}

func last(object any) any {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return object
}

func reportLog(err error) {
	if err != nil {
		klog.ErrorS(err, "The decision log is not as it should be")
	}
}

func (s *Service) followConfig() {
	s.config.FollowConfig(s.cluster, func(config string) vga.Options {
		options := s.settings.Options
		options.DeviceConfig = config
		return options
	})
}

func (s *Service) followConfigMaps() {
	s.followConfig()
	s.config.FollowNodes(s.cluster)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.takeBackAll()
}

func (s *Service) showNode(before, now any) {
	node := now.(*v1.Node)
	reduced := objects.Node(node)
	if before != nil && objects.Equal(objects.Node(before.(*v1.Node)), reduced) {
		return // a heartbeat
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.early != nil {
		s.early[node.Name] = reduced
		return
	}
	kube.TellNode(s.cluster, reduced)
	s.takeBackAll() // annotations may name this node
}

// tellEarlyNodes tells the core of the nodes that there were at the beginning, in the order of their names: of nodes with equal
// scores the one that the core has known longer goes first, and the API server promises no order.
func (s *Service) tellEarlyNodes() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.early)) {
		kube.TellNode(s.cluster, s.early[name])
	}
	s.early = nil
}

func (s *Service) removeNode(object any) {
	node, ok := object.(*v1.Node)
	if !ok {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.early != nil {
		delete(s.early, node.Name)
		return
	}
	kube.Report(s.cluster.RemoveNode(node.Name), "node", node.Name)
}

func (s *Service) showPod(before, now any) {
	pod := now.(*v1.Pod)
	if former, ok := before.(*v1.Pod); ok {
		if former.UID != pod.UID {
			s.removePod(former)
		} else if objects.Equal(objects.Pod(former, true), objects.Pod(pod, true)) {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.pods[pod.UID] = pod // with its resource version
			return
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	kube.TellPod(s.cluster, objects.Pod(pod, true))
	s.keep(pod)
	if pod.Spec.NodeName != "" {
		delete(s.binding, pod.UID)
	} else if s.isOurs(pod) {
		s.takeBack(pod)
	}
	close(s.news)
	s.news = make(chan struct{})
}

func (s *Service) keep(pod *v1.Pod) {
	s.pods[pod.UID] = pod
	s.uids[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod.UID
	node := pod.Spec.NodeName
	if node == "" {
		s.unbound[pod.UID] = struct{}{}
		return
	}
	delete(s.unbound, pod.UID)
	if hasEnded(pod) {
		s.leaveNode(pod)
		return
	}
	if s.onNode[node] == nil {
		s.onNode[node] = map[types.UID]struct{}{}
	}
	s.onNode[node][pod.UID] = struct{}{}
}

func hasEnded(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

func (s *Service) leaveNode(pod *v1.Pod) {
	others := s.onNode[pod.Spec.NodeName]
	delete(others, pod.UID)
	if len(others) == 0 {
		delete(s.onNode, pod.Spec.NodeName)
	}
}

func (s *Service) removePod(object any) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	kube.Report(s.cluster.RemovePod(string(pod.UID)), "pod", fullName(pod))
	s.leaveNode(pod)
	if known := s.pods[pod.UID]; known != nil {
		s.leaveNode(known)
	}
	delete(s.pods, pod.UID)
	delete(s.unbound, pod.UID)
	if name := (types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}); s.uids[name] == pod.UID {
		delete(s.uids, name)
	}
	if s.binding[pod.UID] != bindingNow { // the goroutine that binds this pod removes the entry
		delete(s.binding, pod.UID)
	}
	s.chosen.take(pod.UID)
}

// takeBackAll looks at all pods that are not bound. The mutex is held.
func (s *Service) takeBackAll() {
	for _, uid := range slices.Sorted(maps.Keys(s.unbound)) { // the decision log has them in this order
		if pod := s.pods[uid]; s.isOurs(pod) {
			s.takeBack(pod)
		}
	}
}
