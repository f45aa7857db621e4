package allocate

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/pause"
	"vgpualloc.example/adapters/kube"
)

const (
	writes     = 5                      // attempts of a write that the API server could not take
	writePause = 100 * time.Millisecond // between them
	writeLimit = 10 * time.Second       // of one request
)

// annotate writes annotations of exactly this pod and, where a version is given, of exactly this version of it.
func (a *Allocator) annotate(ctx context.Context, pod *v1.Pod, version string, annotations map[string]string) (*v1.Pod, error) {
	patch, err := kube.AnnotationsPatch(pod.UID, version, annotations)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithTimeout(ctx, writeLimit)
	defer end()
	return a.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
}

// commit erases the entries of a claimed container and ends the phase with the last one, in one write. A write that was refused
// because the pod has changed is done again on the pod as it is; errChanged: this container no longer waits.
func (a *Allocator) commit(ctx context.Context, claim *claim) (ended bool, err error) {
	if claim.slot < 0 {
		a.pods.serve(claim)
		return false, nil
	}
	current := claim.candidate
	if newer := a.pods.current(claim.pod.UID); newer != nil && newer.waitsAs(claim) {
		current = newer
	}
	for attempt := 1; ; attempt++ {
		annotations, last := current.without(claim.slot)
		pod, err := a.annotate(ctx, current.pod, current.pod.ResourceVersion, annotations)
		if err == nil {
			a.pods.put(pod)
			return last, nil
		}
		latest, gone := a.reread(ctx, current.pod)
		switch {
		case gone:
			a.pods.remove(current.pod.UID)
			return false, fmt.Errorf("%w: it has gone", errChanged)
		case latest == nil: // nobody knows
		case isUnclear(err) && isWritten(latest, annotations):
			a.pods.put(latest)
			return last, nil
		case latest.ResourceVersion != current.pod.ResourceVersion || latest.UID != current.pod.UID:
			a.pods.put(latest)
			next := a.pods.readCandidate(latest)
			if next == nil || latest.UID != current.pod.UID || !next.waitsAs(claim) {
				return false, fmt.Errorf("%w: %w", errChanged, err)
			}
			if current = next; attempt < writes {
				continue
			}
		}
		if attempt == writes || !isTransient(err) || !pause.For(ctx, writePause) {
			return false, err
		}
	}
}

// waitsAs says whether a claimed container still waits in this version of its pod, for the same devices.
func (c *candidate) waitsAs(claim *claim) bool {
	if c.dialect != claim.dialect || claim.slot >= len(c.slots) || len(c.slots[claim.slot]) != len(claim.entries) {
		return false
	}
	for i, entry := range c.slots[claim.slot] {
		if entry != claim.entries[i] {
			return false
		}
	}
	return true
}

// without are the annotations of the pod once a container has been served, and whether it is the last.
func (c *candidate) without(slot int) (annotations map[string]string, last bool) {
	erased := c.slots.Erased(slot)
	annotations = map[string]string{c.dialect.devices: c.dialect.write(erased)}
	if last = erased.Next(vendor) < 0; last {
		c.dialect.end(annotations, phaseSuccess)
	}
	return annotations, last
}

// end adds the annotations with which a pod's phase ends.
func (d *dialect) end(annotations map[string]string, phase string) {
	annotations[d.phase] = phase
	if d.endsTime {
		annotations[d.time] = timeEnded
	}
}

// reread is the pod as the API server has it now; nil without gone: it could not be read.
func (a *Allocator) reread(ctx context.Context, pod *v1.Pod) (latest *v1.Pod, gone bool) {
	ctx, end := context.WithTimeout(ctx, writeLimit)
	defer end()
	latest, err := a.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return nil, apierrors.IsNotFound(err)
	}
	return latest, false
}

func isWritten(pod *v1.Pod, annotations map[string]string) bool {
	for key, value := range annotations {
		if pod.Annotations[key] != value {
			return false
		}
	}
	return true
}

// isUnclear says whether a write may have been done although it failed.
func isUnclear(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// isTransient says whether the same write may succeed later.
func isTransient(err error) bool {
	return isUnclear(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
}

// fail marks a pod as failed, says why, and releases what was taken for it. It goes on when the kubelet has hung up.
func (a *Allocator) fail(ctx context.Context, claim *claim, reason error) {
	ctx = context.WithoutCancel(ctx)
	klog.ErrorS(reason, "A pod could not get its devices", "pod", klog.KObj(claim.pod), "uid", claim.pod.UID)
	if a.Events != nil {
		a.Events.Eventf(claim.pod, v1.EventTypeWarning, "DevicesNotAllocated", "Devices of %s could not be allocated: %v",
			claim.resource, reason)
	}
	a.pods.doom(claim.pod.UID)
	if err := a.endPhase(ctx, claim.pod, claim.dialect, phaseFailed); err != nil {
		klog.ErrorS(err, "A failed pod could not be marked as such; it is tried again", "pod", klog.KObj(claim.pod))
		a.failed.add(claim.pod, phaseFailed)
	}
	a.releaseLock(ctx, claim.candidate, a.readLock(ctx, claim.dialect))
}

// endPhase writes the phase with which a pod ends; a pod that has gone is no error.
func (a *Allocator) endPhase(ctx context.Context, pod *v1.Pod, dialect *dialect, phase string) error {
	annotations := map[string]string{}
	dialect.end(annotations, phase)
	latest, err := a.annotate(ctx, pod, "", annotations)
	if err == nil {
		a.pods.put(latest)
		return nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // gone, or another pod has its name
		if latest, gone := a.reread(ctx, pod); gone || latest != nil && latest.UID != pod.UID {
			a.pods.remove(pod.UID)
			return nil
		}
	}
	return err
}
