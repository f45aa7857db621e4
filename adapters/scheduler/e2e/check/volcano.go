package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// volcano is Volcano's vGPU: cards in mode hami-core, mig and mps.
func volcano(config deviceConfig) dialect {
	names := config.Nvidia
	return dialect{
		name: "volcano_vgpu", annotation: "volcano.sh/vgpu-ids-new", nodeAnnotation: "volcano.sh/vgpu-node",
		wishes: ofContainers(func(limits corev1.ResourceList) *wish {
			devices, ok := cardsOrMemory(limits, names.Count, names.Memory)
			if !ok {
				return nil
			}
			wanted := map[string]int{"memory": amount(limits, names.Memory), "cores": amount(limits, names.Cores)}
			if named(limits, names.Percentage) && amount(limits, names.Percentage) != 101 {
				wanted["percentage"] = amount(limits, names.Percentage)
			} else if wanted["memory"] == 0 {
				wanted["percentage"] = 100
			}
			return &wish{devices, wanted}
		}),
		devices: func(node *corev1.Node) ([]device, error) { return volcanoDevices(node, config) },
		uses:    cardParts("volcano.sh/vgpu-ids-new"),
		amounts: func(wanted wish, card device, given use) string {
			return volcanoAmounts(wanted, card, given, max(1, names.Factor))
		},
		sharing: func(card device, uses []use) []Violation {
			switch {
			case card.groups != nil:
				return instances(card, uses)
			case card.mode == "mig":
				return overlaps(uses, placement)
			case card.mode == "mps":
				return nil
			}
			return fullCores(card, uses)
		},
		booked: func(card device, given use) (memoryMiB, cores int) {
			if card.mode != "mig" {
				return asWritten(card, given)
			}
			if memory, _, err := instance(card, given.part); err == nil {
				return memory / max(1, names.Factor), unknown
			}
			return unknown, unknown
		},
	}
}

func volcanoDevices(node *corev1.Node, config deviceConfig) ([]device, error) {
	text, ok := node.Annotations["volcano.sh/node-vgpu-register"]
	if !ok {
		return nil, nil
	}
	var result []device
	for _, record := range strings.Split(strings.TrimSuffix(text, ":"), ":") {
		fields := strings.Split(record, ",")
		if len(fields) < 6 {
			return nil, fmt.Errorf("registration %q has %d fields, expected 6", record, len(fields))
		}
		numbers, err := amounts(fields[1:3]...)
		if err != nil {
			return nil, fmt.Errorf("registration %q: slots and memory: %w", record, err)
		}
		slots, memory := numbers[0], numbers[1]
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
	return result, nil
}

// Kind is a kind of instances of a group of a MIG card.
type Kind struct {
	Name   string
	Memory int // MiB
	Count  int
}

// Groups are the ways in which a device configuration cuts cards of a type. Nil: it has none for the type.
func Groups(config *corev1.ConfigMap, cardType string) map[string][]Kind {
	read, err := readConfig([]*corev1.ConfigMap{config})
	if err != nil {
		return nil
	}
	for _, geometry := range read.Nvidia.Geometries {
		if !slices.ContainsFunc(geometry.Models, func(model string) bool { return strings.Contains(cardType, model) }) {
			continue
		}
		result := map[string][]Kind{}
		for _, group := range geometry.Groups {
			for _, kind := range group.Kinds {
				result[group.Group] = append(result[group.Group], Kind(kind))
			}
		}
		return result
	}
	return nil
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

// Memory is written in units of so many MiB, but for instances.
func volcanoAmounts(wanted wish, card device, given use, factor int) string {
	memory := wanted.amounts["memory"]
	if percentage, ok := wanted.amounts["percentage"]; ok && card.groups == nil {
		memory = card.has["memory"] * percentage / 100
	}
	switch {
	case card.groups != nil:
		has, _, err := instance(card, given.part)
		if err != nil {
			return err.Error()
		}
		if has < memory*factor {
			return fmt.Sprintf("instance %s has %d MiB, expected at least %d", given.part, has, memory*factor)
		}
		return ""
	case card.mode == "mig":
		if _, _, err := placement(given.part); err != nil {
			return err.Error()
		}
		return ""
	case given.part != "":
		return fmt.Sprintf("part [%s] of a card that is not cut by MIG", given.part)
	}
	return asAsked(wish{amounts: map[string]int{"memory": memory, "cores": wanted.amounts["cores"]}}, card, given)
}

// instance finds the memory and the group of the instance that an id like group1-3 names.
func instance(card device, part string) (memoryMiB int, group string, err error) {
	dash := strings.LastIndexByte(part, '-')
	if dash < 0 {
		return 0, "", fmt.Errorf("part %q of a card cut by MIG, expected [group-position]", part)
	}
	group = part[:dash]
	position, err := strconv.Atoi(part[dash+1:])
	if err != nil || position < 0 || position >= len(card.groups[group]) {
		return 0, "", fmt.Errorf("part %q: no such instance; the groups are %v", part, slices.Sorted(maps.Keys(card.groups)))
	}
	return card.groups[group][position], group, nil
}

// instances checks the parts of a MIG card: each given once, all of one group.
func instances(card device, uses []use) []Violation {
	var result []Violation
	holders := map[string][]use{}
	groups := map[string]bool{}
	for _, given := range uses {
		_, group, err := instance(card, given.part)
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

// overlaps checks the parts of a MIG card that is cut at places.
func overlaps(uses []use, placeOf func(part string) (from, to int, err error)) []Violation {
	var result []Violation
	for i, one := range uses {
		from, to, err := placeOf(one.part)
		for _, other := range uses[:i] {
			otherFrom, otherTo, otherErr := placeOf(other.part)
			if err == nil && otherErr == nil && from < otherTo && otherFrom < to {
				result = append(result, Violation{Rule: InstanceTwice, Pods: keys([]use{other, one}),
					Text: fmt.Sprintf("instances %s and %s overlap", other.part, one.part)})
			}
		}
	}
	return result
}

// fullCores checks HAMi-core's rule: who has all the compute of a card is alone on it.
func fullCores(_ device, uses []use) []Violation {
	return alone(uses, func(given use) bool { return given.takes["cores"] >= 100 }, "100 % of the compute given to one")
}
