package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// holder is a container that has been given an instance.
type holder struct {
	pod string // uid
	at  instance
}

// migRight are the devices of a container's entries; otherwise the mistake that upstream makes instead of refusing. Which of several
// layouts our plugin chooses is its own affair: here it is checked that its choice is one, and the hardware then is as it says.
func (m *machine) migRight(p *pod, container *cases.Container, texts []string) ([]string, int) {
	if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "[") }) {
		return texts, 0
	}
	if m.vgpu.settings.mode != "mig" {
		return nil, 24
	}
	if n := m.refusedReferences(texts); n != 0 {
		return nil, n
	}
	if len(m.ours.Steps) <= m.at {
		return []string{"an answer"}, 0
	}
	out := m.ours.Steps[m.at]
	m.noteMig(&out)
	before := slices.Clone(m.vgpu.hardware.instances)
	enabled := slices.Clone(m.vgpu.hardware.enabled)
	m.adopt(&out)
	if out.Error != nil {
		if reason := m.wrongRefusal(texts, before, enabled); reason != "" {
			return []string{"an instance: " + reason}, 0
		}
		return nil, 25
	}
	places := givenIn(&out)
	if len(places) != len(unique(texts)) && len(places) != len(texts) {
		return []string{fmt.Sprintf("%d instances", len(texts))}, 0
	}
	result := make([]string, len(texts))
	for i, text := range texts {
		at, reason := m.wrongInstance(p, text, places[min(i, len(places)-1)], before)
		if reason != "" {
			result[i] = "an instance that is " + reason
			continue
		}
		result[i] = at.name()
		m.vgpu.holders = append(m.vgpu.holders, holder{p.UID, at})
	}
	if reason := m.wrongLayout(texts, before); reason != "" {
		result[0] = "a layout that " + reason
	}
	return result, 0
}

// refusedReferences is the mistake that upstream makes with references that must be refused before anything is touched.
func (m *machine) refusedReferences(texts []string) int {
	groups := map[string]string{}
	for _, text := range texts {
		ref := readReference(text)
		if !ref.inParts {
			continue
		}
		inside := text[strings.Index(text, "[")+1 : len(text)-1]
		ref.group = inside[:strings.LastIndexByte(inside, '-')]
		index := m.cardIndex(ref.uuid)
		if index < 0 || !m.in.GPUs[index].MigCapable {
			return 24
		}
		group := m.group(m.in.GPUs[index].Name, ref.group)
		if group == nil {
			if strings.TrimSpace(ref.group) != ref.group {
				return 31
			}
			return 24
		}
		size := 0
		for _, part := range group {
			size += part.Count
		}
		if ref.position >= size {
			return 24
		}
		if before, isSecond := groups[ref.uuid]; isSecond && before != ref.group {
			return 27
		}
		groups[ref.uuid] = ref.group
	}
	return 0
}

func (m *machine) cardIndex(uuid string) int {
	return slices.IndexFunc(m.in.GPUs, func(gpu cases.GPU) bool { return gpu.UUID == uuid })
}

var placeText = regexp.MustCompile(`MIG\(gpu \d+, profile \d+ at \d+\)`)

// givenIn are the places of the instances that an answer names.
func givenIn(out *cases.StepOutput) []string {
	var result []string
	for i := range out.Responses {
		response := &out.Responses[i]
		result = append(result, placeText.FindAllString(response.Envs["NVIDIA_VISIBLE_DEVICES"], -1)...)
		if len(result) > 0 {
			continue
		}
		for _, mount := range response.Mounts {
			result = append(result, placeText.FindAllString(mount.ContainerPath, -1)...)
		}
	}
	return result
}

// adopt takes over the instances that the hardware had after our plugin's step.
func (m *machine) adopt(out *cases.StepOutput) {
	if out.Mig == nil && !out.MigGone {
		return
	}
	h := m.vgpu.hardware
	h.instances = nil
	number := func(value any) int {
		result, _ := value.(float64)
		return int(result)
	}
	for _, row := range out.Mig {
		gpu := number(row[0])
		if gpu >= len(h.gpus) {
			continue
		}
		if known := h.kindByID(gpu, uint32(number(row[2]))); known != nil {
			h.instances = append(h.instances, instance{gpu, uint32(number(row[1])), known, uint32(number(row[3])), number(row[5]) != 0, true})
			h.enabled[gpu] = true
		}
	}
}

// held are the instances of a card that something runs on, or that a container has that is still there.
func (m *machine) held(gpu int, of []instance) []instance {
	var result []instance
	for _, unit := range of {
		if unit.gpu == gpu && (unit.busy || m.isHeld(unit)) {
			result = append(result, unit)
		}
	}
	return result
}

func (m *machine) isHeld(unit instance) bool {
	return slices.ContainsFunc(m.vgpu.holders, func(h holder) bool { return samePlace(h.at, unit) && m.isThere(h.pod) })
}

// isThere says whether a pod is there and has not failed.
func (m *machine) isThere(uid string) bool {
	return slices.ContainsFunc(m.pods, func(p *pod) bool { return p.UID == uid && p.annotations[bindPhase] != "failed" })
}

func samePlace(a, b instance) bool {
	return a.gpu == b.gpu && a.kind.id == b.kind.id && a.start == b.start
}

// wrongInstance is what is wrong with an instance that a container was given for a reference.
func (m *machine) wrongInstance(p *pod, text, place string, before []instance) (instance, string) {
	ref := readReference(text)
	index := m.cardIndex(ref.uuid)
	position := ref.position
	wanted := ""
	for _, part := range m.group(m.in.GPUs[index].Name, ref.group) {
		if position < part.Count {
			wanted = part.Name
			break
		}
		position -= part.Count
	}
	for _, unit := range m.vgpu.hardware.instances {
		if unit.name() != place {
			continue
		}
		switch {
		case unit.gpu != index:
			return unit, "on card " + fmt.Sprint(index)
		case unit.kind != m.vgpu.hardware.kindByName(index, wanted):
			return unit, "of profile " + wanted
		case slices.ContainsFunc(m.vgpu.holders, func(h holder) bool {
			return samePlace(h.at, unit) && h.pod != p.UID && m.isThere(h.pod) && !m.hasReference(h.pod, text)
		}):
			return unit, "free"
		}
		return unit, ""
	}
	return instance{}, "there"
}

// hasReference says whether another pod was promised the same position, as broken schedulers do.
func (m *machine) hasReference(uid, text string) bool {
	return slices.ContainsFunc(m.pods, func(p *pod) bool {
		return p.UID == uid && strings.Contains(p.annotations["volcano.sh/vgpu-ids-new"], text)
	})
}

// wrongLayout is what is wrong with the instances after a change: one is gone that was in use, or another card was touched.
func (m *machine) wrongLayout(texts []string, before []instance) string {
	after := m.vgpu.hardware.instances
	for gpu := range m.in.GPUs {
		isConcerned := slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, m.in.GPUs[gpu].UUID) })
		required := before
		if isConcerned {
			required = m.held(gpu, before)
		}
		for _, unit := range required {
			if unit.gpu == gpu && !slices.ContainsFunc(after, func(other instance) bool { return samePlace(unit, other) }) {
				return "keeps " + unit.name()
			}
		}
		if !isConcerned && countOn(gpu, before) != countOn(gpu, after) {
			return fmt.Sprintf("leaves card %d alone", gpu)
		}
	}
	return ""
}

func countOn(gpu int, of []instance) int {
	result := 0
	for _, unit := range of {
		if unit.gpu == gpu {
			result++
		}
	}
	return result
}

// wrongRefusal is why a refusal of our plugin is wrong: every card can be cut as its reference says without touching what is in use,
// and the hardware does not fail.
func (m *machine) wrongRefusal(texts []string, before []instance, enabled []bool) string {
	for gpu := range m.in.GPUs {
		for _, unit := range m.held(gpu, before) {
			if !slices.ContainsFunc(m.vgpu.hardware.instances, func(other instance) bool { return samePlace(unit, other) }) {
				return unit.name() + " was in use"
			}
		}
	}
	if len(m.in.NVMLFaults) > 0 {
		return ""
	}
	for _, text := range texts {
		ref := readReference(text)
		if !ref.inParts {
			continue
		}
		index := m.cardIndex(ref.uuid)
		if !enabled[index] && countOn(index, before) > 0 || m.otherGroupIsPromised(ref) || !m.canBeCut(index, m.group(m.in.GPUs[index].Name, ref.group), before) {
			return ""
		}
	}
	return "nothing in use is in the way"
}

// otherGroupIsPromised says whether a pod that is there was promised another group of the card, which pins it.
func (m *machine) otherGroupIsPromised(ref reference) bool {
	for _, p := range m.pods {
		if p.annotations[bindPhase] == "failed" {
			continue
		}
		slots, _ := parse(p.annotations["volcano.sh/vgpu-ids-new"])
		for _, slot := range slots {
			for _, e := range slot {
				other := readReference(e.uuid())
				if other.inParts && other.uuid == ref.uuid && other.group != ref.group {
					return true
				}
			}
		}
	}
	return false
}

// canBeCut says whether a card can have a group's instances when those in use stay where they are. These have to be of the group.
func (m *machine) canBeCut(gpu int, group []profile, before []instance) bool {
	h := m.vgpu.hardware
	missing := map[*kind]int{}
	for _, part := range group {
		known := h.kindByName(gpu, part.Name)
		if known == nil {
			return false
		}
		missing[known] += part.Count
	}
	fixed := m.held(gpu, before)
	for _, unit := range fixed {
		if missing[unit.kind]--; missing[unit.kind] < 0 {
			return false
		}
	}
	var wanted []*kind
	for known, number := range missing {
		for range number {
			wanted = append(wanted, known)
		}
	}
	return m.fits(gpu, fixed, wanted)
}

// fits tries all places.
func (m *machine) fits(gpu int, placed []instance, wanted []*kind) bool {
	if len(wanted) == 0 {
		return true
	}
	limit := 7
	if tables[m.in.GPUs[gpu].MigTable] == 4 {
		limit = 4
	}
	compute := 0
	for _, unit := range placed {
		compute += unit.kind.compute
	}
	if compute+wanted[0].compute > limit {
		return false
	}
	for _, start := range wanted[0].starts {
		unit := instance{gpu: gpu, kind: wanted[0], start: start}
		isFree := !slices.ContainsFunc(placed, func(other instance) bool {
			return start < other.start+other.kind.size && other.start < start+unit.kind.size
		})
		if isFree && m.fits(gpu, append(slices.Clone(placed), unit), wanted[1:]) {
			return true
		}
	}
	return false
}

// noteMig notes by which mistakes upstream's answer to a step differs from ours.
func (m *machine) noteMig(ours *cases.StepOutput) {
	if m.theirs == nil {
		theirs := Upstream(m.in)
		m.theirs = &theirs.Output
	}
	if len(m.theirs.Steps) <= m.at {
		m.mistake(25)
		return
	}
	theirs := &m.theirs.Steps[m.at]
	switch names := namesIn(theirs); {
	case theirs.Error != nil:
		m.mistake(25) // it has ended
	case slices.Contains(names, ""):
		m.mistake(24) // nothing in the place of an instance
	case !slices.Equal(names, namesIn(ours)):
		if profilesOf(names) != profilesOf(namesIn(ours)) {
			m.mistake(30) // another kind of instance
		} else {
			m.mistake(28) // another place, as it knows other instances
		}
	}
	if fmt.Sprint(rowsOf(theirs)) != fmt.Sprint(rowsOf(ours)) {
		m.mistake(25) // it destroys what may stay
	}
}

// namesIn are the texts of an answer's devices.
func namesIn(out *cases.StepOutput) []string {
	var result []string
	for i := range out.Responses {
		text := out.Responses[i].Envs["NVIDIA_VISIBLE_DEVICES"]
		if text == "/var/run/nvidia-container-devices" {
			for _, mount := range out.Responses[i].Mounts {
				if device, ok := strings.CutPrefix(mount.ContainerPath, text); ok {
					result = append(result, strings.TrimPrefix(device, "/"))
				}
			}
			continue
		}
		// Names of places have commas too.
		result = append(result, strings.Split(strings.ReplaceAll(text, ", ", "; "), ",")...)
	}
	return result
}

var profileText = regexp.MustCompile(`profile \d+`)

func profilesOf(names []string) string {
	return fmt.Sprint(profileText.FindAllString(strings.Join(names, " "), -1))
}

func rowsOf(out *cases.StepOutput) []string {
	var result []string
	for _, row := range out.Mig {
		result = append(result, fmt.Sprint(row[0], row[2], row[3], row[5]))
	}
	slices.Sort(result)
	return result
}

// noteWithdrawal takes over that our plugin has withdrawn cards, whose instances NVML cannot read or change, or has taken them back:
// their health in the node's annotation is another then. Upstream ends instead, or gives out what it does not know.
func (m *machine) noteWithdrawal() {
	if m.upstream || m.vgpu.settings == nil || m.vgpu.settings.mode != "mig" || len(m.in.NVMLFaults) == 0 || len(m.ours.Steps) <= m.at {
		return
	}
	old, isRegistered := m.nodeAnnotations[registerKey]
	shown, isShown := m.ours.Steps[m.at].NodeAnnotations[registerKey]
	mask := strings.NewReplacer(",true,", ",?,", ",false,", ",?,")
	if isRegistered && isShown && shown != old && mask.Replace(shown) == mask.Replace(old) {
		m.mistake(25)
		m.nodeAnnotations[registerKey] = shown
	}
}
