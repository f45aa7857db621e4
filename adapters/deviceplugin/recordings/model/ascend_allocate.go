package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

const (
	hamiLock  = "hami.io/mutex.lock"
	hamiNode  = "hami.io/vgpu-node"
	hamiPhase = "hami.io/bind-phase"
	hamiTime  = "hami.io/bind-time"
)

func (m *machine) allocateAscend(s *step, of *cases.Step) {
	a := &m.ascend
	if !a.isAlive || of.Resource != a.config.Resource {
		s.fail("NotRegistered", "")
		return
	}
	if !m.upstream {
		m.allocateAscendRight(s, of)
		return
	}
	p, problem := m.pendingPod()
	if p == nil {
		s.fail("Unknown", "get pending pod error: "+problem)
		return
	}
	key := "hami.io/" + a.config.Word + "-devices-to-allocate"
	runtime, ok := m.runtimeInfo(p)
	if !ok {
		problem = "build runtimeInfo lookup…"
		if name := "huawei.com/" + a.config.Word; p.annotations[name] == "" {
			problem = "build runtimeInfo lookup: annotation " + name + " not set"
		}
		m.failAscend(s, p, problem)
		return
	}
	slots, ok := decodeHAMi(p.annotations[key])
	if _, isThere := p.annotations[key]; !isThere {
		m.failAscend(s, p, "decode device annotations: device "+a.config.Word+" not found in pod annotations")
		return
	}
	if !ok {
		m.failAscend(s, p, "decode device annotations: …")
		return
	}
	unknown := 0
	for _, ids := range of.ContainerRequests {
		at := slices.IndexFunc(slots, func(slot []entry) bool { return len(slot) > 0 })
		if at < 0 {
			m.failAscend(s, p, "get next container devices: no pending device allocation found")
			return
		}
		if len(slots[at]) != len(ids) {
			m.failAscend(s, p, fmt.Sprintf("device number not matched: annotation has %d, request has %d", len(slots[at]), len(ids)))
			return
		}
		if at := slices.IndexFunc(slots[at], func(e entry) bool { return m.chipOf(e.uuid()) < 0 }); at >= 0 {
			unknown = at
		}
		response, ok := m.ascendResponse(p, at, slots[at], runtime)
		if !ok {
			m.failAscend(s, p, "build container allocate response: unknown uuid: "+slots[at][unknown].uuid())
			return
		}
		slots[at] = nil
		s.out.Responses = append(s.out.Responses, response)
	}
	if m.faults.refused("PATCH", "pods") {
		m.failAscend(s, p, "erase allocated containers annotation: injected fault")
		return
	}
	s.annotate(p, map[string]string{key: encodeHAMi(slots)})
	m.finishAscend(s, p, "success")
}

// pendingPod is the pod of a call: that of the lock, or the first that is listed. Otherwise it says why there is none.
func (m *machine) pendingPod() (*pod, string) {
	const injected = "injected fault"
	if m.faults.refused("GET", "nodes") {
		return nil, injected
	}
	lock, ok := m.nodeAnnotations[hamiLock]
	if !ok {
		return m.listedPod()
	}
	parts := strings.Split(lock, ",")
	if len(parts) != 1 && len(parts) != 3 {
		return nil, fmt.Sprintf("malformed lock annotation: expected 3 parts, got %d from %s", len(parts), lock)
	}
	if _, err := time.Parse(time.RFC3339, parts[0]); err != nil {
		return nil, err.Error()
	}
	if len(parts) == 1 || parts[1] == "" || parts[2] == "" {
		return m.listedPod()
	}
	if m.faults.refused("GET", "pods") {
		return nil, injected
	}
	for _, p := range m.pods {
		if p.Namespace == parts[1] && p.Name == parts[2] {
			return p, ""
		}
	}
	return nil, fmt.Sprintf("pods %q not found", parts[2])
}

func (m *machine) listedPod() (*pod, string) {
	if m.faults.refused("LIST", "pods") && !m.collectorWasFirst() {
		return nil, "injected fault"
	}
	for _, p := range m.pods {
		phase := p.annotations[hamiPhase]
		_, hasTime := p.annotations[hamiTime]
		if p.NodeName == m.ascendNode() && p.Phase == "Pending" && hasTime && p.annotations[hamiNode] == m.ascendNode() &&
			(phase == "allocating" || phase == "success") {
			return p, ""
		}
	}
	return nil, "no binding pod found on node " + m.ascendNode()
}

// chipOf is where a chip is among those of the plugin; below 0: it is not.
func (m *machine) chipOf(uuid string) int {
	return slices.IndexFunc(m.ascend.chips, func(of chip) bool { return of.UUID == uuid })
}

// collectorWasFirst says whether a refusal hit upstream's own metrics, which list pods all the time where chips are limited in
// software.
func (m *machine) collectorWasFirst() bool {
	for _, fault := range m.in.APIFaults {
		if fault.Verb == "LIST" && m.ascend.soft {
			return true
		}
	}
	return false
}

// runtimeEntry is one device of huawei.com/W.
type runtimeEntry struct {
	UUID     string `json:"UUID"`
	Template string `json:"temp"`
	Memory   *int64 `json:"memory"`
	Core     *int64 `json:"core"`
}

func (m *machine) runtimeInfo(p *pod) ([]runtimeEntry, bool) {
	text, ok := p.annotations["huawei.com/"+m.ascend.config.Word]
	var result []runtimeEntry
	return result, ok && json.Unmarshal([]byte(text), &result) == nil
}

// decodeHAMi reads slots; the text after the last ";" is one too.
func decodeHAMi(text string) ([][]entry, bool) {
	var result [][]entry
	for _, container := range strings.Split(text, ";") {
		slot := []entry{}
		for _, device := range strings.Split(container, ":") {
			if !strings.Contains(device, ",") {
				continue
			}
			fields := strings.Split(device, ",")
			if len(fields) < 4 {
				return nil, false
			}
			for _, field := range fields[2:4] {
				if number(field) == 0 && field != "0" {
					return nil, false
				}
			}
			slot = append(slot, entry{fields, device})
		}
		result = append(result, slot)
	}
	return result, true
}

func encodeHAMi(slots [][]entry) string {
	result := ""
	for _, slot := range slots {
		for _, e := range slot {
			result += strings.Join(e.fields[:4], ",") + ":"
		}
		result += ";"
	}
	return result
}

// ascendResponse is what a container is given.
func (m *machine) ascendResponse(p *pod, slot int, devices []entry, runtime []runtimeEntry) (cases.Response, bool) {
	a := &m.ascend
	var phys []string
	var infos []runtimeEntry
	for _, e := range devices {
		at := slices.IndexFunc(a.chips, func(of chip) bool { return of.UUID == e.uuid() })
		if at < 0 {
			return cases.Response{}, false
		}
		phys = append(phys, fmt.Sprint(a.chips[at].Phy))
		info := runtimeEntry{}
		for _, entry := range runtime {
			if entry.UUID == e.uuid() {
				info = entry
			}
		}
		infos = append(infos, info)
	}
	result := cases.Response{Envs: map[string]string{"ASCEND_VISIBLE_DEVICES": strings.Join(phys, ",")}}
	if p.annotations["huawei.com/vnpu-mode"] == "hami-core" {
		m.addSoft(&result, p, slot, phys, infos)
		return result, true
	}
	for _, info := range infos {
		if info.Template != "" {
			result.Envs["ASCEND_VNPU_SPECS"] = info.Template
			break
		}
	}
	return result, true
}

func (m *machine) addSoft(response *cases.Response, p *pod, slot int, phys []string, infos []runtimeEntry) {
	for name, of := range map[string]func(runtimeEntry) *int64{
		"NPU_MEM_QUOTA": func(info runtimeEntry) *int64 { return info.Memory },
		"NPU_PRIORITY":  func(info runtimeEntry) *int64 { return info.Core },
	} {
		for _, info := range infos {
			if value := of(info); value != nil {
				response.Envs[name] = fmt.Sprint(*value)
				break
			}
		}
	}
	response.Envs["NPU_GLOBAL_SHM_PATH"] = "/hami-shared-region/" + phys[0] + "_global_registry"
	response.Envs["NPU_LOCAL_SHM_PATH"] = "/hami-vnpu-shmem/vnpu_local_shmem"
	all := slices.Concat(p.InitContainers, p.Containers)
	hook, _ := m.in.Getenv("HOOK_PATH", "/usr/local/hami-vnpu-core")
	name := ""
	if slot < len(all) {
		name = all[slot].Name
	}
	folder := hook + "/containers/" + p.UID + "_" + name
	m.mkdir(folder, "0777")
	for _, path := range []string{"/usr/local/bin/npu-smi", "/etc/ascend_install.info", "/usr/local/Ascend/driver/lib64/driver", "/usr/local/Ascend/driver/version.info"} {
		response.Mounts = append(response.Mounts, cases.Mount{HostPath: path, ContainerPath: path, ReadOnly: true})
	}
	response.Mounts = append(response.Mounts,
		cases.Mount{HostPath: "/usr/local/hami-vnpu-core", ContainerPath: "/hami-vnpu-core", ReadOnly: true},
		cases.Mount{HostPath: "/usr/local/hami-vnpu-core/ld.so.preload", ContainerPath: "/etc/ld.so.preload", ReadOnly: true},
		cases.Mount{HostPath: "/usr/local/hami-shared-region", ContainerPath: "/hami-shared-region"},
		cases.Mount{HostPath: folder, ContainerPath: "/hami-vnpu-shmem"})
}

func (m *machine) failAscend(s *step, p *pod, message string) {
	m.finishAscend(s, p, "failed")
	s.out.Responses = nil
	s.fail("Unknown", message)
}

// finishAscend writes the phase and gives the lock back.
func (m *machine) finishAscend(s *step, p *pod, phase string) {
	if phase == "success" && m.faults.refused("GET", "pods") {
		return
	}
	if !m.faults.refused("PATCH", "pods") {
		s.annotate(p, map[string]string{hamiPhase: phase})
	} else if phase == "success" {
		return
	}
	m.releaseAscend(p)
}

func (m *machine) releaseAscend(p *pod) {
	if m.faults.refused("GET", "nodes") {
		return
	}
	lock, ok := m.nodeAnnotations[hamiLock]
	if !ok {
		return
	}
	parts := strings.Split(lock, ",")
	if len(parts) == 3 && (parts[1] != p.Namespace || parts[2] != p.Name) {
		return
	}
	for range 5 {
		if m.faults.refused("GET", "nodes") {
			continue
		}
		if !m.faults.refused("PATCH", "nodes") {
			delete(m.nodeAnnotations, hamiLock)
			return
		}
	}
}
