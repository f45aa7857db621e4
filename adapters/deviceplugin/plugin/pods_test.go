package plugin

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/layout"
)

func podOfVersion(uid, version, phase string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: uid, UID: types.UID(uid), ResourceVersion: version,
		Annotations: map[string]string{"phase": phase}}, Spec: v1.PodSpec{NodeName: "node-a"}}
}

// TestAListThatIsBehind: what the watch tells while a list is under way, or before it, is not undone by the list.
func TestAListThatIsBehind(t *testing.T) {
	client := fake.NewClientset()
	followed := newPods(client, "node-a")
	for _, uid := range []string{"deleted", "changed", "unwatched"} {
		followed.hear(podOfVersion(uid, "5", "old"))
	}
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		followed.forget(podOfVersion("deleted", "8", ""))
		followed.hear(podOfVersion("changed", "9", "new"))
		followed.hear(podOfVersion("new", "10", "new"))
		return true, &v1.PodList{Items: []v1.Pod{*podOfVersion("deleted", "5", "old"), *podOfVersion("changed", "5", "old"),
			*podOfVersion("listed", "6", "old")}}, nil
	})
	if err := followed.refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	followed.hear(podOfVersion("unwatched", "4", "old")) // the watch is late
	for uid, phase := range map[string]string{"deleted": "", "unwatched": "", "changed": "new", "new": "new", "listed": "old"} {
		switch pod, _ := followed.get(uid); {
		case pod == nil && phase != "":
			t.Errorf("pod %s is not known, expected version %s", uid, phase)
		case pod != nil && pod.Annotations["phase"] != phase:
			t.Errorf("pod %s is known as %q, expected %q", uid, pod.Annotations["phase"], phase)
		}
	}
}

// TestAPodThatIsForgottenWhileTheLedgerIsRead: the core showed its instance a moment before, and nothing stands in the way of others now.
func TestAPodThatIsForgottenWhileTheLedgerIsRead(t *testing.T) {
	followed := newPods(fake.NewClientset(), "node-a")
	ledger := &ledger{pods: followed, conf: &config.Config{Node: "node-a"}}
	pod := podOfVersion("failed", "5", "")
	pod.Spec.Containers = []v1.Container{{Name: "c"}}
	followed.hear(pod)
	followed.forget(pod)
	if claim := ledger.claim("failed", "c"); claim != layout.Over {
		t.Errorf("a pod that is gone: claim %v, expected %v", claim, layout.Over)
	}
	if claim := ledger.claim("never seen", "c"); claim != layout.Answered {
		t.Errorf("a pod that was never seen: claim %v, expected %v", claim, layout.Answered)
	}
}
