//go:build tier2

package devicemanager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/mps"
	"vgpualloc.example/adapters/deviceplugin/testbed"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

const (
	pluginVariable = "VGPUALLOC_DEVICE_PLUGIN"        // the program; empty: it is built
	folderVariable = "VGPUALLOC_DEVICE_PLUGIN_FOLDER" // of these tests, private
	nodeName       = "node-1"
	splits         = 10 // of the device configuration
	cardMiB        = 40960
	factor         = 4 // MiB of one unit of memory
	number         = "volcano.sh/vgpu-number"
	memory         = "volcano.sh/vgpu-memory"
	cores          = "volcano.sh/vgpu-cores"
)

const checkpointFile = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"

func buildPlugin(folder string) (string, error) {
	if path := os.Getenv(pluginVariable); path != "" {
		return path, nil
	}
	path := filepath.Join(folder, "vgpualloc-device-plugin")
	command := exec.Command("go", "build", "-C", "../../../deviceplugin", "-o", path, ".")
	if text, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the device plugin: %w\n%s", err, text)
	}
	return path, nil
}

// rig is a node: the kubelet's device manager, the device plugin as a process, and what both talk to.
type rig struct {
	*testing.T
	api     *testbed.API
	manager *devicemanager.ManagerImpl
	machine *fake.Machine
	folder  string
	plugin  *exec.Cmd
	log     *bytes.Buffer

	mutex sync.Mutex
	pods  []*corev1.Pod // active ones
}

type always struct{}

func (always) AddSource(string) {}
func (always) AllReady() bool   { return true }

// newRig has four cards, shared in these ways.
func newRig(t *testing.T, modes ...string) *rig {
	t.Helper()
	library := fake.NeedLibrary(t)
	folder, err := os.MkdirTemp(os.Getenv(folderVariable), "rig") // short, as sockets are
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, api: testbed.NewAPI(), folder: folder, log: &bytes.Buffer{}}
	t.Cleanup(r.api.Close)
	var state fake.State
	var cards []string
	for i, mode := range modes {
		state.GPUs = append(state.GPUs, fake.GPU{UUID: uuid(i), Name: "NVIDIA A100-SXM4-40GB", MemoryBytes: cardMiB << 20, Minor: i,
			ComputeCapability: "8.0", MigCapable: true, MigEnabled: mode == "mig"})
		cards = append(cards, fmt.Sprintf(`{"index":%d,"operatingmode":%q}`, i, mode))
	}
	if r.machine, err = fake.New(filepath.Join(folder, "gpus.json"), state); err != nil {
		t.Fatal(err)
	}
	r.api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}})
	r.api.Put(objects.RealDeviceConfig(factor))
	r.write("config.json", fmt.Sprintf(`{"nodeconfig":[{"name":%q,"operatingmode":"hami-core","devices":[%s]}]}`, nodeName, strings.Join(cards, ",")))
	r.write("kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}`,
		r.api.Config().Host))
	if err := os.RemoveAll(checkpointFile); err != nil { // of the rig before
		t.Fatal(err)
	}
	r.startDaemon()
	r.startManager()
	r.startPlugin(library)
	return r
}

func uuid(card int) string { return fmt.Sprintf("GPU-00000000-0000-0000-0000-00000000000%d", card) }

func (r *rig) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

// startManager begins the device manager of a kubelet, which knows the checkpoint of the one before.
func (r *rig) startManager() {
	r.Helper()
	manager, err := devicemanager.NewManagerImpl(nil, topologymanager.NewFakeManager())
	if err != nil {
		r.Fatal(err)
	}
	active := func() []*corev1.Pod {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		return append([]*corev1.Pod(nil), r.pods...)
	}
	if err := manager.Start(active, always{}, containermap.NewContainerMap(), sets.New[string]()); err != nil {
		r.Fatal(err)
	}
	r.manager = manager
	r.Cleanup(func() { _ = manager.Stop() })
}

// startDaemon has a control daemon of MPS answer.
func (r *rig) startDaemon() {
	r.Helper()
	program := filepath.Join(r.folder, mps.Program)
	if err := errors.Join(os.MkdirAll(mps.PipeFolder(filepath.Join(r.folder, "mps"), number), 0o755),
		os.WriteFile(program, []byte("#!/bin/sh\necho 100.0\n"), 0o755)); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) startPlugin(library string) {
	r.Helper()
	r.plugin = exec.Command(os.Getenv(pluginVariable), "--kubeconfig="+filepath.Join(r.folder, "kubeconfig"), "--metrics-listen=",
		"--node-config-file="+filepath.Join(r.folder, "config.json"), "--hook-path="+filepath.Join(r.folder, "vgpu"), "--node-name="+nodeName, "--mps-root="+filepath.Join(r.folder, "mps"))
	r.plugin.Env = append(os.Environ(), "PATH="+r.folder+":"+os.Getenv("PATH"), fake.Variable+"="+r.machine.Path(), "NVML_LIBRARY="+library)
	r.plugin.Stdout, r.plugin.Stderr = r.log, r.log
	r.plugin.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.plugin.Start(); err != nil {
		r.Fatal(err)
	}
	plugin := r.plugin
	r.Cleanup(func() {
		_ = plugin.Process.Kill() // it may have ended
		_ = plugin.Wait()
		if r.Failed() {
			r.Logf("the device plugin says:\n%s", r.log)
		}
	})
}

// eventually waits until something is so.
func (r *rig) eventually(what string, so func() bool) {
	r.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			capacity, allocatable, _ := r.manager.GetCapacity()
			r.Fatalf("not in 20 s: %s; capacity %v, allocatable %v", what, capacity, allocatable)
		}
	}
}

// offers is how many of each resource the kubelet would report.
func (r *rig) offers() map[string]int64 {
	_, allocatable, _ := r.manager.GetCapacity()
	result := map[string]int64{}
	for name, quantity := range allocatable {
		result[string(name)] = quantity.Value()
	}
	return result
}

// awaitCards waits until so many cards can be given out.
func (r *rig) awaitCards(cards int64) {
	r.Helper()
	expected := map[string]int64{number: splits * cards, memory: cardMiB / factor * cards, cores: 100 * cards}
	r.eventually(fmt.Sprintf("%d cards", cards), func() bool { return maps.Equal(r.offers(), expected) })
}

// decide is a pod with one container, for which a scheduler has decided on these cards: entries as in the annotation.
func (r *rig) decide(name string, limits map[string]string, entries string) *corev1.Pod {
	amounts := corev1.ResourceList{}
	for resourceName, amount := range limits {
		amounts[corev1.ResourceName(resourceName)] = resource.MustParse(amount)
	}
	now := fmt.Sprint(time.Now().Unix())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID("uid-" + name), Annotations: map[string]string{
		"volcano.sh/vgpu-ids-new": entries, "volcano.sh/devices-to-allocate": entries, "volcano.sh/vgpu-node": nodeName,
		"volcano.sh/vgpu-time": now, "volcano.sh/bind-time": now, "volcano.sh/bind-phase": "allocating"}},
		Spec: corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "main", Image: "none",
			Resources: corev1.ResourceRequirements{Limits: amounts}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending}}
	r.api.Put(pod)
	r.mutex.Lock()
	r.pods = append(r.pods, pod)
	r.mutex.Unlock()
	return pod
}

// allocate does what the kubelet does when it admits a pod and starts its container.
func (r *rig) allocate(pod *corev1.Pod) (*devicemanager.DeviceRunContainerOptions, error) {
	if err := r.manager.Allocate(pod, &pod.Spec.Containers[0]); err != nil {
		return nil, err
	}
	return r.manager.GetDeviceRunContainerOptions(pod, &pod.Spec.Containers[0])
}

// environment is what a container gets, which has to be possible.
func (r *rig) environment(pod *corev1.Pod) map[string]string {
	r.Helper()
	options, err := r.allocate(pod)
	if err != nil || options == nil {
		r.Fatalf("pod %s: options %v, error %v", pod.Name, options, err)
	}
	result := map[string]string{}
	for _, each := range options.Envs {
		result[each.Name] = each.Value
	}
	return result
}

// end has a pod gone.
func (r *rig) end(pod *corev1.Pod) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.api.Delete(pod)
	for i := range r.pods {
		if r.pods[i] == pod {
			r.pods = append(r.pods[:i], r.pods[i+1:]...)
			break
		}
	}
}

func (r *rig) annotation(pod *corev1.Pod, name string) string {
	if object := r.api.Pod(pod.Namespace, pod.Name); object != nil {
		return object.Annotations[name]
	}
	return "no pod"
}

// used are the ids of a resource that the kubelet has in use, by its checkpoint.
func (r *rig) used(resourceName string) int {
	r.Helper()
	text, err := os.ReadFile(checkpointFile)
	if err != nil {
		r.Fatal(err)
	}
	var checkpoint struct {
		Data struct {
			PodDeviceEntries []struct {
				ResourceName string
				DeviceIDs    map[string][]string
			}
		}
	}
	if err := json.Unmarshal(text, &checkpoint); err != nil {
		r.Fatal(err)
	}
	count := 0
	for _, entry := range checkpoint.Data.PodDeviceEntries {
		for _, ids := range entry.DeviceIDs {
			if entry.ResourceName == resourceName {
				count += len(ids)
			}
		}
	}
	return count
}

// isServed says whether somebody listens on the socket of a resource.
func isServed(endpoint string) bool {
	connection, err := net.Dial("unix", "/var/lib/kubelet/device-plugins/"+endpoint)
	if err != nil {
		return false
	}
	return connection.Close() == nil
}
