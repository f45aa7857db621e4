package service_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Pods come, are scheduled by several goroutines at once, and go; bindings fail now and then; and then another service
// starts from what is there. Nobody may ever have more of a card than there is, and both have to agree on who has what.
func TestWhateverHappensNoCardIsGivenTwice(t *testing.T) {
	const card = 16384
	nodes := []string{"a", "b", "c"}
	a := newAPI(node("a", card, card), node("b", card), node("c", card, card, card))
	s := open(t, a)
	a.set(func() { a.failOneIn = 7 })
	var all sync.WaitGroup
	for worker := range 6 {
		all.Add(1)
		go func() {
			defer all.Done()
			draw := rand.New(rand.NewSource(int64(worker)))
			for i := range 25 {
				wants := pod(fmt.Sprintf("w%d-%d", worker, i), 2000+draw.Intn(9000))
				a.create(t, wants)
				// As kube-scheduler does it asks again after a binding that failed: what that may have had is settled then.
				for range 4 {
					var result extenderv1.ExtenderFilterResult
					for s.ask(t, "filter", extenderv1.ExtenderArgs{Pod: wants, NodeNames: &nodes}, &result) != http.StatusOK {
					}
					if result.NodeNames == nil || len(*result.NodeNames) == 0 {
						break
					}
					fitting := *result.NodeNames
					s.prioritize(t, wants, fitting...)
					if s.bind(t, wants, fitting[draw.Intn(len(fitting))]) == "" {
						break
					}
				}
				if draw.Intn(3) == 0 {
					a.remove(t, wants.Name)
				}
			}
		}()
	}
	all.Wait()
	a.set(func() { a.failOneIn = 0 })
	pods, used := a.all(t), map[string]int{}
	bound := 0
	for _, each := range pods {
		if each.Spec.NodeName == "" {
			s.filter(t, &each, nodes...) // after four failures, too
			if each.Annotations["volcano.sh/vgpu-ids-new"] != "" {
				t.Error("annotated and not bound", each.Name)
			}
			continue
		}
		bound++
		var memory int
		device, rest, _ := strings.Cut(each.Annotations["volcano.sh/vgpu-ids-new"], ",")
		if _, err := fmt.Sscanf(rest, "NVIDIA,%d,", &memory); err != nil {
			t.Fatal(each.Name, each.Annotations)
		}
		used[device] += memory
	}
	for device, memory := range used {
		if memory > card {
			t.Error(device, memory)
		}
	}
	if bound < 6 || len(used) != 6 {
		t.Error("hardly anything happened", bound, used)
	}
	again := open(t, a)
	figures := func(s *scene) string {
		_, text := s.get(t, "/metrics")
		var lines []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "volcano_vgpu_device") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	eventually(t, "both know the same", func() bool { return figures(s) == figures(again) })
	for device, memory := range used {
		if line := fmt.Sprintf("devID=%q} %d\n", device, memory); !strings.Contains(figures(again), line) &&
			memory < 10000 { // larger numbers are written with an exponent at times
			t.Error(line, figures(again))
		}
	}
}

func large() (*api, []string) {
	var objects []runtime.Object
	var nodes []string
	for n := range 1000 {
		nodes = append(nodes, fmt.Sprintf("node-%04d", n))
		objects = append(objects, node(nodes[n], 81920, 81920, 81920, 81920, 81920, 81920, 81920, 81920))
		for card := range 8 {
			share := running(fmt.Sprintf("runs-%d-%d", n, card), nodes[n], card, 10000+1000*((n+card)%40), 0)
			objects = append(objects, share)
		}
	}
	return newAPI(objects...), nodes
}

// post asks a handler without a network, and is how long the answer is.
func post(b *testing.B, handler http.Handler, verb, body string) int {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/"+verb, strings.NewReader(body)))
	if recorder.Code != http.StatusOK {
		b.Fatal(recorder.Code, recorder.Body.String())
	}
	return recorder.Body.Len()
}

func text(b *testing.B, object any) string {
	result, err := json.Marshal(object)
	if err != nil {
		b.Fatal(err)
	}
	return string(result)
}

// 1,000 nodes with 8 cards each, all in use, 8,000 pods: what an answer takes when another pod was bound before.
func BenchmarkLargeCluster(b *testing.B) {
	a, nodes := large()
	wants, huge := pod("wants", 30000), pod("huge", 90000)
	a.create(b, wants, huge)
	s := open(b, a)
	handler := s.Handler(func(http.ResponseWriter, *http.Request) bool { return true })
	args := text(b, extenderv1.ExtenderArgs{Pod: wants, NodeNames: &nodes})
	for _, verb := range []string{"filter", "prioritize"} {
		b.Run(verb, func(b *testing.B) {
			for range b.N {
				forget(b, s)
				post(b, handler, verb, args)
			}
		})
	}
	b.Run("filter_none_fits", func(b *testing.B) {
		args := text(b, extenderv1.ExtenderArgs{Pod: huge, NodeNames: &nodes})
		for range b.N {
			forget(b, s)
			post(b, handler, "filter", args)
		}
	})
	b.Run("filter_node_objects", func(b *testing.B) {
		list := &v1.NodeList{}
		for _, name := range nodes {
			list.Items = append(list.Items, *node(name, 81920, 81920, 81920, 81920, 81920, 81920, 81920, 81920))
		}
		args := text(b, extenderv1.ExtenderArgs{Pod: wants, Nodes: list})
		b.SetBytes(int64(len(args)))
		for range b.N {
			forget(b, s)
			post(b, handler, "filter", args)
		}
	})
	b.Run("whole_pod", func(b *testing.B) { // filter, prioritize, bind; the API server is a map in memory
		b.StopTimer()
		pods := make([]*v1.Pod, b.N)
		for i := range pods {
			pods[i] = pod(fmt.Sprintf("bound-%d-%d", b.N, i), 100)
			pods[i].UID = types.UID(pods[i].Name)
		}
		a.create(b, pods...)
		eventually(b, "pods are known", func() bool { return s.Cluster().WantsDevices(pods[len(pods)-1].Name) })
		b.StartTimer()
		for _, each := range pods {
			args := text(b, extenderv1.ExtenderArgs{Pod: each, NodeNames: &nodes})
			post(b, handler, "filter", args)
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/prioritize", strings.NewReader(args)))
			var list extenderv1.HostPriorityList
			answer, _ := io.ReadAll(recorder.Body)
			if err := json.Unmarshal(answer, &list); err != nil {
				b.Fatal(err)
			}
			best := list[0]
			for _, host := range list {
				if host.Score > best.Score {
					best = host
				}
			}
			post(b, handler, "bind", text(b, extenderv1.ExtenderBindingArgs{PodNamespace: each.Namespace, PodName: each.Name,
				PodUID: each.UID, Node: best.Host}))
		}
	})
}

// forget has the cluster change, so that the next question is a new one.
func forget(b *testing.B, s *scene) {
	b.StopTimer()
	defer b.StartTimer()
	const uid = "uid-runs-0-0"
	if err := s.Cluster().Suspend(uid); err != nil {
		b.Fatal(err)
	}
	if err := s.Cluster().Resume(uid); err != nil {
		b.Fatal(err)
	}
}
