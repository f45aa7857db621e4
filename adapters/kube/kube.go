// Package kube is what schedulers ask of the API server alike: ConfigMaps followed, annotations written, and objects
// reported that the core could not be told of.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/objects"
	"vgpualloc.example/adapters/vga"
)

// Annotate sets annotations, or removes those that are nil, of exactly this pod: the API server refuses the patch if
// another pod has the name now, or, where a resource version is given, if the pod has changed since.
func Annotate(ctx context.Context, client kubernetes.Interface, pod metav1.ObjectMeta, annotations map[string]any) error {
	if len(annotations) == 0 {
		return nil
	}
	metadata := map[string]any{"uid": pod.UID, "annotations": annotations}
	if pod.ResourceVersion != "" {
		metadata["resourceVersion"] = pod.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the annotations of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// TellNode tells a cluster of a node, as objects.Node reduced it.
func TellNode(cluster *live.Cluster, node *v1.Node) {
	text, err := objects.Text(node)
	if err == nil {
		_, err = cluster.Tell(text)
	}
	Report(err, "node", node.Name)
}

// TellPod tells a cluster of a pod, as objects.Pod reduced it.
func TellPod(cluster *live.Cluster, pod *v1.Pod) {
	text, err := objects.Text(pod)
	if err == nil {
		_, err = cluster.TellPod(string(pod.UID), text)
	}
	Report(err, "pod", pod.Namespace+"/"+pod.Name)
}

// Report writes down what the core could not be told. It knows then what it knew before.
func Report(err error, kind, name string) {
	if err != nil && !errors.Is(err, vga.UnknownPod) && !errors.Is(err, vga.UnknownNode) && !errors.Is(err, vga.Outdated) {
		klog.ErrorS(err, "The allocation core could not be told of an object", "kind", kind, "name", name)
	}
}
