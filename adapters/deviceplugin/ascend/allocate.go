package ascend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/pause"
	"vgpualloc.example/adapters/kube"
)

// allocateLimit is how long a call may take, and then again what a failed one leaves to do.
const allocateLimit = 30 * time.Second

// allocator answers the kubelet's Allocate.
type allocator struct {
	client       kubernetes.Interface
	config       *config
	chips        *inventory
	root         string
	node         string
	hookPath     string
	releasePause time.Duration
	now          func() time.Time

	turn sync.Mutex // one call at a time: each one's pod depends on what the others erased
}

// Allocate serves containers of one pod, in the order of its slots. The kubelet chooses ids without knowing what a scheduler chose: only
// their number counts.
func (a *allocator) Allocate(ctx context.Context, containers [][]string) ([]*pluginapi.ContainerAllocateResponse, error) {
	if len(containers) == 0 {
		return nil, errors.New("no container asks for devices, expected at least one")
	}
	a.turn.Lock()
	defer a.turn.Unlock()
	ctx, end := context.WithTimeout(ctx, allocateLimit)
	defer end()
	chosen, lock, err := a.choose(ctx, containers)
	if err != nil {
		return nil, fmt.Errorf("get pending pod error: %w", err)
	}
	responses, isLast, err := a.serve(ctx, chosen, containers)
	if err == nil && !isLast {
		return responses, nil
	}
	after, endAfter := context.WithTimeout(context.WithoutCancel(ctx), allocateLimit)
	defer endAfter()
	if err != nil {
		a.fail(after, chosen.pod, err)
	}
	if lock.isOf(chosen.pod) {
		a.report("The node's lock", lock.release(after, a.client, a.node, a.releasePause), "pod", klog.KObj(chosen.pod))
	}
	return responses, err
}

// serve answers for the next open slots of a pod and writes that they are served; isLast is whether none is left.
func (a *allocator) serve(ctx context.Context, chosen *candidate, containers [][]string) (
	responses []*pluginapi.ContainerAllocateResponse, isLast bool, err error) {
	if chosen.problem != nil {
		return nil, false, chosen.problem
	}
	rest := chosen.slots
	for _, ids := range containers {
		slot := rest.Next("")
		if slot < 0 {
			return nil, false, errNothingLeft
		}
		if len(rest[slot]) != len(ids) {
			return nil, false, fmt.Errorf("device number not matched: annotation has %d, request has %d", len(rest[slot]), len(ids))
		}
		response, err := a.answer(chosen.pod, len(rest), slot, chosen.promises[slot])
		if err != nil {
			return nil, false, fmt.Errorf("build container allocate response: %w", err)
		}
		responses = append(responses, response)
		rest = rest.Erased(slot)
	}
	isLast = rest.Next("") < 0
	annotations := map[string]any{toAllocatePrefix + a.config.chip.CommonWord + toAllocateSuffix: rest.HAMi()}
	if isLast {
		annotations[bindPhase] = phaseSuccess
	}
	if err = a.annotate(ctx, chosen.pod, annotations); err != nil {
		return nil, false, fmt.Errorf("erase allocated containers annotation: %w", err)
	}
	return responses, isLast, nil
}

// annotate writes annotations of exactly this pod. The error is the API server's.
func (a *allocator) annotate(ctx context.Context, pod *v1.Pod, annotations map[string]any) error {
	err := kube.Annotate(ctx, a.client, metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, annotations)
	var refusal *apierrors.StatusError
	if errors.As(err, &refusal) {
		return refusal
	}
	return err
}

// fail writes that a pod cannot be served, and why. A phase that says success stays.
func (a *allocator) fail(ctx context.Context, pod *v1.Pod, reason error) {
	klog.ErrorS(reason, "A pod cannot be given its chips", "pod", klog.KObj(pod))
	if pod.Annotations[bindPhase] != phaseSuccess {
		a.report("The phase of a pod", a.writePhase(ctx, pod), "pod", klog.KObj(pod))
	}
	at := metav1.NewTime(a.now())
	event := &v1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: pod.Name + "."},
		InvolvedObject: v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			ResourceVersion: pod.ResourceVersion},
		Type: v1.EventTypeWarning, Reason: "AllocateFailed", Message: reason.Error(), FirstTimestamp: at, LastTimestamp: at, Count: 1,
		Source: v1.EventSource{Component: "vgpualloc-device-plugin", Host: a.node},
	}
	_, err := a.client.CoreV1().Events(pod.Namespace).Create(ctx, event, metav1.CreateOptions{})
	a.report("The event of a pod", err, "pod", klog.KObj(pod))
}

// phaseAttempts is how often the API server may refuse the phase of a pod that fails.
const phaseAttempts = 4

// writePhase writes that a pod has failed, also where the API server refuses at first.
func (a *allocator) writePhase(ctx context.Context, pod *v1.Pod) error {
	var err error
	wait := a.releasePause
	for attempt := range phaseAttempts {
		if attempt > 0 {
			if !pause.For(ctx, wait) {
				return err
			}
			wait *= 2
		}
		if err = a.annotate(ctx, pod, map[string]any{bindPhase: phaseFailed}); err == nil || apierrors.IsNotFound(err) {
			return err
		}
	}
	return err
}

// report writes down what could not be written into the cluster.
func (a *allocator) report(what string, err error, about ...any) {
	if err != nil {
		klog.ErrorS(err, what+" could not be written", about...)
	}
}
