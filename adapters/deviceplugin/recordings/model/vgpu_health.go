package model

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// ignoredXids are application errors.
var ignoredXids = []uint64{13, 31, 43, 45, 68, 109}

// xidRule says which XIDs make a card unhealthy.
type xidRule struct {
	off               bool // no events are looked at
	disabled, enabled map[uint64]bool
	all               bool // every XID counts
}

// readXidRule reads DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS.
func (m *machine) readXidRule() xidRule {
	rule := xidRule{disabled: map[uint64]bool{}, enabled: map[uint64]bool{}}
	for _, xid := range ignoredXids {
		rule.disabled[xid] = true
	}
	read := func(name string, numbers map[uint64]bool) (all bool) {
		text, _ := m.in.Getenv(name, "")
		for _, part := range strings.Split(strings.ToLower(text), ",") {
			part = strings.TrimSpace(part)
			if part == "all" || part == "xids" || part == "0" {
				return true
			}
			if xid, err := strconv.ParseUint(part, 10, 64); err == nil {
				numbers[xid] = true
			}
		}
		return false
	}
	disableAll := read("DP_DISABLE_HEALTHCHECKS", rule.disabled)
	rule.all = read("DP_ENABLE_HEALTHCHECKS", rule.enabled)
	rule.off = disableAll && !rule.all
	return rule
}

func (r *xidRule) counts(xid uint64) bool {
	return r.all || r.enabled[xid] || !r.disabled[xid]
}

// events are the lists that each resource sends: the first one, and one for each cause and card. Events are delivered where they
// are; without a step for them they come right after the start.
func (m *machine) events(atStart bool) map[string][][]string {
	if !m.vgpu.isAlive || atStart && len(m.in.XidEvents) == 0 {
		return nil
	}
	lists := [][]string{{}}
	var unhealthy []string
	mark := func(uuid string) {
		m.vgpu.health[uuid] = true
		if !slices.Contains(unhealthy, uuid) {
			unhealthy = append(unhealthy, uuid)
			sort.Strings(unhealthy)
		}
		lists = append(lists, slices.Clone(unhealthy))
	}
	rule := m.readXidRule()
	watched := !rule.off && !m.nvmlFault("nvmlEventSetCreate")
	if watched && m.watchFails() {
		for _, of := range m.vgpu.cards {
			mark(of.UUID)
		}
		m.loose = cases.Loose{Order: true, Health: true}
	}
	for _, event := range m.in.XidEvents {
		if !watched || event.Type != "xid" || !rule.counts(event.Xid) {
			continue
		}
		m.loose.Order = m.loose.Order || event.GPU < 0
		for _, of := range m.vgpu.cards {
			if event.GPU < 0 || event.GPU == of.index {
				mark(of.UUID)
			}
		}
	}
	result := map[string][][]string{}
	for resource := range m.vgpu.served {
		result[resource] = lists
	}
	return result
}

// watchFails says whether NVML refuses to watch cards, other than for being too old.
func (m *machine) watchFails() bool {
	for _, fault := range m.in.NVMLFaults {
		switch fault.Call {
		case "nvmlDeviceGetSupportedEventTypes":
			return true
		case "nvmlDeviceRegisterEvents":
			return fault.Return != 3
		}
	}
	return false
}

// restartOrSignal is a kubelet that starts again, or a signal to the plugin.
func (m *machine) restartOrSignal(s *step, of *cases.Step) {
	if of.Op == "signal" && of.Resource != "HUP" {
		m.vgpu.isAlive = false
		s.out.Exit = &cases.Exit{Code: 0}
		s.out.Registers, s.out.Devices = []cases.Register{}, map[string]cases.DeviceList{}
		s.out.SocketsLeft = []string{"kubelet.sock"}
		m.withdraw()
		s.out.NodeAnnotations = m.nodeAnnotations
		return
	}
	sick := len(m.vgpu.health) > 0
	health := m.vgpu.health
	if sick && m.mistake(10) {
		health = map[string]bool{}
	}
	cards := m.vgpu.cards
	m.vgpu.health = health
	again := m.register(m.vgpu.settings, cards)
	s.out.Registers, s.out.Devices = again.registers, again.devices
	s.before = maps.Clone(m.nodeAnnotations)
	if of.Op == "signal" {
		s.out.Alive = true
		s.out.SocketsLeft = []string{"kubelet.sock"}
		for _, register := range again.registers {
			s.out.SocketsLeft = append(s.out.SocketsLeft, register.Endpoint)
		}
		s.out.NodeAnnotations = m.nodeAnnotations
	}
}
