package testbed

import (
	"context"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

func pod(namespace, name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func started(t *testing.T) (*API, context.Context) {
	t.Helper()
	api := NewAPI()
	t.Cleanup(api.Close)
	ctx, end := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(end)
	return api, ctx
}

func TestListsAreSortedAndSelected(t *testing.T) {
	api, ctx := started(t)
	api.Put(pod("b", "1", "node-a"))
	api.Put(pod("a", "2", "node-a"))
	api.Put(pod("a", "1", "node-b"))
	pods, err := api.Client().CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=node-a"})
	if err != nil || len(pods.Items) != 2 || pods.Items[0].Namespace != "a" || pods.Items[1].Namespace != "b" {
		t.Fatalf("%v, %v: expected a/2 and b/1", pods, err)
	}
	if _, err := api.Client().CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.image=x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("%v: expected a bad request for a field that cannot be selected", err)
	}
	if log := api.Requests(); log[0].String() != "LIST pods fieldSelector=spec.nodeName=node-a" || log[1].Code != 400 {
		t.Errorf("log: %v", log)
	}
}

func TestPatchesMergeAndCheckWhoseTheyAre(t *testing.T) {
	api, ctx := started(t)
	pods := api.Client().CoreV1().Pods("a")
	api.Put(pod("a", "1", "node-a"))
	patch := func(kind types.PatchType, text string) error {
		_, err := pods.Patch(ctx, "1", kind, []byte(text), metav1.PatchOptions{})
		return err
	}
	if err := patch(types.StrategicMergePatchType, `{"metadata":{"annotations":{"x":"1","y":"2"}}}`); err != nil {
		t.Fatal(err)
	}
	if err := patch(types.MergePatchType, `{"metadata":{"uid":"uid-1","annotations":{"x":null}}}`); err != nil {
		t.Fatal(err)
	}
	if match := api.Pod("a", "1"); len(match.Annotations) != 1 || match.Annotations["y"] != "2" || match.Spec.NodeName != "node-a" {
		t.Errorf("annotations are %v: expected y alone", match.Annotations)
	}
	if err := patch(types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"other"}]}}`); err != nil {
		t.Fatal(err)
	}
	if match := api.Pod("a", "1"); len(match.Spec.Containers) != 2 {
		t.Errorf("%d containers: a strategic merge adds one by its name", len(match.Spec.Containers))
	}
	if err := patch(types.MergePatchType, `{"metadata":{"uid":"another"}}`); !apierrors.IsConflict(err) {
		t.Errorf("%v: expected a conflict for another pod's uid", err)
	}
	if err := patch(types.MergePatchType, `{"metadata":{"resourceVersion":"1"}}`); !apierrors.IsConflict(err) {
		t.Errorf("%v: expected a conflict for an old version", err)
	}
	if err := patch(types.JSONPatchType, `[]`); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("%v: expected an unsupported media type", err)
	}
}

func TestPutChecksTheVersion(t *testing.T) {
	api, ctx := started(t)
	api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", Annotations: map[string]string{"lock": "x"}}})
	nodes := api.Client().CoreV1().Nodes()
	node, err := nodes.Get(ctx, "node-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(node.Annotations, "lock")
	if _, err := nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(api.Node("node-a").Annotations) != 0 {
		t.Errorf("annotations: %v", api.Node("node-a").Annotations)
	}
	if _, err := nodes.Update(ctx, node, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("%v: expected a conflict", err)
	}
	if _, err := nodes.Get(ctx, "node-b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%v: expected not found", err)
	}
}

func TestFaultsAreCounted(t *testing.T) {
	api, ctx := started(t)
	api.Put(pod("a", "1", "node-a"))
	api.SetFaults(Fault{Verb: "GET", Resource: "pods", Code: 500, Skip: 1, Times: 1})
	for i, fails := range []bool{false, true, false} {
		if _, err := api.Client().CoreV1().Pods("a").Get(ctx, "1", metav1.GetOptions{}); (err != nil) != fails {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if log := api.Requests(); log[1].String() != "GET pods a/1 -> 500" {
		t.Errorf("log: %v", log)
	}
}

func TestInformersFollow(t *testing.T) {
	for _, contentType := range []string{protobufType, jsonType} {
		t.Run(contentType, func(t *testing.T) { informersFollow(t, contentType) })
	}
}

func informersFollow(t *testing.T, contentType string) {
	api, ctx := started(t)
	api.Put(pod("a", "1", "node-a"))
	news := make(chan string, 10)
	settings := api.Config()
	settings.ContentType, settings.AcceptContentTypes = contentType, contentType
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(settings), 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { news <- "add " + o.(*corev1.Pod).Name },
		UpdateFunc: func(_, o any) { news <- "update " + o.(*corev1.Pod).Annotations["x"] },
		DeleteFunc: func(any) { news <- "delete" },
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-news:
			if got != want {
				t.Fatalf("%q: expected %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("nothing: expected %q", want)
		}
	}
	expect("add 1")
	factory.WaitForCacheSync(ctx.Done())
	changed := pod("a", "1", "node-a")
	changed.Annotations = map[string]string{"x": "5"}
	api.Put(changed)
	expect("update 5")
	api.Delete(changed)
	expect("delete")
}

func TestAWatchBeginsWithWhatIsThereOrIsTooOld(t *testing.T) {
	api, ctx := started(t)
	for range 2*historyMax + 1 {
		api.Put(pod("a", "1", "node-a"))
	}
	first := func(version string) watch.Event {
		t.Helper()
		events, err := api.Client().CoreV1().Pods("a").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		defer events.Stop()
		return <-events.ResultChan()
	}
	if event := first(""); event.Type != watch.Added {
		t.Errorf("without a version: %v, expected the pod that is there", event)
	}
	if event := first("2"); event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("version 2: %v, expected that it is too old", event)
	}
	before := api.Pod("a", "1").ResourceVersion
	api.Put(pod("a", "1", "node-a"))
	if event := first(before); event.Type != watch.Modified {
		t.Errorf("version %s: %v, expected the change after it", before, event)
	}
}

func TestAStubAloneThatDoesNotStart(t *testing.T) {
	if _, err := StartAlone(exec.Command("true")); err == nil {
		t.Error("a program that is no stub is no error")
	}
}

func TestEventsAndLeasesAreCreated(t *testing.T) {
	api, ctx := started(t)
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "e-"}, Reason: "Refused"}
	if _, err := api.Client().CoreV1().Events("a").Create(ctx, event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if events := api.Events(); len(events) != 1 || events[0].Reason != "Refused" || events[0].Namespace != "a" {
		t.Errorf("events: %v", events)
	}
	api.Put(pod("a", "1", ""))
	if _, err := api.Client().CoreV1().Pods("a").Create(ctx, pod("a", "1", ""), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("%v: expected that it exists", err)
	}
}
