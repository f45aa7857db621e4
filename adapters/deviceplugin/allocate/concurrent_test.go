package allocate

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// The full count is 10000: go test -run Concurrent -calls 10000 -p99 5ms.
var (
	calls = flag.Int("calls", 320, "calls of Allocate in each test with several at a time")
	p99   = flag.Duration("p99", 0, "fail if one call in a hundred takes longer beside the API server's time; 0: it is only printed")
)

const inFlight = 16

// waited adds up how long the requests of one call took, one after the other.
type waited struct{ nanoseconds atomic.Int64 }

type waitedKey struct{}

type timedTransport struct{ next http.RoundTripper }

func (t timedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	begin := time.Now()
	response, err := t.next.RoundTrip(request)
	isAside := strings.HasPrefix(request.URL.Path, "/api/v1/nodes") // beside other requests
	if total, ok := request.Context().Value(waitedKey{}).(*waited); ok && !isAside {
		total.nanoseconds.Add(int64(time.Since(begin)))
	}
	return response, err
}

// threadTime is how much of a CPU this thread has used.
func threadTime() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if syscall.Getrusage(ofThread, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// crowd plays kubelets that prepare pods side by side.
type crowd struct {
	*rig
	mu            sync.Mutex
	served        map[string]bool // "<uid>_<container>"
	containers    int             // of the pods that were finished
	whole, inside []time.Duration // of each call; inside: without the time of its requests
	busy          []time.Duration // what each call used of a CPU; on a machine with other work it says more than inside
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{rig: newRig(t), served: map[string]bool{}}
	settings := c.api.Config()
	settings.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return timedTransport{next} }
	options := c.options()
	options.Client = kubernetes.NewForConfigOrDie(settings)
	options.Events = nil
	c.Allocator = New(options)
	c.ctx = context.Background()
	c.follow()
	return c
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
			runtime.LockOSThread() // busy is its thread's
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
	c.api.Put(waiting)
	if number%10 > 0 { // the others call before the cache knows them
		c.wait("the pod is known, or another call was given it and it has gone", func() bool {
			return c.pods.knows(waiting.UID) || c.api.Pod(waiting.Namespace, waiting.Name) == nil
		})
	}
	for i, devices := range shape(number, isExact) {
		var ids []string
		for device := range devices {
			ids = append(ids, fmt.Sprintf("%s-%d", cards[device%len(cards)], device))
		}
		c.call(waiting, i, ids, isExact)
	}
	if isExact {
		c.finish(waiting.Name)
	}
	return len(slots)
}

// finish checks a pod that has been served, and deletes it.
func (c *crowd) finish(name string) {
	served := c.api.Pod("team-a", name)
	if served == nil {
		c.t.Errorf("%s is not there any more", name)
		return
	}
	if phase := served.Annotations["volcano.sh/bind-phase"]; phase != "success" {
		c.t.Errorf("%s is in phase %s", name, phase)
	}
	c.mu.Lock()
	c.containers += len(served.Spec.Containers)
	c.mu.Unlock()
	c.api.Delete(served)
}

func (c *crowd) call(waiting *v1.Pod, at int, ids []string, isExact bool) {
	total := &waited{}
	begin, before := time.Now(), threadTime()
	response, err := c.Allocate(context.WithValue(c.ctx, waitedKey{}, total), number, ids)
	took, used := time.Since(begin), threadTime()-before
	if err != nil {
		c.t.Errorf("%s, container %d: %v", waiting.Name, at, err)
		return
	}
	container, _ := strings.CutPrefix(response.Mounts[1].HostPath, "/usr/local/vgpu/vgpu/containers/")
	if !isExact {
		defer c.finish(strings.TrimSuffix(strings.TrimPrefix(container, "uid-"), "_c0"))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = append(c.whole, took)
	c.busy = append(c.busy, used)
	c.inside = append(c.inside, took-time.Duration(total.nanoseconds.Load()))
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
	for _, left := range c.api.Pods() {
		c.t.Errorf("%s was not served", left.Name)
	}
	if len(c.served) != c.containers {
		c.t.Errorf("%d containers were served, expected %d", len(c.served), c.containers)
	}
	slices.Sort(c.whole)
	slices.Sort(c.inside)
	slices.Sort(c.busy)
	at := func(of []time.Duration, percent int) time.Duration { return of[(len(of)-1)*percent/100] }
	c.t.Logf("%d calls, %d in flight: p50 %v, p99 %v; without the API server's time p50 %v, p99 %v; of a CPU p50 %v, p99 %v",
		len(c.whole), inFlight, at(c.whole, 50), at(c.whole, 99), at(c.inside, 50), at(c.inside, 99), at(c.busy, 50), at(c.busy, 99))
	if slowest := at(c.inside, 99); *p99 > 0 && slowest > *p99 {
		c.t.Errorf("p99 is %v, expected at most %v", slowest, *p99)
	}
}

func TestConcurrentCallsGetTheirOwnPods(t *testing.T) {
	c := newCrowd(t)
	c.run(*calls, func(worker int) []string {
		return []string{fmt.Sprintf("GPU-%02d-a", worker), fmt.Sprintf("GPU-%02d-b", worker)}
	}, true)
}

func TestConcurrentCallsOnTheSameCards(t *testing.T) {
	c := newCrowd(t)
	c.run(*calls, func(int) []string { return []string{uuidA} }, false)
}
