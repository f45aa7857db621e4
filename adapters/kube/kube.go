// Package kube is what schedulers ask of the API server alike: ConfigMaps followed, annotations written, and objects
// reported that the core could not be told of.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/objects"
	"vgpualloc.example/adapters/vga"
)

// Annotate sets annotations, or removes those that are nil, of exactly this pod: the API server refuses the patch if
// another pod has the name now, or, where a resource version is given, if the pod has changed since.
func Annotate(ctx context.Context, client kubernetes.Interface, pod metav1.ObjectMeta, annotations map[string]any) error {
	if len(annotations) == 0 {
		return nil
	}
	patch, err := AnnotationsPatch(pod.UID, pod.ResourceVersion, annotations)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the annotations of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// IsOlder compares resource versions of one object; versions that are no numbers are never older.
func IsOlder(version, than string) bool {
	mine, err := strconv.ParseUint(version, 10, 64)
	other, otherErr := strconv.ParseUint(than, 10, 64)
	return err == nil && otherErr == nil && mine < other
}

// AnnotationsPatch is a merge patch that sets annotations of an object, or removes those that are nil. The API server refuses it if
// the object has another uid or, where a version is given, if it has changed since. An empty uid or version is not compared.
func AnnotationsPatch[Value any](uid types.UID, version string, annotations map[string]Value) ([]byte, error) {
	metadata := map[string]any{"annotations": annotations}
	if uid != "" {
		metadata["uid"] = uid
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}

// Told is a cluster that is told of objects.
type Told interface {
	Tell(object []byte) (vga.Upserted, error)
	TellPod(uid string, object []byte) (vga.Upserted, error)
}

// ReadsResources knows which resources are devices.
type ReadsResources interface{ ReadsResource(resource string) bool }

// TellNode tells a cluster of a node, as objects.Node reduced it.
func TellNode(cluster Told, node *v1.Node) {
	text, err := objects.Text(node)
	if err == nil {
		_, err = cluster.Tell(text)
	}
	Report(err, "node", node.Name)
}

// TellPod tells a cluster of a pod, as objects.Pod reduced it.
func TellPod(cluster Told, pod *v1.Pod) {
	text, err := objects.Text(pod)
	if err == nil {
		_, err = cluster.TellPod(string(pod.UID), text)
	}
	Report(err, "pod", pod.Namespace+"/"+pod.Name)
}

// volcanoDevices begins the names of resources that stand for devices in Volcano, and for nothing else.
const volcanoDevices = "volcano.sh/vgpu-"

// SwitchedOff is why a pod must not be bound that asks for no devices as its cluster's configuration reads it: it does, under
// a name that the configuration leaves out. Nil for other pods. The node side would start it without devices.
func SwitchedOff(cluster ReadsResources, pod *v1.Pod) error {
	lists := []v1.ResourceList{}
	add := func(resources v1.ResourceRequirements) { lists = append(lists, resources.Limits, resources.Requests) }
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].Resources)
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].Resources)
	}
	if pod.Spec.Resources != nil {
		add(*pod.Spec.Resources)
	}
	first := ""
	for _, list := range lists {
		for resource, amount := range list {
			name := string(resource)
			if strings.HasPrefix(name, volcanoDevices) && !amount.IsZero() && !cluster.ReadsResource(name) && (first == "" || name < first) {
				first = name
			}
		}
	}
	if first == "" {
		return nil
	}
	return fmt.Errorf("%s: the devices' configuration does not name it, expected it in section nvidia (resourceCountName and others)",
		first)
}

// Report writes down what the core could not be told. It knows then what it knew before.
func Report(err error, kind, name string) {
	if err != nil && !errors.Is(err, vga.UnknownPod) && !errors.Is(err, vga.UnknownNode) && !errors.Is(err, vga.Outdated) {
		klog.ErrorS(err, "The allocation core could not be told of an object", "kind", kind, "name", name)
	}
}
