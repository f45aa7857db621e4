package plugin

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vgpualloc.example/adapters/deviceplugin/assignment"
	"vgpualloc.example/adapters/deviceplugin/config"
)

// wholeAnnotation is a pod's assignment as the scheduler wrote it; nothing is erased from it.
const wholeAnnotation = "volcano.sh/vgpu-ids-new"

// asking is a pod with requests for what its annotation assigns to it, for the core, which counts only what is requested. A pod whose
// spec has requests stays as it is, and so does one without an assignment that can be read.
func asking(pod *v1.Pod, names config.Resources) *v1.Pod {
	slots, err := assignment.ParseVolcano(pod.Annotations[wholeAnnotation])
	if err != nil || slots.Next("") < 0 || asksFor(pod.Spec.Containers, names.Number) || asksFor(pod.Spec.InitContainers, names.Number) {
		return pod
	}
	result := pod.DeepCopy()
	var containers []*v1.Container
	if len(slots) > len(pod.Spec.Containers) {
		for i := range result.Spec.InitContainers {
			containers = append(containers, &result.Spec.InitContainers[i])
		}
	}
	for i := range result.Spec.Containers {
		containers = append(containers, &result.Spec.Containers[i])
	}
	for i, entries := range slots {
		if i >= len(containers) || len(entries) == 0 {
			continue
		}
		memory, cores := int64(0), int64(0)
		for _, entry := range entries {
			memory, cores = max(memory, entry.Memory), max(cores, entry.Cores)
		}
		requests := v1.ResourceList{}
		for name, amount := range map[string]int64{names.Number: int64(len(entries)), names.Memory: memory, names.Cores: cores} {
			if amount > 0 {
				requests[v1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
			}
		}
		containers[i].Resources = v1.ResourceRequirements{Limits: requests, Requests: requests}
	}
	return result
}

func asksFor(containers []v1.Container, name string) bool {
	for i := range containers {
		for _, list := range []v1.ResourceList{containers[i].Resources.Limits, containers[i].Resources.Requests} {
			if amount, ok := list[v1.ResourceName(name)]; ok && !amount.IsZero() {
				return true
			}
		}
	}
	return false
}
