// Package model says what a recorded case's input leads to, twice: with upstream's mistakes N1 to N46 of the specification of the
// node side, and with what is right instead of them. It is written from that specification and shares nothing with the plugin: it
// knows the input of a case only, and never what was recorded.
package model

import (
	"maps"
	"path/filepath"
	"sort"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// Prediction is what a case leads to.
type Prediction struct {
	Output cases.Output
	// Mistakes are those of upstream that the case runs into, in that order.
	Mistakes []int
	// Loose is what the input does not decide.
	Loose cases.Loose
}

// Upstream is what the real plugin answers.
func Upstream(in *cases.Input) Prediction { return predict(in, nil) }

// Right is what our plugin has to answer. Where a MIG card may be cut in several ways our answer shows which one was taken; it is
// checked then, not predicted.
func Right(in *cases.Input, ours *cases.Output) Prediction { return predict(in, ours) }

func predict(in *cases.Input, ours *cases.Output) Prediction {
	m := &machine{in: in, upstream: ours == nil, ours: ours, nodeAnnotations: map[string]string{}, dirs: map[string]string{}, faults: newFaults(in.APIFaults)}
	maps.Copy(m.nodeAnnotations, in.NodeAnnotations)
	for i := range in.Pods {
		m.putPod(&in.Pods[i])
	}
	var result cases.Output
	if in.Plugin == "ascend" {
		result = m.ascendCase()
	} else {
		result = m.vgpuCase()
	}
	return Prediction{result, m.mistakes, m.loose}
}

// machine is the node, the API server and the plugin as they are now.
type machine struct {
	in       *cases.Input
	upstream bool
	ours     *cases.Output // nil: upstream
	at       int           // the step that is played
	theirs   *cases.Output // what upstream answers, where that was asked
	mistakes []int
	loose    cases.Loose

	pods            []*pod // by namespace and name
	nodeAnnotations map[string]string
	dirs            map[string]string
	faults          *faults

	vgpu   vgpuPlugin
	ascend ascendPlugin
}

// mistake notes that the case runs into mistake n, and says whether it is made.
func (m *machine) mistake(n int) bool {
	for _, known := range m.mistakes {
		if known == n {
			return m.upstream
		}
	}
	m.mistakes = append(m.mistakes, n)
	return m.upstream
}

// pod is a pod on the API server.
type pod struct {
	*cases.Pod
	annotations map[string]string
}

func (p *pod) key() string { return p.Namespace + "/" + p.Name }

func (m *machine) putPod(written *cases.Pod) {
	m.deletePod(written)
	annotations := map[string]string{}
	maps.Copy(annotations, written.Annotations)
	m.pods = append(m.pods, &pod{written, annotations})
	sort.SliceStable(m.pods, func(i, j int) bool {
		a, b := m.pods[i], m.pods[j]
		if a.Namespace != b.Namespace {
			return a.Namespace < b.Namespace
		}
		return a.Name < b.Name
	})
}

func (m *machine) deletePod(like *cases.Pod) {
	for i, known := range m.pods {
		if known.Namespace == like.Namespace && known.Name == like.Name {
			m.pods = append(m.pods[:i], m.pods[i+1:]...)
			return
		}
	}
}

// step is what is collected of one step.
type step struct {
	m      *machine
	out    cases.StepOutput
	before map[string]string // the node's annotations
	dirs   map[string]string
}

func (m *machine) begin() *step {
	return &step{m: m, before: maps.Clone(m.nodeAnnotations), dirs: maps.Clone(m.dirs)}
}

// prepare does what a step changes around the plugin, whichever it is.
func (m *machine) prepare(of *cases.Step) {
	switch of.Op {
	case "put_pod":
		m.putPod(of.Pod)
	case "delete_pod":
		m.deletePod(of.Pod)
	case "api_faults":
		m.faults = newFaults(of.APIFaults)
	}
}

// annotate is a patch of a pod's annotations.
func (s *step) annotate(p *pod, values map[string]string) {
	if s.out.PodAnnotations == nil {
		s.out.PodAnnotations = map[string]map[string]*string{}
	}
	for key, value := range values {
		if old, ok := p.annotations[key]; ok && old == value {
			continue
		}
		p.annotations[key] = value
		if s.out.PodAnnotations[p.key()] == nil {
			s.out.PodAnnotations[p.key()] = map[string]*string{}
		}
		s.out.PodAnnotations[p.key()][key] = &value
	}
}

// end fills in what changed.
func (s *step) end() cases.StepOutput {
	if !maps.Equal(s.before, s.m.nodeAnnotations) {
		s.out.NodeAnnotations = maps.Clone(s.m.nodeAnnotations)
	}
	for path, mode := range s.m.dirs {
		if s.dirs[path] != mode {
			if s.out.Dirs == nil {
				s.out.Dirs = map[string]string{}
			}
			s.out.Dirs[path] = mode
		}
	}
	return s.out
}

func (s *step) fail(code, message string) {
	s.out.Error = &cases.RPCError{Code: code, Message: message}
}

// mkdir makes a folder and those above it, 0755, unless they are there.
func (m *machine) mkdir(path, mode string) {
	path = filepath.Clean(path)
	if strings.HasPrefix(path, "/tmp/vgpu/") {
		return // is not looked at
	}
	for i := 1; i < len(path); i++ {
		if path[i] == '/' && !m.hasDir(path[:i]) {
			m.dirs[path[:i]] = "0755"
		}
	}
	m.dirs[path] = mode
}

// existingDirs are there before the plugin starts.
var existingDirs = []string{"/", "/usr", "/usr/local", "/usr/local/vgpu", "/usr/local/hami-vnpu-core", "/tmp", "/tmp/vgpu"}

func (m *machine) hasDir(path string) bool {
	if _, ok := m.dirs[path]; ok {
		return true
	}
	for _, known := range existingDirs {
		if path == known {
			return true
		}
	}
	return false
}
