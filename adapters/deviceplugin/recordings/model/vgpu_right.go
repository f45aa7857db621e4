package model

import (
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// allocateNumberRight is an Allocate of GPUs as it has to be. It notes each of upstream's mistakes that it comes by.
func (m *machine) allocateNumberRight(s *step, ids []string) {
	upstream := m.noteUpstreamsChoice(ids)
	if len(ids) == 0 {
		s.fail("Unknown", "")
		return
	}
	p, isExact := m.chooseRight(ids)
	if m.faults.concerns("LIST", "pods") {
		m.mistake(13) // upstream lists all pods for each call
	}
	if !isExact && m.faults.refused("LIST", "pods") || p == nil {
		if upstream != nil {
			m.mistake(13)
		}
		if _, isLocked := m.nodeAnnotations[nodeLock]; isLocked {
			m.mistake(16)
		}
		s.fail("Unknown", "")
		return
	}
	if p != upstream {
		slots, _ := parse(p.annotations[toAllocate])
		if upstream == nil && total(slots) != len(ids) {
			m.mistake(11)
		} else {
			m.mistake(13)
		}
	}
	m.serveRight(s, p, ids)
}

// noteUpstreamsChoice is the pod that upstream takes, if it lives to take one.
func (m *machine) noteUpstreamsChoice(ids []string) *pod {
	for _, p := range m.pods {
		if _, isWhole := parse(p.annotations[toAllocate]); !isWhole && p.annotations[vgpuNode] == m.node() {
			m.mistake(12)
			return nil
		}
	}
	chosen := m.choose(ids)
	if chosen != nil && len(ids) == 0 {
		m.mistake(12)
	}
	return chosen
}

// waiting is a pod's next container.
type waiting struct {
	slots   [][]entry
	slot    int
	problem int // the mistake that is the reason why its pod has to fail; 0: none
}

// nextOf is the next container of a pod that waits for devices of this node.
func (m *machine) nextOf(p *pod) (waiting, bool) {
	text := p.annotations[toAllocate]
	if p.NodeName != m.node() || p.Phase != "Pending" || p.annotations[vgpuNode] != m.node() || p.annotations[bindPhase] != "allocating" ||
		!strings.Contains(text, ",") || m.vgpu.doomed[p.UID] {
		return waiting{}, false
	}
	slots, _ := parse(text)
	result := waiting{slots: slots, problem: problemOf(text)}
	for _, kind := range []string{"NVIDIA", ""} {
		result.slot = slices.IndexFunc(slots, func(slot []entry) bool {
			return slices.ContainsFunc(slot, func(e entry) bool { return kind == "" || len(e.fields) >= 4 && e.kind() == kind })
		})
		if result.slot >= 0 {
			return result, true
		}
	}
	return waiting{}, false
}

// problemOf is the mistake that upstream makes of an annotation that cannot be read: 12 too few fields, 18 numbers that are none, 31
// brackets, 23 a text without fields between others.
func problemOf(text string) int {
	for _, container := range strings.Split(text, ";") {
		for _, device := range strings.Split(container, ":") {
			fields := strings.Split(device, ",")
			switch {
			case device == "":
				continue
			case len(fields) == 1:
				return 23
			case len(fields) < 4:
				return 12
			case fields[0] == "" || strings.ContainsAny(fields[0], " \t"):
				return 31
			}
			if uuid, inside, inParts := strings.Cut(fields[0], "["); inParts {
				inside, isClosed := strings.CutSuffix(inside, "]")
				dash := strings.LastIndexByte(inside, '-')
				if uuid == "" || !isClosed || dash < 1 || !isDecimal(inside[dash+1:], 255) || strings.ContainsAny(inside, "[]") {
					return 31
				}
			} else if strings.Contains(fields[0], "]") {
				return 31
			}
			if !isDecimal(fields[2], math.MaxInt32) || !isDecimal(fields[3], 100) {
				return 18
			}
		}
	}
	return 0
}

func isDecimal(text string, most int64) bool {
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	value, err := strconv.ParseInt(text, 10, 64)
	return err == nil && value <= most
}

// cardsOf are the cards of a container, sorted.
func cardsOf(slot []entry) string {
	var result []string
	for _, e := range slot {
		card, inside, _ := strings.Cut(e.uuid(), "[")
		if inside != "" && problemOf(e.text) != 0 {
			card = e.uuid()
		}
		result = append(result, card)
	}
	sort.Strings(result)
	return strings.Join(result, ",")
}

// chooseRight is the pod whose next container has as many devices as the kubelet sends ids: first one whose cards are those of the
// ids, then the one that was assigned first, then by name.
func (m *machine) chooseRight(ids []string) (best *pod, isExact bool) {
	var cards []string
	for _, id := range ids {
		cards = append(cards, id[:max(strings.LastIndexByte(id, '-'), 0)])
	}
	sort.Strings(cards)
	for _, p := range m.pods {
		next, ok := m.nextOf(p)
		if !ok || len(next.slots[next.slot]) != len(ids) {
			continue
		}
		exact := cardsOf(next.slots[next.slot]) == strings.Join(cards, ",")
		if best == nil || exact && !isExact || exact == isExact && timeOf(p) < timeOf(best) {
			best, isExact = p, exact
		}
	}
	return best, isExact
}

// serveRight answers for a pod, or fails it.
func (m *machine) serveRight(s *step, p *pod, ids []string) {
	next, _ := m.nextOf(p)
	devices := next.slots[next.slot]
	response, container, n := m.answerRight(s, p, next, ids)
	if n != 0 {
		if n > 0 {
			m.mistake(n)
		}
		m.failRight(s, p)
		return
	}
	if m.faults.concerns("GET", "pods") || m.faults.concerns("PATCH", "pods") {
		m.mistake(15)
	}
	if m.faults.refused("PATCH", "pods") {
		m.faults.refused("GET", "pods")
		m.failRight(s, p)
		return
	}
	next.slots[next.slot] = nil
	changes := map[string]string{toAllocate: encode(next.slots)}
	isLast := !slices.ContainsFunc(next.slots, func(slot []entry) bool {
		return slices.ContainsFunc(slot, func(e entry) bool { return e.kind() == "NVIDIA" })
	})
	if isLast {
		changes[bindPhase], changes[vgpuTime] = "success", maxTime
	}
	s.annotate(p, changes)
	if m.vgpu.settings.mode == "hami-core" {
		m.mkdir(m.folderRight(p, container), "0777")
		m.mkdir("/tmp/vgpulock", "0777")
	}
	s.out.Responses = []cases.Response{response}
	_ = devices
	if isLast {
		m.releaseRight()
	}
}

// failRight marks a pod as failed.
func (m *machine) failRight(s *step, p *pod) {
	s.out.Responses = nil
	s.fail("Unknown", "")
	m.vgpu.doomed[p.UID] = true
	if !m.faults.refused("PATCH", "pods") {
		s.annotate(p, map[string]string{bindPhase: "failed", vgpuTime: maxTime})
	}
	m.releaseRight()
}

// releaseRight releases the lock of a pod that was found. Other requests than upstream's do it, so faults hit upstream alone.
func (m *machine) releaseRight() {
	if _, isLocked := m.nodeAnnotations[nodeLock]; !isLocked {
		return
	}
	if m.faults.concerns("PUT", "nodes") || m.faults.concerns("GET", "nodes") {
		m.mistake(16)
	}
	for range 5 {
		if m.faults.refused("GET", "nodes") || m.faults.refused("PATCH", "nodes") {
			continue
		}
		delete(m.nodeAnnotations, nodeLock)
		return
	}
}

// answerRight is what a container gets, and which one it is. Otherwise the mistake that is the reason; below 0: upstream refuses too.
func (m *machine) answerRight(s *step, p *pod, next waiting, ids []string) (cases.Response, *cases.Container, int) {
	none := cases.Response{}
	devices := next.slots[next.slot]
	if next.problem != 0 {
		return none, nil, next.problem
	}
	container, ok := m.containerRight(p, next)
	if !ok {
		return none, nil, 14
	}
	own := 0
	for _, e := range devices {
		if e.kind() == "NVIDIA" {
			own++
		}
	}
	if strings.Contains(ids[0], "MIG") || own != len(ids) {
		return none, nil, -1
	}
	uuids := make([]string, len(devices))
	for i, e := range devices {
		uuids[i] = e.uuid()
	}
	uuids, n := m.migRight(p, container, uuids)
	if n != 0 {
		return none, nil, n
	}
	settings := m.vgpu.settings
	if settings.idStrategy == "index" && len(m.indexes(unique(uuids))) != len(unique(uuids)) {
		return none, nil, 22
	}
	if settings.idStrategy == "index" {
		m.mistake(22)
	}
	response := m.baseResponse(unique(uuids))
	switch settings.mode {
	case "hami-core":
		m.limitsRight(&response, p, container, devices)
	case "mps":
		m.mistake(6)
		m.limitsMPS(&response, devices, uuids)
	}
	return response, container, 0
}

// containerRight is the container of a slot. The recorded pods request nothing, so slots are those of the containers, or of init
// containers and containers where they are as many.
func (m *machine) containerRight(p *pod, next waiting) (*cases.Container, bool) {
	slots := next.slots
	if whole, isWhole := parse(p.annotations["volcano.sh/vgpu-ids-new"]); isWhole && len(whole) == len(slots) && problemOf(p.annotations["volcano.sh/vgpu-ids-new"]) == 0 {
		slots = whole
	}
	all := slices.Concat(p.InitContainers, p.Containers)
	for number := len(slots); number > 0; number-- {
		list := p.Containers
		if number == len(all) && number != len(p.Containers) {
			list = all
		}
		if number == len(list) {
			if next.slot >= number {
				return nil, false
			}
			if len(list) > 0 && list[next.slot].Name != p.Containers[min(next.slot, len(p.Containers)-1)].Name {
				m.mistake(14)
			}
			return &list[next.slot], true
		}
		if len(slots[number-1]) > 0 {
			break
		}
	}
	if len(slots) < len(p.Containers) {
		return &p.Containers[next.slot], true
	}
	return nil, false
}

func (m *machine) hookRight() string {
	hook, isSet := m.in.Getenv("HOOK_PATH", "/usr/local/vgpu")
	if !isSet || hook == "" {
		hook = "/usr/local/vgpu"
	}
	if path.Clean(hook) != m.hookPath() {
		m.mistake(20)
	}
	return path.Clean(hook)
}

func (m *machine) folderRight(p *pod, container *cases.Container) string {
	return m.hookRight() + "/vgpu/containers/" + p.UID + "_" + container.Name
}

// limitsRight adds HAMi-core.
func (m *machine) limitsRight(response *cases.Response, p *pod, container *cases.Container, devices []entry) {
	settings := m.vgpu.settings
	differ := false
	for i, e := range devices {
		memory, _ := strconv.ParseInt(e.fields[2], 10, 64)
		if memory*settings.factor != int64(int32(memory*settings.factor)) {
			m.mistake(18)
		}
		response.Envs[fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_%d", i)] = fmt.Sprintf("%dm", memory*settings.factor)
		differ = differ || number(e.fields[3]) != number(devices[0].fields[3])
	}
	response.Envs["CUDA_DEVICE_SM_LIMIT"] = fmt.Sprint(number(devices[0].fields[3]))
	for i, e := range devices {
		if differ {
			m.mistake(19)
			response.Envs[fmt.Sprintf("CUDA_DEVICE_SM_LIMIT_%d", i)] = fmt.Sprint(number(e.fields[3]))
		}
	}
	response.Envs["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = "/tmp/vgpu/<random-uuid>.cache"
	if settings.coreScaling > 1 {
		response.Envs["CUDA_OVERSUBSCRIBE"] = "true"
	}
	hook := m.hookRight()
	response.Mounts = append(response.Mounts,
		cases.Mount{HostPath: hook + "/libvgpu.so", ContainerPath: "/usr/local/vgpu/libvgpu.so", ReadOnly: true},
		cases.Mount{HostPath: m.folderRight(p, container), ContainerPath: "/tmp/vgpu"},
		cases.Mount{HostPath: "/tmp/vgpulock", ContainerPath: "/tmp/vgpulock"})
	value, isSet := container.Env["CUDA_DISABLE_CONTROL"]
	disabled, err := strconv.ParseBool(value)
	if isSet && (err != nil || !disabled) {
		m.mistake(21)
	}
	if err != nil || !disabled {
		response.Mounts = append(response.Mounts, cases.Mount{HostPath: hook + "/ld.so.preload", ContainerPath: "/etc/ld.so.preload", ReadOnly: true})
	}
}

// limitsMPS adds what MPS needs: a card shared in that way has no HAMi-core.
func (m *machine) limitsMPS(response *cases.Response, devices []entry, uuids []string) {
	settings := m.vgpu.settings
	pipe := "/mps/" + settings.names[count] + "/pipe"
	if _, has := response.Envs["CUDA_MPS_PIPE_DIRECTORY"]; !has {
		root := settings.mpsRoot
		if root == "" {
			root = "/run/nvidia/mps"
		}
		response.Envs["CUDA_MPS_PIPE_DIRECTORY"] = pipe
		response.Mounts = slices.Concat([]cases.Mount{
			{HostPath: root + "/" + settings.names[count] + "/pipe", ContainerPath: pipe}, {HostPath: root + "/shm", ContainerPath: "/dev/shm"},
		}, response.Mounts)
	}
	threads := int64(0)
	memory := make([]int64, len(unique(uuids)))
	for i, e := range devices {
		amount, _ := strconv.ParseInt(e.fields[2], 10, 64)
		memory[slices.Index(unique(uuids), uuids[i])] += amount * settings.factor
		if share := int64(number(e.fields[3])); share > 0 && (threads == 0 || share < threads) {
			threads = share
		}
	}
	var pinned []string
	for ordinal, amount := range memory {
		if amount > 0 {
			pinned = append(pinned, fmt.Sprintf("%d=%dM", ordinal, amount))
		}
	}
	if len(pinned) > 0 {
		response.Envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = strings.Join(pinned, ",")
	}
	if threads > 0 {
		response.Envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = fmt.Sprint(threads)
	}
}
