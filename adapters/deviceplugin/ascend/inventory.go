package ascend

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
)

// chipState is a chip and what was last read of its health.
type chipState struct {
	chips.Chip
	isHealthy bool
	why       string // it is not; empty: it is
}

// inventory are the chips of this node that pods may have, as they were last read.
type inventory struct {
	library chips.Library
	filter  func(chip chips.Chip) bool

	idle map[idlePart]bool // parts that no container had when they were looked for last; of one goroutine

	mutex sync.Mutex
	chips []chipState // their order and number never shrink, so that indexes stay
}

// idlePart is a part of a chip.
type idlePart struct {
	logicID int32
	part    uint32
}

// states are the chips now.
func (v *inventory) states() []chipState {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return append([]chipState(nil), v.chips...)
}

// find is the chip with a vdie.
func (v *inventory) find(vdie string) (chipState, bool) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for _, chip := range v.chips {
		if chip.VDie == vdie {
			return chip, true
		}
	}
	return chipState{}, false
}

// read reads all chips and their health anew: changed is whether one has come, or another health. A chip that is no longer listed stays
// as one that is not healthy. With an error nothing was learned.
func (v *inventory) read(ctx context.Context) (changed bool, err error) {
	listed, err := v.library.Chips(ctx)
	if err != nil {
		return false, err
	}
	fresh := map[string]chipState{}
	var order []string
	var failure error
	failures := 0
	for _, chip := range listed {
		if v.filter(chip) {
			continue
		}
		if chip.VDie == "" {
			return false, fmt.Errorf("vdie of the chip with logic id %d: empty, expected its id", chip.LogicID)
		}
		if _, is := fresh[chip.VDie]; is {
			return false, fmt.Errorf("vdie %s: two chips have it, expected one", chip.VDie)
		}
		state := chipState{Chip: chip}
		code, err := v.library.Health(ctx, chip)
		switch {
		case err != nil:
			failure, failures = err, failures+1
			state.why = err.Error()
		case code != 0:
			state.why = "health code " + strconv.FormatUint(uint64(code), 10)
		default:
			state.isHealthy = true
		}
		fresh[chip.VDie] = state
		order = append(order, chip.VDie)
	}
	if failures > 0 && failures == len(order) { // that is no chip's fault
		return false, failure
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for i := range v.chips {
		before := v.chips[i].isHealthy
		if now, is := fresh[v.chips[i].VDie]; is {
			v.chips[i] = now
			delete(fresh, now.VDie)
		} else {
			v.chips[i].isHealthy, v.chips[i].why = false, "it is not listed any more"
		}
		changed = changed || v.chips[i].isHealthy != before
	}
	for _, vdie := range order {
		if state, is := fresh[vdie]; is {
			v.chips = append(v.chips, state)
			changed = true
		}
	}
	return changed, nil
}

// devicesOf is the kubelet's list: so many slots of each chip.
func devicesOf(chips []chipState, slots int) []*pluginapi.Device {
	devices := make([]*pluginapi.Device, 0, len(chips)*slots)
	for _, chip := range chips {
		health := pluginapi.Unhealthy
		if chip.isHealthy {
			health = pluginapi.Healthy
		}
		for i := range slots {
			devices = append(devices, &pluginapi.Device{ID: chip.VDie + "-" + strconv.Itoa(i), Health: health})
		}
	}
	return devices
}

// destroyIdle destroys the parts of chips that no container has: all of them, or those that were idle at the last look too, because the
// container runtime makes a part before the container has it. What cannot be destroyed is in the error; the others are destroyed.
func (v *inventory) destroyIdle(ctx context.Context, all bool) error {
	chips, err := v.library.Chips(ctx)
	if err != nil {
		return fmt.Errorf("looking for idle vNPUs: %w", err)
	}
	before := v.idle
	v.idle = map[idlePart]bool{}
	var failures []error
	for _, chip := range chips {
		if v.filter(chip) {
			continue
		}
		parts, err := v.library.VNPUs(ctx, chip)
		if err != nil {
			failures = append(failures, fmt.Errorf("vNPUs of chip %d: %w", chip.LogicID, err))
			continue
		}
		for _, part := range parts {
			key := idlePart{chip.LogicID, part.ID}
			if part.ContainerUsed {
				continue
			}
			if !all && !before[key] {
				v.idle[key] = true
				continue
			}
			if err = v.library.DestroyVNPU(ctx, chip, part.ID); err != nil {
				v.idle[key] = true
				failures = append(failures, fmt.Errorf("destroying vNPU %d of chip %d: %w", part.ID, chip.LogicID, err))
			}
		}
	}
	return errors.Join(failures...)
}
