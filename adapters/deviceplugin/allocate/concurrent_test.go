package allocate

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// stubAlone in the environment makes this program a stub of the API server and nothing else.
const stubAlone = "VGPUALLOC_TEST_STUB_ALONE"

func TestMain(m *testing.M) {
	if os.Getenv(stubAlone) != "" {
		if err := testbed.ServeAlone(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The full count is 10000: go test -run Concurrent -calls 10000 -p99 5ms.
var (
	calls = flag.Int("calls", 320, "calls of Allocate in each test with several at a time")
	p99   = flag.Duration("p99", 0, "fail if one call in a hundred takes longer beside the API server's time; 0: it is only printed")
	// On a cluster the API server takes no CPU of the node. Above 0 waiting for the CPU moves from our time to the API server's.
	stubNice = flag.Int("stub-nice", 0, "how much less of the CPU the API server's stub gets: nice's number")
)

const inFlight = 16

// waited adds up how long the requests of one call took, one after the other.
type waited struct{ nanoseconds atomic.Int64 }

type waitedKey struct{}

type timedTransport struct{ next http.RoundTripper }

// RoundTrip counts a request until its answer is here; what becomes of the answer is ours. The node is read beside other work: only
// what a call waits for it at the end counts.
func (t timedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet && strings.HasPrefix(request.URL.Path, "/api/v1/nodes") {
		return t.next.RoundTrip(request)
	}
	begin := time.Now()
	response, err := t.next.RoundTrip(request)
	wait(request.Context(), time.Since(begin))
	if err == nil {
		response.Body = timedBody{response.Body, request.Context()}
	}
	return response, err
}

// timedBody is the body of an answer that arrives.
type timedBody struct {
	io.ReadCloser
	ctx context.Context
}

// Read is the body's.
func (b timedBody) Read(into []byte) (int, error) {
	begin := time.Now()
	defer func() { wait(b.ctx, time.Since(begin)) }()
	return b.ReadCloser.Read(into)
}

// wait notes that a call has waited for the API server.
func wait(ctx context.Context, time time.Duration) {
	if total, ok := ctx.Value(waitedKey{}).(*waited); ok {
		total.nanoseconds.Add(int64(time))
	}
}

// crowd plays kubelets that prepare pods side by side. The API server's stub is another process, as it is on a cluster.
type crowd struct {
	*rig
	stub                  *testbed.Alone
	direct                *http.Client // what users and schedulers do
	came                  sync.Map     // by uid: a channel that is closed when the pod is known
	mu                    sync.Mutex
	served                map[string]bool // "<uid>_<container>"
	containers            int             // of the pods that were finished
	whole, inside, answer []time.Duration // of each call: all of it, without the time of its requests, and that time
}

func newCrowd(t *testing.T, root string) *crowd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("nice", "-n", strconv.Itoa(*stubNice), program)
	command.Env, command.Stderr = append(os.Environ(), stubAlone+"=1"), os.Stderr
	stub, err := testbed.StartAlone(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stub.Close(); err != nil {
			t.Error(err)
		}
	})
	connections := func() *http.Transport { // as many as are used at once, like HTTP/2, which the API server speaks
		transport := &http.Transport{MaxIdleConnsPerHost: 4 * inFlight}
		t.Cleanup(transport.CloseIdleConnections)
		return transport
	}
	c := &crowd{rig: newRig(t), stub: stub, served: map[string]bool{}, direct: &http.Client{Transport: connections()}}
	settings := stub.Config()
	settings.Transport = timedTransport{connections()}
	options := c.options()
	options.Client = kubernetes.NewForConfigOrDie(settings)
	options.Events, options.Root = nil, root
	options.Heard = func(pod *v1.Pod) {
		if known, ok := c.came.LoadAndDelete(pod.UID); ok {
			close(known.(chan struct{}))
		}
	}
	c.Allocator = New(options)
	c.awaited = wait
	c.ctx = context.Background()
	c.request(http.MethodPost, "nodes", &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "node-a"}})
	c.follow()
	return c
}

// request does what is no part of the plugin: it creates or deletes an object at the stub. The result is the object's metadata.
func (c *crowd) request(method, at string, object any) *metav1.PartialObjectMetadata {
	c.t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	request, err := http.NewRequest(method, c.stub.Config().Host+"/api/v1/"+at, bytes.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return nil
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.direct.Do(request)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	defer response.Body.Close()
	result := &metav1.PartialObjectMetadata{}
	if err := json.NewDecoder(response.Body).Decode(result); err != nil || response.StatusCode >= 300 {
		c.t.Errorf("%s %s: %d, %v", method, at, response.StatusCode, err)
		return nil
	}
	return result
}

// shape is how many devices the containers of a pod have; the shapes differ from pod to pod. Pods on the same cards have one
// container each: nothing tells two calls for one device apart, and then a pod's containers would not come in their order.
func shape(number int, isExact bool) []int {
	if !isExact {
		return []int{1 << (number % 3)}
	}
	return [][]int{{1}, {2}, {1, 1}, {4}, {2, 1, 3}}[number%5]
}

// run has workers prepare pods until there have been so many calls. cards are those that the pods of a worker have.
func (c *crowd) run(count int, cards func(worker int) []string, isExact bool) {
	var numbers, done atomic.Int64
	var workers sync.WaitGroup
	for worker := range inFlight {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for done.Load() < int64(count) && !c.t.Failed() {
				number := int(numbers.Add(1))
				done.Add(int64(c.prepare(number, cards(worker), isExact)))
			}
		}()
	}
	workers.Wait()
	c.check()
}

// prepare creates a pod and calls for each of its containers in order.
func (c *crowd) prepare(number int, cards []string, isExact bool) int {
	var slots []string
	for i, devices := range shape(number, isExact) {
		slot := ""
		for device := range devices {
			slot += fmt.Sprintf("%s,NVIDIA,%d,%d:", cards[device%len(cards)], number*10+i+1, i+1)
		}
		slots = append(slots, slot)
	}
	waiting := pod(fmt.Sprintf("p%d", number), strings.Join(slots, ";"), number)
	waiting.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	known := make(chan struct{})
	c.came.Store(waiting.UID, known)
	c.request(http.MethodPost, "namespaces/team-a/pods", waiting)
	if number%10 > 0 { // the others call before the cache knows them
		select {
		case <-known:
		case <-time.After(10 * time.Second):
			c.t.Errorf("%s was not heard of for 10 s", waiting.Name)
		}
	}
	for i, devices := range shape(number, isExact) {
		var ids []string
		for device := range devices {
			ids = append(ids, fmt.Sprintf("%s-%d", cards[device%len(cards)], device))
		}
		c.call(waiting, i, ids, isExact)
	}
	if isExact {
		c.finish(waiting.Name, len(slots))
	}
	return len(slots)
}

// finish deletes a pod that has been served, and checks it.
func (c *crowd) finish(name string, containers int) {
	served := c.request(http.MethodDelete, "namespaces/team-a/pods/"+name, nil)
	if served == nil {
		return
	}
	if phase := served.Annotations["volcano.sh/bind-phase"]; phase != "success" {
		c.t.Errorf("%s is in phase %s", name, phase)
	}
	c.mu.Lock()
	c.containers += containers
	c.mu.Unlock()
}

func (c *crowd) call(waiting *v1.Pod, at int, ids []string, isExact bool) {
	total := &waited{}
	begin := time.Now()
	response, err := c.Allocate(context.WithValue(c.ctx, waitedKey{}, total), number, ids)
	took := time.Since(begin)
	if err != nil {
		c.t.Errorf("%s, container %d: %v", waiting.Name, at, err)
		return
	}
	container, _ := strings.CutPrefix(response.Mounts[1].HostPath, "/usr/local/vgpu/vgpu/containers/")
	if !isExact {
		defer c.finish(strings.TrimSuffix(strings.TrimPrefix(container, "uid-"), "_c0"), 1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = append(c.whole, took)
	answer := time.Duration(total.nanoseconds.Load())
	c.answer = append(c.answer, answer)
	c.inside = append(c.inside, took-answer)
	if c.served[container] {
		c.t.Errorf("%s was served twice", container)
	}
	c.served[container] = true
	if expected := fmt.Sprintf("%s_c%d", waiting.UID, at); isExact && container != expected {
		c.t.Errorf("the call for %s got what %s was promised", expected, container)
	}
	var pod, index int
	if _, err := fmt.Sscanf(container, "uid-p%d_c%d", &pod, &index); err != nil {
		c.t.Errorf("container %q: %v", container, err)
	} else if limit := response.Envs["CUDA_DEVICE_MEMORY_LIMIT_0"]; limit != fmt.Sprintf("%dm", pod*10+index+1) || shape(pod, isExact)[index] != len(ids) {
		c.t.Errorf("%s has limit %s and %d devices", container, limit, len(ids))
	}
}

// check says whether every container was served, and every pod's phase has ended.
func (c *crowd) check() {
	c.t.Helper()
	left, err := c.Client.CoreV1().Pods(metav1.NamespaceAll).List(c.ctx, metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		c.t.Errorf("%d pods were not served, %v", len(left.Items), err)
	}
	if len(c.served) != c.containers {
		c.t.Errorf("%d containers were served, expected %d", len(c.served), c.containers)
	}
	at := func(of []time.Duration, percent int) time.Duration { return of[(len(of)-1)*percent/100] }
	text := func(of []time.Duration) string {
		slices.Sort(of)
		return fmt.Sprintf("p50 %v, p99 %v", at(of, 50), at(of, 99))
	}
	c.t.Logf("%d calls, %d in flight: %s; without the API server's time %s; that time %s",
		len(c.whole), inFlight, text(c.whole), text(c.inside), text(c.answer))
	if slowest := at(c.inside, 99); *p99 > 0 && slowest > *p99 {
		c.t.Errorf("p99 is %v, expected at most %v", slowest, *p99)
	}
}

// TestConcurrentCalls has one folder for all, which goes at the end, so that no test waits for what another one has removed.
func TestConcurrentCalls(t *testing.T) {
	root := t.TempDir()
	t.Run("own cards", func(t *testing.T) {
		c := newCrowd(t, filepath.Join(root, "own"))
		c.run(*calls, func(worker int) []string {
			return []string{fmt.Sprintf("GPU-%02d-a", worker), fmt.Sprintf("GPU-%02d-b", worker)}
		}, true)
	})
	t.Run("the same cards", func(t *testing.T) {
		c := newCrowd(t, filepath.Join(root, "same"))
		c.run(*calls, func(int) []string { return []string{uuidA} }, false)
	})
}
