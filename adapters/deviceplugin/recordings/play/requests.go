package play

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"vgpualloc.example/adapters/deviceplugin/assignment"
	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// assigned is a pod's assignment as the scheduler wrote it; nothing is erased from it.
const assigned = "volcano.sh/vgpu-ids-new"

// resourcesOf are the names under which pods of a case ask. A plugin that refuses its configuration has none.
func resourcesOf(in *cases.Input) config.Resources {
	flags, err := config.ReadFlags(in.Args, func(string) (string, bool) { return "", false })
	if err != nil || in.DeviceConfig == nil {
		return config.Resources{}
	}
	flags.Node = in.NodeName
	built, err := config.Build(flags, []byte(*in.DeviceConfig), nil)
	if err != nil {
		return config.Resources{}
	}
	return built.Resources
}

// asking is a pod with requests for what its annotation assigns to it. Recorded pods have none, as upstream reads annotations alone; the
// core counts only what is requested, and a real scheduler assigns nothing else.
func asking(pod *v1.Pod, names config.Resources) *v1.Pod {
	slots, err := assignment.ParseVolcano(pod.Annotations[assigned])
	if names.Number == "" || err != nil || slots.Next("") < 0 {
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
