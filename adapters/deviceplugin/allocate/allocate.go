// Package allocate answers the kubelet's Allocate: it finds the container that the kubelet prepares, says what the container gets,
// and writes into the pod's annotations that it has been served.
//
// The pod of a call is a pending one of this node in phase allocating whose next container has as many entries as the kubelet sends
// device ids. Where several are, the kubelet is asked which it prepares; without an answer the one whose cards are those of the ids
// comes first, then the one that came to the node first. A container is claimed by one call at a time. One conditional write erases a container's entries and, with the last container,
// ends the phase; a pod that has changed meanwhile is read again. So a container is served once, whatever the cache of pods missed.
package allocate

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// What Allocate refuses as volcano-vgpu-device-plugin does, word for word.
var (
	ErrNoPod     = errors.New("cannot get valid pod")      // no pod fits the call
	ErrNotEqual  = errors.New("device number not matched") // entries of other vendors, or fewer than the pod's spec requests
	ErrNoDevices = errors.New("device request not found")  // no entry is of this vendor
)

// Instances finds the MIG device of an assignment and makes it where it is not there yet.
type Instances interface {
	// Instance is the MIG device at a position of a geometry. A geometry without instances has a profile's name as its group, and
	// position is then the start of that profile in memory slices.
	Instance(ctx context.Context, gpuUUID string, geometry config.Geometry, position int) (migUUID string, err error)
}

// Options are what an Allocator works with.
type Options struct {
	Config    *config.Config
	GPUs      func() ([]hardware.GPU, error) // of this machine, filtered ones too
	Client    kubernetes.Interface
	Root      string               // before every path that is touched on this machine; empty in production
	Instances Instances            // nil: no card can be cut
	Events    record.EventRecorder // nil: reasons reach the log and the kubelet alone
	Now       func() time.Time     // nil: time.Now
	Random    io.Reader            // of names that must not be guessed; nil: crypto/rand
	// Assigned says what the kubelet has already handed out. It is asked where several containers fit a call equally well and one
	// of them waited before Run began: somebody else may have served it. Nil: nobody knows. Checkpoint reads the kubelet's file.
	Assigned func() (Holds, error)
	// Preparing asks the kubelet which containers it may be preparing. Nil, or a nil answer: it does not say, and pods are told apart by
	// ids and order. KubeletPods asks its socket.
	Preparing func(ctx context.Context, resource string) (Preparing, error)
	Retry     time.Duration // between writes that the API server refused; 0: 1 s
	// Heard and Gone get every change of the node's pods while Run follows them, one after the other. Followed is called once, when
	// all pods are known. Nil: nobody listens.
	Heard, Gone func(pod *v1.Pod)
	Followed    func()
}

// Holds says whether the kubelet has given a container devices of a resource.
type Holds func(podUID, container, resource string) bool

// Allocator serves the kubelet's calls. Calls may come from any goroutine.
type Allocator struct {
	Options
	pods   *table
	failed *failures
	synced atomic.Bool

	awaited func(ctx context.Context, wait time.Duration) // for tests: how long a call waited for the node's lock to be read
}

// New prepares an Allocator. Run makes it follow the pods; without it each call lists the pods of the node.
func New(options Options) *Allocator {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Random == nil {
		options.Random = rand.Reader
	}
	if options.Retry <= 0 {
		options.Retry = time.Second
	}
	return &Allocator{
		Options: options,
		pods:    newTable(options.Config.Node, resourcesOf(options.Config)),
		failed:  newFailures(),
	}
}

// attempts bounds how often a call chooses a pod: each one that fails has found that a pod has changed or gone.
const attempts = 8

// Allocate answers for one container and one resource. The resources of memory and cores only count, so their answer is empty. An
// error has failed the pod, where one was found, and says why; its text is for people.
func (a *Allocator) Allocate(ctx context.Context, resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	if !a.pods.serves(resource) {
		return &pluginapi.ContainerAllocateResponse{}, nil
	}
	if len(ids) == 0 {
		return nil, ErrNoPod
	}
	for range attempts {
		claim, err := a.claim(ctx, resource, ids)
		if err != nil {
			return nil, err
		}
		response, err := a.serve(ctx, claim, ids)
		a.pods.release(claim)
		if !errors.Is(err, errChanged) {
			return response, err
		}
		klog.V(2).InfoS("A pod changed while it was served; the call chooses again", "pod", klog.KObj(claim.pod), "reason", err)
	}
	return nil, ErrNoPod
}

// claim takes the container that a call is for. Right after a binding the cache may not have the pod: unless one waits for exactly
// the cards of the ids, the API server is asked before another one is chosen.
func (a *Allocator) claim(ctx context.Context, resource string, ids []string) (*claim, error) {
	if claim := a.pods.redeem(resource, ids); claim != nil {
		return claim, nil
	}
	may := a.preparing(ctx, resource)
	isKnown := may != nil
	if !isKnown && a.Assigned != nil && a.pods.isAmbiguous(resource, ids) {
		holds, err := a.Assigned()
		if err != nil {
			klog.ErrorS(err, "What the kubelet has handed out could not be read; pods are told apart without it")
		} else {
			may = func(pod *v1.Pod, container *v1.Container) bool {
				return container == nil || !holds(string(pod.UID), container.Name, resource)
			}
		}
	}
	if claim := a.pods.take(resource, ids, may, !isKnown); claim != nil {
		return claim, nil
	}
	for range attempts {
		before := a.pods.claims()
		if err := a.list(ctx); err != nil {
			return nil, err
		}
		if claim := a.pods.take(resource, ids, may, false); claim != nil {
			return claim, nil
		}
		if a.pods.claims() == before { // otherwise another call may have taken this one's pod, and the list lacks its own
			break
		}
	}
	return nil, ErrNoPod
}

// serve answers for a claimed container, or fails its pod. errChanged: it was not this pod's turn any more. The folder on the machine
// is made last: what the API server refuses leaves nothing behind.
func (a *Allocator) serve(ctx context.Context, claim *claim, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	var lock <-chan lockRead
	if claim.mayEnd() {
		lock = a.readLock(ctx, claim.dialect)
	}
	response, err := a.answer(ctx, claim, ids)
	ended := false
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		ended, err = a.commit(context.WithoutCancel(ctx), claim)
	}
	if err == nil {
		err = a.makeFolder(claim)
	}
	switch {
	case errors.Is(err, errChanged) || err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		a.fail(ctx, claim, err)
		return nil, err
	case ended:
		a.releaseLock(ctx, claim.candidate, lock)
	}
	return response, nil
}

// path is where a path of the machine is for this process.
func (a *Allocator) path(path string) string { return a.Root + path }

// isThere says whether a path of the machine exists.
func (a *Allocator) isThere(path string) bool {
	_, err := os.Stat(a.path(path))
	return err == nil
}
