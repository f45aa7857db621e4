// Package fakechips is a chips.Library without a driver: chips that a test describes, with faults for each call, and a list of
// the changing calls that reached it. The members of Machine are spelled in JSON as recordings of the node side spell them.
package fakechips

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
)

// Names of calls in Machine.Faults: those of the vendor's library.
const (
	ChipType    = "GetDevType"
	List        = "GetDeviceList"
	PhysicalID  = "GetPhysicIDFromLogicID"
	Health      = "GetDeviceHealth"
	VNPUs       = "GetVirtualDeviceInfo"
	DestroyVNPU = "DestroyVirtualDevice"
)

// VNPU is a part of a chip.
type VNPU struct {
	ID            uint32 `json:"id"`
	Template      string `json:"template"`
	ContainerUsed uint32 `json:"container_used"`
	DestroyFails  bool   `json:"destroy_fails"`
}

// NPU is a chip.
type NPU struct {
	LogicID    int32  `json:"logic_id"`
	PhyID      int32  `json:"phy_id"`
	CardID     int32  `json:"card_id"`
	DeviceID   int32  `json:"device_id"`
	VDie       string `json:"vdie"`
	HealthCode uint32 `json:"health_code"`
	VNPUs      []VNPU `json:"vnpus"`
}

// Machine is what the library answers.
type Machine struct {
	ChipType string            `json:"chip_type"`
	ChipName string            `json:"chip_name"`
	NPUs     []NPU             `json:"npus"`
	Faults   map[string]string `json:"faults"` // the message with which a call fails
}

// Library answers from a Machine. Its methods may be called from any goroutine.
type Library struct {
	mutex   sync.Mutex
	machine Machine
	calls   []string
}

var _ chips.Library = (*Library)(nil)

// New is a library on a copy of this machine.
func New(machine Machine) *Library {
	library := &Library{machine: machine}
	library.machine.NPUs = slices.Clone(machine.NPUs)
	for i := range library.machine.NPUs {
		library.machine.NPUs[i].VNPUs = slices.Clone(machine.NPUs[i].VNPUs)
	}
	return library
}

// Edit changes the machine.
func (l *Library) Edit(change func(machine *Machine)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change(&l.machine)
}

// SetHealth sets the health code of the chip at a position of the list.
func (l *Library) SetHealth(position int, code uint32) {
	l.Edit(func(machine *Machine) { machine.NPUs[position].HealthCode = code })
}

// Calls are the changing calls with their results: "DestroyVirtualDevice logic=0 id=105 -> ok".
func (l *Library) Calls() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.calls)
}

// fault is why a call fails. The caller holds the mutex.
func (l *Library) fault(call string) error {
	if message, fails := l.machine.Faults[call]; fails {
		return errors.New(message)
	}
	return nil
}

// Model is chips.Library's.
func (l *Library) Model(context.Context) (chips.Model, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return chips.Model{Type: l.machine.ChipType, Name: l.machine.ChipName}, l.fault(ChipType)
}

// Chips is chips.Library's.
func (l *Library) Chips(context.Context) ([]chips.Chip, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.fault(List); err != nil {
		return nil, err
	}
	listed := make([]chips.Chip, 0, len(l.machine.NPUs))
	for _, npu := range l.machine.NPUs {
		if err := l.fault(PhysicalID); err != nil {
			return nil, err
		}
		listed = append(listed, chips.Chip{LogicID: npu.LogicID, PhyID: npu.PhyID, CardID: npu.CardID, DeviceID: npu.DeviceID, VDie: npu.VDie})
	}
	return listed, nil
}

// npu is the chip with this logic id. The caller holds the mutex.
func (l *Library) npu(logicID int32) (*NPU, error) {
	for i := range l.machine.NPUs {
		if l.machine.NPUs[i].LogicID == logicID {
			return &l.machine.NPUs[i], nil
		}
	}
	return nil, fmt.Errorf("logic id %d: there is no such chip", logicID)
}

// Health is chips.Library's.
func (l *Library) Health(_ context.Context, chip chips.Chip) (uint32, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.fault(Health); err != nil {
		return 0, err
	}
	npu, err := l.npu(chip.LogicID)
	if err != nil {
		return 0, err
	}
	return npu.HealthCode, nil
}

// VNPUs is chips.Library's.
func (l *Library) VNPUs(_ context.Context, chip chips.Chip) ([]chips.VNPU, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.fault(VNPUs); err != nil {
		return nil, err
	}
	npu, err := l.npu(chip.LogicID)
	if err != nil {
		return nil, err
	}
	parts := make([]chips.VNPU, 0, len(npu.VNPUs))
	for _, part := range npu.VNPUs {
		parts = append(parts, chips.VNPU{ID: part.ID, Template: part.Template, ContainerUsed: part.ContainerUsed != 0})
	}
	return parts, nil
}

// DestroyVNPU is chips.Library's.
func (l *Library) DestroyVNPU(_ context.Context, chip chips.Chip, id uint32) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	err := l.fault(DestroyVNPU)
	if err == nil {
		err = l.destroy(chip.LogicID, id)
	}
	result := "ok"
	if err != nil {
		result = "error"
	}
	l.calls = append(l.calls, fmt.Sprintf("%s logic=%d id=%d -> %s", DestroyVNPU, chip.LogicID, id, result))
	return err
}

func (l *Library) destroy(logicID int32, id uint32) error {
	npu, err := l.npu(logicID)
	if err != nil {
		return err
	}
	at := -1
	for i, part := range npu.VNPUs { // recordings have ids twice
		if part.ID != id {
			continue
		}
		if part.DestroyFails {
			return fmt.Errorf("vNPU %d of logic id %d: the driver does not destroy it", id, logicID)
		}
		if at < 0 || part.ContainerUsed == 0 {
			at = i
		}
	}
	if at < 0 {
		return fmt.Errorf("vNPU %d of logic id %d: there is no such part", id, logicID)
	}
	npu.VNPUs = slices.Delete(npu.VNPUs, at, at+1)
	return nil
}
