package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// Profiles of the models that tests use: A100-40GB, whose table is that of the H100-80GB too, and A30.
type memoryProfile struct {
	compute, size uint32
	starts        []uint32
}

var sevenSlices = map[uint32]memoryProfile{
	19: {1, 1, []uint32{0, 1, 2, 3, 4, 5, 6}}, 15: {1, 2, []uint32{0, 2, 4, 6}}, 14: {2, 2, []uint32{0, 2, 4}},
	9: {3, 4, []uint32{0, 4}}, 5: {4, 4, []uint32{0}}, 0: {7, 8, []uint32{0}},
}

var fourSlices = map[uint32]memoryProfile{14: {1, 1, []uint32{0, 1, 2, 3}}, 5: {2, 2, []uint32{0, 2}}, 0: {4, 4, []uint32{0}}}

const (
	a100 = "NVIDIA A100-SXM4-40GB"
	a30  = "NVIDIA A30"
	h100 = "NVIDIA H100 80GB HBM3"
)

// memory is a machine in memory that keeps the rules of placements, compute slices and busy instances.
type memory struct {
	lock      sync.Mutex
	gpus      []hardware.GPU
	instances map[string][]hardware.Instance
	processes map[string][]hardware.Process
	pending   bool                                    // a MIG mode takes a reset
	delay     func(call string) time.Duration         // how long a call takes; nil: no time
	fault     func(call, uuid string, at place) error // instead of a call; nil: none
	log       []string                                // of changing calls that were carried out
	inUse     int                                     // destroys of instances in use that were tried
	calls     int                                     // that change something, also those that failed
	killAt    int                                     // this call is the last one; 0: none
	killWhen  killMoment
	dead      bool
}

// killMoment is where in a changing call the program is killed.
type killMoment int

const (
	killBefore killMoment = iota
	killHalfWay
	killAfter
)

// errKilled is what a program would not live to see.
var errKilled = errors.New("killed")

func newMemory(names ...string) *memory {
	result := &memory{instances: map[string][]hardware.Instance{}, processes: map[string][]hardware.Process{}}
	for index, name := range names {
		result.gpus = append(result.gpus, hardware.GPU{Index: index, UUID: fmt.Sprintf("GPU-%d", index), Name: name, Minor: index,
			MigCapable: name != "Tesla T4", MigEnabled: name != "Tesla T4"})
	}
	return result
}

func (m *memory) row(uuid string) int {
	return slices.IndexFunc(m.gpus, func(gpu hardware.GPU) bool { return gpu.UUID == uuid })
}

func (m *memory) begin(call string) error {
	if m.delay != nil {
		time.Sleep(m.delay(call))
	}
	m.lock.Lock()
	if m.dead {
		return errKilled
	}
	return nil
}

func (m *memory) GPUs() ([]hardware.GPU, error) {
	err := m.begin("GPUs")
	defer m.lock.Unlock()
	return slices.Clone(m.gpus), err
}

func (m *memory) Instances(uuid string) ([]hardware.Instance, error) {
	err := m.begin("Instances")
	defer m.lock.Unlock()
	if err == nil && m.fault != nil {
		err = m.fault("instances", uuid, place{})
	}
	if err != nil {
		return nil, err
	}
	result := slices.Clone(m.instances[uuid])
	for row := range result {
		result[row].Compute = slices.Clone(result[row].Compute)
	}
	return result, nil
}

// change begins a changing call: is says whether it happens at all, and half whether it stops half way.
func (m *memory) change(call, uuid string, at place) (half bool, err error) {
	m.calls++
	isLast := m.killAt == m.calls
	m.dead = m.dead || isLast
	if isLast && m.killWhen == killBefore {
		return false, errKilled
	}
	if m.fault != nil {
		err = m.fault(call, uuid, at)
	}
	return isLast && m.killWhen == killHalfWay, err
}

func (m *memory) CreateInstance(uuid string, profileID, start, size uint32) (hardware.Instance, error) {
	err := m.begin("CreateInstance")
	defer m.lock.Unlock()
	if err != nil {
		return hardware.Instance{}, err
	}
	half, err := m.change("create", uuid, place{profileID, start})
	if err != nil {
		return hardware.Instance{}, err
	}
	table, slicesMax := sevenSlices, uint32(7)
	if m.gpus[m.row(uuid)].Name == a30 {
		table, slicesMax = fourSlices, 4
	}
	kind, is := table[profileID]
	if !is || kind.size != size || !slices.Contains(kind.starts, start) {
		return hardware.Instance{}, fmt.Errorf("%w: no profile %d at %d:%d", hardware.ErrUnsupported, profileID, start, size)
	}
	compute := kind.compute
	for _, other := range m.instances[uuid] {
		compute += table[other.ProfileID].compute
		if other.Start < start+size && start < other.Start+other.Size {
			return hardware.Instance{}, fmt.Errorf("%w: %d:%d", hardware.ErrNoRoom, start, size)
		}
	}
	if compute > slicesMax {
		return hardware.Instance{}, fmt.Errorf("%w: compute slices", hardware.ErrNoRoom)
	}
	result := hardware.Instance{GI: profileID*8 + 7 - start, ProfileID: profileID, Start: start, Size: size}
	if !half {
		result.Compute, result.UUID = []uint32{0}, migUUID(uuid, profileID, start)
	}
	m.instances[uuid] = append([]hardware.Instance{result}, m.instances[uuid]...) // in no useful order
	m.log = append(m.log, fmt.Sprintf("create %s %d@%d", uuid, profileID, start))
	if m.dead {
		return result, errKilled
	}
	return result, nil
}

func migUUID(uuid string, profileID, start uint32) string {
	return fmt.Sprintf("MIG-%s-%d-%d", uuid, profileID, start)
}

func (m *memory) DestroyInstance(uuid string, gi uint32) error {
	err := m.begin("DestroyInstance")
	defer m.lock.Unlock()
	if err != nil {
		return err
	}
	row := slices.IndexFunc(m.instances[uuid], func(instance hardware.Instance) bool { return instance.GI == gi })
	if row < 0 {
		return hardware.ErrUnknown
	}
	instance := m.instances[uuid][row]
	half, err := m.change("destroy", uuid, placeOf(instance))
	if err != nil {
		return err
	}
	if instance.Busy {
		m.inUse++
		return hardware.ErrInUse
	}
	m.log = append(m.log, fmt.Sprintf("destroy %s %s", uuid, placeOf(instance).text()))
	if half {
		m.instances[uuid][row].Compute, m.instances[uuid][row].UUID = nil, ""
		return errKilled
	}
	m.instances[uuid] = slices.Delete(m.instances[uuid], row, row+1)
	if m.dead {
		return errKilled
	}
	return nil
}

func (m *memory) SetMigMode(uuid string, enabled bool) error {
	err := m.begin("SetMigMode")
	defer m.lock.Unlock()
	if err != nil {
		return err
	}
	if _, err := m.change("mode", uuid, place{}); err != nil {
		return err
	}
	m.log = append(m.log, fmt.Sprintf("mode %s %v", uuid, enabled))
	if m.pending {
		return hardware.ErrPending
	}
	m.gpus[m.row(uuid)].MigEnabled = enabled
	if m.dead {
		return errKilled
	}
	return nil
}

func (m *memory) Processes(uuid string) ([]hardware.Process, error) {
	err := m.begin("Processes")
	defer m.lock.Unlock()
	return m.processes[uuid], err
}

func (m *memory) Use(string) (hardware.Use, error) { return hardware.Use{}, nil }
func (m *memory) Close() error                     { return nil }
func (m *memory) Watch([]string) (hardware.Watch, map[string]error, error) {
	return nil, nil, hardware.ErrUnsupported
}

// put makes instances at the start of a test: profile number and start each.
func (m *memory) put(uuid string, places ...place) {
	for _, at := range places {
		size := sevenSlices[at.ProfileID].size
		if m.gpus[m.row(uuid)].Name == a30 {
			size = fourSlices[at.ProfileID].size
		}
		if _, err := m.CreateInstance(uuid, at.ProfileID, at.Start, size); err != nil {
			panic(err)
		}
	}
	m.log, m.calls = nil, 0
}

func (m *memory) setBusy(uuid string, at place, busy bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for row, instance := range m.instances[uuid] {
		if placeOf(instance) == at {
			m.instances[uuid][row].Busy = busy
		}
	}
}

// holds are the instances of a GPU, sorted, in words: "9@4".
func (m *memory) holds(uuid string) []string {
	m.lock.Lock()
	defer m.lock.Unlock()
	var result []string
	for _, instance := range m.instances[uuid] {
		result = append(result, placeOf(instance).text())
	}
	slices.Sort(result)
	return result
}

// revive lets another program use the machine.
func (m *memory) revive() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.dead, m.killAt, m.calls, m.log = false, 0, 0, nil
}

var _ hardware.Library = (*memory)(nil)

var background = context.Background()
