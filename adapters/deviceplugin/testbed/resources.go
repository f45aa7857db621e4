package testbed

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// resource is one that the stub serves.
type resource struct {
	apiVersion string // "v1", "coordination.k8s.io/v1"
	plural     string
	kind       string
	namespaced bool
	newObject  func() runtime.Object // its Go type, which strategic-merge patches are defined by
	newList    func() runtime.Object
}

// path is the part of a URL before the namespace.
func (r *resource) path() string {
	if r.apiVersion == "v1" {
		return "/api/v1"
	}
	return "/apis/" + r.apiVersion
}

var resources = []resource{
	{"v1", "pods", "Pod", true, func() runtime.Object { return &corev1.Pod{} }, func() runtime.Object { return &corev1.PodList{} }},
	{"v1", "nodes", "Node", false, func() runtime.Object { return &corev1.Node{} }, func() runtime.Object { return &corev1.NodeList{} }},
	{"v1", "configmaps", "ConfigMap", true, func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} }},
	{"v1", "events", "Event", true, func() runtime.Object { return &corev1.Event{} }, func() runtime.Object { return &corev1.EventList{} }},
	{"v1", "namespaces", "Namespace", false, func() runtime.Object { return &corev1.Namespace{} }, func() runtime.Object { return &corev1.NamespaceList{} }},
	{"events.k8s.io/v1", "events", "Event", true, func() runtime.Object { return &eventsv1.Event{} }, func() runtime.Object { return &eventsv1.EventList{} }},
	{"coordination.k8s.io/v1", "leases", "Lease", true, func() runtime.Object { return &coordinationv1.Lease{} }, func() runtime.Object { return &coordinationv1.LeaseList{} }},
	{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true, func() runtime.Object { return &policyv1.PodDisruptionBudget{} }, func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} }},
}

func resourceOfKind(apiVersion, kind string) *resource {
	for i := range resources {
		if resources[i].apiVersion == apiVersion && resources[i].kind == kind {
			return &resources[i]
		}
	}
	return nil
}
