package ascend

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// choose finds the pod that a call is about, and the node's lock. A lock that nobody can release any more is released.
func (a *allocator) choose(ctx context.Context, containers [][]string) (*candidate, nodeLock, error) {
	node, err := a.client.CoreV1().Nodes().Get(ctx, a.node, metav1.GetOptions{})
	if err != nil {
		return nil, nodeLock{}, err
	}
	lock := readLock(node)
	isStale := lock.problem != nil
	if lock.name != "" {
		locked, isOver, err := a.locked(ctx, lock)
		if err != nil {
			return nil, lock, err
		}
		if locked != nil {
			return locked, lock, nil
		}
		isStale = isOver
	}
	if isStale {
		a.report("The removal of a lock that serves nobody", lock.release(ctx, a.client, a.node, a.releasePause), "lock", lock.value)
		lock = nodeLock{}
	}
	chosen, err := a.listed(ctx, containers)
	return chosen, lock, err
}

// locked is the pod that the lock names; nil: it cannot be what a call is about. isOver is whether the lock serves nobody any more.
func (a *allocator) locked(ctx context.Context, lock nodeLock) (owner *candidate, isOver bool, err error) {
	pod, err := a.client.CoreV1().Pods(lock.namespace).Get(ctx, lock.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	if !isWaiting(pod, a.node) || !mayBeAbout(pod, a.config.chip.ResourceName) {
		return nil, false, nil
	}
	owner = read(pod, a.config.chip.CommonWord)
	if errors.Is(owner.problem, errNothingLeft) {
		return nil, true, nil
	}
	return owner, false, nil
}

// listed is the first pod of this node whose next containers were promised as many devices; failing that the first that was promised
// any; failing that the first whose promise cannot be read.
func (a *allocator) listed(ctx context.Context, containers [][]string) (*candidate, error) {
	list, err := a.client.CoreV1().Pods(v1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.node).String()})
	if err != nil {
		return nil, err
	}
	var promised, unreadable *candidate
	for i := range list.Items {
		pod := &list.Items[i]
		if !isWaiting(pod, a.node) || !mayBeAbout(pod, a.config.chip.ResourceName) {
			continue
		}
		one := read(pod, a.config.chip.CommonWord)
		switch {
		case one.matches(containers):
			return one, nil
		case errors.Is(one.problem, errNothingLeft):
		case one.problem == nil && promised == nil:
			promised = one
		case one.problem != nil && unreadable == nil:
			unreadable = one
		}
	}
	if promised != nil {
		return promised, nil
	}
	if unreadable != nil {
		return unreadable, nil
	}
	return nil, fmt.Errorf("no binding pod found on node %s", a.node)
}
