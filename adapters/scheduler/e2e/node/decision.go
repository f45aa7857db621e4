package node

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Share is what the scheduler decided that a container has of one card.
type Share struct {
	Card      string
	Group     string // of a MIG card, with a position in it: the part "group2-3"
	Profile   string // of a MIG card in HAMi's spelling, with the memory slice that it begins at as its position
	Position  int
	Slices    int // of memory, in HAMi's spelling
	MemoryMiB int
	Cores     int
}

func (share Share) String() string {
	text := share.Card
	if share.Group != "" {
		text += fmt.Sprintf("[%s-%d]", share.Group, share.Position)
	}
	if share.Profile != "" {
		text += fmt.Sprintf(" %s at memory slice %d,", share.Profile, share.Position)
	}
	return fmt.Sprintf("%s %d MiB %d %%", text, share.MemoryMiB, share.Cores)
}

// Decision is what the scheduler wrote on a pod, in Volcano's spelling or in HAMi's: for each container that asks, in their order.
// Memory is in units of factor MiB.
func Decision(pod *corev1.Pod, factor int) (map[string][]Share, error) {
	if _, isHAMi := pod.Annotations[hamiDecision]; isHAMi {
		return ofHAMi(pod, factor)
	}
	text := pod.Annotations[volcanoDecision]
	return readShares(pod, text, "volcano.sh/vgpu-number", strings.Split(strings.TrimSuffix(text, ";"), ";"), factor)
}

// DecisionText is the annotation that has it.
func DecisionText(pod *corev1.Pod) string {
	return pod.Annotations[hamiDecision] + pod.Annotations[volcanoDecision]
}

const (
	volcanoDecision = "volcano.sh/vgpu-ids-new"
	hamiDecision    = "hami.io/vgpu-devices-allocated"
)

// ofHAMi reads HAMi's spelling, which has a slot for every container, and MIG devices in an annotation of their own.
func ofHAMi(pod *corev1.Pod, factor int) (map[string][]Share, error) {
	text := pod.Annotations[hamiDecision]
	slots := strings.Split(strings.TrimSuffix(text, ";"), ";")
	if len(slots) != len(pod.Spec.Containers) {
		return nil, fmt.Errorf("%q has %d slots, expected one for each of %d containers", text, len(slots), len(pod.Spec.Containers))
	}
	var asked []string
	for i, container := range pod.Spec.Containers {
		if _, asks := container.Resources.Limits["nvidia.com/gpu"]; asks {
			asked = append(asked, slots[i])
		}
	}
	result, err := readShares(pod, text, "nvidia.com/gpu", asked, factor)
	if err != nil || pod.Annotations[migDecision] == "" {
		return result, err
	}
	var instances []struct {
		ContainerIndex, DeviceIndex int
		Profile                     string
		Placement                   struct{ Start, Size int }
	}
	if err := json.Unmarshal([]byte(pod.Annotations[migDecision]), &instances); err != nil {
		return nil, fmt.Errorf("%s: %w", migDecision, err)
	}
	for _, instance := range instances {
		if instance.ContainerIndex >= len(pod.Spec.Containers) || instance.DeviceIndex >= len(result[pod.Spec.Containers[instance.ContainerIndex].Name]) {
			return nil, fmt.Errorf("%s: %+v is of no container and device of %q", migDecision, instance, text)
		}
		share := &result[pod.Spec.Containers[instance.ContainerIndex].Name][instance.DeviceIndex]
		share.Profile, share.Position, share.Slices = instance.Profile, instance.Placement.Start, instance.Placement.Size
	}
	return result, nil
}

const migDecision = "hami.io/vgpu-mig-allocations"

// readShares reads the slots of the containers that ask for a resource.
func readShares(pod *corev1.Pod, text, resource string, slots []string, factor int) (map[string][]Share, error) {
	result := map[string][]Share{}
	for _, container := range pod.Spec.Containers {
		if _, asks := container.Resources.Limits[corev1.ResourceName(resource)]; !asks {
			continue
		}
		if len(slots) == 0 {
			return nil, fmt.Errorf("%q has fewer slots than the pod has containers that ask", text)
		}
		for _, entry := range strings.Split(strings.Trim(slots[0], ":"), ":") {
			share, err := readShare(entry)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
			share.MemoryMiB *= factor
			result[container.Name] = append(result[container.Name], share)
		}
		slots = slots[1:]
	}
	if len(slots) > 0 {
		return nil, fmt.Errorf("%q has %d slots more than the pod has containers that ask", text, len(slots))
	}
	return result, nil
}

// readShare reads "UUID,NVIDIA,MEMORY,CORES" with "UUID[GROUP-POSITION]" of a MIG card.
func readShare(text string) (Share, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 4 {
		return Share{}, fmt.Errorf("%q has %d fields, expected 4", text, len(fields))
	}
	memory, memoryErr := strconv.Atoi(fields[2])
	cores, coresErr := strconv.Atoi(fields[3])
	card, part, isPart := strings.Cut(fields[0], "[")
	share := Share{Card: card, MemoryMiB: memory, Cores: cores}
	if memoryErr != nil || coresErr != nil {
		return share, fmt.Errorf("%q: memory and compute are no numbers", text)
	}
	if isPart {
		part = strings.TrimSuffix(part, "]")
		dash := strings.LastIndexByte(part, '-')
		position, err := strconv.Atoi(part[dash+1:])
		if dash < 0 || err != nil {
			return share, fmt.Errorf("%q: part %q, expected GROUP-POSITION", text, part)
		}
		share.Group, share.Position = part[:dash], position
	}
	return share, nil
}
