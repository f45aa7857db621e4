package allocate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Preparing says whether the kubelet may be preparing a container: its pod is active there, and the container has no devices of the
// resource yet. An empty container: any of the pod's.
type Preparing func(namespace, pod, container string) bool

// PodResourcesPath is the socket of the kubelet's PodResources interface.
const PodResourcesPath = "/var/lib/kubelet/pod-resources/kubelet.sock"

const (
	podResourcesLimit   = 2 * time.Second
	podResourcesMessage = 64 << 20 // bytes; each unit of memory is an id
)

// KubeletPods asks the kubelet for its active pods and their devices, by its socket. The kubelet takes a pod in before it prepares its
// containers, one pod after the other, and a pod that it has refused is not active any more: so of the pods that wait for devices only
// the one of the call is active and has none. Without the socket the answer is nil.
func KubeletPods(socket string) func(ctx context.Context, resource string) (Preparing, error) {
	return func(ctx context.Context, resource string) (Preparing, error) {
		if _, err := os.Stat(socket); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(podResourcesMessage)))
		if err != nil {
			return nil, fmt.Errorf("the kubelet's socket %s: %w", socket, err)
		}
		defer connection.Close()
		ctx, end := context.WithTimeout(ctx, podResourcesLimit)
		defer end()
		answer, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
		if err != nil {
			return nil, fmt.Errorf("the kubelet's pods: %w", err)
		}
		return preparingOf(answer.GetPodResources(), resource), nil
	}
}

// preparingOf reads the kubelet's pods. A pod that comes back under the same name is there twice while the first one ends.
func preparingOf(pods []*podresources.PodResources, resource string) Preparing {
	served := map[[2]string][]map[string]bool{} // by pod: containers that have devices of the resource
	for _, pod := range pods {
		containers := map[string]bool{}
		for _, container := range pod.GetContainers() {
			for _, devices := range container.GetDevices() {
				if devices.GetResourceName() == resource && len(devices.GetDeviceIds()) > 0 {
					containers[container.GetName()] = true
				}
			}
		}
		name := [2]string{pod.GetNamespace(), pod.GetName()}
		served[name] = append(served[name], containers)
	}
	return func(namespace, pod, container string) bool {
		for _, containers := range served[[2]string{namespace, pod}] {
			if !containers[container] {
				return true
			}
		}
		return false
	}
}

// preparing is which containers the kubelet may be preparing; nil: it does not say.
func (a *Allocator) preparing(ctx context.Context, resource string) eligible {
	if a.Preparing == nil {
		return nil
	}
	isPreparing, err := a.Preparing(ctx, resource)
	if err != nil {
		klog.ErrorS(err, "The kubelet does not say which pod it prepares; pods are told apart by ids and order")
	}
	if err != nil || isPreparing == nil {
		return nil
	}
	return func(pod *v1.Pod, container *v1.Container) bool {
		name := ""
		if container != nil {
			name = container.Name
		}
		return isPreparing(pod.Namespace, pod.Name, name)
	}
}
