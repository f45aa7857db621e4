package model

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// Annotations of pods.
const (
	toAllocate = "volcano.sh/devices-to-allocate"
	vgpuNode   = "volcano.sh/vgpu-node"
	vgpuTime   = "volcano.sh/vgpu-time"
	bindPhase  = "volcano.sh/bind-phase"
	nodeLock   = "hamivgpu"
	maxTime    = "18446744073709551615"
)

// entry is one device in an annotation.
type entry struct {
	fields []string
	text   string
}

func (e entry) uuid() string { return e.fields[0] }
func (e entry) kind() string { return e.fields[1] }

// parse reads an annotation: containers by ";", devices by ":", fields by ",". A device without a comma is none. Fields may be too
// few; isWhole says whether all devices have four.
func parse(text string) (slots [][]entry, isWhole bool) {
	isWhole = true
	for _, container := range strings.Split(text, ";") {
		slot := []entry{}
		for _, device := range strings.Split(container, ":") {
			if !strings.Contains(device, ",") {
				continue
			}
			fields := strings.Split(device, ",")
			isWhole = isWhole && len(fields) >= 4
			slot = append(slot, entry{fields, device})
		}
		slots = append(slots, slot)
	}
	return slots, isWhole
}

func total(slots [][]entry) int {
	result := 0
	for _, slot := range slots {
		result += len(slot)
	}
	return result
}

func timeOf(p *pod) uint64 {
	value, err := strconv.ParseUint(p.annotations[vgpuTime], 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return value
}

// allocate is one call of the kubelet.
func (m *machine) allocate(s *step, of *cases.Step) {
	role, ok := m.vgpu.served[of.Resource]
	switch {
	case !m.vgpu.isAlive && m.vgpu.died:
		s.fail("Unavailable", "")
		s.out.Exit = m.vgpu.exit
		return
	case !m.vgpu.isAlive || !ok:
		s.fail("NotRegistered", "")
		return
	case len(of.ContainerRequests) > 1:
		s.fail("Unknown", "multiple Container Requests not supported")
		return
	case role != count:
		s.out.Responses = []cases.Response{{}}
		return
	case m.upstream && of.Resource != m.vgpu.settings.names[count]:
		s.out.Responses = []cases.Response{{}} // a list of numbers under another name (N3)
		return
	case len(of.ContainerRequests) == 0:
		m.die(s, 12)
		return
	}
	m.allocateNumber(s, of.ContainerRequests[0])
}

// die is a panic of upstream by mistake n, where an error is right.
func (m *machine) die(s *step, n int) {
	if !m.mistake(n) {
		s.fail("Unknown", "")
		return
	}
	m.end(s, 2)
}

// end is a process that ends while it answers a call.
func (m *machine) end(s *step, code int) {
	m.vgpu.isAlive, m.vgpu.died, m.vgpu.exit = false, true, &cases.Exit{Code: code}
	s.fail("Unavailable", "")
	s.out.Exit = m.vgpu.exit
}

// failPod marks the pod of a call that failed. The patch itself may be refused.
func (m *machine) failPod(s *step, p *pod, message string) {
	if !m.faults.refused("PATCH", "pods") {
		s.annotate(p, map[string]string{bindPhase: "failed", vgpuTime: maxTime})
	}
	s.fail("Unknown", message)
	m.release()
}

// release takes the node's lock away.
func (m *machine) release() {
	if m.faults.refused("GET", "nodes") {
		return
	}
	if _, ok := m.nodeAnnotations[nodeLock]; !ok {
		return
	}
	for try := 0; try < 6; try++ {
		if try > 0 && m.faults.refused("GET", "nodes") {
			continue
		}
		if !m.faults.refused("PUT", "nodes") {
			delete(m.nodeAnnotations, nodeLock)
			return
		}
	}
}

func (m *machine) allocateNumber(s *step, ids []string) {
	if !m.upstream {
		m.allocateNumberRight(s, ids)
		return
	}
	if m.faults.refused("LIST", "pods") {
		s.fail("Unknown", "injected fault")
		m.release()
		return
	}
	for _, p := range m.pods {
		if p.annotations[vgpuNode] != m.node() {
			continue
		}
		if _, isWhole := parse(p.annotations[toAllocate]); !isWhole {
			m.die(s, 12)
			return
		}
	}
	chosen := m.choose(ids)
	if chosen == nil {
		s.fail("Unknown", "cannot get valid pod")
		m.release()
		return
	}
	if len(ids) == 0 {
		m.die(s, 12)
		return
	}
	if strings.Contains(ids[0], "MIG") {
		m.failPod(s, chosen, "invalid allocation request for '"+m.vgpu.settings.names[count]+"': unknown device: "+ids[0])
		return
	}
	slots, _ := parse(chosen.annotations[toAllocate])
	slot := slices.IndexFunc(slots, func(slot []entry) bool {
		return slices.ContainsFunc(slot, func(e entry) bool { return e.kind() == "NVIDIA" })
	})
	if slot < 0 {
		m.failPod(s, chosen, "device request not found")
		return
	}
	var devices, others []entry
	for _, e := range slots[slot] {
		if e.kind() == "NVIDIA" {
			devices = append(devices, e)
		} else {
			others = append(others, e)
		}
	}
	if len(devices) != len(ids) {
		m.failPod(s, chosen, "device number not matched")
		return
	}
	slots[slot] = others
	m.give(s, chosen, slots, slot, devices)
}

func (m *machine) node() string {
	node, _ := m.in.Getenv("NODE_NAME", m.in.NodeName)
	return node
}

// choose is the pod that upstream takes a call for.
func (m *machine) choose(ids []string) *pod {
	var best *pod
	var last *pod
	for _, p := range m.pods {
		if p.annotations[vgpuNode] != m.node() {
			continue
		}
		slots, _ := parse(p.annotations[toAllocate])
		if total(slots) != len(ids) {
			continue
		}
		last = p
		if best == nil || timeOf(p) < timeOf(best) {
			best = p
		}
	}
	if best != nil && timeOf(last) == timeOf(best) {
		return last
	}
	return best
}

// give answers a container and writes what became of its pod. left are the slots without what is given.
func (m *machine) give(s *step, p *pod, left [][]entry, slot int, devices []entry) {
	uuids := make([]string, len(devices))
	for i, e := range devices {
		uuids[i], _, _ = strings.Cut(e.uuid(), "::")
	}
	settings := m.vgpu.settings
	uuids, alive := m.migDevices(s, uuids)
	if !alive {
		return
	}
	response := m.baseResponse(unique(uuids))
	if m.faults.refused("PATCH", "pods") {
		m.failPod(s, p, "injected fault")
		return
	}
	s.annotate(p, map[string]string{toAllocate: encode(left)})
	if settings.mode != "mig" {
		m.addHAMiCore(&response, p, slot, devices)
	}
	s.out.Responses = []cases.Response{response}
	m.succeed(s, p)
}

// succeed is what follows an answer.
func (m *machine) succeed(s *step, p *pod) {
	if m.faults.refused("GET", "pods") {
		m.mistake(15)
	} else if strings.Contains(p.annotations[toAllocate], "GPU") {
		return
	}
	if m.faults.refused("PATCH", "pods") {
		m.mistake(15)
	} else {
		s.annotate(p, map[string]string{bindPhase: "success", vgpuTime: maxTime})
	}
	m.release()
}

// encode writes slots as the scheduler does.
func encode(slots [][]entry) string {
	texts := make([]string, len(slots))
	for i, slot := range slots {
		for _, e := range slot {
			texts[i] += strings.Join(e.fields[:4], ",") + ":"
		}
	}
	return strings.Join(texts, ";")
}

func unique(texts []string) []string {
	var result []string
	for _, text := range texts {
		if !slices.Contains(result, text) {
			result = append(result, text)
		}
	}
	return result
}

// number reads a field as upstream does: what is no decimal is 0, what is too large is the largest.
func number(text string) int32 {
	value, err := strconv.ParseInt(text, 10, 32)
	if err != nil && !isRange(err) {
		return 0
	}
	return int32(value)
}

func isRange(err error) bool {
	number, ok := err.(*strconv.NumError)
	return ok && number.Err == strconv.ErrRange
}
