package ascend

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/deviceplugin/pause"
)

// nodeLock is the annotation with which a scheduler lets one pod at a time start on a node. Volcano writes a time; HAMi names the pod
// behind it.
type nodeLock struct {
	isSet           bool
	value           string
	namespace, name string // of the pod; empty: it names none
	problem         error  // why it cannot be read
}

// readLock reads a node's lock.
func readLock(node *v1.Node) nodeLock {
	value, isSet := node.Annotations[lockAnnotation]
	lock := nodeLock{isSet: isSet, value: value}
	if !isSet {
		return lock
	}
	parts := strings.Split(value, ",")
	if _, err := time.Parse(time.RFC3339, parts[0]); err != nil || len(parts) != 1 && len(parts) != 3 {
		lock.problem = fmt.Errorf("%s: %q, expected a time, or time,namespace,pod", lockAnnotation, value)
	} else if len(parts) == 3 && parts[1] != "" && parts[2] != "" {
		lock.namespace, lock.name = parts[1], parts[2]
	}
	return lock
}

// isOf is whether a pod may release the lock.
func (l nodeLock) isOf(pod *v1.Pod) bool {
	return l.isSet && l.problem == nil && (l.name == "" || l.name == pod.Name && l.namespace == pod.Namespace)
}

// releaseAttempts is how often the API server may refuse.
const releaseAttempts = 6

// release removes the lock if it is still this one. Attempts are the first pause apart, then twice that and so on.
func (l nodeLock) release(ctx context.Context, client kubernetes.Interface, node string, wait time.Duration) error {
	var err error
	for attempt := range releaseAttempts {
		if attempt > 0 {
			if !pause.For(ctx, wait) {
				return fmt.Errorf("releasing the lock of node %s: %w", node, err)
			}
			wait *= 2
		}
		var now *v1.Node
		if now, err = client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err != nil {
			continue
		}
		if value, isSet := now.Annotations[lockAnnotation]; !isSet || value != l.value {
			return nil
		}
		if err = annotateNode(ctx, client, now.ObjectMeta, now.ResourceVersion, map[string]any{lockAnnotation: nil}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("releasing the lock of node %s: %w", node, err)
}
