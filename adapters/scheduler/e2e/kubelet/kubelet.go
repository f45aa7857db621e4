// Package kubelet plays the node side for fake nodes: kubelets and device plugins. Pods that are bound begin to run, their
// device plugins acknowledge what they were given, and pods that are told to end go.
package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Options of the node side.
type Options struct {
	// Ending is how long a pod takes to end after it was told to.
	Ending time.Duration
	// NodeLocks: the device plugins release the lock that a scheduler sets on a node (deviceshare.NodeLockEnable).
	NodeLocks bool
	Workers   int
}

// Kubelet is all the kubelets of the cluster.
type Kubelet struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	queue   workqueue.TypedRateLimitingInterface[string]
	options Options
	failed  atomic.Int64

	mutex sync.Mutex
	// chips has, for each chip of MindCluster, the pods in each of its four vGroups: the device plugin chooses it.
	chips map[string][][]types.UID
}

// New prepares kubelets that are told of pods and look them up in the lister.
func New(client kubernetes.Interface, pods corelisters.PodLister, options Options) *Kubelet {
	return &Kubelet{client: client, pods: pods, options: options,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, time.Second)),
		chips: map[string][][]types.UID{}}
}

// Run works until the context ends.
func (kubelet *Kubelet) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range max(1, kubelet.options.Workers) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for kubelet.work(ctx) {
			}
		}()
	}
	<-ctx.Done()
	kubelet.queue.ShutDown()
	workers.Wait()
}

// Failures counts requests that the API server refused for another reason than that the pod has gone or changed.
func (kubelet *Kubelet) Failures() int64 { return kubelet.failed.Load() }

// Hear is called with a pod that came or changed.
func (kubelet *Kubelet) Hear(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	name := pod.Namespace + "/" + pod.Name
	switch {
	case pod.DeletionTimestamp != nil:
		kubelet.queue.AddAfter(name, kubelet.options.Ending)
	case pod.Status.Phase == corev1.PodPending:
		kubelet.queue.Add(name)
	}
}

func (kubelet *Kubelet) work(ctx context.Context) bool {
	name, shutdown := kubelet.queue.Get()
	if shutdown {
		return false
	}
	defer kubelet.queue.Done(name)
	err := kubelet.tend(ctx, name)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		kubelet.queue.Forget(name)
		return true
	}
	if ctx.Err() == nil {
		kubelet.failed.Add(1)
		kubelet.queue.AddRateLimited(name)
	}
	return true
}

func (kubelet *Kubelet) tend(ctx context.Context, name string) error {
	namespace, podName, err := cache.SplitMetaNamespaceKey(name)
	if err != nil {
		return err
	}
	pod, err := kubelet.pods.Pods(namespace).Get(podName)
	if err != nil || pod.Spec.NodeName == "" {
		return err
	}
	if pod.DeletionTimestamp != nil {
		now := int64(0)
		return kubelet.client.CoreV1().Pods(namespace).Delete(ctx, podName,
			metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	}
	if pod.Status.Phase != corev1.PodPending {
		return nil
	}
	if err := kubelet.begin(ctx, pod); err != nil {
		return err
	}
	if kubelet.options.NodeLocks {
		return kubelet.unlock(ctx, pod.Spec.NodeName)
	}
	return nil
}

// begin is what kubelet and device plugin write when a pod's containers have been started.
func (kubelet *Kubelet) begin(ctx context.Context, pod *corev1.Pod) error {
	now := time.Now().UTC().Format(time.RFC3339)
	conditions := []map[string]string{}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		conditions = append(conditions, map[string]string{"type": string(kind), "status": "True", "lastTransitionTime": now})
	}
	patch := map[string]any{"status": map[string]any{"phase": "Running", "startTime": now, "hostIP": "127.0.0.1", "conditions": conditions}}
	if annotations := kubelet.acknowledge(pod); len(annotations) > 0 {
		patch["metadata"] = map[string]any{"uid": pod.UID, "annotations": annotations}
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	// One request for both: a write to the status may change annotations too.
	_, err = kubelet.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	return err
}

// acknowledge has the annotations that device plugins write after a successful Allocate.
func (kubelet *Kubelet) acknowledge(pod *corev1.Pod) map[string]string {
	result := map[string]string{}
	for _, prefix := range []string{"volcano.sh/", "hami.io/"} {
		if pod.Annotations[prefix+"bind-phase"] == "allocating" {
			result[prefix+"bind-phase"] = "success"
		}
	}
	// What is still to be given out is erased, container by container; the record of what was given stays.
	for _, annotation := range []string{"volcano.sh/devices-to-allocate", "hami.io/vgpu-devices-to-allocate"} {
		if pod.Annotations[annotation] != "" {
			result[annotation] = ""
		}
	}
	if chips := pod.Annotations["huawei.com/npu-core"]; chips != "" {
		result["huawei.com/AscendReal"] = kubelet.realChips(pod, chips)
	}
	return result
}

// realChips is what MindCluster's device plugin writes once it has cut a chip: the names of the virtual chips, with the
// vGroup that each is in. A vGroup has two AI cores; a part of four gets the number of its first.
func (kubelet *Kubelet) realChips(pod *corev1.Pod, given string) string {
	kubelet.mutex.Lock()
	defer kubelet.mutex.Unlock()
	var parts []string
	for _, part := range strings.Split(given, ";") {
		var names []string
		for _, item := range strings.Split(part, ",") {
			chip, template, cut := strings.Cut(item, "-")
			if !cut {
				names = append(names, "Ascend310P-"+chip)
				continue
			}
			cores := 1
			if len(template) >= len("vir01") {
				cores = int(template[4] - '0')
			}
			group := kubelet.enterGroup(pod.Spec.NodeName+"/"+chip, pod.UID, cores)
			names = append(names, fmt.Sprintf("Ascend310P-%dc-%d-%s_%d", cores, 100+group, chip, group))
		}
		parts = append(parts, strings.Join(names, ","))
	}
	return strings.Join(parts, ";")
}

// enterGroup puts a part into the first vGroup with room, which for one core is one with at most one pod in it.
func (kubelet *Kubelet) enterGroup(chip string, pod types.UID, cores int) int {
	const groups, groupCores = 4, 2
	if kubelet.chips[chip] == nil {
		kubelet.chips[chip] = make([][]types.UID, groups)
	}
	taken := kubelet.chips[chip]
	for group := range taken {
		if len(taken[group])+min(cores, groupCores) <= groupCores {
			for range min(cores, groupCores) {
				taken[group] = append(taken[group], pod)
			}
			return group
		}
	}
	return groups - 1
}

// Gone is called with a pod that has gone, which leaves its chips.
func (kubelet *Kubelet) Gone(pod *corev1.Pod) {
	kubelet.mutex.Lock()
	defer kubelet.mutex.Unlock()
	for _, groups := range kubelet.chips {
		for group := range groups {
			groups[group] = slices.DeleteFunc(groups[group], func(holder types.UID) bool { return holder == pod.UID })
		}
	}
}

// locks are what a scheduler takes on a node, and what only the node side releases.
const locks = `{"metadata":{"annotations":{"hamivgpu":null,"hami.io/mutex.lock":null,"gpu":null}}}`

func (kubelet *Kubelet) unlock(ctx context.Context, name string) error {
	_, err := kubelet.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(locks), metav1.PatchOptions{})
	return err
}
