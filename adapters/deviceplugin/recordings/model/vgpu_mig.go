package model

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// readPicture is what upstream knows of the cards' instances: the export of nvidia-mig-parted at the start. Where cards of several
// models are in the machine the export has filters, which upstream does not understand: it knows nothing then.
func (m *machine) readPicture() {
	m.vgpu.picture = nil
	for _, gpu := range m.in.GPUs {
		if gpu.Name != m.in.GPUs[0].Name {
			return
		}
	}
	for gpu := range m.in.GPUs {
		m.vgpu.picture = append(m.vgpu.picture, m.vgpu.hardware.counts(gpu))
	}
	m.vgpu.wanted = slices.Clone(m.vgpu.hardware.enabled)
}

// reference is "GPU-…[group-position]".
type reference struct {
	uuid     string
	group    string
	position int
	inParts  bool
}

// readReference reads what a scheduler writes; blanks around the group are taken away, and a position that is no number is -1.
func readReference(text string) reference {
	uuid, rest, inParts := strings.Cut(text, "[")
	if !inParts {
		return reference{uuid: text}
	}
	result := reference{uuid: uuid, position: -1, inParts: true}
	inside, _, _ := strings.Cut(rest, "]")
	group, position, ok := strings.Cut(inside, "-")
	if !ok {
		return result
	}
	result.group = strings.TrimSpace(group)
	if number, err := strconv.Atoi(strings.TrimSpace(position)); err == nil {
		result.position = number
	}
	return result
}

// group is a geometry of a model: the first list counts of which a model is a part of the name.
func (m *machine) group(model, name string) []profile {
	for _, of := range m.vgpu.settings.geometries {
		if !slices.ContainsFunc(of.Models, func(known string) bool { return strings.Contains(model, known) }) {
			continue
		}
		for _, group := range of.Groups {
			if group.Group == name {
				return group.Geometries
			}
		}
		return nil
	}
	return nil
}

// migDevices are the texts that upstream puts into NVIDIA_VISIBLE_DEVICES for what the annotation says. False: the plugin ended.
func (m *machine) migDevices(s *step, texts []string) ([]string, bool) {
	var result []string
	for _, text := range texts {
		ref := readReference(text)
		if !ref.inParts {
			result = append(result, text)
			continue
		}
		index := slices.IndexFunc(m.in.GPUs, func(gpu cases.GPU) bool { return gpu.UUID == ref.uuid })
		if index < 0 {
			result = append(result, "")
			continue
		}
		group := m.group(m.in.GPUs[index].Name, ref.group)
		if group != nil && index < len(m.vgpu.picture) && m.differs(index, group) {
			m.vgpu.picture[index] = map[string]int{}
			for _, part := range group {
				m.vgpu.picture[index][part.Name] = part.Count
			}
			m.vgpu.wanted[index] = true
			if !m.apply() {
				m.end(s, 255)
				return nil, false
			}
		}
		name := ""
		if found := m.vgpu.hardware.handle(index, ref.position); found != nil && m.vgpu.hardware.enabled[index] {
			name = found.name()
		}
		result = append(result, name)
	}
	return result, true
}

func (m *machine) differs(index int, group []profile) bool {
	return slices.ContainsFunc(group, func(part profile) bool { return m.vgpu.picture[index][part.Name] != part.Count })
}

// apply is nvidia-mig-parted apply with the picture of all cards.
func (m *machine) apply() bool {
	h := m.vgpu.hardware
	h.process()
	if m.toolFails("apply") {
		return false
	}
	for index := range m.vgpu.picture {
		for name := range m.vgpu.picture[index] {
			if m.vgpu.wanted[index] && h.kindByName(index, name) == nil {
				return false
			}
		}
	}
	if !slices.Equal(m.vgpu.wanted, h.enabled) {
		for index, on := range m.vgpu.wanted {
			if on && !h.gpus[index].MigCapable {
				return false
			}
		}
		for index, on := range m.vgpu.wanted {
			if h.enabled[index] && !h.clear(index) {
				return false
			}
			h.enabled[index] = on
		}
	}
	for index, counts := range m.vgpu.picture {
		if h.enabled[index] && !maps.Equal(h.counts(index), counts) && !m.build(index, counts) {
			return false
		}
	}
	return true
}

// build tries the orders of a card's instances until one can be built.
func (m *machine) build(index int, counts map[string]int) bool {
	h := m.vgpu.hardware
	var wanted []*kind
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		for range counts[name] {
			wanted = append(wanted, h.kindByName(index, name))
		}
	}
	sort.SliceStable(wanted, func(i, j int) bool { return wanted[i].compute > wanted[j].compute })
	for _, order := range orders(wanted) {
		if !h.clear(index) {
			continue
		}
		if !slices.ContainsFunc(order, func(k *kind) bool { return !h.create(index, k) }) {
			return true
		}
	}
	h.clear(index)
	return false
}

// orders are the distinct orders of a list, the given one first.
func orders(of []*kind) [][]*kind {
	if len(of) == 0 {
		return [][]*kind{nil}
	}
	var result [][]*kind
	for i, first := range of {
		if slices.Contains(of[:i], first) {
			continue
		}
		for _, rest := range orders(slices.Concat(of[:i], of[i+1:])) {
			result = append(result, append([]*kind{first}, rest...))
		}
	}
	return result
}
