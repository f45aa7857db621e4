package service

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// How long the API server may take for one call.
const callTimeout = 30 * time.Second

// Bind decides on a pod's devices on the node that kube-scheduler took, and binds the pod. The annotations for the node
// side travel in the Binding: the API server writes them and the node's name in one transaction, so that no pod is ever
// bound without them and none has them that is not bound. After an error the pod has nothing, unless the
// API server's answer was lost or leaves open what it did.
func (s *Service) Bind(ctx context.Context, args *extenderv1.ExtenderBindingArgs) error {
	if args.Node == "" {
		return badRequest("Node is empty: expected the node that the pod is to be bound to")
	}
	pod, err := s.known(ctx, args.PodNamespace, args.PodName, args.PodUID)
	if err != nil {
		return err
	}
	// Who asked may have given up meanwhile; what was begun is ended all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := s.waiting(ctx, pod); err != nil {
		return err
	}
	if !s.beginBinding(pod) {
		return fmt.Errorf("pod %s is being bound, or has been", fullName(pod))
	}
	state := bindingState(0)
	defer func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.endBinding(pod, state)
	}()
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: args.Node},
	}
	if s.cluster.WantsDevices(string(pod.UID)) {
		decision, err := s.decide(pod, args.Node)
		if err != nil {
			return err
		}
		binding.Annotations = decision.Annotations
	} else if off := kube.SwitchedOff(s.cluster, pod); off != nil {
		return off
	}
	state, err = s.bind(ctx, pod, binding)
	return err
}

func (s *Service) decide(pod *v1.Pod, node string) (*live.Decision, error) {
	s.mutex.Lock()
	candidates := s.chosen.take(pod.UID)
	s.mutex.Unlock()
	decision, err := s.cluster.Reserve(string(pod.UID), fullName(pod), node, candidates, time.Now())
	if err == nil {
		reportLog(s.cluster.Flush()) // what is bound is in the log
	}
	return decision, err
}

// beginBinding returns false if the pod is unknown, is bound, or has a binding in progress or unresolved.
func (s *Service) beginBinding(pod *v1.Pod) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	present := s.pods[pod.UID]
	if present == nil || present.Spec.NodeName != "" || s.binding[pod.UID] != 0 {
		return false
	}
	s.binding[pod.UID] = bindingNow
	return true
}

// endBinding: the pod is bound, or it is not (0) and has nothing any more, or nobody knows. The mutex is held.
func (s *Service) endBinding(pod *v1.Pod, state bindingState) {
	uid := string(pod.UID)
	present := s.pods[pod.UID]
	shown := present == nil || present.Spec.NodeName != "" // its object says what it has, or it is gone
	if shown || state == 0 {
		delete(s.binding, pod.UID)
	} else {
		s.binding[pod.UID] = state
	}
	if reserved, _ := s.cluster.Pod(uid); reserved != vga.PodReserved {
		return
	}
	switch state {
	case bindingDone:
		kube.Report(s.cluster.Commit(uid), "pod", fullName(pod))
	case bindingUncertain:
	default:
		kube.Report(s.cluster.Rollback(uid), "pod", fullName(pod))
	}
}

// bind asks the API server. Where its answer is lost, or leaves open what was done, it is asked what became of the pod.
// What was asked for may happen still when the pod is not bound then, so the devices stay reserved until kube-scheduler asks
// about the pod again.
func (s *Service) bind(ctx context.Context, pod *v1.Pod, binding *v1.Binding) (bindingState, error) {
	err := s.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if err == nil {
		return bindingDone, nil
	}
	failure := fmt.Errorf("binding pod %s to node %s: %w", fullName(pod), binding.Target.Name, err)
	if isRefusal(err) {
		return 0, failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	for _, wait := range s.settings.LookAgain {
		time.Sleep(wait)
		present, err := s.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && present.UID != pod.UID:
			return 0, failure
		case err == nil && isBoundAs(present, binding):
			return bindingDone, nil
		case err == nil && present.Spec.NodeName != "": // by somebody else; its object will say what it has
			return 0, failure
		case err == nil && present.DeletionTimestamp != nil: // a pod that is being deleted is bound by nobody any more
			return 0, failure
		}
	}
	klog.ErrorS(failure, "Whether a pod was bound is not known; its devices stay reserved", "pod", klog.KObj(pod))
	return bindingUncertain, failure
}

// isRefusal is whether it is certain that the API server did nothing. A conflict does not make it certain: the API server
// answers so where its storage has not answered in time and may have written all the same, and where client-go has asked
// again after an answer 5xx and the first question was carried out.
func isRefusal(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) ||
		apierrors.IsNotFound(err) || apierrors.IsTooManyRequests(err)
}

func isBoundAs(pod *v1.Pod, binding *v1.Binding) bool {
	if pod.Spec.NodeName != binding.Target.Name {
		return false
	}
	for name, value := range binding.Annotations {
		if pod.Annotations[name] != value {
			return false
		}
	}
	return true
}
