package model

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// readPicture is what upstream knows of the cards' instances: the export of nvidia-mig-parted at the start, which has one entry for
// all cards that are cut alike. An entry of several that is for all cards of its models says "all" and has a filter, which upstream
// does not understand: it knows nothing then.
func (m *machine) readPicture() {
	h := m.vgpu.hardware
	m.vgpu.picture, m.vgpu.wanted = nil, slices.Clone(h.enabled)
	entries := map[string][]int{}
	for index := range m.in.GPUs {
		text := fmt.Sprint(h.enabled[index], h.counts(index))
		entries[text] = append(entries[text], index)
	}
	for _, entry := range entries {
		if len(entries) > 1 && m.isAllOfItsModels(entry) {
			m.mistake(29)
			return
		}
	}
	for index := range m.in.GPUs {
		m.vgpu.picture = append(m.vgpu.picture, h.counts(index))
	}
}

// isAllOfItsModels says whether there is no other card of the models of some cards.
func (m *machine) isAllOfItsModels(indexes []int) bool {
	for _, index := range indexes {
		for other := range m.in.GPUs {
			if m.in.GPUs[other].Name == m.in.GPUs[index].Name && !slices.Contains(indexes, other) {
				return false
			}
		}
	}
	return true
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
	inside, _, isClosed := strings.Cut(rest, "]")
	group, position, ok := strings.Cut(inside, "-")
	if !ok || !isClosed {
		return result
	}
	if number, err := strconv.Atoi(strings.TrimSpace(position)); err == nil {
		result.group, result.position = strings.TrimSpace(group), number
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
		if match := m.vgpu.hardware.handle(index, ref.position); group != nil && match != nil && m.vgpu.hardware.enabled[index] {
			name = match.name()
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
	if m.toolFails("apply") {
		return false
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
			if known := h.kindByName(index, name); known != nil { // others it leaves out without a word
				wanted = append(wanted, known)
			}
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
