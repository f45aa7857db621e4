package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// deviceConfig is section nvidia of device-config.yaml. Pointers: nil where the key is absent.
type deviceConfig struct {
	CountName      *string         `json:"resourceCountName"`
	MemoryName     *string         `json:"resourceMemoryName"`
	PercentageName *string         `json:"resourceMemoryPercentageName"`
	CoreName       *string         `json:"resourceCoreName"`
	PriorityName   *string         `json:"resourcePriorityName"`
	OverwriteEnv   *bool           `json:"overwriteEnv"`
	DefaultMemory  *int64          `json:"defaultMemory"`
	DefaultCores   *int64          `json:"defaultCores"`
	DefaultGPUs    *int64          `json:"defaultGPUNum"`
	SplitCount     *int64          `json:"deviceSplitCount"`
	MemoryScaling  *float64        `json:"deviceMemoryScaling"`
	CoreScaling    *float64        `json:"deviceCoreScaling"`
	NoCoreLimit    *bool           `json:"disableCoreLimit"`
	MemoryFactor   *int64          `json:"gpuMemoryFactor"`
	PassSpecs      *bool           `json:"passDeviceSpecs"`
	Geometries     []geometryTexts `json:"knownMigGeometries"`
	ApplyAllKeys   *bool           `json:"applyAllKeys"`
}

type geometryTexts struct {
	Models []string    `json:"models"`
	Groups []groupText `json:"allowedGeometries"`
}

type groupText struct {
	Group     string `json:"group"`
	Instances []struct {
		Name   string `json:"name"`
		Memory int64  `json:"memory"`
		Count  int    `json:"count"`
	} `json:"geometries"`
}

// ofTheScheduler are keys that the scheduler or its webhook reads: without effect on the node.
var ofTheScheduler = []string{"resourcePriorityName", "overwriteEnv", "defaultMemory", "defaultCores", "defaultGPUNum"}

// ofHAMi are keys of HAMi's section of the same name, known and of no effect here.
var ofHAMi = []string{"migProfileAllowlist", "libCudaLogLevel", "runtimeClassName", "gpuCorePolicy", "memoryFactor",
	"preConfiguredDeviceMemory"}

// readDeviceConfig reads the text of key device-config.yaml. The warnings name keys without effect.
func readDeviceConfig(text []byte) (deviceConfig, []string, error) {
	fail := func(err error) (deviceConfig, []string, error) {
		return deviceConfig{}, nil, fmt.Errorf("ConfigMap %s, key %s: %w", DeviceConfigName, DeviceConfigKey, err)
	}
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return fail(err)
	}
	sections := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &sections); err != nil {
		return fail(errors.New("expected a mapping with section nvidia"))
	}
	section, has := sections["nvidia"]
	if !has || string(section) == "null" {
		return fail(errors.New("expected section nvidia, there is none"))
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(section, &keys); err != nil {
		return fail(errors.New("nvidia: expected a mapping"))
	}
	warnings, err := judgeKeys(slices.Sorted(maps.Keys(keys)))
	if err != nil {
		return fail(err)
	}
	read := deviceConfig{}
	decoder := json.NewDecoder(bytes.NewReader(section))
	if err := decoder.Decode(&read); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return fail(fmt.Errorf("nvidia.%s: %s, expected %s", wrong.Field, wrong.Value, wrong.Type))
		}
		return fail(err)
	}
	for _, number := range []struct {
		key   string
		value *int64
	}{{"deviceSplitCount", read.SplitCount}, {"gpuMemoryFactor", read.MemoryFactor}} {
		if number.value != nil && *number.value < 0 { // also where another source overrides it, as upstream
			return fail(fmt.Errorf("nvidia.%s %d: expected 1 to %d", number.key, *number.value, numberMax))
		}
	}
	return read, warnings, nil
}

// knownKeys are those of deviceConfig.
var knownKeys = []string{"resourceCountName", "resourceMemoryName", "resourceMemoryPercentageName", "resourceCoreName",
	"resourcePriorityName", "overwriteEnv", "defaultMemory", "defaultCores", "defaultGPUNum", "deviceSplitCount",
	"deviceMemoryScaling", "deviceCoreScaling", "disableCoreLimit", "gpuMemoryFactor", "passDeviceSpecs", "knownMigGeometries",
	"applyAllKeys"}

// judgeKeys warns of keys that say nothing here and refuses those that are a known one with a typing error.
func judgeKeys(keys []string) ([]string, error) {
	warnings := []string{}
	for _, key := range keys {
		switch {
		case slices.Contains(ofTheScheduler, key):
			warnings = append(warnings, fmt.Sprintf("nvidia.%s has no effect on the node, a scheduler may read it", key))
		case slices.Contains(knownKeys, key):
		case slices.Contains(ofHAMi, key):
			warnings = append(warnings, fmt.Sprintf("nvidia.%s has no effect on the node, it is HAMi's", key))
		default:
			near := slices.IndexFunc(knownKeys, func(known string) bool { return isNear(key, known) })
			if near >= 0 {
				return nil, fmt.Errorf("nvidia.%s: no such key, expected %s", key, knownKeys[near])
			}
			warnings = append(warnings, fmt.Sprintf("nvidia.%s is not known and has no effect", key))
		}
	}
	return warnings, nil
}

// isNear: two letters differ at most, whatever the case.
func isNear(left, right string) bool {
	left, right = strings.ToLower(left), strings.ToLower(right)
	row := make([]int, len(right)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(left) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(right) {
			cost := diagonal
			if left[i] != right[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(right)] <= 2
}

func (d *deviceConfig) geometries() ([]Geometries, error) {
	lists := []Geometries{}
	for i, from := range d.Geometries {
		at := fmt.Sprintf("nvidia.knownMigGeometries[%d]", i)
		if len(from.Models) == 0 || slices.Contains(from.Models, "") {
			return nil, fmt.Errorf("%s.models %q: expected parts of models' names, at least one and none empty", at, from.Models)
		}
		list := Geometries{Models: from.Models}
		for j, group := range from.Groups {
			geometry, err := group.geometry()
			if err != nil {
				return nil, fmt.Errorf("%s.allowedGeometries[%d]: %w", at, j, err)
			}
			if slices.ContainsFunc(list.Groups, func(other Geometry) bool { return other.Group == geometry.Group }) {
				return nil, fmt.Errorf("%s.allowedGeometries[%d].group %q: expected a name that no other group has", at, j, group.Group)
			}
			list.Groups = append(list.Groups, geometry)
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func (g groupText) geometry() (Geometry, error) {
	if g.Group == "" || strings.ContainsAny(g.Group, "[],:; ") {
		return Geometry{}, fmt.Errorf("group %q: expected a name without blanks, brackets, commas, colons and semicolons", g.Group)
	}
	geometry, total := Geometry{Group: g.Group}, 0
	for i, instance := range g.Instances {
		if instance.Name == "" || instance.Memory < 1 || instance.Count < 1 || instance.Count > 64 {
			return Geometry{}, fmt.Errorf("geometries[%d] name %q, memory %d, count %d: expected a profile's name, MiB above 0 and 1 to 64",
				i, instance.Name, instance.Memory, instance.Count)
		}
		total += instance.Count
		geometry.Instances = append(geometry.Instances, Profile{Name: instance.Name, MemoryMiB: instance.Memory, Count: instance.Count})
	}
	if total > 64 {
		return Geometry{}, fmt.Errorf("group %q: %d instances, expected at most 64", g.Group, total)
	}
	return geometry, nil
}
