// Package fake writes and edits the state of the fake NVML (tests/fake_nvml): one JSON file that stands for the GPUs of a machine,
// and that outlives the programs that use them. It is for tests only.
//
// A program that loads the fake library takes the file's path from the environment variable Variable, each time that it calls
// nvmlInit while the library is not initialised: at one time a process sees one machine.
package fake

// Variable is the environment variable with the path of the state file.
const Variable = "VGPUALLOC_FAKE_NVML"

// State is the machine. Its first fields are spelled as the recorded cases spell them, so that a case's input can be used as it is.
type State struct {
	GPUs []GPU `json:"gpus"` // by NVML index
	// Instances are the GPU instances of all cards.
	Instances []Instance `json:"mig_instances"`
	// IndexOrder is the order of the MIG devices of a card by index: ascending GPU instance, or "reverse".
	IndexOrder string  `json:"mig_index_order,omitempty"`
	Events     []Event `json:"xid_events,omitempty"` // added to by tests, never taken from
	// ReplayEvents lets an event set get the events from before it was made too.
	ReplayEvents bool      `json:"replay_events,omitempty"`
	Faults       []Fault   `json:"nvml_faults,omitempty"`
	MigUUIDs     []MigUUID `json:"mig_uuids,omitempty"` // of other MIG devices the uuid is a hash of the same four numbers
}

// GPU is one card.
type GPU struct {
	UUID              string `json:"uuid"`
	Name              string `json:"name"`
	MemoryBytes       uint64 `json:"memory_bytes"`
	Minor             int    `json:"minor"` // -1: the library answers NOT_SUPPORTED
	ComputeCapability string `json:"compute_capability,omitempty"`
	PCIBus            string `json:"pci_bus,omitempty"`
	MigCapable        bool   `json:"mig_capable,omitempty"`
	MigEnabled        bool   `json:"mig_enabled,omitempty"`
	// MigTable names the profiles: "a100-40", "a100-80", "h100-80" and "a30" are those of the recordings, without engines and without
	// a limit of instances; any name of a model of the catalog ("A100-40GB") has its own; "none" has none. Empty: the model
	// that the catalog finds by Name, none if it finds none.
	MigTable string `json:"mig_table,omitempty"`
	// MigNeedsReset makes a change of the MIG mode pending. MigPending is the mode that waits; nil: nothing waits.
	MigNeedsReset bool  `json:"mig_needs_reset,omitempty"`
	MigPending    *bool `json:"mig_pending,omitempty"`
	// Lost: every call on the card, its instances too, answers GPU_IS_LOST. It keeps its index.
	Lost      bool      `json:"lost,omitempty"`
	UsedBytes uint64    `json:"used_bytes,omitempty"`
	SMPercent uint32    `json:"sm_percent,omitempty"`
	Processes []Process `json:"processes,omitempty"`
}

// Instance is a GPU instance.
type Instance struct {
	GPU       int    `json:"gpu"` // index
	GI        uint32 `json:"gi"`
	ProfileID uint32 `json:"profile_id"`
	Start     uint32 `json:"start"` // in memory slices
	Size      uint32 `json:"size"`
	Busy      bool   `json:"busy,omitempty"` // its destroys answer IN_USE
	// Compute are its compute instances. nil: one that is all of it; an empty list: none.
	Compute []ComputeInstance `json:"compute"`
}

// ComputeInstance is one of a GPU instance.
type ComputeInstance struct {
	CI      uint32 `json:"ci"`
	Profile uint32 `json:"profile"` // NVML's index of compute instance profiles: 0 is 1 slice, 1 is 2, 2 is 3, 3 is 4, 4 is 7
}

// Process runs on a card.
type Process struct {
	PID         uint32  `json:"pid"`
	GI          *uint32 `json:"gi,omitempty"` // nil: on the card itself; of an instance: it is busy
	MemoryBytes uint64  `json:"memory_bytes"`
}

// Kinds of events.
const (
	EventXid       = "xid"
	EventECCDouble = "ecc_double"
	EventECCSingle = "ecc_single"
)

// Event reaches every event set that the card is registered with.
type Event struct {
	GPU  int    `json:"gpu"` // index; -1: a handle whose uuid cannot be read, which every set gets
	Xid  uint64 `json:"xid"`
	Type string `json:"type"` // EventXid, EventECCDouble, EventECCSingle
}

// Fault changes what calls answer. Its counts are in the file, where all programs share them: a fault that is taken away and added
// again starts anew.
type Fault struct {
	// Call is the exported name without its version: "nvmlDeviceGetUUID". "nvmlDeviceCreateGpuInstance" is
	// "nvmlDeviceCreateGpuInstanceWithPlacement" too.
	Call       string `json:"call"`
	GPU        string `json:"gpu_uuid,omitempty"` // of this card only; empty: of all
	Return     int    `json:"nvml_return"`        // what is answered instead; 0: the call is carried out
	AfterCalls int    `json:"after_calls"`        // so many calls that succeed come before
	Times      int    `json:"times,omitempty"`    // so many calls meet it; 0: all that follow
	DelayMS    int    `json:"delay_ms,omitempty"` // how long they take
	Kill       string `json:"kill,omitempty"`     // the process ends by SIGKILL: KillBefore, KillAfter
	// GoodCalls and Met are the library's counts so far: of calls that succeeded, up to AfterCalls, and, where Times is set, of those
	// that met the fault.
	GoodCalls int `json:"good_calls,omitempty"`
	Met       int `json:"met,omitempty"`
}

// Where a fault ends the process: before the call does anything, or when the machine has changed and the caller does not know it.
const (
	KillBefore = "before"
	KillAfter  = "after"
)

// MigUUID is the uuid of one MIG device.
type MigUUID struct {
	GPU       string `json:"gpu_uuid"`
	GI        uint32 `json:"gi"`
	CI        uint32 `json:"ci"`
	ProfileID uint32 `json:"profile_id"`
	UUID      string `json:"uuid"`
}

// Results of NVML for Fault.Return.
const (
	ReturnNotSupported          = 3
	ReturnNoPermission          = 4
	ReturnNotFound              = 6
	ReturnTimeout               = 10
	ReturnGPUIsLost             = 15
	ReturnResetRequired         = 16
	ReturnInUse                 = 19
	ReturnInsufficientResources = 23
	ReturnUnknown               = 999
)
