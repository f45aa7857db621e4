package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/kubelet"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

const resource = "volcano.sh/vgpu-number"

type allocator struct{ calls [][]string }

func (a *allocator) Allocate(_ context.Context, resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	a.calls = append(a.calls, ids)
	switch ids[0] {
	case "panic":
		panic("no such thing")
	case "bad":
		return nil, errors.New("cannot get valid pod")
	}
	return &pluginapi.ContainerAllocateResponse{Envs: map[string]string{"IDS": fmt.Sprint(resource, ids)}}, nil
}

type preferred struct{}

func (preferred) Prefer(_ context.Context, _ string, available, _ []string, size int) []string {
	if available[0] == "any" {
		return nil
	}
	return available[len(available)-size:]
}

// stand is a kubelet and a server that registers with it.
type stand struct {
	kubelet *testbed.Kubelet
	server  *kubelet.Server
	folder  string
	mutex   sync.Mutex
	count   int // registrations
	end     func()
}

func newStand(t *testing.T, options testbed.KubeletOptions, change func(*kubelet.Options)) *stand {
	t.Helper()
	folder, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	made := &stand{folder: folder}
	if made.kubelet, err = testbed.NewKubelet(folder, options); err != nil {
		t.Fatal(err)
	}
	settings := kubelet.Options{Folder: folder, KubeletSocket: made.kubelet.Socket(), Resource: resource, Endpoint: "nvidia-vgpu-number.sock",
		Allocator: kubelet.Single(&allocator{}), Prefer: preferred{}, Retry: 10 * time.Millisecond, Poll: 50 * time.Millisecond,
		Registered: func() { made.mutex.Lock(); made.count++; made.mutex.Unlock() }}
	if change != nil {
		change(&settings)
	}
	made.server = kubelet.New(settings)
	made.server.Set(devices(pluginapi.Healthy))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- made.server.Run(ctx) }()
	made.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		made.end()
		made.kubelet.Close()
		_ = os.RemoveAll(folder)
	})
	return made
}

func devices(health string) []*pluginapi.Device {
	return []*pluginapi.Device{{ID: "GPU-1-0", Health: health}, {ID: "GPU-1-1", Health: health}}
}

func (s *stand) registrations() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.count
}

func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: did not come in 5 s", what)
		}
	}
}

func (s *stand) lists(t *testing.T, count int) [][]*pluginapi.Device {
	t.Helper()
	wait(t, fmt.Sprintf("%d lists", count), func() bool { return len(s.kubelet.Lists(resource)) >= count })
	return s.kubelet.Lists(resource)
}

func TestRegistersAndSendsEachList(t *testing.T) {
	s := newStand(t, testbed.KubeletOptions{}, nil)
	s.lists(t, 1)
	request := s.kubelet.Registrations()[0]
	if request.Version != "v1beta1" || request.Endpoint != "nvidia-vgpu-number.sock" || request.ResourceName != resource ||
		!request.Options.GetPreferredAllocationAvailable || request.Options.PreStartRequired {
		t.Errorf("registered as %v", request)
	}
	for range 3 { // a list each, also of the same content
		s.server.Set(devices(pluginapi.Unhealthy))
	}
	lists := s.lists(t, 4)
	if lists[0][0].Health != pluginapi.Healthy || lists[1][0].Health != pluginapi.Unhealthy || len(lists) != 4 {
		t.Errorf("lists %v", lists)
	}
	s.end()
	if _, err := os.Stat(filepath.Join(s.folder, "nvidia-vgpu-number.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket after the end: %v, expected none", err)
	}
}

func TestAllocateAnswersRefusesAndSurvives(t *testing.T) {
	s := newStand(t, testbed.KubeletOptions{}, nil)
	s.lists(t, 1)
	client := s.kubelet.Client(resource)
	call := func(lists ...[]string) (*pluginapi.AllocateResponse, error) {
		request := &pluginapi.AllocateRequest{}
		for _, ids := range lists {
			request.ContainerRequests = append(request.ContainerRequests, &pluginapi.ContainerAllocateRequest{DevicesIds: ids})
		}
		return client.Allocate(context.Background(), request)
	}
	if answer, err := call([]string{"GPU-1-0"}); err != nil || answer.ContainerResponses[0].Envs["IDS"] != resource+"[GPU-1-0]" {
		t.Errorf("%v %v", answer, err)
	}
	if _, err := call([]string{"a"}, []string{"b"}); err == nil || err.Error() != "rpc error: code = Unknown desc = multiple Container Requests not supported" {
		t.Errorf("two containers: %v", err)
	}
	for _, none := range [][][]string{nil, {nil}} {
		if _, err := call(none...); err == nil {
			t.Errorf("a request without ids was answered")
		}
	}
	if _, err := call([]string{"panic"}); err == nil || strings.ContainsRune(err.Error(), '\n') || !strings.Contains(err.Error(), "Allocate failed") {
		t.Errorf("a call that panics: %v, expected one line", err)
	}
	if _, err := call([]string{"bad"}); err == nil || err.Error() != "rpc error: code = Unknown desc = cannot get valid pod" {
		t.Errorf("after a panic: %v", err)
	}
	prefer := func(available ...string) *pluginapi.PreferredAllocationResponse {
		answer, err := client.GetPreferredAllocation(context.Background(), &pluginapi.PreferredAllocationRequest{
			ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: available, AllocationSize: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if answer := prefer("any", "b"); len(answer.ContainerResponses) != 0 {
		t.Errorf("without a preference: %v, expected an empty answer", answer)
	}
	if answer := prefer("a", "b"); len(answer.ContainerResponses) != 1 || answer.ContainerResponses[0].DeviceIDs[0] != "b" {
		t.Errorf("preferred: %v, expected b", answer)
	}
}

func TestRegistersAgain(t *testing.T) {
	for name, happens := range map[string]func(*stand) error{
		"kubelet restarts":    func(s *stand) error { return s.kubelet.Restart() },
		"the folder is empty": func(s *stand) error { return os.Remove(s.server.Socket()) },
		"SIGHUP":              func(s *stand) error { s.server.Register(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, testbed.KubeletOptions{}, nil)
			s.lists(t, 1)
			if err := happens(s); err != nil {
				t.Fatal(err)
			}
			wait(t, "a second registration", func() bool { return s.registrations() == 2 })
			wait(t, "a list for it", func() bool { return len(s.kubelet.Lists(resource)) > 0 })
			if _, err := s.kubelet.Allocate(context.Background(), resource, []string{"GPU-1-1"}); err != nil {
				t.Errorf("Allocate afterwards: %v", err)
			}
		})
	}
}

// A kubelet that ends ListAndWatch and goes on, as kubelet 1.34 does to a plugin that has registered twice in quick succession.
func TestAKubeletThatForgetsThePluginIsToldAgain(t *testing.T) {
	s := newStand(t, testbed.KubeletOptions{}, nil)
	s.lists(t, 1)
	if _, err := s.kubelet.Register(context.Background(), &pluginapi.RegisterRequest{Version: "v1beta1", ResourceName: resource,
		Endpoint: "nobody.sock"}); err != nil { // in the plugin's place, whose connection is closed
		t.Fatal(err)
	}
	wait(t, "a second registration", func() bool { return s.registrations() == 2 })
	s.lists(t, 1)
	time.Sleep(50 * time.Millisecond)
	if count := s.registrations(); count != 2 {
		t.Errorf("%d registrations, expected no more than were needed", count)
	}
}

// A kubelet that is not there yet, and one that never asks for lists, hold nothing up (N41, N42).
func TestNothingBlocks(t *testing.T) {
	s := newStand(t, testbed.KubeletOptions{NoLists: true}, nil)
	wait(t, "registration", func() bool { return s.registrations() == 1 })
	for range 1000 {
		s.server.Set(devices(pluginapi.Unhealthy))
	}
	s.kubelet.Stop()
	time.Sleep(30 * time.Millisecond)
	if s.registrations() != 1 {
		t.Errorf("%d registrations with a kubelet that is gone", s.registrations())
	}
	if err := s.kubelet.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "registration with the new kubelet", func() bool { return s.registrations() == 2 })
	began := time.Now()
	s.end()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the end took %v", took)
	}
}

func TestRegistersLateAndRefusesLongPaths(t *testing.T) {
	var mutex sync.Mutex
	failures := 0
	s := newStand(t, testbed.KubeletOptions{}, func(options *kubelet.Options) {
		options.KubeletSocket = filepath.Join(options.Folder, "later.sock")
		options.Report = func(string, error) { mutex.Lock(); failures++; mutex.Unlock() }
	})
	wait(t, "refused registrations", func() bool { mutex.Lock(); defer mutex.Unlock(); return failures > 1 })
	if err := os.Rename(s.kubelet.Socket(), filepath.Join(s.folder, "later.sock")); err != nil {
		t.Fatal(err)
	}
	wait(t, "registration", func() bool { return s.registrations() == 1 })
	long := kubelet.New(kubelet.Options{Folder: "/" + string(make([]byte, 120)), Endpoint: "a.sock"})
	if err := long.Run(context.Background()); err == nil {
		t.Error("a path of more than 107 bytes was taken")
	}
}

func TestNotOffered(t *testing.T) {
	s := newStand(t, testbed.KubeletOptions{}, func(options *kubelet.Options) { options.Prefer = nil })
	s.lists(t, 1)
	if s.kubelet.Registrations()[0].Options.GetPreferredAllocationAvailable {
		t.Error("GetPreferredAllocation is offered")
	}
	client := s.kubelet.Client(resource)
	_, err := client.GetPreferredAllocation(context.Background(), &pluginapi.PreferredAllocationRequest{})
	if err == nil || err.Error() != "rpc error: code = Unknown desc = not supported" {
		t.Errorf("GetPreferredAllocation: %v", err)
	}
}
