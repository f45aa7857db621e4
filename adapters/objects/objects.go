// Package objects writes Kubernetes' objects as the core is told of them: the parts that it reads, and only those, so that
// an update that says nothing new costs nothing.
package objects

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node is what the core reads of a node.
func Node(node *v1.Node) *v1.Node {
	result := &v1.Node{
		TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, UID: node.UID, Labels: node.Labels, Annotations: node.Annotations,
			CreationTimestamp: node.CreationTimestamp, DeletionTimestamp: node.DeletionTimestamp,
		},
		Spec:   v1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable},
		Status: v1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable},
	}
	for _, condition := range node.Status.Conditions { // without the times of heartbeats
		result.Status.Conditions = append(result.Status.Conditions,
			v1.NodeCondition{Type: condition.Type, Status: condition.Status})
	}
	return result
}

// Pod is what the core reads of a pod. `bound` is false for a pod that a scheduler has not bound yet, whatever its
// spec.nodeName says: Volcano writes the name there before.
//
// Volumes, ports and what the pod asks of other pods are left out: the core does not follow them, and the scheduler's
// other plugins see to them.
func Pod(pod *v1.Pod, bound bool) *v1.Pod {
	result := &v1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Labels: pod.Labels, Annotations: pod.Annotations,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			OwnerReferences: pod.OwnerReferences,
		},
		Spec: v1.PodSpec{
			NodeName: pod.Spec.NodeName, NodeSelector: pod.Spec.NodeSelector, Tolerations: pod.Spec.Tolerations,
			Priority: pod.Spec.Priority, PriorityClassName: pod.Spec.PriorityClassName,
			SchedulerName: pod.Spec.SchedulerName, RestartPolicy: pod.Spec.RestartPolicy, Overhead: pod.Spec.Overhead,
			Resources: pod.Spec.Resources, RuntimeClassName: pod.Spec.RuntimeClassName,
			Containers: containers(pod.Spec.Containers), InitContainers: containers(pod.Spec.InitContainers),
		},
	}
	switch pod.Status.Phase { // others are no matter to the core
	case v1.PodSucceeded, v1.PodFailed:
		result.Status.Phase = pod.Status.Phase
	case v1.PodRunning:
		if len(pod.Spec.InitContainers) > 0 { // which have ended, and give back what they had
			result.Status.Phase = pod.Status.Phase
		}
	}
	if !bound {
		result.Spec.NodeName = ""
	}
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		result.Spec.Affinity = &v1.Affinity{NodeAffinity: pod.Spec.Affinity.NodeAffinity}
	}
	return result
}

func containers(of []v1.Container) []v1.Container {
	var result []v1.Container
	for i := range of {
		container := v1.Container{Name: of[i].Name, Resources: of[i].Resources, RestartPolicy: of[i].RestartPolicy}
		result = append(result, container)
	}
	return result
}

// ConfigMap is what the core reads of a ConfigMap.
func ConfigMap(from *v1.ConfigMap) *v1.ConfigMap {
	return &v1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: from.Name, Namespace: from.Namespace, Labels: from.Labels},
		Data:       from.Data,
	}
}

// Equal is whether two objects of the functions above say the same.
func Equal[Object any](a, b Object) bool { return equality.Semantic.DeepEqual(a, b) }

// Text is an object as the core reads it.
func Text(object any) ([]byte, error) { return json.Marshal(object) }
