package ascend

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
	files "vgpualloc.example/adapters/deviceplugin/config"
)

// template is one way to cut a part off a chip.
type template struct {
	Name   string `json:"name"`
	Memory int64  `json:"memory"` // MiB
	AICore int32  `json:"aiCore"`
	AICPU  int32  `json:"aiCPU"`
}

// chipConfig is what the cluster's configuration says of a kind of chip.
type chipConfig struct {
	CommonWord         string     `json:"commonWord"` // W: "Ascend910B3"
	ChipName           string     `json:"chipName"`   // as the driver says it: "910B3"
	ResourceName       string     `json:"resourceName"`
	ResourceMemoryName string     `json:"resourceMemoryName"`
	ResourceCoreName   string     `json:"resourceCoreName"`
	MemoryAllocatable  int64      `json:"memoryAllocatable"` // MiB
	MemoryCapacity     int64      `json:"memoryCapacity"`
	AICore             int32      `json:"aiCore"`
	AICPU              int32      `json:"aiCPU"`
	Templates          []template `json:"templates"`
	// Of schedulers, without effect here.
	MemoryFactor json.RawMessage `json:"memoryFactor"`
	SuperPod     json.RawMessage `json:"superPod"`
	RuntimeClass json.RawMessage `json:"runtimeClassName"`
	OverwriteEnv json.RawMessage `json:"overwriteEnv"`
}

// clusterConfig is section vnpus of the cluster's file.
type clusterConfig struct {
	HAMiVNPUCore bool            `json:"hamiVnpuCore"` // nodes limit in software
	HAMiVersion  json.RawMessage `json:"hamiVersion"`  // our scheduler's
	Configs      []chipConfig    `json:"configs"`
}

// nodeConfig is what holds for one node.
type nodeConfig struct {
	Name          string `json:"name"`
	HAMiVNPUCore  bool   `json:"hami-vnpu-core"`
	VDeviceCount  int    `json:"vDeviceCount"` // slots of a chip; at most 0: as the templates say
	FilterDevices struct {
		Index []int32  `json:"index"` // of cards
		UUID  []string `json:"uuid"`
	} `json:"filterDevices"`
}

// nodesConfig is the file with what holds for single nodes.
type nodesConfig struct {
	Nodes []nodeConfig `json:"nodes"`
}

// config is what holds here.
type config struct {
	chip   chipConfig
	isSoft bool // the node limits in software
	slots  int  // of a chip
	filter func(chip chips.Chip) bool
	// ofSchedulers are keys of this chip that have no effect on a node.
	ofSchedulers []string
}

// readConfig reads the configuration of a kind of chip. A file for nodes that cannot be read is reported and counts as none.
func readConfig(root string, of settings, model chips.Model, report func(err error)) (*config, error) {
	if model.Type != "Ascend" {
		return nil, fmt.Errorf("type of the chips: %q, expected \"Ascend\"", model.Type)
	}
	cluster, err := readCluster(root, of, report)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(cluster.Configs, func(chip chipConfig) bool { return chip.ChipName == model.Name })
	if at < 0 {
		var names []string
		for _, chip := range cluster.Configs {
			names = append(names, chip.ChipName)
		}
		return nil, fmt.Errorf("config_file %s: vnpus.configs: no chipName %q, which this node's chips have; it has %q", of.configFile,
			model.Name, names)
	}
	result := &config{chip: cluster.Configs[at], isSoft: cluster.HAMiVNPUCore, filter: func(chips.Chip) bool { return false }}
	if err = result.chip.check(); err != nil {
		return nil, fmt.Errorf("config_file %s: vnpus.configs[%d].%w", of.configFile, at, err)
	}
	result.slots = result.chip.slots()
	result.ofSchedulers = cluster.ofSchedulers(&result.chip)
	if of.nodeConfigFile != "" {
		if node, err := readNodeConfig(root, of, report); err != nil {
			report(fmt.Errorf("node_config_file is left out: %w", err))
		} else if node != nil {
			result.apply(node)
		}
	}
	return result, nil
}

// readCluster reads the section of the cluster's file. Keys that are not known are reported.
func readCluster(root string, of settings, report func(err error)) (clusterConfig, error) {
	cluster := clusterConfig{}
	text, err := files.ReadFile(filepath.Join(root, of.configFile))
	if err != nil {
		return cluster, fmt.Errorf("config_file: %w", withoutRoot(err, root, of.configFile))
	}
	section, err := files.Section(text, "vnpus")
	if err != nil {
		return cluster, fmt.Errorf("config_file %s: %w", of.configFile, err)
	}
	unknown, err := files.Decode("vnpus", section, &cluster)
	if err != nil {
		return cluster, fmt.Errorf("config_file %s: %w", of.configFile, err)
	}
	for _, warning := range files.NotKnown(unknown) {
		report(fmt.Errorf("config_file %s: %s", of.configFile, warning))
	}
	return cluster, nil
}

// ofSchedulers are the keys of the section that only schedulers read, of those that are there.
func (c *clusterConfig) ofSchedulers(of *chipConfig) []string {
	keys := []string{}
	for _, key := range []struct {
		name    string
		isThere bool
	}{{"hamiVersion", len(c.HAMiVersion) > 0}, {"resourceMemoryName", of.ResourceMemoryName != ""}, {"resourceCoreName", of.ResourceCoreName != ""},
		{"memoryCapacity", of.MemoryCapacity != 0}, {"aiCPU", of.AICPU != 0}, {"memoryFactor", len(of.MemoryFactor) > 0},
		{"superPod", len(of.SuperPod) > 0}, {"runtimeClassName", len(of.RuntimeClass) > 0}, {"overwriteEnv", len(of.OverwriteEnv) > 0},
		{"templates.name", len(of.Templates) > 0}, {"templates.aiCore", len(of.Templates) > 0}, {"templates.aiCPU", len(of.Templates) > 0}} {
		if key.isThere {
			keys = append(keys, key.name)
		}
	}
	return keys
}

// check looks for values that nothing can be counted with.
func (c *chipConfig) check() error {
	if c.CommonWord == "" || strings.ContainsAny(c.CommonWord, "/ ") {
		return fmt.Errorf("commonWord: %q, expected a word such as Ascend910B3", c.CommonWord)
	}
	domain, name, is := strings.Cut(c.ResourceName, "/")
	if !is || domain == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("resourceName: %q, expected a name such as huawei.com/Ascend910B3", c.ResourceName)
	}
	if c.MemoryAllocatable < 0 {
		return fmt.Errorf("memoryAllocatable: %d, expected MiB", c.MemoryAllocatable)
	}
	for i, one := range c.Templates {
		if one.Memory < 1 {
			return fmt.Errorf("templates[%d].memory: %d, expected at least 1 MiB", i, one.Memory)
		}
	}
	return nil
}

// slots is how many parts of the smallest template a chip has; one without templates.
func (c *chipConfig) slots() int {
	if len(c.Templates) == 0 {
		return 1
	}
	smallest := slices.MinFunc(c.Templates, func(a, b template) int { return int(a.Memory - b.Memory) })
	return int(c.MemoryAllocatable / smallest.Memory)
}

// readNodeConfig is the first entry of this node; nil: there is none. Keys that are not known are reported.
func readNodeConfig(root string, of settings, report func(err error)) (*nodeConfig, error) {
	text, err := files.ReadFile(filepath.Join(root, of.nodeConfigFile))
	if err != nil {
		return nil, withoutRoot(err, root, of.nodeConfigFile)
	}
	unknown, wrong := files.Read(text, &nodesConfig{})
	var nodes nodesConfig
	if err = yaml.Unmarshal(text, &nodes); err != nil {
		if wrong != nil { // which names the key
			err = wrong
		}
		return nil, fmt.Errorf("%s: %w", of.nodeConfigFile, err)
	}
	for _, warning := range files.NotKnown(unknown) {
		wrong = errors.Join(wrong, errors.New(warning))
	}
	if wrong != nil {
		report(files.Wrong(fmt.Errorf("node_config_file %s: %w", of.nodeConfigFile, wrong)))
	}
	for i := range nodes.Nodes {
		if nodes.Nodes[i].Name == of.node {
			return &nodes.Nodes[i], nil
		}
	}
	return nil, nil
}

// apply lets an entry of this node count. One that does not name hami-vnpu-core switches it off.
func (c *config) apply(node *nodeConfig) {
	c.isSoft = node.HAMiVNPUCore
	if node.VDeviceCount > 0 {
		c.slots = node.VDeviceCount
	}
	c.filter = func(chip chips.Chip) bool {
		return slices.Contains(node.FilterDevices.Index, chip.CardID) || slices.Contains(node.FilterDevices.UUID, chip.VDie)
	}
}

// withoutRoot names a path as the configuration does.
func withoutRoot(err error, root, path string) error {
	if pathError := (*os.PathError)(nil); errors.As(err, &pathError) {
		return &os.PathError{Op: pathError.Op, Path: path, Err: pathError.Err}
	}
	if err != nil && root != "" {
		return errors.New(strings.ReplaceAll(err.Error(), root, ""))
	}
	return err
}
