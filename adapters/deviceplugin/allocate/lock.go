package allocate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/pause"
	"vgpualloc.example/adapters/kube"
)

// lockRead is the node with its lock, as far as it could be read.
type lockRead struct {
	node *v1.Node
	err  error
}

// readLock reads the node while the call goes on.
func (a *Allocator) readLock(ctx context.Context, dialect *dialect) <-chan lockRead {
	result := make(chan lockRead, 1)
	go func() {
		ctx, end := context.WithTimeout(ctx, writeLimit)
		defer end()
		node, err := a.Client.CoreV1().Nodes().Get(ctx, a.Config.Node, metav1.GetOptions{})
		result <- lockRead{node: node, err: err}
	}()
	return result
}

// await waits for the node.
func (a *Allocator) await(ctx context.Context, read <-chan lockRead) lockRead {
	began := time.Now()
	result := <-read
	if a.awaited != nil {
		a.awaited(ctx, time.Since(began))
	}
	return result
}

// releaseLock releases the lock that a scheduler has taken on the node for this pod. A lock that names its pod is released for that
// one alone. Volcano's names none: it is one at a time, and is held until its pod has its devices, so it is that of the pod that
// has them now. A call for which no pod is found releases nothing.
func (a *Allocator) releaseLock(ctx context.Context, candidate *candidate, first <-chan lockRead) {
	ctx = context.WithoutCancel(ctx)
	read := a.await(ctx, first)
	held := ""
	for attempt := 1; ; attempt++ {
		value, isLocked := "", false
		if read.err == nil {
			if value, isLocked = read.node.Annotations[candidate.dialect.lock]; !isLocked || !candidate.owns(value) || held != "" && value != held {
				return
			}
			held = value
			if read.err = a.unlock(ctx, read.node, candidate.dialect.lock); read.err == nil {
				return
			}
		}
		if attempt == writes || apierrors.IsNotFound(read.err) {
			klog.ErrorS(read.err, "The lock of the node could not be released", "node", a.Config.Node, "lock", candidate.dialect.lock)
			if a.Events != nil {
				a.Events.Eventf(candidate.pod, v1.EventTypeWarning, "NodeLockNotReleased", "Lock %s of node %s could not be released: %v",
					candidate.dialect.lock, a.Config.Node, read.err)
			}
			return
		}
		pause.For(ctx, writePause)
		read = a.await(ctx, a.readLock(ctx, candidate.dialect))
	}
}

// owns says whether a lock's value may be this pod's.
func (c *candidate) owns(value string) bool {
	if !c.dialect.lockNamesPod {
		return true
	}
	parts := strings.Split(value, ",")
	return len(parts) == 3 && parts[1] == c.pod.Namespace && parts[2] == c.pod.Name
}

// unlock removes a lock from this version of the node, so that one that was taken meanwhile stays.
func (a *Allocator) unlock(ctx context.Context, node *v1.Node, lock string) error {
	patch, err := kube.AnnotationsPatch("", node.ResourceVersion, map[string]any{lock: nil})
	if err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, writeLimit)
	defer end()
	_, err = a.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return errors.Join(fmt.Errorf("annotation %s of node %s", lock, node.Name), err)
	}
	return nil
}
