package config

import (
	"errors"
	"fmt"
	"slices"
)

// Where the cluster's configuration is: the first namespace that has the ConfigMap counts.
const (
	DeviceConfigName = "volcano-vgpu-device-config"
	DeviceConfigKey  = "device-config.yaml"
)

// DeviceConfigNamespaces are looked through in this order.
var DeviceConfigNamespaces = []string{"kube-system", "volcano-system"}

// What holds where no key and no flag says a number.
const (
	defaultSplitCount   = 10
	defaultMemoryFactor = 1
)

// Build puts all sources together: the flags, the text of device-config.yaml and that of config.json; nil: there is none.
// A value that another source overrides is not checked.
func Build(flags Flags, deviceConfigYAML, nodeFileJSON []byte) (*Config, error) {
	if flags.Node == "" {
		return nil, errors.New("--node-name (NODE_NAME) is empty: expected the name of this node")
	}
	device, warnings, err := readDeviceConfig(deviceConfigYAML)
	if err != nil {
		return nil, err
	}
	node, left, err := readNodeFile(nodeFileJSON, flags.Node)
	if err != nil {
		return nil, err
	}
	built := &Config{Node: flags.Node, Schedulers: flags.Schedulers, Warnings: slices.Concat(flags.warnings, warnings, left)}
	if built.Resources, err = device.resources(); err != nil {
		return nil, err
	}
	if flags.Schedulers.HAMi {
		built.HAMiResource = flags.HAMiResource
	}
	if err := built.checkNames(flags.shared); err != nil {
		return nil, err
	}
	leftOut := []string(nil)
	if built.Geometries, leftOut, err = device.geometries(); err != nil {
		return nil, err
	}
	built.Warnings = append(built.Warnings, leftOut...)
	isApplied := flags.ApplyAllKeys || device.ApplyAllKeys != nil && *device.ApplyAllKeys
	common, err := device.common(&flags, &node, isApplied || !flags.Schedulers.Volcano)
	if err != nil {
		return nil, err
	}
	built.applyKeys(&flags, &device, &node, isApplied)
	built.Flags = flags
	scaled := isApplied || !flags.Schedulers.Volcano
	built.cards = func(index int, uuid string) Card { return node.card(common, index, uuid, scaled) }
	return built, nil
}

func (c *Config) warn(format string, values ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, values...))
}

// applyKeys has the keys take effect that do nothing at upstream, or warns that they do nothing here either.
func (c *Config) applyKeys(flags *Flags, device *deviceConfig, node *nodeValues, isApplied bool) {
	const without = "has no effect without applyAllKeys: true, as with volcano-vgpu-device-plugin"
	if device.PassSpecs != nil && !flags.said["pass-device-specs"] {
		if isApplied {
			flags.PassDeviceSpecs = *device.PassSpecs
		} else if *device.PassSpecs && !flags.PassDeviceSpecs {
			c.warn("nvidia.passDeviceSpecs %s", without)
		}
	}
	if device.NoCoreLimit != nil && *device.NoCoreLimit {
		flags.DisableCoreLimit = isApplied
		if !isApplied {
			c.warn("nvidia.disableCoreLimit %s", without)
		}
	}
	if isApplied || !c.Schedulers.Volcano {
		return
	}
	isScaled := device.MemoryScaling != nil && *device.MemoryScaling != 1 || node.memoryScaling > 0 && node.memoryScaling != 1
	for _, card := range node.cards {
		isScaled = isScaled || card.MemoryScaling != nil && *card.MemoryScaling != 1
	}
	if isScaled {
		c.warn("deviceMemoryScaling %s", without)
	}
}

func (d *deviceConfig) resources() (Resources, error) {
	names := Resources{Number: "volcano.sh/vgpu-number", Memory: "volcano.sh/vgpu-memory", Cores: "volcano.sh/vgpu-cores"}
	for _, resource := range []struct {
		key   string
		said  *string
		value *string
	}{{"resourceCountName", d.CountName, &names.Number}, {"resourceMemoryName", d.MemoryName, &names.Memory},
		{"resourceCoreName", d.CoreName, &names.Cores}} {
		if resource.said == nil {
			continue
		}
		if err := checkResource("nvidia."+resource.key, *resource.said); err != nil {
			return Resources{}, err
		}
		*resource.value = *resource.said
	}
	if d.PercentageName != nil && *d.PercentageName != "" { // of pods only: no device stands for a percent
		if err := checkResource("nvidia.resourceMemoryPercentageName", *d.PercentageName); err != nil {
			return Resources{}, err
		}
	}
	return names, nil
}

// checkNames: every resource has a name of its own, and none is shared by NVIDIA's ways.
func (c *Config) checkNames(shared []string) error {
	names := []struct{ key, name string }{}
	if c.Schedulers.Volcano {
		names = append(names, []struct{ key, name string }{{"resourceCountName", c.Resources.Number},
			{"resourceMemoryName", c.Resources.Memory}, {"resourceCoreName", c.Resources.Cores}}...)
	}
	if c.Schedulers.HAMi && !(c.Schedulers.Volcano && c.HAMiResource == c.Resources.Number) { // both may count cards by one name
		names = append(names, struct{ key, name string }{"--hami-resource-name", c.HAMiResource})
	}
	for i, one := range names {
		for _, other := range names[:i] {
			if one.name == other.name {
				return fmt.Errorf("nvidia.%s %q: expected a name other than that of %s", one.key, one.name, other.key)
			}
		}
		if slices.Contains(shared, one.name) {
			return fmt.Errorf("--config-file: sharing names %q, expected none of this plugin's resources: operatingmode mps shares by MPS",
				one.name)
		}
	}
	return nil
}

// common is what holds for a card of which nothing else is said.
func (d *deviceConfig) common(flags *Flags, node *nodeValues, isScaled bool) (Card, error) {
	card := Card{Mode: node.mode, SplitCount: defaultSplitCount, MemoryFactor: defaultMemoryFactor, MemoryScaling: 1, CoreScaling: 1}
	switch {
	case node.splitCount > 0:
		card.SplitCount = node.splitCount
	case flags.splitCount != nil:
		card.SplitCount = *flags.splitCount
	case d.SplitCount != nil:
		if err := checkNumber("nvidia.deviceSplitCount", *d.SplitCount); err != nil {
			return Card{}, err
		}
		card.SplitCount = int(*d.SplitCount)
	}
	switch {
	case flags.memoryFactor != nil:
		card.MemoryFactor = *flags.memoryFactor
	case d.MemoryFactor != nil:
		if err := checkNumber("nvidia.gpuMemoryFactor", *d.MemoryFactor); err != nil {
			return Card{}, err
		}
		card.MemoryFactor = int(*d.MemoryFactor)
	}
	switch {
	case node.coreScaling > 0:
		card.CoreScaling = node.coreScaling
	case flags.coreScaling != nil:
		card.CoreScaling = *flags.coreScaling
	case d.CoreScaling != nil:
		if err := checkScaling("nvidia.deviceCoreScaling", *d.CoreScaling, true); err != nil {
			return Card{}, err
		}
		card.CoreScaling = *d.CoreScaling
	}
	switch {
	case !isScaled:
	case node.memoryScaling > 0:
		card.MemoryScaling = node.memoryScaling
	case d.MemoryScaling != nil:
		if err := checkScaling("nvidia.deviceMemoryScaling", *d.MemoryScaling, false); err != nil {
			return Card{}, err
		}
		card.MemoryScaling = *d.MemoryScaling
	}
	return card, nil
}

// card is what holds for one card.
func (n *nodeValues) card(common Card, index int, uuid string, isScaled bool) Card {
	card := common
	card.IsFiltered = n.isFiltered(index, uuid)
	for i := range n.cards {
		settings := &n.cards[i]
		if !settings.isFor(index, uuid) {
			continue
		}
		if settings.Mode != nil {
			card.Mode = *settings.Mode
		}
		if settings.SplitCount != nil {
			card.SplitCount = int(*settings.SplitCount)
		}
		if settings.MemoryFactor != nil {
			card.MemoryFactor = int(*settings.MemoryFactor)
		}
		if settings.CoreScaling != nil {
			card.CoreScaling = *settings.CoreScaling
		}
		if settings.MemoryScaling != nil && isScaled {
			card.MemoryScaling = *settings.MemoryScaling
		}
	}
	if card.Mode == MIG { // instances have the memory that they have
		card.MemoryScaling = 1
	}
	return card
}
