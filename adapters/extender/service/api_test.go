package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/extender/service"
	"vgpualloc.example/adapters/vga"
)

// api is an API server as far as pods, bindings and annotations go: uids and resource versions are compared.
type api struct {
	*fake.Clientset
	mutex   sync.Mutex
	version int

	bindFailure  error // what bindings are answered with, where it is not nil
	bindEvenSo   bool  // they happen although
	bindUnseen   bool  // they succeed, and watches do not show it
	bindLate     bool  // they happen, looking at the pod shows it, and watches do not before showLate
	late         []*v1.Pod
	patchFailure error // of patches
	lookFailure  error // of looking at a pod
	failOneIn    int   // every so many bindings fail
	bindings     int
}

var podsResource = v1.SchemeGroupVersion.WithResource("pods")

func newAPI(objects ...runtime.Object) *api {
	a := &api{Clientset: fake.NewClientset(objects...)}
	a.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		return a.bind(action.(clienttesting.CreateAction).GetObject().(*v1.Binding))
	})
	a.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return a.patch(action.(clienttesting.PatchAction))
	})
	a.PrependReactor("get", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		if a.lookFailure != nil {
			return true, nil, a.lookFailure
		}
		for _, bound := range a.late {
			if bound.Name == action.(clienttesting.GetAction).GetName() {
				return true, bound.DeepCopy(), nil
			}
		}
		return false, nil, nil
	})
	return a
}

func conflict(name, why string) error {
	return apierrors.NewConflict(podsResource.GroupResource(), name, fmt.Errorf("%s", why))
}

func (a *api) bind(binding *v1.Binding) (bool, runtime.Object, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.bindings++
	if a.failOneIn > 0 && a.bindings%a.failOneIn == 0 {
		return true, nil, conflict(binding.Name, "bad luck")
	}
	if a.bindFailure != nil && !a.bindEvenSo {
		return true, nil, a.bindFailure
	}
	pod, err := a.pod(binding.Namespace, binding.Name)
	switch {
	case err != nil:
		return true, nil, err
	case binding.UID != pod.UID:
		return true, nil, conflict(pod.Name, "the uid in the precondition differs")
	case pod.Spec.NodeName != "":
		return true, nil, conflict(pod.Name, "pod is already assigned to node "+pod.Spec.NodeName)
	}
	if a.bindUnseen {
		return true, binding, nil
	}
	pod.Spec.NodeName = binding.Target.Name
	for name, value := range binding.Annotations {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, name, value)
	}
	if a.bindLate {
		a.late = append(a.late, pod)
		return true, binding, a.bindFailure
	}
	if err := a.store(pod); err != nil {
		return true, nil, err
	}
	return true, binding, a.bindFailure
}

// showLate has watches show the bindings that they have not shown yet.
func (a *api) showLate(t testing.TB) {
	t.Helper()
	a.set(func() {
		for _, bound := range a.late {
			if err := a.store(bound); err != nil {
				t.Error(err)
			}
		}
		a.late = nil
	})
}

func (a *api) patch(action clienttesting.PatchAction) (bool, runtime.Object, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.patchFailure != nil {
		return true, nil, a.patchFailure
	}
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Annotations     map[string]*string
		}
	}
	if err := json.Unmarshal(action.GetPatch(), &patch); err != nil {
		return true, nil, err
	}
	pod, err := a.pod(action.GetNamespace(), action.GetName())
	if err != nil {
		return true, nil, err
	}
	if patch.Metadata.UID != pod.UID || patch.Metadata.ResourceVersion != "" && patch.Metadata.ResourceVersion != pod.ResourceVersion {
		return true, nil, conflict(pod.Name, "the precondition differs")
	}
	for name, value := range patch.Metadata.Annotations {
		if value == nil {
			delete(pod.Annotations, name)
		} else {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, name, *value)
		}
	}
	return true, pod, a.store(pod)
}

// pod is a copy of what there is. The mutex is held.
func (a *api) pod(namespace, name string) (*v1.Pod, error) {
	object, err := a.Tracker().Get(podsResource, namespace, name)
	if err != nil {
		return nil, err
	}
	return object.(*v1.Pod).DeepCopy(), nil
}

func (a *api) store(pod *v1.Pod) error {
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	return a.Tracker().Update(podsResource, pod, pod.Namespace)
}

// present is a pod as the API server has it.
func (a *api) present(t testing.TB, name string) *v1.Pod {
	t.Helper()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	pod, err := a.pod("ns", name)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func (a *api) all(t testing.TB) []v1.Pod {
	t.Helper()
	list, err := a.CoreV1().Pods("ns").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (a *api) set(change func()) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	change()
}

func (a *api) create(t testing.TB, pods ...*v1.Pod) {
	t.Helper()
	for _, pod := range pods {
		a.mutex.Lock()
		a.version++
		made := pod.DeepCopy() // the caller's may be in use
		made.ResourceVersion = strconv.Itoa(a.version)
		err := a.Tracker().Create(podsResource, made, made.Namespace)
		a.mutex.Unlock()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (a *api) remove(t testing.TB, name string) {
	t.Helper()
	if err := a.Tracker().Delete(podsResource, "ns", name); err != nil {
		t.Fatal(err)
	}
}

func amounts(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// node has cards of a memory each, shared by HAMi-core.
func node(name string, memories ...int) *v1.Node {
	register, sum := "", 0
	for i, memory := range memories {
		register += fmt.Sprintf("GPU-%s-%d,10,%d,NVIDIA,true,hami-core:", name, i, memory)
		sum += memory
	}
	offered := amounts("cpu", "64", "memory", "256Gi", "pods", "110", "volcano.sh/vgpu-number",
		fmt.Sprint(10*len(memories)), "volcano.sh/vgpu-memory", fmt.Sprint(sum), "volcano.sh/vgpu-cores",
		fmt.Sprint(100*len(memories)))
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"volcano.sh/node-vgpu-register": register}},
		Status: v1.NodeStatus{Allocatable: offered, Capacity: offered,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
}

// pod asks for one share of a card; for none, if memory is 0.
func pod(name string, memory int) *v1.Pod {
	limits := amounts("cpu", "1")
	if memory > 0 {
		limits = amounts("cpu", "1", "volcano.sh/vgpu-number", "1", "volcano.sh/vgpu-memory", fmt.Sprint(memory))
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now()},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "main",
			Resources: v1.ResourceRequirements{Limits: limits, Requests: limits}}}},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

// written is a pod on which somebody has written that it has a share of a card.
func written(name, node string, card, memory int) *v1.Pod {
	result := pod(name, memory)
	result.Annotations = map[string]string{
		"volcano.sh/vgpu-node":     node,
		"volcano.sh/vgpu-ids-new":  fmt.Sprintf("GPU-%s-%d,NVIDIA,%d,0:;", node, card, memory),
		"volcano.sh/vgpu-time":     "1700000000",
		"volcano.sh/bind-phase":    "allocating",
		"volcano.sh/bind-time":     "1700000000",
		"example.com/of-the-owner": "kept",
	}
	result.Annotations["volcano.sh/devices-to-allocate"] = result.Annotations["volcano.sh/vgpu-ids-new"]
	return result
}

func running(name, node string, card, memory int, priority int32) *v1.Pod {
	result := written(name, node, card, memory)
	result.Spec.NodeName = node
	result.Spec.Priority = &priority
	result.Status.Phase = v1.PodRunning
	return result
}

// scene is a service that follows an API server and answers over HTTP.
type scene struct {
	*service.Service
	api *api
	web *httptest.Server
	log string
}

func open(t testing.TB, a *api, changes ...func(*service.Settings)) *scene {
	t.Helper()
	s := &scene{api: a, log: filepath.Join(t.TempDir(), "decisions.jsonl")}
	settings := service.Defaults()
	settings.Options.Policy = "binpack"
	settings.DecisionLog = s.log
	settings.Patience = 50 * time.Millisecond
	settings.LookAgain = []time.Duration{0, time.Millisecond}
	for _, change := range changes {
		change(&settings)
	}
	var err error
	if s.Service, err = service.New(a, settings); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := s.Follow(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.serve(t)
	return s
}

// serve until the test ends.
func (s *scene) serve(t testing.TB) {
	s.web = httptest.NewServer(s.Handler(func(http.ResponseWriter, *http.Request) bool { return true }))
	t.Cleanup(s.web.Close)
}

// ask posts a question. The status is returned, and the answer read into `answer`.
func (s *scene) ask(t testing.TB, verb string, question, answer any) int {
	t.Helper()
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(s.web.URL+"/"+verb, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		t.Fatal(verb, response.StatusCode, err)
	}
	return response.StatusCode
}

func (s *scene) filter(t testing.TB, pod *v1.Pod, nodes ...string) *extenderv1.ExtenderFilterResult {
	t.Helper()
	result := &extenderv1.ExtenderFilterResult{}
	if status := s.ask(t, "filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes}, result); status != http.StatusOK {
		t.Fatal(status, result.Error)
	}
	return result
}

func (s *scene) prioritize(t testing.TB, pod *v1.Pod, nodes ...string) map[string]int64 {
	t.Helper()
	list := extenderv1.HostPriorityList{}
	if status := s.ask(t, "prioritize", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes}, &list); status != http.StatusOK {
		t.Fatal(status)
	}
	result := map[string]int64{}
	for _, host := range list {
		result[host.Host] = host.Score
	}
	return result
}

// bind is the error that kube-scheduler reads; empty if the pod is bound.
func (s *scene) bind(t testing.TB, pod *v1.Pod, node string) string {
	t.Helper()
	result := extenderv1.ExtenderBindingResult{}
	s.ask(t, "bind", extenderv1.ExtenderBindingArgs{PodNamespace: pod.Namespace, PodName: pod.Name, PodUID: pod.UID,
		Node: node}, &result)
	return result.Error
}

func (s *scene) state(pod *v1.Pod) vga.PodState {
	state, _ := s.Cluster().Pod(string(pod.UID))
	return state
}

// eventually waits for what informers and goroutines bring about.
func eventually(t testing.TB, what string, happens func() bool) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(2 * time.Millisecond) {
		if happens() {
			return
		}
	}
	t.Fatal("this does not happen: " + what)
}
