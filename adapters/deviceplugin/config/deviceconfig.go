package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// HAMi's keys of its section of the same name, without effect here.
	MigProfiles   json.RawMessage `json:"migProfileAllowlist"`
	LogLevel      json.RawMessage `json:"libCudaLogLevel"`
	RuntimeClass  json.RawMessage `json:"runtimeClassName"`
	CorePolicy    json.RawMessage `json:"gpuCorePolicy"`
	HAMiFactor    json.RawMessage `json:"memoryFactor"`
	Preconfigured json.RawMessage `json:"preConfiguredDeviceMemory"`
}

type geometryTexts struct {
	Models []string    `json:"models"`
	Groups []groupText `json:"allowedGeometries"`
}

type groupText struct {
	Group     string         `json:"group"`
	Instances []instanceText `json:"geometries"`
}

type instanceText struct {
	Name   string          `json:"name"`
	Memory int64           `json:"memory"`
	Count  int             `json:"count"`
	Cores  json.RawMessage `json:"core"` // HAMi's, without effect
}

// withoutEffect is why a key has no effect on the node.
var withoutEffect = map[string]string{
	"resourcePriorityName": ofSchedulers, "overwriteEnv": ofSchedulers, "defaultMemory": ofSchedulers, "defaultCores": ofSchedulers,
	"defaultGPUNum": ofSchedulers, "migProfileAllowlist": isOfHAMi, "libCudaLogLevel": isOfHAMi, "runtimeClassName": isOfHAMi,
	"gpuCorePolicy": isOfHAMi, "memoryFactor": isOfHAMi, "preConfiguredDeviceMemory": isOfHAMi}

const (
	ofSchedulers = "a scheduler may read it"
	isOfHAMi     = "it is HAMi's"
)

// readDeviceConfig reads the text of key device-config.yaml. The warnings name keys without effect.
func readDeviceConfig(text []byte) (deviceConfig, []string, error) {
	fail := func(err error) (deviceConfig, []string, error) {
		return deviceConfig{}, nil, fmt.Errorf("ConfigMap %s, key %s: %w", DeviceConfigName, DeviceConfigKey, err)
	}
	section, err := Section(text, "nvidia")
	if err != nil {
		return fail(err)
	}
	read := deviceConfig{}
	unknown, err := Decode("nvidia", section, &read)
	if err != nil {
		return fail(err)
	}
	warnings := NotKnown(unknown)
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(section, &keys); err != nil {
		return fail(err)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if reason := withoutEffect[key]; reason != "" {
			warnings = append(warnings, fmt.Sprintf("nvidia.%s has no effect on the node, %s", key, reason))
		}
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

// geometries are the lists of the file. Of two groups of one list with one name the second is left out, as schedulers read an id as
// one of the first; a warning says so.
func (d *deviceConfig) geometries() (lists []Geometries, warnings []string, err error) {
	for i, from := range d.Geometries {
		at := fmt.Sprintf("nvidia.knownMigGeometries[%d]", i)
		if len(from.Models) == 0 || slices.Contains(from.Models, "") {
			return nil, nil, fmt.Errorf("%s.models %q: expected parts of models' names, at least one and none empty", at, from.Models)
		}
		if len(from.Groups) == 0 {
			return nil, nil, fmt.Errorf("%s.allowedGeometries is empty: expected at least one group", at)
		}
		list, total := Geometries{Models: from.Models}, 0
		for j, group := range from.Groups {
			geometry, count, err := group.geometry()
			if err != nil {
				return nil, nil, fmt.Errorf("%s.allowedGeometries[%d]: %w", at, j, err)
			}
			total += count
			if slices.ContainsFunc(list.Groups, func(other Geometry) bool { return other.Group == geometry.Group }) {
				warnings = append(warnings, fmt.Sprintf("%s.allowedGeometries[%d].group %q is left out: another group of these models has that name",
					at, j, group.Group))
				continue
			}
			list.Groups = append(list.Groups, geometry)
		}
		if total > instancesMax {
			return nil, nil, fmt.Errorf("%s.allowedGeometries: %d instances, expected at most %d over all groups", at, total, instancesMax)
		}
		lists = append(lists, list)
	}
	return lists, warnings, nil
}

// instancesMax is how many instances the groups of one list have at most, as the core counts them.
const instancesMax = 64

// geometry is the group, and how many instances it has.
func (g groupText) geometry() (Geometry, int, error) {
	if g.Group == "" || strings.ContainsAny(g.Group, "[],:; ") {
		return Geometry{}, 0, fmt.Errorf("group %q: expected a name without blanks, brackets, commas, colons and semicolons", g.Group)
	}
	if len(g.Instances) == 0 {
		return Geometry{}, 0, fmt.Errorf("geometries of group %q are empty: expected at least one profile", g.Group)
	}
	geometry, total := Geometry{Group: g.Group}, 0
	for i, instance := range g.Instances {
		if instance.Name == "" || instance.Memory < 1 || instance.Count < 1 || instance.Count > instancesMax {
			return Geometry{}, 0, fmt.Errorf("geometries[%d] name %q, memory %d, count %d: expected a profile's name, MiB above 0 and 1 to %d",
				i, instance.Name, instance.Memory, instance.Count, instancesMax)
		}
		total += instance.Count
		geometry.Instances = append(geometry.Instances, Profile{Name: instance.Name, MemoryMiB: instance.Memory, Count: instance.Count})
	}
	return geometry, total, nil
}
