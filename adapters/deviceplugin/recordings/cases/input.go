// Package cases reads recorded cases of the node side: one JSON object a line, each with what a plugin was started with and what it
// answered.
package cases

import (
	"encoding/json"

	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// Case is one recorded case.
type Case struct {
	File   string   // it was read from
	Line   int      // in that file, from 1
	ID     string   `json:"id"`
	Family string   `json:"family"`
	Input  Input    `json:"input"`
	Output Output   `json:"output"`
	Others []Output `json:"other_outputs"` // of the same input in other runs
}

// Input is what the plugin and the machine around it start with, and what happens then.
type Input struct {
	Plugin          string            `json:"plugin"` // "vgpu" or "ascend"
	NodeName        string            `json:"node_name"`
	NodeAnnotations map[string]string `json:"node_annotations"`
	Env             map[string]string `json:"env"` // value "<unset>" removes a default
	Args            []string          `json:"args"`
	Pods            []Pod             `json:"pods"`
	APIFaults       []testbed.Fault   `json:"api_faults"`
	ToolFailures    []string          `json:"tool_failures"`
	Steps           []Step            `json:"steps"`

	ConfigMapNamespace string      `json:"configmap_namespace"`
	DeviceConfig       *string     `json:"device_config_yaml"`
	ConfigMapKey       string      `json:"configmap_key"`
	NodeConfig         *string     `json:"node_config_json"`
	PluginConfig       *string     `json:"plugin_config_yaml"`
	GPUs               []GPU       `json:"gpus"`
	MigInstances       []Instance  `json:"mig_instances"`
	MigIndexOrder      string      `json:"mig_index_order"`
	XidEvents          []XidEvent  `json:"xid_events"`
	NVMLFaults         []NVMLFault `json:"nvml_faults"`
	DevNodes           []string    `json:"dev_nodes"`

	NPU              json.RawMessage `json:"npu"`
	AscendConfig     *string         `json:"ascend_config_yaml"`
	AscendNodeConfig *string         `json:"ascend_node_config_yaml"`
	AssetsMissing    bool            `json:"assets_missing"`
}

// Pod is a pod on the API server.
type Pod struct {
	Namespace      string            `json:"namespace"`
	Name           string            `json:"name"`
	UID            string            `json:"uid"`
	NodeName       string            `json:"node_name"`
	Phase          string            `json:"phase"`
	Annotations    map[string]string `json:"annotations"`
	Containers     []Container       `json:"containers"`
	InitContainers []Container       `json:"init_containers"`
}

// Container is one of a pod.
type Container struct {
	Name string            `json:"name"`
	Env  map[string]string `json:"env"`
}

// Step is something that happens after the start.
type Step struct {
	Op                string          `json:"op"`
	Resource          string          `json:"resource"`
	ContainerRequests [][]string      `json:"container_requests"`
	Pod               *Pod            `json:"pod"`
	APIFaults         []testbed.Fault `json:"api_faults"`
	GPU               int             `json:"gpu"`
	Slot              int             `json:"slot"`
}

// GPU is a card; its index of NVML is its position.
type GPU struct {
	UUID              string `json:"uuid"`
	Name              string `json:"name"`
	MemoryBytes       uint64 `json:"memory_bytes"`
	Minor             int    `json:"minor"` // -1: NVML does not say
	ComputeCapability string `json:"compute_capability"`
	PCIBus            string `json:"pci_bus"`
	MigCapable        bool   `json:"mig_capable"`
	MigEnabled        bool   `json:"mig_enabled"`
	MigTable          string `json:"mig_table"`
}

// Instance is a GPU instance with one compute instance.
type Instance struct {
	GPU       int    `json:"gpu"`
	GI        uint32 `json:"gi"`
	ProfileID uint32 `json:"profile_id"`
	Start     uint32 `json:"start"`
	Size      uint32 `json:"size"`
	Busy      bool   `json:"busy"`
}

// XidEvent is an event of NVML.
type XidEvent struct {
	GPU  int    `json:"gpu"` // -1: one that cannot be named
	Xid  uint64 `json:"xid"`
	Type string `json:"type"` // xid, ecc_double, ecc_single
}

// NVMLFault lets a call of NVML fail after so many good ones.
type NVMLFault struct {
	Call       string `json:"call"`
	Return     int    `json:"nvml_return"`
	AfterCalls int    `json:"after_calls"`
}
