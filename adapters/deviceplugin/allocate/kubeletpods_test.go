package allocate

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// kubeletOf serves these pods as a kubelet does: names of pods, and "name+" of one whose container c0 has devices.
type kubeletOf struct {
	podresources.UnimplementedPodResourcesListerServer
	pods  []string
	calls int
}

func (k *kubeletOf) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	k.calls++
	result := &podresources.ListPodResourcesResponse{}
	for _, name := range k.pods {
		container := &podresources.ContainerResources{Name: "c0"}
		if name[len(name)-1] == '+' {
			name = name[:len(name)-1]
			container.Devices = []*podresources.ContainerDevices{{ResourceName: number, DeviceIds: []string{uuidA + "-9"}}}
		}
		result.PodResources = append(result.PodResources, &podresources.PodResources{Namespace: "team-a", Name: name,
			Containers: []*podresources.ContainerResources{container}})
	}
	return result, nil
}

// serveKubelet is the socket of such a kubelet.
func serveKubelet(t *testing.T, kubelet *kubeletOf) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "k") // short, as sockets are
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, kubelet)
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return socket
}

func TestTheKubeletSaysWhichPodItPrepares(t *testing.T) {
	r := newRig(t)
	kubelet := &kubeletOf{}
	r.Preparing = KubeletPods(serveKubelet(t, kubelet))
	for i, name := range []string{"a", "b", "c", "d"} {
		r.api.Put(pod(name, one([]string{uuidA, uuidB, uuidA, uuidB}[i]), i))
	}
	r.follow()
	// a is served already though its annotation does not say so yet, b has been refused by the kubelet, d is not there yet.
	kubelet.pods = []string{"a+", "c"}
	if ids := r.Prefer(r.ctx, number, []string{uuidA + "-0", uuidB + "-0"}, nil, 1); !slices.Equal(ids, []string{uuidA + "-0"}) {
		t.Errorf("preferred are %v, expected c's card", ids)
	}
	r.expectServed("uid-c_c0", uuidB+"-0") // whatever the ids are
	// Of two that have one name the first one ends, and has devices.
	kubelet.pods = []string{"a+", "c+", "d+", "d"}
	r.expectServed("uid-d_c0", uuidA+"-0")
	kubelet.pods = []string{"a+", "c+", "d+"}
	r.expectRefused("cannot get valid pod", uuidA+"-0") // rather than somebody else's devices
	kubelet.pods = []string{"late", "a+"}
	r.api.Put(pod("late", one(uuidC), 9))
	r.expectServed("uid-late_c0", uuidA+"-0") // of which the cache of pods may not know yet
}

func TestTheKubeletIsAskedOnceForAContainer(t *testing.T) {
	r := newRig(t)
	kubelet := &kubeletOf{pods: []string{"b"}}
	r.Preparing = KubeletPods(serveKubelet(t, kubelet))
	for _, name := range []string{"a", "b", "c"} {
		r.api.Put(pod(name, one(uuidA), 1))
	}
	r.follow()
	available := []string{uuidA + "-0", uuidA + "-1"}
	ids := r.Prefer(r.ctx, number, available, nil, 1)
	r.expectServed("uid-b_c0", ids...)
	if kubelet.calls != 1 {
		t.Errorf("the kubelet was asked %d times, expected once", kubelet.calls)
	}
	// What was preferred says nothing of a call with other ids, nor of a second call.
	kubelet.pods = []string{"b+", "a"}
	if ids = r.Prefer(r.ctx, number, available, nil, 1); len(ids) != 1 {
		t.Fatalf("preferred are %v, expected one", ids)
	}
	kubelet.pods = []string{"b+", "c"} // a has been refused
	r.expectServed("uid-c_c0", uuidB+"-0")
	kubelet.pods = []string{"b+", "c+", "a"}
	r.expectServed("uid-a_c0", ids...)
}

func TestWithoutTheKubeletsSocketPodsAreToldApartByIdsAndOrder(t *testing.T) {
	r := newRig(t)
	r.Preparing = KubeletPods(filepath.Join(t.TempDir(), "none"))
	r.api.Put(pod("a", one(uuidA), 1))
	r.api.Put(pod("b", one(uuidB), 2))
	r.follow()
	r.expectServed("uid-b_c0", uuidB+"-0")
	r.expectServed("uid-a_c0", uuidC+"-0")
}
