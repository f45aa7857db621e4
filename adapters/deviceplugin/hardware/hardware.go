// Package hardware is what the device plugin asks of a vendor's library about the GPUs of this machine. hardware/nvidia answers
// it through NVML.
package hardware

import (
	"context"
	"errors"
	"time"
)

// Errors that callers tell apart; what a Library returns wraps them.
var (
	ErrInUse       = errors.New("in use")                  // an instance that something runs on
	ErrNoRoom      = errors.New("no room on the GPU")      // no such place is free
	ErrUnsupported = errors.New("not supported")           // of this GPU, or by this driver
	ErrLost        = errors.New("the GPU has been lost")   // fallen off the bus
	ErrUnknown     = errors.New("the GPU is not there")    // no such uuid, or no such instance
	ErrPending     = errors.New("takes effect on a reset") // a MIG mode that the driver has only noted
)

// GPU is one card.
type GPU struct {
	Index             int    // of NVML
	UUID              string // "GPU-…"
	Name              string // as NVML reports it: "NVIDIA A100-SXM4-40GB"
	MemoryBytes       uint64 // of the whole card
	Minor             int    // of /dev/nvidia<minor>; below 0: the library does not say
	ComputeCapability string // "8.0"
	PCIBus            string
	MigCapable        bool
	MigEnabled        bool
	Fault             error // what of it could not be read; a card with one is registered as not healthy
}

// Instance is a GPU instance with its compute instances.
type Instance struct {
	GI        uint32   // the driver's number
	ProfileID uint32   // NVML's, as nvmlDeviceCreateGpuInstanceWithPlacement takes it
	Start     uint32   // in memory slices
	Size      uint32   // likewise
	Compute   []uint32 // the numbers of its compute instances
	UUID      string   // of the MIG device, "MIG-…"; empty where it has no compute instance
	Busy      bool     // processes run on it
}

// EventKind is what NVML reports.
type EventKind int

// Of these only XidCritical makes a card unhealthy.
const (
	XidCritical EventKind = iota
	DoubleBitECC
	SingleBitECC
)

// Event is something that the driver reported.
type Event struct {
	UUID string // of the GPU; empty: the library could not say which
	Kind EventKind
	Xid  uint64
}

// Use is what runs on a card, or on one of its instances.
type Use struct {
	MemoryBytes uint64
	SMPercent   uint32 // of a second ago
}

// Process is one that runs on a card.
type Process struct {
	PID         uint32
	GI          uint32 // of its instance; NoInstance on a card without
	MemoryBytes uint64
}

// NoInstance is Process.GI of a card that is not cut.
const NoInstance = ^uint32(0)

// Library is a vendor's library. A GPU is named by its uuid. Calls may come from any goroutine.
type Library interface {
	// GPUs are the cards in the order of their indexes; the error is of the library as a whole.
	GPUs() ([]GPU, error)
	// Instances are those of a card, by ascending start.
	Instances(uuid string) ([]Instance, error)
	// CreateInstance makes a GPU instance at a place and one compute instance of all of it. When the compute instance fails, the
	// GPU instance is destroyed again.
	CreateInstance(uuid string, profileID, start, size uint32) (Instance, error)
	// DestroyInstance destroys the compute instances and then the GPU instance: ErrInUse, and all is as before as far as the
	// driver allows.
	DestroyInstance(uuid string, gi uint32) error
	// SetMigMode switches MIG on or off: ErrPending where it takes a reset.
	SetMigMode(uuid string, enabled bool) error
	// Use is that of the whole card.
	Use(uuid string) (Use, error)
	// Processes are those that run on a card.
	Processes(uuid string) ([]Process, error)
	// Watch registers the cards for events. Of a card that cannot be watched the error says why; errors.Is(err, ErrUnsupported)
	// is a card too old for it. The error is of the watch as a whole.
	Watch(uuids []string) (Watch, map[string]error, error)
	// Close gives the library back.
	Close() error
}

// Watch waits for events.
type Watch interface {
	// Next is the next event; ok is false when none came in that time. It ends early with the context.
	Next(ctx context.Context, wait time.Duration) (event Event, ok bool, err error)
	Close() error
}
