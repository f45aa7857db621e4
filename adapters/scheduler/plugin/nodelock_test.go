package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestALockIsTakenThoughTheNodeChangesMeanwhile(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "a", errors.New("changed"))
	for _, conflicts := range []int{0, 1, 3, 100} {
		client := kubefake.NewClientset(node("a", 16384))
		updates := 0
		client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			updates++
			return updates <= conflicts, nil, conflict
		})
		err := lockNode(context.Background(), client, "a", "hamivgpu")
		present, _ := client.CoreV1().Nodes().Get(context.Background(), "a", metav1.GetOptions{})
		locked := present.Annotations["hamivgpu"] != ""
		if possible := conflicts < 100; (err == nil) != possible || locked != possible {
			t.Error(conflicts, updates, err, locked)
		}
		if err != nil && (!apierrors.IsConflict(err) || !strings.HasPrefix(err.Error(), "locking node a: ")) {
			t.Error(err)
		}
		if err == nil {
			updates = 0
			if err := unlockNode(context.Background(), client, "a", "hamivgpu"); err != nil || updates != conflicts+1 {
				t.Error(conflicts, updates, err)
			}
		}
	}
}

func TestALockThatAnotherOneWasQuickerToTakeIsItsOwn(t *testing.T) {
	client := kubefake.NewClientset(node("a", 16384))
	updates := 0
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		updates++
		other := node("a", 16384)
		other.Annotations["hamivgpu"] = time.Now().UTC().Format(time.RFC3339)
		if err := client.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), other, ""); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "a", errors.New("changed"))
	})
	err := lockNode(context.Background(), client, "a", "hamivgpu")
	if err == nil || !strings.Contains(err.Error(), "is locked since") || updates != 1 {
		t.Error(err, updates)
	}
}
