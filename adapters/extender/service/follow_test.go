package service_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"vgpualloc.example/adapters/extender/service"
)

// begin has a service begin to follow the cluster, until the test ends, and tells how that goes once it is known.
func begin(t *testing.T, a *api, settings service.Settings) (*service.Service, <-chan error) {
	t.Helper()
	opening, err := service.New(a, settings)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	followed := make(chan error, 1)
	go func() { followed <- opening.Follow(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := opening.Close(); err != nil {
			t.Error(err)
		}
	})
	return opening, followed
}

// Under the built-in configuration kube-scheduler would be told that a pod asks for no devices, though it does.
func TestNobodyIsAnsweredBeforeTheDevicesConfigurationIsKnown(t *testing.T) {
	a := newAPI()
	answers := make(chan struct{})
	a.PrependReactor("list", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() == "team" {
			<-answers
		}
		return false, nil, nil
	})
	settings := service.Defaults()
	settings.ConfigNamespace = "team"
	opening, followed := begin(t, a, settings)
	select {
	case err := <-followed:
		t.Fatal("it follows the cluster without its configuration", err)
	case <-time.After(3 * time.Second):
	}
	if opening.Ready() {
		t.Error("nothing is known yet")
	}
	close(answers)
	if err := <-followed; err != nil || !opening.Ready() {
		t.Error(err, opening.Ready())
	}
}

// Where it has no right to read ConfigMaps the API server would refuse them for ever.
func TestOnlyConfigMapsThatAreOfInterestAreFollowed(t *testing.T) {
	for _, wanted := range []struct {
		mindCluster bool
		namespaces  []string
	}{{false, []string{"team"}}, {true, []string{"kube-system", "mindx-dl", "team"}}} {
		a := newAPI()
		open(t, a, func(settings *service.Settings) {
			settings.ConfigNamespace, settings.MindCluster = "team", wanted.mindCluster
		})
		var namespaces []string
		for _, action := range a.Actions() {
			if action.GetResource().Resource == "configmaps" && action.GetVerb() == "list" {
				namespaces = append(namespaces, action.GetNamespace())
			}
		}
		slices.Sort(namespaces)
		if !slices.Equal(namespaces, wanted.namespaces) {
			t.Error(wanted.mindCluster, namespaces)
		}
	}
	if service.Defaults().MindCluster {
		t.Error("by default nothing is read that the chart does not grant by default")
	}
}

// The same for one that is bad: nobody knows what was to be called a device.
func TestNobodyIsAnsweredUntilABadDevicesConfigurationIsMended(t *testing.T) {
	config := func(text string) *v1.ConfigMap {
		return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "volcano-vgpu-device-config"},
			Data: map[string]string{"device-config.yaml": text}}
	}
	a := newAPI(config("nvidia: [\n"))
	opening, followed := begin(t, a, service.Defaults())
	handler := opening.Handler(func(http.ResponseWriter, *http.Request) bool { return true })
	get := func(path string) string {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
		return answer.Body.String()
	}
	healthz := func() string { return get("/healthz") }
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(healthz(), "is refused"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(healthz())
		}
	}
	if opening.Ready() || get("/livez") != "ok\n" {
		t.Error("nothing is known yet, and it waits for that", opening.Ready(), get("/livez"))
	}
	if _, err := a.CoreV1().ConfigMaps("kube-system").Update(context.Background(), config("vnpus: []\n"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; err != nil || !opening.Ready() || healthz() != "ok\n" {
		t.Error(err, healthz())
	}
}

// kube-scheduler would bind them, and the node side would start them without devices.
func TestPodsThatAskForWhatTheConfigurationLeavesOutAreNotBound(t *testing.T) {
	a := newAPI(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "volcano-vgpu-device-config"},
		Data: map[string]string{"device-config.yaml": "nvidia: {knownMigGeometries: []}\n"}}, node("a", 16384), pod("p", 3000))
	s := open(t, a)
	const words = "volcano.sh/vgpu-memory: the devices' configuration does not name it"
	if result := s.filter(t, pod("p", 3000), "a"); !strings.Contains(result.Error, words) {
		t.Error(result)
	}
	if failure := s.bind(t, pod("p", 3000), "a"); !strings.Contains(failure, words) {
		t.Error(failure)
	}
}

// Of equal nodes the first that the core was told of is taken, and the API server promises no order.
func TestNodesOfTheBeginningAreToldInTheOrderOfTheirNames(t *testing.T) {
	backwards := &v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	var names []string
	for i := range 20 {
		name := fmt.Sprintf("n%02d", i)
		names = append(names, name)
		backwards.Items = slices.Insert(backwards.Items, 0, *node(name, 16384))
	}
	wants := pod("p", 10000)
	a := newAPI(wants)
	a.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, backwards, nil })
	s := open(t, a)
	if scores := s.prioritize(t, wants, names...); scores["n00"] != 10 {
		t.Error("the first of equal nodes is best", scores)
	}
	if err := a.Tracker().Add(node("later", 16384, 16384)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a node that comes later is known", func() bool {
		return !strings.Contains(s.filter(t, wants, "later").FailedNodes["later"], "not known")
	})
}
