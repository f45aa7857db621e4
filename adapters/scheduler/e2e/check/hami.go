package check

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

const (
	hamiAllocated = "hami.io/vgpu-devices-allocated"
	hamiInstances = "hami.io/vgpu-mig-allocations"
)

// hami is HAMi's own spelling for NVIDIA cards in the modes hami-core and mig.
var hami = dialect{
	name: "hami", annotation: hamiAllocated, nodeAnnotation: "hami.io/vgpu-node",
	wishes: ofContainers(func(limits corev1.ResourceList) *wish {
		// Whole cards without HAMi's other words may also be those of NVIDIA's plugin, which writes no annotation.
		if amount(limits, "nvidia.com/gpu") == 0 || !named(limits, "nvidia.com/gpumem") {
			return nil
		}
		return &wish{amount(limits, "nvidia.com/gpu"), map[string]int{
			"memory": amount(limits, "nvidia.com/gpumem"), "cores": amount(limits, "nvidia.com/gpucores")}}
	}),
	devices: registeredList("hami.io/node-nvidia-register", func(entry registeredCard) map[string]int {
		if entry.Mode == "mig" { // its instances are held against each other
			return map[string]int{"memory": entry.Memory}
		}
		return map[string]int{"memory": entry.Memory, "cores": entry.Cores, "slots": entry.Count}
	}),
	uses: hamiUses,
	amounts: func(wanted wish, card device, given use) string {
		switch {
		case card.mode != "mig":
			return asAsked(wanted, card, given)
		case given.part == "":
			return "no place of a card that is cut by MIG"
		case given.takes["memory"] < wanted.amounts["memory"]:
			return fmt.Sprintf("an instance of %d MiB, expected at least %d", given.takes["memory"], wanted.amounts["memory"])
		}
		return ""
	},
	sharing: func(card device, uses []use) []Violation {
		if card.mode == "mig" {
			return overlaps(uses, slicesOf)
		}
		return fullCores(card, uses)
	},
	booked: func(card device, given use) (memoryMiB, cores int) {
		if card.mode == "mig" {
			return given.takes["memory"], unknown // HAMi rounds the compute of an instance up
		}
		return asWritten(card, given)
	},
}

// hamiUses reads the cards, and of MIG devices their places, which have an annotation of their own. A part is FROM-TO, in the card's
// memory slices.
func hamiUses(pod *corev1.Pod, wishes []wish) ([][]use, error) {
	result, err := cardParts(hamiAllocated)(pod, wishes)
	text := pod.Annotations[hamiInstances]
	if err != nil || text == "" {
		return result, err
	}
	var instances []struct {
		ContainerIndex, DeviceIndex int
		GPUUUID                     string
		Placement                   struct{ Start, Size int }
	}
	if err := json.Unmarshal([]byte(text), &instances); err != nil {
		return nil, fmt.Errorf("%s: %w", hamiInstances, err)
	}
	// Slots are of all containers, and uses of those that ask.
	slots := map[int][]use{}
	for i, container := range pod.Spec.Containers {
		if amount(container.Resources.Limits, "nvidia.com/gpu") > 0 && len(slots) < len(result) {
			slots[i] = result[len(slots)]
		}
	}
	for _, instance := range instances {
		slot := slots[instance.ContainerIndex]
		if instance.DeviceIndex < 0 || instance.DeviceIndex >= len(slot) || slot[instance.DeviceIndex].device != instance.GPUUUID {
			return nil, fmt.Errorf("%s: %+v is of no card of %q", hamiInstances, instance, pod.Annotations[hamiAllocated])
		}
		slot[instance.DeviceIndex].part = fmt.Sprintf("%d-%d", instance.Placement.Start, instance.Placement.Start+instance.Placement.Size)
	}
	return result, nil
}

func slicesOf(part string) (from, to int, err error) {
	_, err = fmt.Sscanf(part, "%d-%d", &from, &to)
	return from, to, err
}
