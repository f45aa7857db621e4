package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func anyAmount(wish, device, use) string   { return "" }
func anySharing(device, []use) []Violation { return nil }
func alwaysConsistent(*corev1.Pod) string  { return "" }
func sameAmount(what string, has, want int) string {
	return fmt.Sprintf("%d %s written, expected %d", has, what, want)
}

// gpushare is the older sharing by memory, or of whole cards by number. What a pod asks for is the larger of the sum of
// its containers and of its largest init container.
func gpushare() dialect {
	const memoryName, numberName = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"
	asked := func(pod *corev1.Pod, name string) int {
		sum := 0
		for i := range pod.Spec.Containers {
			sum += limit(&pod.Spec.Containers[i], name)
		}
		for i := range pod.Spec.InitContainers {
			sum = max(sum, limit(&pod.Spec.InitContainers[i], name))
		}
		return sum
	}
	return dialect{
		name: "gpushare", annotation: "volcano.sh/gpu-index",
		wishes: func(pod *corev1.Pod) []wish {
			if number := asked(pod, numberName); number > 0 {
				return []wish{{devices: number, amounts: map[string]int{"whole": 1}}}
			}
			if memory := asked(pod, memoryName); memory > 0 {
				return []wish{{devices: 1, amounts: map[string]int{"memory": memory}}}
			}
			return nil
		},
		devices: func(node *corev1.Node) ([]device, bool, error) {
			number, memory := allocatable(node, numberName), allocatable(node, memoryName)
			if number == 0 {
				return nil, false, nil
			}
			sick := strings.Split(node.Annotations["volcano.sh/gpu-unhealthy-ids"], ",")
			result := make([]device, number)
			for i := range result {
				id := strconv.Itoa(i)
				result[i] = device{id: id, sick: slices.Contains(sick, id), has: map[string]int{"memory": memory / number, "whole": 1}}
			}
			return result, true, nil
		},
		uses: func(pod *corev1.Pod, wishes []wish) ([][]use, error) {
			var list []use
			for _, item := range strings.Split(pod.Annotations["volcano.sh/gpu-index"], ",") {
				list = append(list, use{device: strings.TrimSpace(item), takes: wishes[0].amounts})
			}
			return [][]use{list}, nil
		},
		amounts: anyAmount,
		sharing: func(_ device, uses []use) []Violation {
			whole := slices.ContainsFunc(uses, func(given use) bool { return given.takes["whole"] > 0 })
			if whole && len(uses) > 1 {
				return []Violation{{Rule: NotShared, Pods: keys(uses), Text: "a whole card given to one, and others are there"}}
			}
			return nil
		},
		consistent: alwaysConsistent,
		booked: func(card device, given use) (memoryMiB, cores int) {
			if given.takes["whole"] > 0 {
				return card.has["memory"], 100
			}
			return asWritten(card, given)
		},
		// The cards have no ids of their own.
		figure: func(node, device string) string { return node + "/" + device },
	}
}

// hami is HAMi's own spelling for NVIDIA cards in mode hami-core.
func hami() dialect {
	const card = "nvidia.com/gpu"
	return dialect{
		name: "hami", annotation: "hami.io/vgpu-devices-allocated",
		wishes: func(pod *corev1.Pod) []wish {
			var result []wish
			for i := range pod.Spec.Containers {
				container := &pod.Spec.Containers[i]
				// Whole cards without HAMi's other words may also be those of NVIDIA's plugin, which writes no annotation.
				if limit(container, card) > 0 && named(container, "nvidia.com/gpumem") {
					result = append(result, wish{devices: limit(container, card), amounts: map[string]int{
						"memory": limit(container, "nvidia.com/gpumem"), "cores": limit(container, "nvidia.com/gpucores")}})
				}
			}
			return result
		},
		devices: func(node *corev1.Node) ([]device, bool, error) {
			return registeredList(node, "hami.io/node-nvidia-register", func(entry registeredCard) map[string]int {
				return map[string]int{"memory": entry.Memory, "cores": entry.Cores, "slots": entry.Count}
			})
		},
		uses: func(pod *corev1.Pod, wishes []wish) ([][]use, error) {
			return cardParts(pod, pod.Annotations["hami.io/vgpu-devices-allocated"], len(wishes))
		},
		amounts: func(wanted wish, _ device, given use) string {
			if memory := wanted.amounts["memory"]; given.takes["memory"] != memory {
				return sameAmount("MiB", given.takes["memory"], memory)
			}
			if cores := wanted.amounts["cores"]; given.takes["cores"] != cores {
				return sameAmount("% of the cores", given.takes["cores"], cores)
			}
			return ""
		},
		sharing: fullCores, booked: asWritten,
		consistent: func(pod *corev1.Pod) string {
			if node := pod.Annotations["hami.io/vgpu-node"]; node != pod.Spec.NodeName {
				return fmt.Sprintf("annotation hami.io/vgpu-node is %q, expected the pod's node %q", node, pod.Spec.NodeName)
			}
			return ""
		},
	}
}

type registeredCard struct {
	ID     string `json:"id"`
	Count  int    `json:"count"`
	Memory int    `json:"devmem"`
	Cores  int    `json:"devcore"`
	Health bool   `json:"health"`
}

func registeredList(node *corev1.Node, annotation string, has func(registeredCard) map[string]int) ([]device, bool, error) {
	text, ok := node.Annotations[annotation]
	if !ok {
		return nil, false, nil
	}
	var list []registeredCard
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, false, fmt.Errorf("annotation %s: %w", annotation, err)
	}
	var result []device
	for _, entry := range list {
		result = append(result, device{id: entry.ID, sick: !entry.Health, has: has(entry)})
	}
	return result, true, nil
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
		wishes: func(pod *corev1.Pod) []wish {
			var result []wish
			for i := range pod.Spec.Containers {
				container := &pod.Spec.Containers[i]
				if !named(container, npu.Resource) && !named(container, npu.Memory) {
					continue
				}
				wanted := wish{devices: 1, amounts: map[string]int{"memory": limit(container, npu.Memory)}}
				if named(container, npu.Resource) {
					wanted.devices = limit(container, npu.Resource)
				}
				result = append(result, wanted)
			}
			return result
		},
		devices: func(node *corev1.Node) ([]device, bool, error) {
			return registeredList(node, "hami.io/node-register-"+npu.Word, func(entry registeredCard) map[string]int {
				return map[string]int{"memory": entry.Memory, "slots": entry.Count, "aicores": npu.Cores, "aicpus": npu.CPUs}
			})
		},
		uses: func(pod *corev1.Pod, wishes []wish) ([][]use, error) {
			parts, err := cardParts(pod, pod.Annotations[allocated], len(wishes))
			for _, part := range parts {
				for _, given := range part {
					given.takes["aicores"], given.takes["aicpus"], _ = cost(given.takes["memory"])
				}
			}
			return parts, err
		},
		amounts: func(wanted wish, card device, given use) string {
			memory := wanted.amounts["memory"]
			if memory == 0 {
				memory = card.has["memory"]
			}
			if _, _, known := cost(given.takes["memory"]); !known {
				return fmt.Sprintf("%d MiB is no template's and not the whole card's", given.takes["memory"])
			}
			if given.takes["memory"] < memory {
				return sameAmount("MiB", given.takes["memory"], memory) + " or more"
			}
			return ""
		},
		// Of AI cores a scheduler counts those that are written beside the template.
		sharing: anySharing, booked: asWritten,
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

// The templates of a 310P by MindCluster: AI cores, AI CPUs, and whether they have the video engines.
var chipTemplates = map[string]struct {
	cores, cpus int
	video       string
}{
	"vir01": {1, 1, "null"}, "vir02": {2, 2, "null"}, "vir02_1c": {2, 1, "null"}, "vir04": {4, 4, "null"},
	"vir04_3c": {4, 3, "null"}, "vir04_3c_ndvpp": {4, 3, "no"}, "vir04_4c_dvpp": {4, 4, "yes"},
}

// mindcluster is the Atlas inference cards of MindCluster. Which chips are healthy a ConfigMap says.
func mindcluster(configMaps []*corev1.ConfigMap) dialect {
	const core, cpusOfChip, chipPrefix = "huawei.com/npu-core", 7, "Ascend310P-"
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
			var result []wish
			for i := range pod.Spec.Containers {
				if cores := limit(&pod.Spec.Containers[i], core); cores > 0 {
					wanted := wish{devices: 1, amounts: map[string]int{"cores": cores}}
					if cores >= 8 {
						wanted.devices = cores / 8
						wanted.amounts["cores"] = 8
					}
					result = append(result, wanted)
				}
			}
			return result
		},
		devices: func(node *corev1.Node) ([]device, bool, error) {
			text, ok := node.Annotations["baseDeviceInfos"]
			if !ok || allocatable(node, core) == 0 {
				return nil, false, nil
			}
			var chips map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &chips); err != nil {
				return nil, false, fmt.Errorf("annotation baseDeviceInfos: %w", err)
			}
			var result []device
			for name := range chips {
				result = append(result, device{id: strings.TrimPrefix(name, chipPrefix),
					sick: slices.Contains(strings.Split(sick[node.Name], ","), name),
					has:  map[string]int{"cores": 8, "cpus": cpusOfChip, "video": 1}})
			}
			return result, true, nil
		},
		uses: func(pod *corev1.Pod, _ []wish) ([][]use, error) {
			var result [][]use
			for _, part := range strings.Split(pod.Annotations[core], ";") {
				var list []use
				for _, item := range strings.Split(part, ",") {
					chip, name, cut := strings.Cut(item, "-")
					given := use{device: chip, part: name, takes: map[string]int{"cores": 8, "cpus": cpusOfChip, "video": 1}}
					if cut {
						template, known := chipTemplates[name]
						if !known {
							return nil, fmt.Errorf("%q: template %q is not one of the 310P", part, name)
						}
						given.takes = map[string]int{"cores": template.cores, "cpus": template.cpus}
						if template.video == "yes" {
							given.takes["video"] = 1
						}
					}
					list = append(list, given)
				}
				result = append(result, list)
			}
			return result, nil
		},
		amounts: func(wanted wish, _ device, given use) string {
			if cores := wanted.amounts["cores"]; given.takes["cores"] != cores {
				return sameAmount("AI cores", given.takes["cores"], cores)
			}
			return ""
		},
		sharing: anySharing, consistent: alwaysConsistent,
		booked: func(_ device, given use) (memoryMiB, cores int) { return unknown, given.takes["cores"] },
		figure: func(_, device string) string { return chipPrefix + device },
	}
}

// cce is the virtual GPUs of Huawei Cloud, with the annotations of this project.
func cce() dialect {
	const memoryName, coresName, unit = "volcano.sh/gpu-mem.128Mi", "volcano.sh/gpu-core.percentage", 128
	return dialect{
		name: "cce", annotation: "vgpualloc.io/cce-devices-allocated",
		wishes: func(pod *corev1.Pod) []wish {
			var result []wish
			for i := range pod.Spec.Containers {
				container := &pod.Spec.Containers[i]
				if named(container, memoryName) {
					result = append(result, wish{devices: 1, amounts: map[string]int{
						"memory": unit * limit(container, memoryName), "cores": limit(container, coresName)}})
				}
			}
			return result
		},
		devices: func(node *corev1.Node) ([]device, bool, error) {
			text, ok := node.Annotations["vgpualloc.io/cce-node-register"]
			if !ok {
				return nil, false, nil
			}
			var list []struct {
				ID     string `json:"id"`
				Memory int    `json:"memory"`
				Health bool   `json:"health"`
			}
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return nil, false, fmt.Errorf("annotation vgpualloc.io/cce-node-register: %w", err)
			}
			var result []device
			for _, entry := range list {
				result = append(result, device{id: entry.ID, sick: !entry.Health, has: map[string]int{
					"memory": entry.Memory, "cores": 100, "slots": 20}})
			}
			return result, true, nil
		},
		uses: func(pod *corev1.Pod, _ []wish) ([][]use, error) {
			var result [][]use
			for _, part := range strings.Split(strings.TrimSuffix(pod.Annotations["vgpualloc.io/cce-devices-allocated"], ";"), ";") {
				fields := strings.Split(strings.TrimSuffix(part, ":"), ",")
				given := use{device: fields[0], takes: map[string]int{"slots": 1}}
				switch {
				case part == "":
					continue
				case len(fields) == 2 && fields[1] == "whole":
					given.part = "whole"
				case len(fields) == 3:
					memory, memoryErr := strconv.Atoi(fields[1])
					cores, coresErr := strconv.Atoi(fields[2])
					if memoryErr != nil || coresErr != nil {
						return nil, fmt.Errorf("%q: memory and compute are no numbers", part)
					}
					given.takes["memory"], given.takes["cores"] = memory, cores
				default:
					return nil, fmt.Errorf("%q, expected uuid,<MiB>,<percent>: or uuid,whole:", part)
				}
				result = append(result, []use{given})
			}
			return result, nil
		},
		amounts: func(wanted wish, card device, given use) string {
			memory, cores := wanted.amounts["memory"], wanted.amounts["cores"]
			whole := cores == 100 || memory >= card.has["memory"]/unit*unit
			if whole != (given.part == "whole") {
				return fmt.Sprintf("%d MiB and %d %% are the whole GPU: %t; written so: %t", memory, cores, whole, given.part == "whole")
			}
			if !whole && (given.takes["memory"] != memory || given.takes["cores"] != cores) {
				return fmt.Sprintf("%d MiB and %d %% written, expected %d and %d", given.takes["memory"], given.takes["cores"], memory, cores)
			}
			return ""
		},
		sharing: func(_ device, uses []use) []Violation {
			var whole, memoryOnly, withCompute int
			for _, given := range uses {
				switch {
				case given.part == "whole":
					whole++
				case given.takes["cores"] > 0:
					withCompute++
				default:
					memoryOnly++
				}
			}
			if whole > 0 && len(uses) > 1 {
				return []Violation{{Rule: NotShared, Pods: keys(uses), Text: "a whole GPU given to one, and others are there"}}
			}
			if memoryOnly > 0 && withCompute > 0 {
				return []Violation{{Rule: NotShared, Pods: keys(uses), Text: "two kinds of isolation on one GPU"}}
			}
			return nil
		},
		booked: func(card device, given use) (memoryMiB, cores int) {
			if given.part == "whole" {
				return card.has["memory"], card.has["cores"]
			}
			return asWritten(card, given)
		},
		consistent: alwaysConsistent,
	}
}
