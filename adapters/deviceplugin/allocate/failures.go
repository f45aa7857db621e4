package allocate

import (
	"context"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/pause"
)

// failures are the pods whose phase the API server has still to be told.
type failures struct {
	mu   sync.Mutex
	pods map[types.UID]unwritten
	news chan struct{}
}

type unwritten struct {
	pod   *v1.Pod
	phase string
}

func newFailures() *failures {
	return &failures{pods: map[types.UID]unwritten{}, news: make(chan struct{}, 1)}
}

func (f *failures) add(pod *v1.Pod, phase string) {
	f.mu.Lock()
	f.pods[pod.UID] = unwritten{pod: pod, phase: phase}
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *failures) remove(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pods, uid)
}

func (f *failures) all() map[types.UID]unwritten {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.pods)
}

// isUnfinished says whether a pod runs, with nothing left to allocate, in a phase that says otherwise: the write that should have
// ended its phase was lost. The plugin before this one left such pods.
func isUnfinished(pod *v1.Pod) bool {
	dialect := dialectOf(pod)
	if dialect == nil || pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil {
		return false
	}
	slots, err := dialect.read(pod.Annotations[dialect.devices])
	return err == nil && slots.Next("") < 0
}

// dialectOf is the dialect in which a pod is in phase allocating; nil: in none.
func dialectOf(pod *v1.Pod) *dialect {
	for _, dialect := range dialects {
		_, hasDevices := pod.Annotations[dialect.devices]
		if hasDevices && pod.Annotations[dialect.phase] == phaseAllocating {
			return dialect
		}
	}
	return nil
}

// retryMax is the longest wait between two rounds of writes that the API server refuses.
const retryMax = time.Minute

// retryFailures writes the phases that the API server has refused, at longer and longer intervals, until the context ends. A pod
// whose phase has been ended by somebody else, or that has gone, is left alone.
func (a *Allocator) retryFailures(ctx context.Context) {
	wait := a.Retry
	for {
		waiting := a.failed.all()
		if len(waiting) == 0 {
			wait = a.Retry
			select {
			case <-a.failed.news:
			case <-ctx.Done():
				return
			}
		}
		if !pause.For(ctx, wait) {
			return
		}
		for uid, refused := range a.failed.all() {
			if a.retryPhase(ctx, refused) {
				a.failed.remove(uid)
				wait = a.Retry
			}
		}
		wait = min(2*wait, retryMax)
	}
}

func (a *Allocator) retryPhase(ctx context.Context, refused unwritten) (done bool) {
	latest, gone := a.reread(ctx, refused.pod)
	switch {
	case gone:
		a.pods.remove(refused.pod.UID)
		return true
	case latest == nil:
		return false
	case latest.UID != refused.pod.UID:
		return true
	}
	dialect := dialectOf(latest)
	if dialect == nil || refused.phase == phaseSuccess && !isUnfinished(latest) {
		return true
	}
	if err := a.endPhase(ctx, latest, dialect, refused.phase); err != nil {
		klog.ErrorS(err, "The phase of a pod could not be written; it is tried again", "pod", klog.KObj(latest), "phase", refused.phase)
		return false
	}
	return true
}
