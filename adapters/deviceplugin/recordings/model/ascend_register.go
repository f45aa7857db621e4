package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// ascendPlugin is the state of the plugin.
type ascendPlugin struct {
	isAlive bool
	calls   []string     // that change chips
	runs    []cases.Exec // of npu-smi
	hangs   bool         // waits for a reader of its list for ever
	npu     npus
	config  ascendConfig
	soft    bool
	count   int
	chips   []chip
}

// npus are the answers of the vendor's library.
type npus struct {
	ChipType string            `json:"chip_type"`
	ChipName string            `json:"chip_name"`
	Chips    []chip            `json:"npus"`
	Faults   map[string]string `json:"faults"`
}

type chip struct {
	Logic  int    `json:"logic_id"`
	Phy    int    `json:"phy_id"`
	Card   int    `json:"card_id"`
	UUID   string `json:"vdie"`
	Health int    `json:"health_code"`
	Device int    `json:"device_id"`
	Parts  []part `json:"vnpus"`
	seen   bool   // was healthy when it was last looked at
}

// part is a vNPU.
type part struct {
	ID    int  `json:"id"`
	Used  int  `json:"container_used"`
	Fails bool `json:"destroy_fails"`
}

type ascendConfig struct {
	Word        string `json:"commonWord"`
	Chip        string `json:"chipName"`
	Resource    string `json:"resourceName"`
	Allocatable int64  `json:"memoryAllocatable"`
	Cores       int    `json:"aiCore"`
	Templates   []struct {
		Name   string `json:"name"`
		Memory int64  `json:"memory"`
	} `json:"templates"`
}

// startAscend is what happens up to the first entry in the node's annotations.
func (m *machine) startAscend() started {
	a := &m.ascend
	refuse := started{startup: "exit", exit: &cases.Exit{Code: 255}}
	if err := json.Unmarshal(m.in.NPU, &a.npu); err != nil || m.ascendNode() == "" {
		return refuse
	}
	var file struct {
		VNPUs struct {
			Configs []ascendConfig `json:"configs"`
			Soft    bool           `json:"hamiVnpuCore"`
		} `json:"vnpus"`
	}
	if m.in.AscendConfig == nil || yaml.Unmarshal([]byte(*m.in.AscendConfig), &file) != nil || a.npu.ChipType != "Ascend" {
		return refuse
	}
	at := slices.IndexFunc(file.VNPUs.Configs, func(config ascendConfig) bool { return config.Chip == a.npu.ChipName })
	if at < 0 {
		return refuse
	}
	a.config, a.soft = file.VNPUs.Configs[at], file.VNPUs.Soft
	a.count = a.config.count()
	filter := m.ascendNodeFile()
	for _, call := range []string{"GetDeviceList", "GetDeviceHealth", "GetPhysicIDFromLogicID"} {
		if a.npu.Faults[call] != "" {
			return refuse
		}
	}
	m.destroyIdle(filter)
	if m.in.AssetsMissing && (a.soft || m.mistake(44)) {
		return refuse
	}
	m.mkdir("/usr/local/hami-shared-region", "0777")
	for _, of := range a.npu.Chips {
		if !filter(of) {
			of.seen = of.Health == 0
			a.chips = append(a.chips, of)
		}
	}
	if a.soft && m.toolFails("npu-smi") && len(a.chips) > 0 {
		return refuse
	}
	for _, of := range a.chips {
		if a.soft {
			a.runs = append(a.runs, cases.Exec{Stdin: "Y\n", Argv: []string{
				"npu-smi", "set", "-t", "device-share", "-i", fmt.Sprint(of.Card), "-c", fmt.Sprint(of.Device), "-d", "1",
			}})
		}
	}
	a.isAlive = true
	result := started{startup: "serving"}
	if m.toolFails("listandwatch") {
		result.startup = "partial"
		if sick := slices.ContainsFunc(a.chips, func(of chip) bool { return !of.seen }); sick && m.mistake(41) {
			a.hangs = true
			return result
		}
	}
	if !m.faults.refused("GET", "nodes") && !m.faults.refused("PATCH", "nodes") {
		m.registerAscend()
	}
	result.registers, result.devices = m.ascendRegisters()
	return result
}

// destroyIdle destroys the parts of chips that no container uses.
func (m *machine) destroyIdle(filter func(chip) bool) {
	if m.ascend.npu.Faults["GetVirtualDeviceInfo"] != "" {
		return
	}
	for _, of := range m.ascend.npu.Chips {
		for _, idle := range of.Parts {
			if idle.Used != 0 || filter(of) {
				continue
			}
			result := "ok"
			if slices.ContainsFunc(of.Parts, func(other part) bool { return other.ID == idle.ID && other.Fails }) {
				result = "error" // recordings have numbers twice
			}
			m.ascend.calls = append(m.ascend.calls, fmt.Sprintf("DestroyVirtualDevice logic=%d id=%d -> %s", of.Logic, idle.ID, result))
		}
	}
}

func (m *machine) ascendRegisters() ([]cases.Register, map[string]cases.DeviceList) {
	config := &m.ascend.config
	return []cases.Register{{Resource: config.Resource, Endpoint: config.Word + ".sock", Version: "v1beta1"}},
		map[string]cases.DeviceList{config.Resource: m.ascendDevices()}
}

// lookAtChips reads the chips' health anew; upstream does only while one of them is sick, so the last one stays sick.
func (m *machine) lookAtChips() {
	chips := m.ascend.chips
	anySick := slices.ContainsFunc(chips, func(of chip) bool { return of.Health != 0 })
	stale := slices.ContainsFunc(chips, func(of chip) bool { return of.seen != (of.Health == 0) })
	if !anySick && stale && m.mistake(40) {
		return
	}
	for i := range chips {
		chips[i].seen = chips[i].Health == 0
	}
}

// signalAscend is a signal to the plugin.
func (m *machine) signalAscend(s *step, signal string) {
	s.out.NodeAnnotations = m.nodeAnnotations
	s.out.SocketsLeft = []string{"kubelet.sock"}
	s.out.Registers, s.out.Devices = []cases.Register{}, map[string]cases.DeviceList{}
	switch {
	case m.ascend.hangs:
		s.out.Alive = true
	case signal == "HUP":
		s.out.Alive = true
		s.out.Registers, s.out.Devices = m.ascendRegisters()
		s.out.SocketsLeft = append(s.out.SocketsLeft, m.ascend.config.Word+".sock")
		m.registerAscend()
	default:
		m.ascend.isAlive = false
		s.out.Exit = &cases.Exit{Code: 0}
	}
}

// ascendNode is the node's name.
func (m *machine) ascendNode() string {
	for _, argument := range m.in.Args {
		if name, ok := strings.CutPrefix(argument, "--node_name="); ok {
			return name
		}
	}
	return m.node()
}

// count is how many containers share a chip: as often as the smallest template fits.
func (c *ascendConfig) count() int {
	if len(c.Templates) == 0 {
		return 1
	}
	smallest := c.Templates[0].Memory
	for _, template := range c.Templates {
		smallest = min(smallest, template.Memory)
	}
	if smallest <= 0 {
		return 0
	}
	return int(c.Allocatable / smallest)
}

// ascendNodeFile applies the first entry of the node, and is which chips it leaves out. A file that cannot be read is ignored.
func (m *machine) ascendNodeFile() func(chip) bool {
	nothing := func(chip) bool { return false }
	isRead := slices.ContainsFunc(m.in.Args, func(argument string) bool { return strings.HasPrefix(argument, "--node_config_file=") })
	var file struct {
		Nodes []struct {
			Name   string `json:"name"`
			Soft   bool   `json:"hami-vnpu-core"`
			Count  int    `json:"vDeviceCount"`
			Filter struct {
				UUID  []string `json:"uuid"`
				Index []int    `json:"index"`
			} `json:"filterDevices"`
		} `json:"nodes"`
	}
	if !isRead || m.in.AscendNodeConfig == nil || yaml.Unmarshal([]byte(*m.in.AscendNodeConfig), &file) != nil {
		return nothing
	}
	for _, entry := range file.Nodes {
		if entry.Name != m.ascendNode() {
			continue
		}
		m.ascend.soft = entry.Soft
		if entry.Count > 0 {
			m.ascend.count = entry.Count
		}
		return func(of chip) bool {
			return slices.Contains(entry.Filter.UUID, of.UUID) || slices.Contains(entry.Filter.Index, of.Card)
		}
	}
	return nothing
}

// registerAscend writes the node's annotations.
func (m *machine) registerAscend() {
	a := &m.ascend
	texts := []string{}
	for index, of := range a.chips {
		text := fmt.Sprintf(`{"id":%q`, of.UUID)
		if index != 0 {
			text += fmt.Sprintf(`,"index":%d`, index)
		}
		if a.count != 0 {
			text += fmt.Sprintf(`,"count":%d`, a.count)
		}
		cores := a.config.Cores
		if a.soft {
			cores = 100
		}
		text += fmt.Sprintf(`,"devmem":%d,"devcore":%d,"type":%q`, a.config.Allocatable, cores, a.config.Word)
		if of.seen {
			text += `,"health":true`
		}
		if strings.HasPrefix(a.config.Word, "Ascend910") {
			network := 0
			if index > 3 && a.config.Word != "Ascend910C" {
				network = 1
			}
			text += fmt.Sprintf(`,"custominfo":{"NetworkID":%d}`, network)
		}
		texts = append(texts, text+`,"devicepairscore":{}}`)
	}
	m.nodeAnnotations["hami-vnpu-core"] = fmt.Sprint(a.soft)
	m.nodeAnnotations["hami.io/node-handshake-"+a.config.Word] = "Reported_<time>"
	m.nodeAnnotations["hami.io/node-register-"+a.config.Word] = "[" + strings.Join(texts, ",") + "]"
}

func (m *machine) ascendDevices() cases.DeviceList {
	result := cases.DeviceList{PerDevice: []cases.Devices{}}
	for _, of := range m.ascend.chips {
		if m.ascend.count == 0 {
			break
		}
		health := "Unhealthy"
		if of.seen {
			health = "Healthy"
		}
		result.PerDevice = append(result.PerDevice, cases.Devices{UUID: of.UUID, Count: m.ascend.count, Health: health})
		result.Total += m.ascend.count
		result.IDFormat = "<uuid>-<i>"
	}
	sort.Slice(result.PerDevice, func(i, j int) bool { return result.PerDevice[i].UUID < result.PerDevice[j].UUID })
	return result
}

// ascendCase plays a case of ascend-device-plugin.
func (m *machine) ascendCase() cases.Output {
	first := m.startAscend()
	result := cases.Output{Startup: first.startup, Exit: first.exit, Registers: first.registers, Devices: first.devices}
	result.OfAscend()
	result.VendorCalls, result.Exec = m.ascend.calls, m.ascend.runs
	result.NodeAnnotations = maps.Clone(m.nodeAnnotations)
	if len(m.dirs) > 0 && first.exit == nil {
		result.Dirs = maps.Clone(m.dirs)
	}
	for i := range m.in.Steps {
		result.Steps = append(result.Steps, m.ascendStep(&m.in.Steps[i]))
	}
	if len(m.in.Steps) > 0 {
		result.Trim()
	}
	return result
}

func (m *machine) ascendStep(of *cases.Step) cases.StepOutput {
	s := m.begin()
	m.prepare(of)
	switch of.Op {
	case "npu_health":
		if of.GPU < len(m.ascend.chips) {
			m.ascend.chips[of.GPU].Health = of.Slot
		}
	case "wait_registration":
		m.lookAtChips()
		m.registerAscend()
		s.end()
		s.out.NodeAnnotations = maps.Clone(m.nodeAnnotations)
		return s.out
	case "kubelet_restart":
		s.out.Registers, s.out.Devices = m.ascendRegisters()
		m.registerAscend()
		return s.out
	case "signal":
		m.signalAscend(s, of.Resource)
		return s.out
	case "rpc":
		s.out.Options, s.out.PreStart = " err=<nil>", " err=<nil>"
		s.out.Preferred = "<nil> err=rpc error: code = Unknown desc = not supported"
	case "allocate":
		m.allocateAscend(s, of)
		result := s.end()
		maps.DeleteFunc(result.NodeAnnotations, func(key, _ string) bool { return isAscendRegistration(key) })
		return result
	}
	return s.end()
}

// isAscendRegistration says whether an annotation of a node is written by the register loop, which steps do not show.
func isAscendRegistration(key string) bool {
	return key == "hami-vnpu-core" || strings.HasPrefix(key, "hami.io/node-")
}
