package model

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// kind is a profile of GPU instances: how many slices it takes and where it may start.
type kind struct {
	id      uint32 // NVML's
	order   int    // its index among NVML's profiles, in which instances are destroyed
	compute int
	size    uint32
	starts  []uint32
	numbers [2]uint32 // first and last GI number
	names   map[string]string
}

// Slices of a card of each table.
var tables = map[string]uint32{"a100-40": 8, "a100-80": 8, "h100-80": 8, "a30": 4}

var sevenSlices = []kind{
	{19, 0, 1, 1, []uint32{0, 1, 2, 3, 4, 5, 6}, [2]uint32{7, 13}, map[string]string{"a100-40": "1g.5gb", "a100-80": "1g.10gb", "h100-80": "1g.10gb"}},
	{20, 7, 1, 1, []uint32{0, 1, 2, 3, 4, 5, 6}, [2]uint32{7, 13}, map[string]string{"a100-40": "1g.5gb+me", "a100-80": "1g.10gb+me", "h100-80": "1g.10gb+me"}},
	{15, 9, 1, 2, []uint32{0, 2, 4, 6}, [2]uint32{3, 6}, map[string]string{"a100-40": "1g.10gb", "a100-80": "1g.20gb", "h100-80": "1g.20gb"}},
	{14, 1, 2, 2, []uint32{0, 2, 4}, [2]uint32{3, 6}, map[string]string{"a100-40": "2g.10gb", "a100-80": "2g.20gb", "h100-80": "2g.20gb"}},
	{9, 2, 3, 4, []uint32{0, 4}, [2]uint32{1, 2}, map[string]string{"a100-40": "3g.20gb", "a100-80": "3g.40gb", "h100-80": "3g.40gb"}},
	{5, 3, 4, 4, []uint32{0}, [2]uint32{1, 2}, map[string]string{"a100-40": "4g.20gb", "a100-80": "4g.40gb", "h100-80": "4g.40gb"}},
	{0, 4, 7, 8, []uint32{0}, [2]uint32{0, 0}, map[string]string{"a100-40": "7g.40gb", "a100-80": "7g.80gb", "h100-80": "7g.80gb"}},
}

var fourSlices = []kind{
	{14, 0, 1, 1, []uint32{0, 1, 2, 3}, [2]uint32{3, 6}, map[string]string{"a30": "1g.6gb"}},
	{5, 1, 2, 2, []uint32{0, 2}, [2]uint32{1, 2}, map[string]string{"a30": "2g.12gb"}},
	{0, 3, 4, 4, []uint32{0}, [2]uint32{0, 0}, map[string]string{"a30": "4g.24gb"}},
}

func kindsOf(table string) []kind {
	switch {
	case table == "a30":
		return fourSlices
	case tables[table] != 0:
		return sevenSlices
	}
	return nil
}

// instance is a GPU instance.
type instance struct {
	gpu         int
	gi          uint32
	kind        *kind
	start       uint32
	busy        bool
	withCompute bool
}

// hardware is what the fake NVML holds.
type hardware struct {
	gpus      []cases.GPU
	enabled   []bool
	instances []instance
	reverse   bool
	faults    []cases.NVMLFault
	calls     map[string]int // good ones, of all processes
	shown     string         // the state that was last recorded
}

func newHardware(in *cases.Input) *hardware {
	h := &hardware{gpus: in.GPUs, reverse: in.MigIndexOrder == "reverse", faults: in.NVMLFaults}
	for _, gpu := range in.GPUs {
		h.enabled = append(h.enabled, gpu.MigEnabled)
	}
	for _, unit := range in.MigInstances {
		if k := h.kindByID(unit.GPU, unit.ProfileID); k != nil {
			h.instances = append(h.instances, instance{unit.GPU, unit.GI, k, unit.Start, unit.Busy, true})
		}
	}
	h.calls = map[string]int{}
	h.shown = h.state()
	return h
}

// fails counts a call and says whether it fails.
func (h *hardware) fails(call string) bool {
	for _, fault := range h.faults {
		if fault.Call == call && h.calls[call] >= fault.AfterCalls {
			return true
		}
	}
	h.calls[call]++
	return false
}

func (h *hardware) kindByID(gpu int, id uint32) *kind {
	kinds := kindsOf(h.gpus[gpu].MigTable)
	for i := range kinds {
		if kinds[i].id == id {
			return &kinds[i]
		}
	}
	return nil
}

func (h *hardware) kindByName(gpu int, name string) *kind {
	table := h.gpus[gpu].MigTable
	kinds := kindsOf(table)
	for i := range kinds {
		if kinds[i].names[table] == name {
			return &kinds[i]
		}
	}
	return nil
}

// of are the instances of a card by their numbers.
func (h *hardware) of(gpu int) []*instance {
	var result []*instance
	for i := range h.instances {
		if h.instances[i].gpu == gpu {
			result = append(result, &h.instances[i])
		}
	}
	sort.Slice(result, func(i, j int) bool { return result[i].gi < result[j].gi })
	return result
}

func (h *hardware) setBusy(gpu, slot int) {
	if of := h.of(gpu); slot < len(of) {
		of[slot].busy = true
	}
}

// counts are the instances of a card by name of profile.
func (h *hardware) counts(gpu int) map[string]int {
	result := map[string]int{}
	for _, unit := range h.of(gpu) {
		result[unit.kind.names[h.gpus[gpu].MigTable]]++
	}
	return result
}

// create makes an instance at the first free place.
func (h *hardware) create(gpu int, k *kind) bool {
	if h.fails("nvmlDeviceCreateGpuInstance") {
		return false
	}
	compute := k.compute
	taken, numbers := map[uint32]bool{}, map[uint32]bool{}
	for _, other := range h.of(gpu) {
		compute += other.kind.compute
		numbers[other.gi] = true
		for slice := other.start; slice < other.start+other.kind.size; slice++ {
			taken[slice] = true
		}
	}
	limit := 7
	if tables[h.gpus[gpu].MigTable] == 4 {
		limit = 4
	}
	if compute > limit {
		return false
	}
	at := slices.IndexFunc(k.starts, func(start uint32) bool {
		for slice := start; slice < start+k.size; slice++ {
			if taken[slice] {
				return false
			}
		}
		return true
	})
	if at < 0 {
		return false
	}
	gi := k.numbers[0] + k.starts[at]/k.size
	for numbers[gi] {
		gi++
	}
	unit := instance{gpu: gpu, gi: gi, kind: k, start: k.starts[at]}
	unit.withCompute = !h.fails("nvmlGpuInstanceCreateComputeInstance")
	h.instances = append(h.instances, unit)
	return unit.withCompute
}

// clear destroys the instances of a card by kind and number, up to the first one that cannot be.
func (h *hardware) clear(gpu int) bool {
	of := h.of(gpu)
	sort.SliceStable(of, func(i, j int) bool { return of[i].kind.order < of[j].kind.order })
	numbers := make([]uint32, len(of))
	for i, unit := range of {
		numbers[i] = unit.gi
	}
	for _, gi := range numbers {
		at := slices.IndexFunc(h.instances, func(unit instance) bool { return unit.gpu == gpu && unit.gi == gi })
		if h.instances[at].withCompute {
			if h.instances[at].busy || h.fails("nvmlComputeInstanceDestroy") {
				return false
			}
			h.instances[at].withCompute = false
		}
		if h.fails("nvmlGpuInstanceDestroy") {
			return false
		}
		h.instances = slices.Delete(h.instances, at, at+1)
	}
	return true
}

// handle is the MIG device with an index of a card.
func (h *hardware) handle(gpu, index int) *instance {
	of := slices.DeleteFunc(h.of(gpu), func(unit *instance) bool { return !unit.withCompute })
	if h.reverse {
		slices.Reverse(of)
	}
	if index < 0 || index >= len(of) {
		return nil
	}
	return of[index]
}

// name is how an instance is called in a prediction: the recorded uuids are hashes that only the fake library knows.
func (i *instance) name() string {
	return fmt.Sprintf("MIG(gpu %d, profile %d at %d)", i.gpu, i.kind.id, i.start)
}

// state is the list of all instances.
func (h *hardware) state() string {
	var rows []string
	for gpu := range h.gpus {
		for _, unit := range h.of(gpu) {
			rows = append(rows, fmt.Sprintf("%d %d at %d+%d busy %v;", gpu, unit.kind.id, unit.start, unit.kind.size, unit.busy))
		}
	}
	return strings.Join(rows, " ")
}

// show notes the instances in a step's output if they have changed, and after each set_busy.
func (h *hardware) show(s *step, op string) {
	state := h.state()
	if state == h.shown && op != "set_busy" {
		return
	}
	h.shown = state
	for gpu := range h.gpus {
		for _, unit := range h.of(gpu) {
			busy := 0.0
			if unit.busy {
				busy = 1
			}
			uuid := unit.name()
			if !unit.withCompute {
				uuid = ""
			}
			s.out.Mig = append(s.out.Mig, []any{float64(gpu), float64(unit.gi), float64(unit.kind.id), float64(unit.start), float64(unit.kind.size), busy, uuid})
		}
	}
}
