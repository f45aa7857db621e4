package scenario

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// A setting is a configuration of the scheduler, and the faults that are provoked under it.
type setting struct {
	// arguments of deviceshare, which ours understands too, in the place of those of the configuration file.
	// nil: the file as it is.
	arguments map[string]any
	builtIn   bool // there is no ConfigMap with the devices' configuration
	faults    []fault
}

const argumentPrefix = "deviceshare."

// settings in the order in which they are played. The scheduler is started anew for each.
var settings = []setting{
	{faults: faults},
	{arguments: map[string]any{"VGPUEnable": true, "SchedulePolicy": "spread", "ScheduleWeight": 10}, faults: []fault{
		{"Q10", "of idle nodes and used ones spread prefers none", func(stage *stage) bool {
			for i := range 4 {
				stage.add(objects.Volcano(fmt.Sprintf("%s-%d", stage.prefix, i), "hami-core", 1))
			}
			several(4, card(4000))(stage)
			return shared(stage)
		}},
		{"spread", "spread puts pods on one card while others are idle", script(vgpuNode("hami-core", 4), shared, several(4, card(4000)))},
	}},
	{arguments: map[string]any{"AscendHAMiVNPUEnable": true, "SchedulePolicy": "spread", "ScheduleWeight": 10}, faults: []fault{
		{"spread-ascend", "spread puts Ascend pods on one card while others are idle", script(npuNode(4), shared, several(4, cards(npu(1, 3072))))},
	}},
	{arguments: map[string]any{"VGPUEnable": true, "AscendHAMiVNPUEnable": true, "SchedulePolicy": "binpack", "ScheduleWeight": 0}, builtIn: true, faults: []fault{
		{"Q12", "without a ConfigMap a percentage of memory is not read", script(func(name string) objects.NodeWithExtras {
			node := objects.Volcano(name, "hami-core", 1)
			node.Node.Status.Allocatable[percentage], node.Node.Status.Capacity[percentage] = resource.MustParse("100"), resource.MustParse("100")
			return node
		}, func(stage *stage) bool { return !strings.Contains(stage.seen["a"].Given, ",20480,") },
			one("a", cards(objects.Limits{"volcano.sh/vgpu-number": 1, percentage: 50})))},
		{"Q15", "at weight 0 Ascend pods are not packed", script(npuNode(8), func(stage *stage) bool { return !stage.seen["a"].Bound || stage.different() > 1 },
			several(4, cards(npu(1, 3072))))},
	}},
	{arguments: map[string]any{"VGPUEnable": true, "NodeLockEnable": true}, faults: []fault{
		{"locked", "while a node is locked pods are bound to it without devices", script(vgpuNode("hami-core", 1),
			bare("b"), one("a", card(4000)), one("b", card(4000)))},
	}},
	{arguments: map[string]any{"GPUNumberEnable": true}, faults: []fault{
		{"Q13", "of equal cards chance takes some", script(gpushareNode(16), func(stage *stage) bool {
			const first = "0,1,2,3,4,5,6,7"
			return stage.seen["a"].Given != first || stage.seen["b"].Given != first
		}, one("a", whole(8, 0)), without("a"), one("b", whole(8, 0)))},
		{"Q25", "of two cards that a pod asks for it gets one, if it asks for memory too", script(gpushareNode(2),
			func(stage *stage) bool { return stage.seen["a"].Given != "0,1" }, one("a", whole(2, 500)))},
		{"Q25-memory", "a pod that asks for a card and for more memory than it has is bound without", script(gpushareNode(2),
			bare("a"), one("a", whole(1, 17000)))},
	}},
	{arguments: map[string]any{"GPUSharingEnable": true, "NodeLockEnable": true}, faults: []fault{
		{"Q23", "locking a node without annotations ends the scheduler", script(gpushareNode(1), crashed,
			one("a", cards(objects.Limits{"volcano.sh/gpu-memory": 1000})))},
	}},
}

const percentage = "volcano.sh/vgpu-memory-percentage"

func gpushareNode(count int) func(string) objects.NodeWithExtras {
	return func(name string) objects.NodeWithExtras { return objects.Gpushare(name, count) }
}

// whole asks gpushare for whole cards, and for memory besides.
func whole(count, memory int) objects.PodSpec {
	limits := objects.Limits{"volcano.sh/gpu-number": count}
	if memory > 0 {
		limits["volcano.sh/gpu-memory"] = memory
	}
	return cards(limits)
}

func high(spec objects.PodSpec) objects.PodSpec {
	spec.Labels["vnpu-level"] = "high"
	return spec
}

// String names what is particular to the setting.
func (set setting) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(set.arguments)) {
		if value := set.arguments[name]; value == true {
			parts = append(parts, name)
		} else {
			parts = append(parts, fmt.Sprintf("%s: %v", name, value))
		}
	}
	if set.builtIn {
		parts = append(parts, "no ConfigMap")
	}
	return strings.Join(parts, ", ")
}

// configure writes the scheduler's configuration: the original with the setting's arguments for the plugin that shares devices.
func (set setting) configure(original []byte, path string) error {
	var document map[string]any
	if err := yaml.Unmarshal(original, &document); err != nil {
		return fmt.Errorf("scheduler configuration: %w", err)
	}
	isThere := false
	tiers, _ := document["tiers"].([]any)
	for _, tier := range tiers {
		plugins, _ := tier.(map[string]any)["plugins"].([]any)
		for _, entry := range plugins {
			plugin, _ := entry.(map[string]any)
			if plugin["name"] != "deviceshare" && plugin["name"] != "vgpualloc" {
				continue
			}
			isThere = true
			if set.arguments == nil {
				continue
			}
			arguments, _ := plugin["arguments"].(map[string]any)
			maps.DeleteFunc(arguments, func(name string, _ any) bool { return strings.HasPrefix(name, argumentPrefix) })
			if arguments == nil {
				arguments = map[string]any{}
			}
			for name, value := range set.arguments {
				arguments[argumentPrefix+name] = value
			}
			plugin["arguments"] = arguments
		}
	}
	if !isThere {
		return fmt.Errorf("scheduler configuration: no plugin deviceshare or vgpualloc in its tiers, expected one of them")
	}
	text, err := yaml.Marshal(document)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// deviceConfig makes the ConfigMap be there, or not.
func (env *Env) deviceConfig(there bool) {
	config := objects.DeviceConfig()
	configMaps := env.Client.CoreV1().ConfigMaps(config.Namespace)
	must(remove(env.ctx, configMaps, config.Name))
	if there {
		must(create(env.ctx, configMaps, config))
	}
}
