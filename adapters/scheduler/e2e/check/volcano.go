package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What the checker reads of the device configuration.
type deviceConfig struct {
	Nvidia struct {
		Count      string `json:"resourceCountName"`
		Memory     string `json:"resourceMemoryName"`
		Cores      string `json:"resourceCoreName"`
		Percentage string `json:"resourceMemoryPercentageName"`
		Geometries []struct {
			Models []string `json:"models"`
			Groups []struct {
				Group string `json:"group"`
				Kinds []struct {
					Name   string `json:"name"`
					Memory int    `json:"memory"`
					Count  int    `json:"count"`
				} `json:"geometries"`
			} `json:"allowedGeometries"`
		} `json:"knownMigGeometries"`
	} `json:"nvidia"`
	NPUs []npuConfig `json:"vnpus"`
}

type npuConfig struct {
	Word        string `json:"commonWord"`
	Resource    string `json:"resourceName"`
	Memory      string `json:"resourceMemoryName"`
	Allocatable int    `json:"memoryAllocatable"`
	Cores       int    `json:"aiCore"`
	CPUs        int    `json:"aiCPU"`
	Templates   []struct {
		Name   string `json:"name"`
		Memory int    `json:"memory"`
		Cores  int    `json:"aiCore"`
		CPUs   int    `json:"aiCPU"`
	} `json:"templates"`
}

func readConfig(configMaps []*corev1.ConfigMap) (deviceConfig, error) {
	var config deviceConfig
	for _, object := range configMaps {
		text, ok := object.Data["device-config.yaml"]
		if !ok {
			continue
		}
		if err := yaml.Unmarshal([]byte(text), &config); err != nil {
			return config, fmt.Errorf("ConfigMap %s/%s, device-config.yaml: %w", object.Namespace, object.Name, err)
		}
	}
	if config.Nvidia.Count == "" {
		config.Nvidia.Count, config.Nvidia.Memory, config.Nvidia.Cores = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"
	}
	return config, nil
}

// volcano is Volcano's vGPU: cards in mode hami-core, mig and mps.
func volcano(config deviceConfig) dialect {
	names := config.Nvidia
	return dialect{
		name: "volcano_vgpu", annotation: "volcano.sh/vgpu-ids-new",
		wishes: func(pod *corev1.Pod) []wish {
			var result []wish
			for i := range pod.Spec.Containers {
				container := &pod.Spec.Containers[i]
				if !named(container, names.Count) && !named(container, names.Memory) {
					continue
				}
				wanted := wish{devices: 1, amounts: map[string]int{"memory": limit(container, names.Memory), "cores": limit(container, names.Cores)}}
				if named(container, names.Count) {
					wanted.devices = limit(container, names.Count)
				}
				if named(container, names.Percentage) && limit(container, names.Percentage) != 101 {
					wanted.amounts["percentage"] = limit(container, names.Percentage)
				} else if wanted.amounts["memory"] == 0 {
					wanted.amounts["percentage"] = 100
				}
				result = append(result, wanted)
			}
			return result
		},
		devices: func(node *corev1.Node) ([]device, bool, error) { return volcanoDevices(node, config) },
		uses: func(pod *corev1.Pod, wishes []wish) ([][]use, error) {
			return cardParts(pod, pod.Annotations["volcano.sh/vgpu-ids-new"], len(wishes))
		},
		amounts: volcanoAmounts,
		sharing: func(card device, uses []use) []Violation {
			switch {
			case card.groups != nil:
				return instances(card, uses)
			case card.mode == "mig":
				return placements(uses)
			}
			return fullCores(card, uses)
		},
		booked: func(card device, given use) (memoryMiB, cores int) {
			if card.mode != "mig" {
				return asWritten(card, given)
			}
			if group, position, err := instance(card, given.part); err == nil {
				return card.groups[group][position], unknown
			}
			return unknown, unknown
		},
		consistent: func(pod *corev1.Pod) string {
			if node := pod.Annotations["volcano.sh/vgpu-node"]; node != pod.Spec.NodeName {
				return fmt.Sprintf("annotation volcano.sh/vgpu-node is %q, expected the pod's node %q", node, pod.Spec.NodeName)
			}
			return ""
		},
	}
}

func volcanoDevices(node *corev1.Node, config deviceConfig) ([]device, bool, error) {
	text, ok := node.Annotations["volcano.sh/node-vgpu-register"]
	if !ok {
		return nil, false, nil
	}
	var result []device
	for _, record := range strings.Split(strings.TrimSuffix(text, ":"), ":") {
		fields := strings.Split(record, ",")
		if len(fields) < 6 {
			return nil, false, fmt.Errorf("registration %q has %d fields, expected 6", record, len(fields))
		}
		slots, slotsErr := strconv.Atoi(fields[1])
		memory, memoryErr := strconv.Atoi(fields[2])
		if slotsErr != nil || memoryErr != nil {
			return nil, false, fmt.Errorf("registration %q: slots and memory are no numbers", record)
		}
		card := device{id: fields[0], sick: fields[4] != "true", mode: fields[5],
			has: map[string]int{"memory": memory, "cores": 100, "slots": slots}}
		switch card.mode {
		case "mps":
			card.has["slots"] = min(slots, 48)
		case "mig":
			if card.groups = groupsOf(fields[3], config); card.groups != nil {
				// What the instances have is checked one by one; the card's own sums do not apply.
				card.has = map[string]int{}
			} else {
				card.has = map[string]int{"memory": memory}
			}
		}
		result = append(result, card)
	}
	return result, true, nil
}

// groupsOf are the groups of the first geometry of which a model occurs in the card's type. Positions run through the
// kinds of a group in their configured order.
func groupsOf(cardType string, config deviceConfig) map[string][]int {
	for _, geometry := range config.Nvidia.Geometries {
		if !slices.ContainsFunc(geometry.Models, func(model string) bool { return strings.Contains(cardType, model) }) {
			continue
		}
		result := map[string][]int{}
		for _, group := range geometry.Groups {
			for _, kind := range group.Kinds {
				for range kind.Count {
					result[group.Group] = append(result[group.Group], kind.Memory)
				}
			}
		}
		return result
	}
	return nil
}

func volcanoAmounts(wanted wish, card device, given use) string {
	memory := wanted.amounts["memory"]
	if percentage, ok := wanted.amounts["percentage"]; ok && card.groups == nil {
		memory = card.has["memory"] * percentage / 100
	}
	if card.groups != nil {
		group, position, err := instance(card, given.part)
		if err != nil {
			return err.Error()
		}
		if has := card.groups[group][position]; has < memory {
			return fmt.Sprintf("instance %s has %d MiB, expected at least %d", given.part, has, memory)
		}
		return ""
	}
	if card.mode == "mig" {
		if _, _, err := placement(given.part); err != nil {
			return err.Error()
		}
		return ""
	}
	if given.part != "" {
		return fmt.Sprintf("part [%s] of a card that is not cut by MIG", given.part)
	}
	if given.takes["memory"] != memory {
		return fmt.Sprintf("%d MiB written, expected %d", given.takes["memory"], memory)
	}
	if given.takes["cores"] != wanted.amounts["cores"] {
		return fmt.Sprintf("%d %% of the cores written, expected %d", given.takes["cores"], wanted.amounts["cores"])
	}
	return ""
}

// instance finds the instance that an id like group1-3 names.
func instance(card device, part string) (group string, position int, err error) {
	dash := strings.LastIndexByte(part, '-')
	if dash < 0 {
		return "", 0, fmt.Errorf("part %q of a card cut by MIG, expected [group-position]", part)
	}
	group = part[:dash]
	position, err = strconv.Atoi(part[dash+1:])
	if err != nil || position < 0 || position >= len(card.groups[group]) {
		return "", 0, fmt.Errorf("part %q: no such instance; the groups are %v", part, slices.Sorted(maps.Keys(card.groups)))
	}
	return group, position, nil
}

// instances checks the parts of a MIG card: each given once, all of one group.
func instances(card device, uses []use) []Violation {
	var result []Violation
	holders := map[string][]use{}
	groups := map[string]bool{}
	for _, given := range uses {
		group, _, err := instance(card, given.part)
		if err != nil {
			continue // told as a wrong amount
		}
		holders[given.part] = append(holders[given.part], given)
		groups[group] = true
	}
	for _, part := range slices.Sorted(maps.Keys(holders)) {
		if len(holders[part]) > 1 {
			result = append(result, Violation{Rule: InstanceTwice, Pods: keys(holders[part]),
				Text: fmt.Sprintf("instance %s given %d times", part, len(holders[part]))})
		}
	}
	if len(groups) > 1 {
		result = append(result, Violation{Rule: GroupsMixed, Pods: keys(uses),
			Text: fmt.Sprintf("instances of groups %v at once", slices.Sorted(maps.Keys(groups)))})
	}
	return result
}

// placement reads the part of a MIG card that no configuration has groups for: profile and start, as in 3g.20gb-4. What a
// profile takes of the card's eight units of memory is the same on A100, H100 and H200.
func placement(part string) (from, to int, err error) {
	profile, start, found := strings.Cut(part, "-")
	slices, _, _ := strings.Cut(profile, "g.")
	units, known := map[string]int{"1": 1, "2": 2, "3": 4, "4": 4, "7": 8}[slices]
	from, err = strconv.Atoi(start)
	if !found || !known || err != nil || from < 0 || from+units > 8 {
		return 0, 0, fmt.Errorf("part %q of a card cut by MIG, expected [profile-start] within eight units", part)
	}
	return from, from + units, nil
}

func placements(uses []use) []Violation {
	var result []Violation
	for i, one := range uses {
		from, to, err := placement(one.part)
		for _, other := range uses[:i] {
			otherFrom, otherTo, otherErr := placement(other.part)
			if err == nil && otherErr == nil && from < otherTo && otherFrom < to {
				result = append(result, Violation{Rule: InstanceTwice, Pods: keys([]use{other, one}),
					Text: fmt.Sprintf("instances %s and %s overlap", other.part, one.part)})
			}
		}
	}
	return result
}

// fullCores checks HAMi-core's rule: who has all the compute of a card is alone on it. MPS has no such rule.
func fullCores(card device, uses []use) []Violation {
	if card.mode == "mps" || len(uses) < 2 {
		return nil
	}
	if slices.ContainsFunc(uses, func(given use) bool { return given.takes["cores"] >= 100 }) {
		return []Violation{{Rule: NotShared, Pods: keys(uses), Text: "100 % of the compute given to one, and others are there"}}
	}
	return nil
}

// cardParts reads "uuid,kind,memory,cores:" per card and ";" between or after containers. Containers that ask for
// nothing may have an empty part; the others are returned.
func cardParts(pod *corev1.Pod, text string, asking int) ([][]use, error) {
	var result [][]use
	parts := strings.Split(strings.TrimSuffix(text, ";"), ";")
	for _, part := range parts {
		var list []use
		for _, record := range strings.Split(part, ":") {
			if record == "" {
				continue
			}
			fields := strings.Split(record, ",")
			if len(fields) < 4 {
				return nil, fmt.Errorf("%q has %d fields, expected uuid,kind,memory,cores", record, len(fields))
			}
			memory, memoryErr := strconv.Atoi(fields[2])
			cores, coresErr := strconv.Atoi(fields[3])
			if memoryErr != nil || coresErr != nil || memory < 0 || cores < 0 {
				return nil, fmt.Errorf("%q: memory and cores are no amounts", record)
			}
			id, inside, _ := strings.Cut(fields[0], "[")
			list = append(list, use{device: id, part: strings.TrimSuffix(inside, "]"),
				takes: map[string]int{"memory": memory, "cores": cores, "slots": 1}})
		}
		result = append(result, list)
	}
	if len(parts) != asking && len(parts) != len(pod.Spec.Containers) {
		return nil, fmt.Errorf("%q has %d parts, expected %d or %d", text, len(parts), asking, len(pod.Spec.Containers))
	}
	if len(parts) != asking {
		result = slices.DeleteFunc(result, func(list []use) bool { return len(list) == 0 })
	}
	if len(result) != asking {
		return nil, fmt.Errorf("%q names devices for %d containers, expected %d", text, len(result), asking)
	}
	return result, nil
}
