package service

import (
	"context"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Preempt looks at the pods that kube-scheduler would evict on each node so that a pod fits there. It knows of no
// devices; where the pod would not get its devices by that, others of lower priority are added, as few and as
// unimportant as possible, found by trial. None is taken off the list: they have to go for other reasons. Nodes where
// nothing helps are left out.
func (s *Service) Preempt(ctx context.Context, args *extenderv1.ExtenderPreemptionArgs) (
	*extenderv1.ExtenderPreemptionResult, error) {
	if args.Pod == nil {
		return nil, badRequest("Pod is null: expected the pod that room is made for")
	}
	proposed, err := proposals(args)
	if err != nil {
		return nil, err
	}
	pod, err := s.known(ctx, args.Pod.Namespace, args.Pod.Name, args.Pod.UID)
	if err != nil {
		return nil, err
	}
	result := &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	wants := s.cluster.WantsDevices(string(pod.UID))
	for node, victims := range proposed {
		if wants && !s.addVictims(pod, node, victims) {
			continue
		}
		if len(victims.Pods) > 0 { // kube-scheduler takes a node without victims for an error
			result.NodeNameToMetaVictims[node] = victims
		}
	}
	return result, nil
}

func proposals(args *extenderv1.ExtenderPreemptionArgs) (map[string]*extenderv1.MetaVictims, error) {
	result := make(map[string]*extenderv1.MetaVictims, len(args.NodeNameToMetaVictims)+len(args.NodeNameToVictims))
	for node, victims := range args.NodeNameToMetaVictims {
		if victims == nil {
			return nil, badRequest("NodeNameToMetaVictims of node %q is null: expected pods", node)
		}
		for _, victim := range victims.Pods {
			if victim == nil {
				return nil, badRequest("a pod in NodeNameToMetaVictims of node %q is null: expected its UID", node)
			}
		}
		result[node] = &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations,
			Pods: append([]*extenderv1.MetaPod(nil), victims.Pods...)}
	}
	for node, victims := range args.NodeNameToVictims {
		if victims == nil {
			return nil, badRequest("NodeNameToVictims of node %q is null: expected pods", node)
		}
		meta := &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations}
		for _, victim := range victims.Pods {
			if victim == nil {
				return nil, badRequest("a pod in NodeNameToVictims of node %q is null: expected the pod", node)
			}
			meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(victim.UID)})
		}
		result[node] = meta
	}
	return result, nil
}

// addVictims is false if the pod gets no devices on the node whoever of lower priority goes.
func (s *Service) addVictims(pod *v1.Pod, node string, victims *extenderv1.MetaVictims) bool {
	gone := make([]string, 0, len(victims.Pods))
	for _, victim := range victims.Pods {
		gone = append(gone, victim.UID)
	}
	leaving, others := s.less(pod, node, gone)
	gone = append(gone, leaving...)
	added, possible := s.cluster.Victims(string(pod.UID), node, gone, others)
	for _, uid := range added {
		victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: uid})
	}
	return possible
}

// less are the pods of a node that are being deleted, and those of lower priority than a pod, the most important first;
// without those that are on the list already.
func (s *Service) less(than *v1.Pod, node string, listed []string) (leaving, others []string) {
	on := make(map[types.UID]bool, len(listed))
	for _, uid := range listed {
		on[types.UID(uid)] = true
	}
	var lower []*v1.Pod
	s.mutex.Lock()
	for uid := range s.onNode[node] {
		pod := s.pods[uid]
		switch {
		case on[uid]:
		case pod.DeletionTimestamp != nil:
			leaving = append(leaving, string(uid))
		case priorityIn(pod) < priorityIn(than):
			lower = append(lower, pod)
		}
	}
	s.mutex.Unlock()
	sort.Slice(lower, func(i, j int) bool { return moreImportant(lower[i], lower[j]) })
	for _, pod := range lower {
		others = append(others, string(pod.UID))
	}
	return leaving, others
}

func priorityIn(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// moreImportant as kube-scheduler has it: of higher priority, then longer there.
func moreImportant(a, b *v1.Pod) bool {
	if priorityIn(a) != priorityIn(b) {
		return priorityIn(a) > priorityIn(b)
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}
