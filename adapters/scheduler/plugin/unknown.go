package plugin

import (
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// notKnownYet is why nothing is decided: no devices' configuration holds yet. It says which resources are devices, so that a
// pod that asks for any resource of a vendor may be one of ours.
type notKnownYet struct{ why error }

func (n *notKnownYet) Error() string { return n.why.Error() }
func (n *notKnownYet) Unwrap() error { return n.why }

// mayWantDevices is whether a pod may ask for devices under a configuration that nobody knows yet.
func (p *plugin) mayWantDevices(task *api.TaskInfo) bool {
	if unknown := (*notKnownYet)(nil); !errors.As(p.failure, &unknown) {
		return false
	}
	for _, containers := range [][]v1.Container{task.Pod.Spec.Containers, task.Pod.Spec.InitContainers} {
		for i := range containers {
			if hasResourceOfVendor(containers[i].Resources) {
				return true
			}
		}
	}
	return task.Pod.Spec.Resources != nil && hasResourceOfVendor(*task.Pod.Spec.Resources)
}

func hasResourceOfVendor(resources v1.ResourceRequirements) bool {
	for _, list := range []v1.ResourceList{resources.Requests, resources.Limits} {
		for name := range list {
			if domain, _, qualified := strings.Cut(string(name), "/"); qualified && !strings.HasSuffix(domain, "kubernetes.io") {
				return true
			}
		}
	}
	return false
}
