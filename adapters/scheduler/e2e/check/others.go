package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// gpushare is the older sharing by memory, or of whole cards by number. What a pod asks for is the larger of the sum of
// its containers and of its largest init container.
var gpushare = dialect{
	name: "gpushare", annotation: "volcano.sh/gpu-index",
	wishes: func(pod *corev1.Pod) []wish {
		asked := func(name string) int {
			sum := 0
			for _, container := range pod.Spec.Containers {
				sum += amount(container.Resources.Limits, name)
			}
			for _, container := range pod.Spec.InitContainers {
				sum = max(sum, amount(container.Resources.Limits, name))
			}
			return sum
		}
		if number := asked("volcano.sh/gpu-number"); number > 0 {
			return []wish{{devices: number, amounts: map[string]int{whole: 1}}}
		}
		if memory := asked("volcano.sh/gpu-memory"); memory > 0 {
			return []wish{{devices: 1, amounts: map[string]int{"memory": memory}}}
		}
		return nil
	},
	devices: func(node *corev1.Node) ([]device, error) {
		number, memory := amount(node.Status.Allocatable, "volcano.sh/gpu-number"), amount(node.Status.Allocatable, "volcano.sh/gpu-memory")
		sick := strings.Split(node.Annotations["volcano.sh/gpu-unhealthy-ids"], ",")
		result := make([]device, number)
		for i := range result {
			id := strconv.Itoa(i)
			result[i] = device{id: id, sick: slices.Contains(sick, id), has: map[string]int{"memory": memory / number, whole: 1}}
		}
		return result, nil
	},
	uses: func(pod *corev1.Pod, wishes []wish) ([][]use, error) {
		var list []use
		for _, item := range strings.Split(pod.Annotations["volcano.sh/gpu-index"], ",") {
			given := use{device: strings.TrimSpace(item), takes: wishes[0].amounts}
			if given.takes[whole] > 0 {
				given.part = whole
			}
			list = append(list, given)
		}
		return [][]use{list}, nil
	},
	sharing: func(_ device, uses []use) []Violation { return alone(uses, hasWhole, "a whole card given to one") },
	booked:  wholeBooked,
	// The cards have no ids of their own.
	figure: func(node, device string) string { return node + "/" + device },
}

// ascend is the Ascend cards of the configured kinds in HAMi's template mode. A container gets the smallest template that
// has the memory, or the whole card.
func ascend(config deviceConfig) dialect {
	var npu npuConfig
	if len(config.NPUs) > 0 {
		npu = config.NPUs[0]
	}
	allocated := "hami.io/" + npu.Word + "-devices-allocated"
	// cost is what an amount of memory takes of a card's AI cores and AI CPUs.
	cost := func(memory int) (cores, cpus int, known bool) {
		for _, template := range npu.Templates {
			if template.Memory == memory {
				return template.Cores, template.CPUs, true
			}
		}
		return npu.Cores, npu.CPUs, memory == npu.Allocatable
	}
	return dialect{
		name: "ascend_hami", annotation: allocated,
		wishes: ofContainers(func(limits corev1.ResourceList) *wish {
			devices, ok := cardsOrMemory(limits, npu.Resource, npu.Memory)
			if !ok {
				return nil
			}
			return &wish{devices, map[string]int{"memory": amount(limits, npu.Memory)}}
		}),
		devices: registeredList("hami.io/node-register-"+npu.Word, func(entry registeredCard) map[string]int {
			return map[string]int{"memory": entry.Memory, "slots": entry.Count, "aicores": npu.Cores, "aicpus": npu.CPUs}
		}),
		uses: func(pod *corev1.Pod, wishes []wish) ([][]use, error) {
			parts, err := cardParts(allocated)(pod, wishes)
			for _, given := range slices.Concat(parts...) {
				given.takes["aicores"], given.takes["aicpus"], _ = cost(given.takes["memory"])
			}
			return parts, err
		},
		// Of AI cores a scheduler counts those that are written beside the template.
		amounts: func(wanted wish, card device, given use) string {
			memory := wanted.amounts["memory"]
			if memory == 0 {
				memory = card.has["memory"]
			}
			if _, _, known := cost(given.takes["memory"]); !known {
				return fmt.Sprintf("%d MiB is no template's and not the whole card's", given.takes["memory"])
			}
			if given.takes["memory"] < memory {
				return fmt.Sprintf("%d MiB written, expected %d or more", given.takes["memory"], memory)
			}
			return ""
		},
		consistent: func(pod *corev1.Pod) string {
			var runtime []struct{ UUID string }
			text := pod.Annotations[npu.Resource]
			if err := json.Unmarshal([]byte(text), &runtime); err != nil {
				return fmt.Sprintf("annotation %s, for the container runtime, is %q: %v", npu.Resource, text, err)
			}
			for _, entry := range runtime {
				if !strings.Contains(pod.Annotations[allocated], entry.UUID+",") {
					return fmt.Sprintf("annotation %s names %s, and %s does not", npu.Resource, entry.UUID, allocated)
				}
			}
			return ""
		},
	}
}

// wholeChip and chipTemplates are what a 310P and its templates by MindCluster have: AI cores, AI CPUs and video engines.
var (
	wholeChip     = map[string]int{"cores": 8, "cpus": 7, "video": 1}
	chipTemplates = map[string]map[string]int{
		"vir01": {"cores": 1, "cpus": 1}, "vir02": {"cores": 2, "cpus": 2}, "vir02_1c": {"cores": 2, "cpus": 1},
		"vir04": {"cores": 4, "cpus": 4}, "vir04_3c": {"cores": 4, "cpus": 3}, "vir04_3c_ndvpp": {"cores": 4, "cpus": 3},
		"vir04_4c_dvpp": {"cores": 4, "cpus": 4, "video": 1},
	}
)

// mindcluster is the Atlas inference cards of MindCluster. Which chips are healthy a ConfigMap says.
func mindcluster(configMaps []*corev1.ConfigMap) dialect {
	const core, chipPrefix = "huawei.com/npu-core", "Ascend310P-"
	sick := map[string]string{}
	for _, object := range configMaps {
		if node, ok := strings.CutPrefix(object.Name, "mindx-dl-deviceinfo-"); ok {
			var info struct {
				DeviceInfo struct{ DeviceList map[string]string }
			}
			if err := json.Unmarshal([]byte(object.Data["DeviceInfoCfg"]), &info); err == nil {
				sick[node] = info.DeviceInfo.DeviceList["huawei.com/Ascend310P-Unhealthy"]
			}
		}
	}
	return dialect{
		name: "mindcluster", annotation: core,
		wishes: func(pod *corev1.Pod) []wish {
			if pod.Labels["ring-controller.atlas"] != "ascend-310P" {
				return nil
			}
			return ofContainers(func(limits corev1.ResourceList) *wish {
				cores := amount(limits, core)
				if cores == 0 {
					return nil
				}
				return &wish{max(1, cores/8), map[string]int{"cores": min(cores, 8)}}
			})(pod)
		},
		devices: func(node *corev1.Node) ([]device, error) {
			text, ok := node.Annotations["baseDeviceInfos"]
			if !ok || amount(node.Status.Allocatable, core) == 0 {
				return nil, nil
			}
			var chips map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &chips); err != nil {
				return nil, fmt.Errorf("annotation baseDeviceInfos: %w", err)
			}
			var result []device
			for name := range chips {
				result = append(result, device{id: strings.TrimPrefix(name, chipPrefix), has: wholeChip,
					sick: slices.Contains(strings.Split(sick[node.Name], ","), name)})
			}
			return result, nil
		},
		uses: func(pod *corev1.Pod, _ []wish) ([][]use, error) {
			var result [][]use
			for _, part := range strings.Split(pod.Annotations[core], ";") {
				var list []use
				for _, item := range strings.Split(part, ",") {
					chip, name, cut := strings.Cut(item, "-")
					given := use{device: chip, part: name, takes: wholeChip}
					if cut {
						template, known := chipTemplates[name]
						if !known {
							return nil, fmt.Errorf("%q: template %q is not one of the 310P", part, name)
						}
						given.takes = template
					}
					list = append(list, given)
				}
				result = append(result, list)
			}
			return result, nil
		},
		booked: func(_ device, given use) (memoryMiB, cores int) { return unknown, given.takes["cores"] },
		figure: func(_, device string) string { return chipPrefix + device },
	}
}

// cce is the virtual GPUs of Huawei Cloud, with the annotations of this project.
var cce = dialect{
	name: "cce", annotation: "vgpualloc.io/cce-devices-allocated",
	wishes: ofContainers(func(limits corev1.ResourceList) *wish {
		const memoryName = "volcano.sh/gpu-mem.128Mi"
		if !named(limits, memoryName) {
			return nil
		}
		return &wish{1, map[string]int{"memory": cceUnit * amount(limits, memoryName), "cores": amount(limits, "volcano.sh/gpu-core.percentage")}}
	}),
	devices: registeredList("vgpualloc.io/cce-node-register", func(entry registeredCard) map[string]int {
		return map[string]int{"memory": entry.CCEMemory, "cores": 100, "slots": 20}
	}),
	uses: func(pod *corev1.Pod, _ []wish) ([][]use, error) {
		var result [][]use
		for _, part := range strings.Split(strings.TrimSuffix(pod.Annotations["vgpualloc.io/cce-devices-allocated"], ";"), ";") {
			fields := strings.Split(strings.TrimSuffix(part, ":"), ",")
			given := use{device: fields[0], takes: map[string]int{"slots": 1}}
			switch {
			case part == "":
				continue
			case len(fields) == 2 && fields[1] == whole:
				given.part = whole
			case len(fields) == 3:
				numbers, err := amounts(fields[1:]...)
				if err != nil {
					return nil, fmt.Errorf("%q: memory and compute: %w", part, err)
				}
				given.takes["memory"], given.takes["cores"] = numbers[0], numbers[1]
			default:
				return nil, fmt.Errorf("%q, expected uuid,<MiB>,<percent>: or uuid,whole:", part)
			}
			result = append(result, []use{given})
		}
		return result, nil
	},
	amounts: func(wanted wish, card device, given use) string {
		memory, cores := wanted.amounts["memory"], wanted.amounts["cores"]
		isWhole := cores == 100 || memory >= card.has["memory"]/cceUnit*cceUnit
		if isWhole != hasWhole(given) {
			return fmt.Sprintf("%d MiB and %d %% are the whole GPU: %t; written so: %t", memory, cores, isWhole, hasWhole(given))
		}
		if isWhole {
			return ""
		}
		return asAsked(wanted, card, given)
	},
	sharing: func(_ device, uses []use) []Violation {
		if broken := alone(uses, hasWhole, "a whole GPU given to one"); broken != nil {
			return broken
		}
		computes := func(given use) bool { return given.takes["cores"] > 0 }
		memoryOnly := func(given use) bool { return !hasWhole(given) && !computes(given) }
		if slices.ContainsFunc(uses, computes) && slices.ContainsFunc(uses, memoryOnly) {
			return []Violation{{Rule: NotShared, Pods: keys(uses), Text: "two kinds of isolation on one GPU"}}
		}
		return nil
	},
	booked: wholeBooked,
}

// cceUnit is that in which memory is asked for, in MiB.
const cceUnit = 128
