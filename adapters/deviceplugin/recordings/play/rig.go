// Package play feeds the input of recorded cases to our plugin and says what it answered, in the form of the recordings.
package play

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// limit is how long anything may take that a case waits for. It is reached only when something is wrong.
const limit = 20 * time.Second

// plugin is one of ours.
type plugin interface {
	Run(ctx context.Context) error
	Reload()
}

// rig is the machine and the cluster around the plugin of one case.
type rig struct {
	in      *cases.Input
	names   config.Resources
	root    string // stands for the root of the machine
	api     *testbed.API
	kubelet *testbed.Kubelet

	mu     sync.Mutex
	events []string // of the plugin's Observe
	news   chan struct{}

	running plugin
	end     context.CancelFunc
	ended   chan error // gets what Run returns
	dead    *cases.Exit

	dirs  map[string]string
	node  map[string]string
	pods  map[string]map[string]string
	since int // registrations at the kubelet that belong to an earlier step
}

// newRig: pods ask under these names for what is assigned to them; without names for nothing.
func newRig(in *cases.Input, names config.Resources) (*rig, error) {
	root, err := os.MkdirTemp("", "vr")
	if err != nil {
		return nil, err
	}
	r := &rig{in: in, names: names, root: root, api: testbed.NewAPI(), news: make(chan struct{})}
	for _, folder := range []string{kubeletFolder, "/usr/local/vgpu", "/usr/local/hami-vnpu-core", "/tmp/vgpu", "/config", "/dev"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return nil, err
		}
	}
	r.kubelet, err = testbed.NewKubelet(filepath.Join(root, kubeletFolder), testbed.KubeletOptions{
		NoLists: r.fails("listandwatch"), ReadBeyondLimit: true,
	})
	if err != nil {
		return nil, err
	}
	r.api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: in.NodeName, Annotations: maps.Clone(in.NodeAnnotations)}})
	for i := range in.Pods {
		r.put(&in.Pods[i])
	}
	r.api.SetFaults(in.APIFaults...)
	r.look()
	return r, nil
}

const kubeletFolder = "/var/lib/kubelet/device-plugins"

func (r *rig) close() {
	r.kill()
	r.kubelet.Close()
	r.api.Close()
	_ = os.RemoveAll(r.root)
}

func (r *rig) fails(tool string) bool {
	for _, failing := range r.in.ToolFailures {
		if failing == tool {
			return true
		}
	}
	return false
}

// write makes a file of the machine; nil: there is none.
func (r *rig) write(path string, text *string) error {
	if text == nil {
		return nil
	}
	path = filepath.Join(r.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(*text), 0o644)
}

// put makes a pod as a scheduler has bound it.
func (r *rig) put(pod *cases.Pod) { r.api.Put(asking(podOf(pod), r.names)) }

func podOf(from *cases.Pod) *corev1.Pod {
	containers := func(list []cases.Container) []corev1.Container {
		var result []corev1.Container
		for _, one := range list {
			container := corev1.Container{Name: one.Name}
			for name, value := range one.Env {
				container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
			}
			result = append(result, container)
		}
		return result
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name, UID: types.UID(from.UID), Annotations: maps.Clone(from.Annotations)},
		Spec: corev1.PodSpec{
			NodeName: from.NodeName, Containers: containers(from.Containers), InitContainers: containers(from.InitContainers),
		},
		Status: corev1.PodStatus{Phase: corev1.PodPhase(from.Phase)},
	}
}

// observe is the plugin's Observe.
func (r *rig) observe(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
	close(r.news)
	r.news = make(chan struct{})
}

func (r *rig) seen(event string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := 0
	for _, one := range r.events {
		if one == event {
			result++
		}
	}
	return result
}

// await waits until something holds or the plugin ends.
func (r *rig) await(what string, holds func() bool) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		r.mu.Lock()
		news := r.news
		r.mu.Unlock()
		select {
		case err := <-r.ended:
			r.noteEnd(err)
			return nil
		case <-news:
		case <-look.C:
		case <-deadline.C:
			return fmt.Errorf("waited %v for %s; the plugin reported %v", limit, what, r.events)
		}
	}
	return nil
}

func (r *rig) noteEnd(err error) {
	r.running = nil
	r.dead = &cases.Exit{}
	if err != nil {
		r.dead = &cases.Exit{Code: 1, Error: err.Error()}
	}
}

// run starts a plugin in a goroutine.
func (r *rig) run(started plugin) {
	ctx, end := context.WithCancel(context.Background())
	r.running, r.end, r.ended, r.dead = started, end, make(chan error, 1), nil
	r.mu.Lock()
	r.events = nil
	r.mu.Unlock()
	go func(ended chan<- error) { ended <- started.Run(ctx) }(r.ended)
}

// kill ends the plugin, if it runs, and waits for that.
func (r *rig) kill() {
	if r.running == nil {
		return
	}
	r.end()
	select {
	case err := <-r.ended:
		r.noteEnd(err)
	case <-time.After(limit):
		r.running = nil
		r.dead = &cases.Exit{Code: 1, Error: fmt.Sprintf("the plugin did not end within %v", limit)}
	}
}

// look notes the state of the machine and the cluster, which steps are compared with.
func (r *rig) look() {
	r.dirs, r.node, r.pods = r.folders(), r.annotations(), r.podAnnotations()
}

// annotations are those of the node, without what only our plugin writes and with times masked.
func (r *rig) annotations() map[string]string {
	result := map[string]string{}
	node := r.api.Node(r.in.NodeName)
	if node == nil {
		return result
	}
	for key, value := range r.in.NodeAnnotations { // the recorded plugins leave these as they are
		if r.isOwnKey(key) {
			result[key] = value
		}
	}
	for key, value := range node.Annotations {
		if r.isOwnKey(key) {
			continue
		}
		if strings.HasPrefix(value, "Reported_") && len(value) == len("Reported_2026.01.01 00:00:00") {
			value = "Reported_<time>"
		}
		result[key] = value
	}
	return result
}

// isOwnKey says whether an annotation of the node says when our plugin last reported, which the recorded plugins do not do.
func (r *rig) isOwnKey(key string) bool {
	return key == "volcano.sh/node-vgpu-reported" || key == "volcano.sh/node-vgpu-handshake" || strings.HasPrefix(key, "hami.io/node-reported-")
}

func (r *rig) podAnnotations() map[string]map[string]string {
	result := map[string]map[string]string{}
	for _, pod := range r.api.Pods() {
		result[pod.Namespace+"/"+pod.Name] = pod.Annotations
	}
	return result
}

// folders are the folders of the machine with their modes, but for those that the recordings do not look at, and for our own.
func (r *rig) folders() map[string]string {
	result := map[string]string{}
	_ = filepath.WalkDir(r.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		path = strings.TrimPrefix(path, r.root)
		if strings.HasPrefix(path, "/var/") || strings.HasPrefix(path, "/tmp/vgpu/") || strings.HasSuffix(path, "/vgpualloc") {
			return fs.SkipDir
		}
		if info, err := entry.Info(); err == nil && path != "" {
			result[path] = fmt.Sprintf("%04o", info.Mode().Perm())
		}
		return nil
	})
	return result
}

// changes fills in what a step has changed.
func (r *rig) changes(out *cases.StepOutput) {
	node, dirs, pods := r.node, r.dirs, r.pods
	r.look()
	if !maps.Equal(node, r.node) {
		out.NodeAnnotations = maps.Clone(r.node)
	}
	for path, mode := range r.dirs {
		if dirs[path] != mode {
			if out.Dirs == nil {
				out.Dirs = map[string]string{}
			}
			out.Dirs[path] = mode
		}
	}
	for pod, annotations := range r.pods {
		old, ok := pods[pod]
		if !ok {
			continue
		}
		note := func(key string, value *string) {
			if out.PodAnnotations == nil {
				out.PodAnnotations = map[string]map[string]*string{}
			}
			if out.PodAnnotations[pod] == nil {
				out.PodAnnotations[pod] = map[string]*string{}
			}
			out.PodAnnotations[pod][key] = value
		}
		for key, value := range annotations {
			if was, ok := old[key]; !ok || was != value {
				note(key, &value)
			}
		}
		for key := range old {
			if _, ok := annotations[key]; !ok {
				note(key, nil)
			}
		}
	}
}

// again is a kubelet that starts again, or a signal to the plugin. `haveLists`: the kubelet has what the plugin offers.
func (r *rig) again(step *cases.Step, out *cases.StepOutput, cards []string, haveLists func() bool) error {
	rounds := r.seen("annotated")
	switch {
	case step.Op == "kubelet_restart":
		r.since = 0
		if err := r.kubelet.Restart(); err != nil {
			return err
		}
	case step.Resource == "HUP":
		r.since = len(r.kubelet.Registrations())
		if r.running != nil {
			r.running.Reload()
		}
	default:
		r.kill()
		out.Exit = r.dead
		out.Registers, out.Devices = []cases.Register{}, map[string]cases.DeviceList{}
		out.SocketsLeft = r.sockets()
		return nil
	}
	err := r.await("the kubelet's lists", func() bool {
		return haveLists() && (step.Op != "signal" || r.seen("annotated") > rounds)
	})
	out.Registers, out.Devices = r.registers(), r.listsOf(cards)
	if step.Op == "signal" {
		out.Alive, out.SocketsLeft = r.running != nil, r.sockets()
	}
	return err
}
