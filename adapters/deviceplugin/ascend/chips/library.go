// Package chips is what the node side asks of the driver of Ascend chips: a library of calls, and programs that are run.
package chips

import "context"

// Model is what kind of chip a machine has: its chips are of one kind.
type Model struct {
	Type string // "Ascend"
	Name string // as the driver says it: "910B3", "310P3", "Ascend910"
}

// Chip is one NPU.
type Chip struct {
	LogicID  int32
	PhyID    int32 // what ASCEND_VISIBLE_DEVICES counts
	CardID   int32 // of the board that it is on; npu-smi's -i
	DeviceID int32 // on that board; npu-smi's -c
	VDie     string
}

// VNPU is a part of a chip that the driver has cut off.
type VNPU struct {
	ID            uint32
	Template      string // "vir05_1c_16g"; empty: the library does not say
	ContainerUsed bool   // a container has it
}

// Library is the vendor's library, or stands for it: npusmi asks the driver's tool, fakechips is for tests. Calls may come from
// any goroutine.
type Library interface {
	// Model is the kind of the chips.
	Model(ctx context.Context) (Model, error)
	// Chips are those of the machine in the order of their logic ids.
	Chips(ctx context.Context) ([]Chip, error)
	// Health is the driver's code of a chip's health; 0 is healthy.
	Health(ctx context.Context, chip Chip) (uint32, error)
	// VNPUs are the parts of a chip.
	VNPUs(ctx context.Context, chip Chip) ([]VNPU, error)
	// DestroyVNPU gives a part back to its chip.
	DestroyVNPU(ctx context.Context, chip Chip, id uint32) error
}
