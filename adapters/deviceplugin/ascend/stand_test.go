package ascend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// lists is a server that keeps the lists of devices.
type lists struct {
	mutex     sync.Mutex
	devices   [][]*pluginapi.Device
	anew      int
	allocator *allocator
	resource  string
}

func (l *lists) Set(devices []*pluginapi.Device) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.devices = append(l.devices, devices)
}

func (l *lists) Register() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.anew++
}

func (l *lists) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// last is the last list: how many slots each chip has, by its vdie, negative where they are not healthy.
func (l *lists) last() map[string]int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	slots := map[string]int{}
	for _, device := range l.devices[len(l.devices)-1] {
		vdie := device.ID[:strings.LastIndexByte(device.ID, '-')]
		if device.Health == pluginapi.Healthy {
			slots[vdie]++
		} else {
			slots[vdie]--
		}
	}
	return slots
}

// stand is a plugin without a kubelet, on a node of its own.
type stand struct {
	api     *testbed.API
	root    string
	options Options
	lists   *lists
}

// newStand is one whose options the test completes.
func newStand(t *testing.T, node string, annotations map[string]string) *stand {
	t.Helper()
	s := &stand{api: testbed.NewAPI(), root: t.TempDir(), lists: &lists{}}
	t.Cleanup(s.api.Close)
	s.api.Put(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, UID: "node", Annotations: annotations}})
	for _, name := range softFiles {
		s.write(t, softAssets+"/"+name, "content of "+name)
	}
	s.options = Options{Arguments: []string{"--config_file=/ascend.yaml", "-v=5"}, Root: s.root, Client: s.api.Client(),
		Env: func(name string) (string, bool) { return node, name == "NODE_NAME" }, FirstAfter: -1, ReleaseWait: time.Millisecond,
		Now: func() time.Time { return time.Date(2026, 11, 28, 22, 0, 0, 0, time.UTC) }}
	return s
}

func (s *stand) write(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(s.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// plugin is the plugin of the stand.
func (s *stand) plugin() *Plugin {
	plugin := New(s.options)
	plugin.newServer = func(_ Options, chip chipConfig, allocator *allocator) server {
		s.lists.allocator, s.lists.resource = allocator, chip.ResourceName
		return s.lists
	}
	return plugin
}

// podOf is a pod as a scheduler leaves it. Keys of annotations may begin with `!`: it has none of that name.
func podOf(namespace, name, node string, annotations map[string]string, containers ...string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{
		bindTime: "1790000000", bindPhase: phaseAllocating, nodeAnnotation: node}},
		Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: v1.PodPending}}
	for key, value := range annotations {
		if left, is := strings.CutPrefix(key, "!"); is {
			delete(pod.Annotations, left)
		} else {
			pod.Annotations[key] = value
		}
	}
	for _, container := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: container})
	}
	return pod
}

// allocate is a call for containers with so many ids each.
func (s *stand) allocate(counts ...int) ([]*pluginapi.ContainerAllocateResponse, error) {
	containers := [][]string{}
	for _, count := range counts {
		ids := []string{}
		for i := range count {
			ids = append(ids, fmt.Sprintf("any-%d", i))
		}
		containers = append(containers, ids)
	}
	return s.lists.allocator.Allocate(context.Background(), containers)
}
