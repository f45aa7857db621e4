package model

import (
	"encoding/json"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// The three roles of a resource.
const (
	count = iota
	memory
	cores
)

// vgpuSettings is what holds for the node.
type vgpuSettings struct {
	names       [3]string // as the ConfigMap has them
	split       int64
	factor      int64
	coreScaling float64
	has         struct{ split, factor, coreScaling bool } // said by somebody
	mode        string
	unknownMode bool // some entry of the node has a mode that there is not (N7)
	filterUUID  map[string]bool
	filterIndex map[int]bool
	geometries  []geometries
	unreadable  bool // no readable ConfigMap (N1)

	strategies  []string
	idStrategy  string
	migStrategy string
	passSpecs   bool
	driverRoot  string
	cdiPrefix   string
	mpsRoot     string
	switches    map[string]bool // NVIDIA_GDRCOPY, …
	sharing     sharing
}

// sharing is the section of --config-file.
type sharing struct {
	kind string // "", "mps", "timeSlicing"
	name string
	bad  bool
}

type geometries struct {
	Models []string `json:"models"`
	Groups []struct {
		Group      string    `json:"group"`
		Geometries []profile `json:"geometries"`
	} `json:"allowedGeometries"`
}

type profile struct {
	Name   string `json:"name"`
	Memory int64  `json:"memory"`
	Count  int    `json:"count"`
}

// refusal is why a start ends at once; the code of the exit.
type refusal struct{ code int }

// readSettings are the settings, or why the plugin refuses its command line.
func (m *machine) readSettings() (*vgpuSettings, *refusal) {
	s := &vgpuSettings{
		mode: "hami-core", filterUUID: map[string]bool{}, filterIndex: map[int]bool{},
		strategies: []string{"envvar"}, idStrategy: "uuid", driverRoot: "/", cdiPrefix: "cdi.k8s.io/",
		switches: map[string]bool{"NVIDIA_GDRCOPY": true, "NVIDIA_GDS": true, "NVIDIA_MOFED": true},
	}
	m.readConfigMap(s)
	if !m.readFlags(s) {
		return nil, &refusal{1}
	}
	m.readNodeFile(s)
	return s, nil
}

// readConfigMap reads the cluster's configuration. It is unreadable where it is not in one of the two namespaces under its key, is no
// YAML, or has a number or a name of another type; negative numbers of counts are of another type.
func (m *machine) readConfigMap(s *vgpuSettings) {
	in := m.in
	readable := in.DeviceConfig != nil && (in.ConfigMapNamespace == "kube-system" || in.ConfigMapNamespace == "volcano-system") &&
		(in.ConfigMapKey == "" || in.ConfigMapKey == "device-config.yaml")
	var content struct {
		NVIDIA struct {
			Count       string       `json:"resourceCountName"`
			Memory      string       `json:"resourceMemoryName"`
			Cores       string       `json:"resourceCoreName"`
			Split       *uint64      `json:"deviceSplitCount"`
			Factor      *uint64      `json:"gpuMemoryFactor"`
			Scaling     *float64     `json:"deviceMemoryScaling"`
			CoreScaling *float64     `json:"deviceCoreScaling"`
			Geometries  []geometries `json:"knownMigGeometries"`
		} `json:"nvidia"`
	}
	if !readable || yaml.Unmarshal([]byte(*in.DeviceConfig), &content) != nil {
		s.unreadable = true
		return
	}
	read := content.NVIDIA
	s.names = [3]string{read.Count, read.Memory, read.Cores}
	if read.Split != nil {
		s.split, s.has.split = int64(*read.Split), true
	}
	if read.Factor != nil {
		s.factor, s.has.factor = int64(*read.Factor), true
	}
	if read.CoreScaling != nil {
		s.coreScaling, s.has.coreScaling = *read.CoreScaling, true
	}
	s.geometries = read.Geometries
}

// readFlags applies the command line; false: it is refused.
func (m *machine) readFlags(s *vgpuSettings) bool {
	for _, argument := range m.in.Args {
		name, value, hasValue := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		if !hasValue {
			value = "true"
		}
		var err error
		switch name {
		case "device-split-count":
			s.split, err = strconv.ParseInt(value, 0, 64)
			s.has.split = true
		case "gpu-memory-factor":
			s.factor, err = strconv.ParseInt(value, 0, 64)
			s.has.factor = true
		case "device-cores-scaling":
			s.coreScaling, err = strconv.ParseFloat(value, 64)
			s.has.coreScaling = true
		case "device-list-strategy":
			s.strategies = strings.Split(value, ",")
			for _, strategy := range s.strategies {
				if strategy != "envvar" && strategy != "volume-mounts" && strategy != "cdi-annotations" && strategy != "cdi-cri" {
					return false
				}
			}
		case "device-id-strategy":
			s.idStrategy = value
			if value != "uuid" && value != "index" {
				return false
			}
		case "mig-strategy":
			s.migStrategy = value
			if value != "none" && value != "single" && value != "mixed" {
				return false
			}
		case "pass-device-specs":
			s.passSpecs, err = strconv.ParseBool(value)
		case "driver-root", "nvidia-driver-root":
			s.driverRoot = value
		case "mps-root":
			s.mpsRoot = value
		case "cdi-annotation-prefix":
			s.cdiPrefix = value
		case "gdrcopy-enabled", "gds-enabled", "mofed-enabled":
			var on bool
			on, err = strconv.ParseBool(value)
			s.switches["NVIDIA_"+strings.ToUpper(strings.TrimSuffix(name, "-enabled"))] = on
		case "config-file":
			m.readPluginFile(s)
		}
		if err != nil || s.sharing.bad {
			return false
		}
	}
	return true
}

// readPluginFile reads --config-file: version v1, and sharing with at least two replicas.
func (m *machine) readPluginFile(s *vgpuSettings) {
	type section struct {
		Resources []struct {
			Name     string `json:"name"`
			Replicas int    `json:"replicas"`
		} `json:"resources"`
	}
	var file struct {
		Version string `json:"version"`
		Sharing struct {
			TimeSlicing *section `json:"timeSlicing"`
			MPS         *section `json:"mps"`
		} `json:"sharing"`
	}
	if m.in.PluginConfig == nil || yaml.Unmarshal([]byte(*m.in.PluginConfig), &file) != nil || file.Version != "v1" {
		s.sharing.bad = true
		return
	}
	for kind, read := range map[string]*section{"timeSlicing": file.Sharing.TimeSlicing, "mps": file.Sharing.MPS} {
		if read == nil {
			continue
		}
		for _, resource := range read.Resources {
			s.sharing = sharing{kind: kind, name: resource.Name, bad: resource.Replicas < 2}
			if s.sharing.bad {
				return
			}
		}
	}
}

// readNodeFile applies the entries of this node in their order. A file that is no JSON of these types is ignored as a whole.
func (m *machine) readNodeFile(s *vgpuSettings) {
	if m.in.NodeConfig == nil {
		return
	}
	var file struct {
		Nodes []struct {
			Name        string  `json:"name"`
			Mode        string  `json:"operatingmode"`
			Scaling     float64 `json:"devicememoryscaling"`
			CoreScaling float64 `json:"devicecorescaling"`
			Split       uint64  `json:"devicesplitcount"`
			Strategy    string  `json:"migstrategy"`
			Filter      *struct {
				UUID  []string `json:"uuid"`
				Index []uint   `json:"index"`
			} `json:"filterdevices"`
		} `json:"nodeconfig"`
	}
	if json.Unmarshal([]byte(*m.in.NodeConfig), &file) != nil {
		return
	}
	node, _ := m.in.Getenv("NODE_NAME", m.in.NodeName)
	for _, entry := range file.Nodes {
		if entry.Name != node {
			continue
		}
		if entry.Mode != "" {
			s.mode = entry.Mode
			s.unknownMode = s.unknownMode || entry.Mode != "hami-core" && entry.Mode != "mig" && entry.Mode != "mps"
		}
		if entry.CoreScaling > 0 {
			s.coreScaling, s.has.coreScaling = entry.CoreScaling, true
		}
		if entry.Split > 0 {
			s.split, s.has.split = int64(entry.Split), true
		}
		if entry.Filter != nil {
			s.filterUUID, s.filterIndex = map[string]bool{}, map[int]bool{}
			for _, uuid := range entry.Filter.UUID {
				s.filterUUID[uuid] = true
			}
			for _, index := range entry.Filter.Index {
				s.filterIndex[int(index)] = true
			}
		}
	}
}
