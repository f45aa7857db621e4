package testbed

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// resource is one that the stub serves.
type resource struct {
	apiVersion string // "v1", "coordination.k8s.io/v1"
	plural     string
	kind       string
	namespaced bool
	newObject  func() any // its Go type, which strategic-merge patches are defined by
}

// path is the part of a URL before the namespace.
func (r *resource) path() string {
	if r.apiVersion == "v1" {
		return "/api/v1"
	}
	return "/apis/" + r.apiVersion
}

var resources = []resource{
	{"v1", "pods", "Pod", true, func() any { return &corev1.Pod{} }},
	{"v1", "nodes", "Node", false, func() any { return &corev1.Node{} }},
	{"v1", "configmaps", "ConfigMap", true, func() any { return &corev1.ConfigMap{} }},
	{"v1", "events", "Event", true, func() any { return &corev1.Event{} }},
	{"v1", "namespaces", "Namespace", false, func() any { return &corev1.Namespace{} }},
	{"events.k8s.io/v1", "events", "Event", true, func() any { return &eventsv1.Event{} }},
	{"coordination.k8s.io/v1", "leases", "Lease", true, func() any { return &coordinationv1.Lease{} }},
	{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true, func() any { return &policyv1.PodDisruptionBudget{} }},
}

func resourceOfKind(apiVersion, kind string) *resource {
	for i := range resources {
		if resources[i].apiVersion == apiVersion && resources[i].kind == kind {
			return &resources[i]
		}
	}
	return nil
}
