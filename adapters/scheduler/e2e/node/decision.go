package node

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Share is what the scheduler decided that a container has of one card.
type Share struct {
	Card      string
	Group     string // of a MIG card, with a position in it: the part "group2-3"
	Position  int
	MemoryMiB int
	Cores     int
}

func (share Share) String() string {
	text := share.Card
	if share.Group != "" {
		text += fmt.Sprintf("[%s-%d]", share.Group, share.Position)
	}
	return fmt.Sprintf("%s %d MiB %d %%", text, share.MemoryMiB, share.Cores)
}

// Decision is what the scheduler wrote on a pod: for each container that asks, in their order. Memory is in units of factor MiB.
func Decision(pod *corev1.Pod, factor int) (map[string][]Share, error) {
	text := pod.Annotations["volcano.sh/vgpu-ids-new"]
	slots := strings.Split(strings.TrimSuffix(text, ";"), ";")
	result := map[string][]Share{}
	for _, container := range pod.Spec.Containers {
		if _, asks := container.Resources.Limits["volcano.sh/vgpu-number"]; !asks {
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
