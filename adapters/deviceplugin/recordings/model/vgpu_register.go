package model

import (
	"fmt"
	"maps"
	"sort"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

const registerKey = "volcano.sh/node-vgpu-register"

// vgpuPlugin is the state of the plugin.
type vgpuPlugin struct {
	settings *vgpuSettings
	isAlive  bool
	holders  []holder        // containers that have MIG instances
	doomed   map[string]bool // uids of pods that have failed
	died     bool            // it ended by itself
	exit     *cases.Exit
	served   map[string]int // resource -> role
	cards    []card
	health   map[string]bool  // uuid -> unhealthy
	picture  []map[string]int // by NVML index: the counts that upstream believes in; nil: it knows nothing
	wanted   []bool           // MIG mode in its file
	hardware *hardware
}

// card is a GPU that the plugin serves.
type card struct {
	cases.GPU
	index int
	sick  bool // registered as not healthy from the start
}

// nvmlFault is the fault of a call that fails from the first one on.
func (m *machine) nvmlFault(call string) bool {
	for _, fault := range m.in.NVMLFaults {
		if fault.Call == call && fault.AfterCalls == 0 {
			return true
		}
	}
	return false
}

// isLost says whether a call fails because the card has fallen off the bus.
func (m *machine) isLost(call string) bool {
	for _, fault := range m.in.NVMLFaults {
		if fault.Call == call && fault.Return == 15 {
			return true
		}
	}
	return false
}

func (m *machine) toolFails(name string) bool {
	for _, failing := range m.in.ToolFailures {
		if failing == name {
			return true
		}
	}
	return false
}

// started is what a start of the plugin comes to.
type started struct {
	startup   string
	exit      *cases.Exit
	registers []cases.Register
	devices   map[string]cases.DeviceList
	warning   string
}

// warning is what upstream writes about a list of memory that is too long. The number of devices that it names is the list's.
func (m *machine) warning(s *vgpuSettings, lists map[string]cases.DeviceList) string {
	const most = 60000
	for name, role := range m.vgpu.served {
		if total := int64(lists[name].Total); role == memory && total > most {
			return fmt.Sprintf("%d memory devices exceed the %d kubelet can receive, set gpuMemoryFactor to at least %d",
				total, most, (s.factor*total+most-1)/most)
		}
	}
	return ""
}

func exited(code int) started {
	return started{startup: "exit", exit: &cases.Exit{Code: code}}
}

// startVGPU is what happens between the start of the process and the first entry in the node's annotations.
func (m *machine) startVGPU() started {
	m.vgpu = vgpuPlugin{hardware: m.vgpu.hardware, holders: m.vgpu.holders, health: map[string]bool{}, doomed: map[string]bool{}}
	if m.nvmlFault("nvmlInit") {
		return exited(1)
	}
	s, refused := m.readSettings()
	if refused != nil {
		return exited(refused.code)
	}
	m.vgpu.settings = s
	if refused := m.checkSettings(s); refused != nil {
		return *refused
	}
	cards, refused := m.findCards(s)
	if refused != nil {
		return exited(refused.code)
	}
	m.vgpu.cards = cards
	if len(cards) == 0 {
		m.withdraw()
		return started{startup: "waiting_no_devices", registers: []cases.Register{}, devices: map[string]cases.DeviceList{}}
	}
	if ended := m.startFails(s, cards); ended != nil {
		return *ended
	}
	return m.register(s, cards)
}

// checkSettings is what upstream does not do: settings that cannot work end the start.
func (m *machine) checkSettings(s *vgpuSettings) *started {
	for role, name := range s.names {
		if name == "" && !s.unreadable && !m.mistake(3) {
			s.names[role] = defaultNames[role]
		}
	}
	for _, name := range s.names {
		if !m.upstream && !s.unreadable && served(name) != name {
			m.mistake(3) // upstream puts its own domain before it
		}
	}
	wrong := 0
	switch {
	case s.unreadable:
		wrong = 1
	case s.has.factor && s.factor <= 0, s.has.split && s.split <= 0, s.has.coreScaling && s.coreScaling <= 0:
		wrong = 2
	case !isQualified(s.names[count]), !isQualified(s.names[memory]), !isQualified(s.names[cores]), hasTwice(s.names):
		wrong = 3
	case s.unknownMode:
		wrong = 7
	case s.sharing.kind != "" && m.isOwn(s, s.sharing.name):
		wrong = 6
	}
	if wrong != 0 && !m.mistake(wrong) {
		result := exited(1)
		return &result
	}
	if !m.upstream {
		m.fillDefaults(s)
	} else if !s.unreadable && (!s.has.factor || !s.has.split || !s.has.coreScaling) {
		m.mistake(2)
	}
	return nil
}

// fillDefaults is what a missing number means.
func (m *machine) fillDefaults(s *vgpuSettings) {
	if !s.has.factor {
		m.mistake(2)
		s.factor = 1
	}
	if !s.has.split {
		m.mistake(2)
		s.split = defaultSplit
	}
	if !s.has.coreScaling {
		m.mistake(2)
		s.coreScaling = 1
	}
}

// defaultSplit is the documented split count.
const defaultSplit = 10

func (m *machine) isOwn(s *vgpuSettings, name string) bool {
	for _, own := range s.names {
		if served(own) == name {
			return true
		}
	}
	return false
}

// defaultNames are the resources' names where the ConfigMap has none.
var defaultNames = [3]string{"volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"}

func hasTwice(names [3]string) bool {
	return names[0] == names[1] || names[1] == names[2] || names[0] == names[2]
}

// isQualified says whether a name is one of an extended resource: a domain, a slash, and a name.
func isQualified(name string) bool {
	domain, rest, ok := strings.Cut(name, "/")
	return ok && domain != "" && rest != "" && !strings.Contains(rest, "/")
}

// served is the name that upstream registers.
func served(name string) string {
	if strings.HasPrefix(name, "volcano.sh/") {
		return name
	}
	return "volcano.sh/" + name
}

// findCards are the cards that are not left out, by index.
func (m *machine) findCards(s *vgpuSettings) ([]card, *refusal) {
	if m.nvmlFault("nvmlDeviceGetCount") {
		return nil, &refusal{1}
	}
	sick := m.nvmlFault("nvmlDeviceGetName") || m.nvmlFault("nvmlDeviceGetMigMode")
	if (sick || m.nvmlFault("nvmlDeviceGetUUID")) && len(m.in.GPUs) > 0 && m.mistake(5) {
		return nil, &refusal{1}
	}
	if m.nvmlFault("nvmlDeviceGetUUID") {
		return nil, nil // cards that nobody can name
	}
	var result []card
	for index, gpu := range m.in.GPUs {
		if gpu.MigEnabled && s.migStrategy == "single" {
			return nil, &refusal{1} // its instances would be resources of their own
		}
		if gpu.MigEnabled && s.migStrategy == "mixed" {
			continue
		}
		if m.nvmlFault("nvmlDeviceGetName") {
			gpu.Name = ""
		}
		if m.nvmlFault("nvmlDeviceGetMinorNumber") {
			gpu.Minor = -1
		}
		if gpu.Name == "NVIDIA DGX Display" || gpu.Name == "DGX Display" {
			continue
		}
		if s.filterUUID[gpu.UUID] || s.filterIndex[index] {
			continue
		}
		if gpu.Minor < 0 && m.mistake(4) {
			continue
		}
		if m.nvmlFault("nvmlDeviceGetCudaComputeCapability") && m.mistake(4) {
			continue
		}
		if m.nvmlFault("nvmlDeviceGetMemoryInfo") && !m.upstream {
			gpu.MemoryBytes = 0
		}
		lost := m.isLost("nvmlDeviceGetMinorNumber") || m.isLost("nvmlDeviceGetCudaComputeCapability")
		sick := sick || lost || m.nvmlFault("nvmlDeviceGetMemoryInfo")
		result = append(result, card{GPU: gpu, index: index, sick: sick})
	}
	return result, nil
}

// startFails is what ends a start that found cards.
func (m *machine) startFails(s *vgpuSettings, cards []card) *started {
	end := func(code int) *started {
		result := exited(code)
		return &result
	}
	if m.nvmlFault("nvmlDeviceGetHandleByUUID") || m.nvmlFault("nvmlDeviceGetMemoryInfo") {
		if m.mistake(5) {
			return end(2)
		}
	}
	if !m.upstream {
		if s.mode == "mig" && m.toolFails("export") {
			m.mistake(29) // ours reads the hardware itself
		}
		m.loose.Health = m.nvmlFault("nvmlDeviceGetHandleByUUID") // health is found out after the first registration
		if m.overLimit(s, cards) && !m.mistake(8) {
			return end(1)
		}
		return nil
	}
	if s.sharing.kind != "" && m.isOwn(s, s.sharing.name) {
		return end(2)
	}
	if s.mode == "mig" && m.toolFails("export") && strings.HasPrefix(s.names[count], "volcano.sh/") {
		return end(255)
	}
	for _, name := range s.names {
		if rest := strings.TrimPrefix(served(name), "volcano.sh/"); strings.Contains(rest, "/") {
			return &started{startup: "retry_in_30s"}
		}
	}
	if s.factor == 0 && (s.names[count] == served(s.names[count]) || s.names[memory] == served(s.names[memory])) && !s.unreadable {
		return end(2)
	}
	return nil
}

// roleOf is what a resource of the configuration is served as.
func (m *machine) roleOf(s *vgpuSettings, role int) int {
	if m.upstream && served(s.names[role]) != s.names[role] {
		return count
	}
	return role
}

// perCard is how many devices of a role a card has.
func (s *vgpuSettings) perCard(role int, of card) int {
	var result int64
	switch role {
	case count:
		result = s.split
	case memory:
		result = int64(of.MemoryBytes>>20) / s.factor
	case cores:
		result = int64(int(100 * s.coreScaling))
	}
	return int(max(result, 0))
}

func (m *machine) register(s *vgpuSettings, cards []card) started {
	result := started{startup: "serving", devices: map[string]cases.DeviceList{}}
	m.vgpu.isAlive, m.vgpu.served = true, map[string]int{}
	recognised := false
	for role, name := range s.names {
		if m.upstream {
			name = served(name)
		}
		if _, ok := m.vgpu.served[name]; ok {
			continue
		}
		role = m.roleOf(s, role)
		if role == count && name == s.names[count] {
			recognised = true
		}
		m.vgpu.served[name] = role
		result.registers = append(result.registers, cases.Register{
			Resource: name, Endpoint: "nvidia-" + name[strings.Index(name, "/")+1:] + ".sock", Version: "v1beta1", Preferred: true,
		})
		result.devices[name] = m.deviceList(s, role, cards)
		if s.perCard(count, cards[0]) == 0 && role == count || role == cores && s.perCard(cores, cards[0]) == 0 {
			if !s.unreadable {
				m.mistake(2)
			}
		}
	}
	sort.Slice(result.registers, func(i, j int) bool { return result.registers[i].Resource < result.registers[j].Resource })
	result.warning = m.warning(s, result.devices)
	switch {
	case !recognised:
		result.startup = "partial"
	case m.faults.refused("GET", "nodes"):
	default:
		m.writeRegistration()
	}
	if s.mode == "mig" {
		m.readPicture()
	}
	return result
}

// writeRegistration is one round of the loop that keeps the node's annotation fresh.
func (m *machine) writeRegistration() {
	value := m.registration()
	if old, ok := m.nodeAnnotations[registerKey]; ok && old == value {
		return
	}
	if m.faults.refused("PATCH", "nodes") {
		return
	}
	m.nodeAnnotations[registerKey] = value
}

func (m *machine) registration() string {
	s := m.vgpu.settings
	cards := append([]card(nil), m.vgpu.cards...)
	sort.SliceStable(cards, func(i, j int) bool { return cards[i].Minor < cards[j].Minor })
	var text strings.Builder
	for _, of := range cards {
		amount := int64(int32(of.MemoryBytes>>20)) / max(s.factor, 1)
		fmt.Fprintf(&text, "%s,%d,%d,NVIDIA-%s,%v,%s:", of.UUID, s.split, amount, of.Name, !m.vgpu.health[of.UUID] && !of.sick, s.mode)
	}
	return text.String()
}

// withdraw takes the annotation back, which upstream never does.
func (m *machine) withdraw() {
	if _, ok := m.nodeAnnotations[registerKey]; ok && !m.mistake(9) {
		delete(m.nodeAnnotations, registerKey)
	}
}

// deviceList is the first list of a resource.
func (m *machine) deviceList(s *vgpuSettings, role int, cards []card) cases.DeviceList {
	result := cases.DeviceList{PerDevice: []cases.Devices{}}
	size := 0
	format := []string{"<uuid>-<i>", "<uuid>-memory-<i>", "<uuid>-core-<i>"}[role]
	for _, of := range cards {
		devices := s.perCard(role, of)
		if devices == 0 {
			continue
		}
		health := "Healthy"
		if of.sick || m.vgpu.health[of.UUID] {
			health = "Unhealthy"
		}
		result.PerDevice = append(result.PerDevice, cases.Devices{UUID: of.UUID, Count: devices, Health: health})
		result.Total += devices
		result.IDFormat = format
		size += messageBytes(len(of.UUID)+len(format)-len("<uuid><i>"), devices, len(health))
	}
	sort.Slice(result.PerDevice, func(i, j int) bool { return result.PerDevice[i].UUID < result.PerDevice[j].UUID })
	if size > 4<<20 {
		result.Error = "ResourceExhausted"
	}
	return result
}

func (m *machine) overLimit(s *vgpuSettings, cards []card) bool {
	for role := range s.names {
		if m.deviceList(s, role, cards).Error != "" {
			return true
		}
	}
	return false
}

// messageBytes is how long so many devices are in a message, whose ids have a fixed part of so many bytes and then their number.
func messageBytes(fixed, devices, health int) int {
	result := 0
	for from, digits := 0, 1; from < devices; digits++ {
		upTo := min(max(from*10, 10), devices)
		device := 2 + fixed + digits + 2 + health
		prefix := 2
		if device >= 128 {
			prefix = 3
		}
		result += (upTo - from) * (device + prefix)
		from = upTo
	}
	return result
}

// vgpuCase plays a case of volcano-vgpu-device-plugin.
func (m *machine) vgpuCase() cases.Output {
	m.vgpu.hardware = newHardware(m.in)
	first := m.startVGPU()
	result := cases.Output{Startup: first.startup, Exit: first.exit, Registers: first.registers, Devices: first.devices, Warning: first.warning}
	result.NodeAnnotations = maps.Clone(m.nodeAnnotations)
	if len(m.in.Steps) == 0 {
		result.Unhealthy = m.events(true)
		return result
	}
	for i := range m.in.Steps {
		if first.exit != nil && m.upstream {
			break // nothing is recorded after it
		}
		m.at = i
		result.Steps = append(result.Steps, m.vgpuStep(&m.in.Steps[i]))
	}
	result.Trim()
	return result
}

func (m *machine) vgpuStep(of *cases.Step) cases.StepOutput {
	s := m.begin()
	m.prepare(of)
	switch of.Op {
	case "set_busy":
		m.vgpu.hardware.setBusy(of.GPU, of.Slot)
	case "allocate":
		m.allocate(s, of)
	case "events":
		s.out.Unhealthy = m.events(false)
	case "restart":
		first := m.startVGPU()
		s.out.Startup, s.out.Exit = first.startup, first.exit
	case "kubelet_restart", "signal":
		m.restartOrSignal(s, of)
	case "wait_registration":
		m.writeRegistration()
	case "rpc":
		s.out.Options, s.out.Preferred, s.out.PreStart = "get_preferred_allocation_available:true err=<nil>", " err=<nil>", " err=<nil>"
	}
	m.vgpu.hardware.show(s, of.Op)
	m.noteWithdrawal()
	return s.end()
}
