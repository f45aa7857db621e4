package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// lockPatience is how old a lock has to be before another pod may take it: the node side has forgotten to release it.
const lockPatience = 5 * time.Minute

// lockNameOf is the annotation of nodes with which deviceshare.NodeLockEnable lets one pod at a time start on a node, as
// upstream names it for each device plugin; empty for dialects without.
func lockNameOf(annotations map[string]string) string {
	if _, ok := annotations["volcano.sh/vgpu-node"]; ok {
		return "hamivgpu"
	}
	if _, ok := annotations["volcano.sh/gpu-index"]; ok {
		return "gpu"
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) { // hami.io/Ascend910B-devices-to-allocate
		kind, after, found := strings.Cut(strings.TrimPrefix(name, "hami.io/"), "-devices-")
		if found && after == "to-allocate" && strings.HasPrefix(kind, "Ascend") {
			return kind
		}
	}
	return ""
}

// lockNode takes the lock of a node for a pod that is about to be bound; the device plugin releases it when the pod has
// its devices. The API server refuses the update if somebody else has changed the node meanwhile: a kubelet, and then it
// is tried again, or another scheduler that was quicker, and then the node is locked.
func lockNode(ctx context.Context, client kubernetes.Interface, name, lock string) error {
	return changeNode(ctx, client, name, "locking", func(node *v1.Node) error {
		if since, locked := node.Annotations[lock]; locked {
			taken, err := time.Parse(time.RFC3339, since)
			if err != nil {
				return fmt.Errorf("annotation %s is %q: expected a time like 2006-01-02T15:04:05Z", lock, since)
			}
			if time.Since(taken) <= lockPatience {
				return fmt.Errorf("it is locked since %s for another pod that starts", since)
			}
		}
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations[lock] = time.Now().UTC().Format(time.RFC3339)
		return nil
	})
}

// unlockNode gives a lock back that was taken for a pod that could not be bound.
func unlockNode(ctx context.Context, client kubernetes.Interface, name, lock string) error {
	return changeNode(ctx, client, name, "unlocking", func(node *v1.Node) error {
		delete(node.Annotations, lock)
		return nil
	})
}

// changeNode reads a node, has it changed and writes it, and does so again, with pauses, where it was changed meanwhile.
func changeNode(ctx context.Context, client kubernetes.Interface, name, doing string, change func(*v1.Node) error) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := change(node); err != nil {
			return err
		}
		_, err = client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("%s node %s: %w", doing, name, err)
	}
	return nil
}
