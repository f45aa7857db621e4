package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What several dialects read alike.

// amount is what is said of a resource, 0 where it is not named.
func amount(resources corev1.ResourceList, name string) int {
	quantity := resources[corev1.ResourceName(name)]
	return int(quantity.Value())
}

func named(resources corev1.ResourceList, name string) bool {
	_, ok := resources[corev1.ResourceName(name)]
	return ok
}

// ofContainers has what each regular container wants of those that want something. Nil of one that does not.
func ofContainers(wants func(limits corev1.ResourceList) *wish) func(*corev1.Pod) []wish {
	return func(pod *corev1.Pod) []wish {
		var result []wish
		for _, container := range pod.Spec.Containers {
			if wanted := wants(container.Resources.Limits); wanted != nil {
				result = append(result, *wanted)
			}
		}
		return result
	}
}

// cardsOrMemory is how many devices a container wants that names their number or their memory, or both; one without a number.
func cardsOrMemory(limits corev1.ResourceList, number, memory string) (devices int, ok bool) {
	if named(limits, number) {
		return amount(limits, number), true
	}
	return 1, named(limits, memory)
}

// An entry of a list in JSON, by which a node registers its cards.
type registeredCard struct {
	ID        string `json:"id"`
	Mode      string `json:"mode"`
	Count     int    `json:"count"`
	Memory    int    `json:"devmem"`
	CCEMemory int    `json:"memory"`
	Cores     int    `json:"devcore"`
	Health    bool   `json:"health"`
}

func registeredList(annotation string, has func(registeredCard) map[string]int) func(*corev1.Node) ([]device, error) {
	return func(node *corev1.Node) ([]device, error) {
		text, ok := node.Annotations[annotation]
		if !ok {
			return nil, nil
		}
		var list []registeredCard
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", annotation, err)
		}
		var result []device
		for _, entry := range list {
			result = append(result, device{id: entry.ID, sick: !entry.Health, has: has(entry), mode: entry.Mode})
		}
		return result, nil
	}
}

// amounts reads numbers from 0 on.
func amounts(fields ...string) ([]int, error) {
	var result []int
	for _, field := range fields {
		number, err := strconv.Atoi(field)
		if err != nil || number < 0 {
			return nil, fmt.Errorf("%q is no amount", field)
		}
		result = append(result, number)
	}
	return result, nil
}

// cardParts reads "uuid,kind,memory,cores:" per card and ";" between or after containers. Containers that ask for
// nothing may have an empty part; the others are returned.
func cardParts(annotation string) func(*corev1.Pod, []wish) ([][]use, error) {
	return func(pod *corev1.Pod, wishes []wish) ([][]use, error) {
		var result [][]use
		text, asking := pod.Annotations[annotation], len(wishes)
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
				numbers, err := amounts(fields[2:4]...)
				if err != nil {
					return nil, fmt.Errorf("%q: %w", record, err)
				}
				id, inside, _ := strings.Cut(fields[0], "[")
				list = append(list, use{device: id, part: strings.TrimSuffix(inside, "]"),
					takes: map[string]int{"memory": numbers[0], "cores": numbers[1], "slots": 1}})
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
}

// Who has a card to himself.
const whole = "whole"

// wholeBooked is asWritten of parts, and all of a card that is given as a whole.
func wholeBooked(card device, given use) (memoryMiB, cores int) {
	if given.part == whole {
		return card.has["memory"], 100
	}
	return asWritten(card, given)
}

// alone is broken where more than one pod is on a card that one has all of.
func alone(uses []use, hasAll func(use) bool, text string) []Violation {
	if len(uses) < 2 || !slices.ContainsFunc(uses, hasAll) {
		return nil
	}
	return []Violation{{Rule: NotShared, Pods: keys(uses), Text: text + ", and others are there"}}
}

func hasWhole(given use) bool { return given.part == whole }

// What the checker reads of the device configuration.
type deviceConfig struct {
	Nvidia struct {
		Count      string `json:"resourceCountName"`
		Memory     string `json:"resourceMemoryName"`
		Cores      string `json:"resourceCoreName"`
		Percentage string `json:"resourceMemoryPercentageName"`
		Factor     int    `json:"gpuMemoryFactor"`
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
		if err := yaml.Unmarshal([]byte(object.Data["device-config.yaml"]), &config); err != nil {
			return config, fmt.Errorf("ConfigMap %s/%s, device-config.yaml: %w", object.Namespace, object.Name, err)
		}
	}
	if config.Nvidia.Count == "" {
		config.Nvidia.Count, config.Nvidia.Memory, config.Nvidia.Cores = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"
	}
	return config, nil
}
