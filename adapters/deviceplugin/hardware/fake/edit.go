package fake

import (
	"fmt"
	"sort"
)

// MarkBusy lets an instance be in use, or idle again. An error if the card does not have it.
func (m *Machine) MarkBusy(gpu int, gi uint32, busy bool) error {
	return m.Edit(func(state *State) error {
		for row := range state.Instances {
			if instance := &state.Instances[row]; instance.GPU == gpu && instance.GI == gi {
				instance.Busy = busy
				return nil
			}
		}
		return fmt.Errorf("fake NVML: GPU %d has no GPU instance %d", gpu, gi)
	})
}

// MarkSlotBusy is a recorded case's step "set_busy": the instance of a card at this position by number, if there is one.
func (m *Machine) MarkSlotBusy(gpu, slot int) error {
	return m.Edit(func(state *State) error {
		var rows []int
		for row, instance := range state.Instances {
			if instance.GPU == gpu {
				rows = append(rows, row)
			}
		}
		sort.Slice(rows, func(left, right int) bool {
			return state.Instances[rows[left]].GI < state.Instances[rows[right]].GI
		})
		if slot >= 0 && slot < len(rows) {
			state.Instances[rows[slot]].Busy = true
		}
		return nil
	})
}

// AddEvents gives events to every event set of the machine's programs, and of those that start later where ReplayEvents is set.
func (m *Machine) AddEvents(events ...Event) error {
	return m.Edit(func(state *State) error {
		state.Events = append(state.Events, events...)
		return nil
	})
}

// AddFaults adds faults to those that are there. The first that matches a call decides what it answers.
func (m *Machine) AddFaults(faults ...Fault) error {
	return m.Edit(func(state *State) error {
		state.Faults = append(state.Faults, faults...)
		return nil
	})
}

// ClearFaults takes all faults away.
func (m *Machine) ClearFaults() error {
	return m.Edit(func(state *State) error {
		state.Faults = nil
		return nil
	})
}

// EditGPU changes one card: Lost, UsedBytes, Processes and the like.
func (m *Machine) EditGPU(index int, change func(*GPU)) error {
	return m.Edit(func(state *State) error {
		if index < 0 || index >= len(state.GPUs) {
			return fmt.Errorf("fake NVML: no GPU %d, there are %d", index, len(state.GPUs))
		}
		change(&state.GPUs[index])
		return nil
	})
}

// Reset is what a reset of a card does: its pending MIG mode becomes the current one and, where that changes the mode, its
// instances are gone.
func (m *Machine) Reset(index int) error {
	return m.Edit(func(state *State) error {
		if index < 0 || index >= len(state.GPUs) {
			return fmt.Errorf("fake NVML: no GPU %d, there are %d", index, len(state.GPUs))
		}
		gpu := &state.GPUs[index]
		if gpu.MigPending == nil || *gpu.MigPending == gpu.MigEnabled {
			gpu.MigPending = nil
			return nil
		}
		gpu.MigEnabled, gpu.MigPending = *gpu.MigPending, nil
		others := state.Instances[:0:0]
		for _, instance := range state.Instances {
			if instance.GPU != index {
				others = append(others, instance)
			}
		}
		state.Instances = others
		return nil
	})
}
