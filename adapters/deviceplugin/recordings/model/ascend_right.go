package model

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// allocateAscendRight is an Allocate of Ascend chips as it has to be. It notes each of upstream's mistakes that it comes by.
func (m *machine) allocateAscendRight(s *step, of *cases.Step) {
	if len(of.ContainerRequests) == 0 {
		m.mistake(38)
		s.fail("Unknown", "")
		return
	}
	if m.ascend.soft && m.faults.concerns("LIST", "pods") {
		m.mistake(45) // upstream's metrics get the refusal
	}
	p, lock := m.choosePod(of.ContainerRequests)
	if p == nil {
		s.fail("Unknown", "get pending pod error")
		return
	}
	left, ok := m.serveAscend(s, p, of.ContainerRequests)
	if ok && left {
		m.mistake(33)
		return
	}
	if !ok {
		s.out.Responses = nil
		s.fail("Unknown", "")
		if p.annotations[hamiPhase] != "success" {
			for range 4 {
				code := m.faults.code("PATCH", "pods")
				if code == 0 {
					s.annotate(p, map[string]string{hamiPhase: "failed"})
				}
				if code == 0 || code == http.StatusNotFound {
					break
				}
			}
		} else {
			m.mistake(34)
		}
	}
	if lock != nil && (lock.name == "" || lock.namespace == p.Namespace && lock.name == p.Name) {
		if lock.name == "" && strings.Contains(lock.value, ",") {
			m.mistake(36) // "time,,": it names nobody, and upstream leaves it
		}
		m.unlockAscend(lock.value)
	}
}

// lockOf is the node's lock.
type lockOf struct{ value, namespace, name string }

// choosePod is the pod that a call is about, and the lock if it can be read.
func (m *machine) choosePod(requests [][]string) (*pod, *lockOf) {
	if m.faults.refused("GET", "nodes") {
		return nil, nil
	}
	value, isSet := m.nodeAnnotations[hamiLock]
	if !isSet {
		return m.firstFitting(requests), nil
	}
	parts := strings.Split(value, ",")
	_, err := time.Parse(time.RFC3339, parts[0])
	isStale := err != nil || len(parts) != 1 && len(parts) != 3
	lock := &lockOf{value: value}
	if !isStale && len(parts) == 3 && parts[1] != "" && parts[2] != "" {
		lock.namespace, lock.name = parts[1], parts[2]
		code := m.faults.code("GET", "pods")
		if code != 0 && code != http.StatusNotFound {
			return nil, nil
		}
		at := slices.IndexFunc(m.pods, func(p *pod) bool { return p.Namespace == lock.namespace && p.Name == lock.name })
		switch {
		case at < 0 || code != 0:
			isStale = true
		case !m.isWaiting(m.pods[at]):
			m.mistake(37)
		case m.hasNothingLeft(m.pods[at]):
			m.mistake(34)
			isStale = true
		default:
			return m.pods[at], lock
		}
	}
	if isStale {
		m.mistake(36)
		m.unlockAscend(value)
		lock = nil
	}
	return m.firstFitting(requests), lock
}

// isWaiting says whether a pod of this node waits for its chips.
func (m *machine) isWaiting(p *pod) bool {
	phase := p.annotations[hamiPhase]
	_, hasTime := p.annotations[hamiTime]
	return p.NodeName == m.ascendNode() && p.Phase == "Pending" && hasTime && p.annotations[hamiNode] == m.ascendNode() &&
		(phase == "allocating" || phase == "success")
}

func (m *machine) toAllocateKey() string {
	return "hami.io/" + m.ascend.config.Word + "-devices-to-allocate"
}

// promise is what a pod was promised.
type promise struct {
	slots [][]entry
	infos [][]runtimeEntry // by slot
	known [][]bool         // whether the entry of that device is clear
}

// promiseOf reads what a pod has left; false: it cannot be read.
func (m *machine) promiseOf(p *pod) (promise, bool) {
	text, ok := p.annotations[m.toAllocateKey()]
	if !ok {
		return promise{}, false
	}
	slots, ok := decodeHAMi(text)
	if !ok {
		return promise{}, false
	}
	if last := len(slots) - 1; len(slots[last]) == 0 {
		slots = slots[:last]
	}
	result := promise{slots: slots}
	if total(slots) == 0 {
		return result, true
	}
	runtime, ok := m.runtimeInfo(p)
	if !ok {
		return promise{}, false
	}
	var all []entry
	for _, slot := range slots {
		all = append(all, slot...)
	}
	first := len(runtime) - len(all)
	byPlace := first >= 0
	for i := 0; byPlace && i < len(all); i++ {
		byPlace = runtime[first+i].UUID == all[i].uuid()
	}
	at := 0
	for _, slot := range slots {
		var infos []runtimeEntry
		var known []bool
		for _, e := range slot {
			info, isKnown := onlyEntry(runtime, e.uuid())
			if byPlace {
				if last := lastEntry(runtime, e.uuid()); !sameEntry(last, runtime[first+at]) {
					m.mistake(39) // upstream takes the last entry of the uuid for all containers
				}
				info, isKnown = runtime[first+at], true
			}
			infos, known = append(infos, info), append(known, isKnown)
			at++
		}
		result.infos, result.known = append(result.infos, infos), append(result.known, known)
	}
	return result, true
}

func sameEntry(a, b runtimeEntry) bool {
	text := func(number *int64) string {
		if number == nil {
			return "none"
		}
		return fmt.Sprint(*number)
	}
	return a.UUID == b.UUID && a.Template == b.Template && text(a.Memory) == text(b.Memory) && text(a.Core) == text(b.Core)
}

func lastEntry(runtime []runtimeEntry, uuid string) (result runtimeEntry) {
	for _, info := range runtime {
		if info.UUID == uuid {
			result = info
		}
	}
	return result
}

// onlyEntry is what all entries of a uuid say alike.
func onlyEntry(runtime []runtimeEntry, uuid string) (result runtimeEntry, isKnown bool) {
	for _, info := range runtime {
		if info.UUID != uuid {
			continue
		}
		if isKnown && !sameEntry(info, result) {
			return result, false
		}
		result, isKnown = info, true
	}
	return result, isKnown
}

func (m *machine) hasNothingLeft(p *pod) bool {
	promised, ok := m.promiseOf(p)
	return ok && total(promised.slots) == 0
}

// firstFitting is the first pod that waits and whose next containers have as many devices as the kubelet sends ids; failing that the
// first that has any, and failing that the first that cannot be read.
func (m *machine) firstFitting(requests [][]string) *pod {
	if m.faults.refused("LIST", "pods") {
		return nil
	}
	var listed, promised, unreadable *pod
	for _, p := range m.pods {
		if !m.isWaiting(p) {
			continue
		}
		if listed == nil {
			listed = p
		}
		read, ok := m.promiseOf(p)
		switch {
		case ok && fits(read.slots, requests):
			m.noteChoice(listed, p)
			return p
		case ok && total(read.slots) == 0:
		case ok && promised == nil:
			promised = p
		case !ok && unreadable == nil:
			unreadable = p
		}
	}
	if promised == nil {
		promised = unreadable
	}
	m.noteChoice(listed, promised)
	return promised
}

// noteChoice notes why upstream takes another pod.
func (m *machine) noteChoice(upstream, right *pod) {
	switch {
	case upstream == right:
	case upstream != nil && m.hasNothingLeft(upstream):
		m.mistake(34)
	default:
		m.mistake(13)
	}
}

func fits(slots [][]entry, requests [][]string) bool {
	at := 0
	for _, ids := range requests {
		for at < len(slots) && len(slots[at]) == 0 {
			at++
		}
		if at == len(slots) || len(slots[at]) != len(ids) {
			return false
		}
		at++
	}
	return true
}

// serveAscend answers the containers of a call; left: the pod has others.
func (m *machine) serveAscend(s *step, p *pod, requests [][]string) (left, ok bool) {
	promised, ok := m.promiseOf(p)
	if !ok {
		return false, false
	}
	slots := slices.Clone(promised.slots)
	for _, ids := range requests {
		at := slices.IndexFunc(slots, func(slot []entry) bool { return len(slot) > 0 })
		if at < 0 || len(slots[at]) != len(ids) || !m.mayGive(p, promised, at) {
			return false, false
		}
		response, ok := m.ascendResponse(p, at, slots[at], runtimeFor(promised.infos[at]))
		if !ok {
			return false, false
		}
		slots[at] = nil
		s.out.Responses = append(s.out.Responses, response)
	}
	if m.faults.refused("PATCH", "pods") {
		return false, false
	}
	m.mistake(35)
	changes := map[string]string{m.toAllocateKey(): encodeHAMi(slots)}
	if total(slots) == 0 {
		changes[hamiPhase] = "success"
	}
	s.annotate(p, changes)
	return total(slots) > 0, true
}

// runtimeFor are the entries of one container, which name each card once.
func runtimeFor(infos []runtimeEntry) []runtimeEntry { return infos }

// mayGive says whether a container gets what it was promised.
func (m *machine) mayGive(p *pod, promised promise, at int) bool {
	soft := p.annotations["huawei.com/vnpu-mode"] == "hami-core"
	infos := promised.infos[at]
	for i, e := range promised.slots[at] {
		card := slices.IndexFunc(m.ascend.chips, func(of chip) bool { return of.UUID == e.uuid() })
		if card < 0 {
			return false // unknown to upstream too
		}
		twice := slices.ContainsFunc(promised.slots[at][:i], func(other entry) bool { return other.uuid() == e.uuid() })
		mixed := !soft && infos[i].Template != infos[0].Template
		if !m.ascend.chips[card].seen || twice || promised.known[at][i] && mixed {
			m.mistake(43)
			return false
		}
		isLimited := soft && infos[i].Memory != nil || !soft && infos[i].Template != ""
		if !promised.known[at][i] || !isLimited && int64(number(e.fields[2])) < m.ascend.config.Allocatable {
			m.mistake(39)
			return false
		}
	}
	if soft != m.ascend.soft && (soft || infos[0].Template != "") {
		m.mistake(39)
		return false
	}
	return true
}

// unlockAscend removes the lock; the API server may refuse for a while.
func (m *machine) unlockAscend(value string) {
	for range 6 {
		if m.faults.refused("GET", "nodes") {
			continue
		}
		if m.nodeAnnotations[hamiLock] != value {
			return
		}
		if !m.faults.refused("PATCH", "nodes") {
			delete(m.nodeAnnotations, hamiLock)
			return
		}
	}
}
