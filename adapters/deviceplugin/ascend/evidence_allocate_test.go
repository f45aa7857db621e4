package ascend

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/testbed"
)

type recordedPod struct {
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Node        string            `json:"node_name"`
	Phase       string            `json:"phase"`
	Annotations map[string]string `json:"annotations"`
	Containers  []struct {
		Name string `json:"name"`
	} `json:"containers"`
	InitContainers []struct {
		Name string `json:"name"`
	} `json:"init_containers"`
}

func (p recordedPod) pod() *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), Annotations: p.Annotations},
		Spec: v1.PodSpec{NodeName: p.Node}, Status: v1.PodStatus{Phase: v1.PodPhase(p.Phase)}}
	for _, container := range p.Containers {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: container.Name})
	}
	for _, container := range p.InitContainers {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: container.Name})
	}
	return pod
}

type recordedInputStep struct {
	Op                string          `json:"op"`
	ContainerRequests [][]string      `json:"container_requests"`
	APIFaults         []testbed.Fault `json:"api_faults"`
}

type recordedStep struct {
	Responses []struct {
		Envs   map[string]string `json:"envs"`
		Mounts []struct {
			Host      string `json:"host_path"`
			Container string `json:"container_path"`
			ReadOnly  bool   `json:"read_only"`
		} `json:"mounts"`
	} `json:"container_responses"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	Pods map[string]map[string]*string `json:"pod_annotations"`
	Node map[string]string             `json:"node_annotations"`
	Dirs map[string]string             `json:"dirs"`
}

// mountsOf are those of an answer, one line each.
func mountsOf(response *pluginapi.ContainerAllocateResponse) []string {
	lines := []string{}
	for _, mount := range response.Mounts {
		lines = append(lines, text([]any{mount.HostPath, mount.ContainerPath, mount.ReadOnly}))
	}
	return lines
}

func TestAllocateIsAsRecorded(t *testing.T) {
	counts := map[string]int{}
	for _, one := range recordings(t, "ascend-allocate.jsonl") {
		s, _, _ := standOf(t, one)
		if _, err := s.plugin().start(context.Background()); err != nil {
			t.Errorf("%s: %v", one.ID, err)
			continue
		}
		for _, pod := range one.Input.Pods {
			s.api.Put(pod.pod())
		}
		s.api.SetFaults(one.Input.APIFaults...)
		served := map[string]int{}
		for i, step := range one.Input.Steps {
			if step.Op == "api_faults" {
				s.api.SetFaults(step.APIFaults...)
				continue
			}
			why := s.allocateAsRecorded(t, one, i, served)
			counts[why]++
			if why != "equal" {
				break // what follows builds on an answer that upstream gave otherwise
			}
		}
	}
	t.Log(text(counts))
	if counts["equal"] < 200 / *every {
		t.Errorf("%d calls are equal, expected most of them", counts["equal"])
	}
}

// explanations are what is done otherwise on purpose, by a part of our refusal or of the recorded one.
var explanations = []struct{ why, ours, recorded string }{
	{"N38", "no container asks for devices", ""},
	{"N36", "", "malformed lock annotation"},
	{"N36", "", "cannot parse"},
	{"N36", "", "not found"},
	{"N39", softAnnotation + ": ", ""},
	{"N39", "no entry for the runtime", ""},
	{"N39", "nothing limits the container", ""},
	{"N43", "is not healthy", ""},
	{"N43", "promised twice", ""},
	{"N43", "expected one template", ""},
	{"N34", "", "no pending device allocation found"},
	{"the field is named", "invalid memory field", "invalid memory field"},
}

// allocateAsRecorded makes a recorded call and compares what came of it: "equal", or why it is otherwise.
func (s *stand) allocateAsRecorded(t *testing.T, one recording, i int, served map[string]int) string {
	recorded := one.Output.Steps[i]
	responses, err := s.lists.allocator.Allocate(context.Background(), one.Input.Steps[i].ContainerRequests)
	ours, theirs := "", ""
	if err != nil {
		ours = err.Error()
	}
	if recorded.Error != nil {
		theirs = recorded.Error.Message
	}
	if ours != theirs {
		for _, rule := range explanations {
			if strings.Contains(ours, rule.ours) && strings.Contains(theirs, rule.recorded) && (rule.ours != "" || rule.recorded != "") {
				return rule.why
			}
		}
		if strings.Contains(theirs, "device number not matched") && len(one.Input.Pods) > 1 {
			return "the pod is one that was promised as many"
		}
		t.Errorf("%s, step %d: %q, recorded %q", one.ID, i, ours, theirs)
		return "unexplained"
	}
	if why := s.sameAnswers(t, one, i, responses); why != "equal" {
		return why
	}
	s.samePods(t, one, i, served)
	for path, mode := range recorded.Dirs {
		is, err := os.Stat(filepath.Join(s.root, path))
		if err != nil || fmt.Sprintf("%04o", is.Mode().Perm()) != mode {
			t.Errorf("%s, step %d: folder %s: %v, recorded with mode %s", one.ID, i, path, err, mode)
		}
	}
	return "equal"
}

// sameAnswers compares what containers get.
func (s *stand) sameAnswers(t *testing.T, one recording, i int, responses []*pluginapi.ContainerAllocateResponse) string {
	recorded := one.Output.Steps[i].Responses
	if len(responses) != len(recorded) {
		t.Errorf("%s, step %d: %d answers, recorded %d", one.ID, i, len(responses), len(recorded))
		return "unexplained"
	}
	for k, want := range recorded {
		if !reflect.DeepEqual(responses[k].Envs, want.Envs) {
			for _, pod := range one.Input.Pods {
				if saysDifferentThings(pod.Annotations[runtimePrefix+s.lists.allocator.config.chip.CommonWord]) {
					return "a uuid with different entries is read by place"
				}
			}
			t.Errorf("%s, step %d: environment %s, recorded %s", one.ID, i, text(responses[k].Envs), text(want.Envs))
			return "unexplained"
		}
		lines := []string{}
		for _, mount := range want.Mounts {
			lines = append(lines, text([]any{mount.Host, mount.Container, mount.ReadOnly}))
		}
		if got := mountsOf(responses[k]); !reflect.DeepEqual(got, lines) {
			t.Errorf("%s, step %d: mounts %s, recorded %s", one.ID, i, got, lines)
		}
	}
	return "equal"
}

// saysDifferentThings is whether a uuid has entries for the runtime that are not equal.
func saysDifferentThings(annotation string) bool {
	var entries []runtimeEntry
	_ = json.Unmarshal([]byte(annotation), &entries)
	for i, entry := range entries {
		for _, other := range entries[:i] {
			if entry.UUID == other.UUID && !entry.equal(other) {
				return true
			}
		}
	}
	return false
}

// samePods compares annotations of pods and the node's lock. Each call that upstream answers adds a `;` (N35), and writes success and
// releases the lock with the first container (N33).
func (s *stand) samePods(t *testing.T, one recording, i int, served map[string]int) {
	word := s.lists.allocator.config.chip.CommonWord
	isOver := true
	for name, changes := range one.Output.Steps[i].Pods {
		namespace, pod, _ := strings.Cut(name, "/")
		now := s.api.Pod(namespace, pod).Annotations
		left := changes[toAllocatePrefix+word+toAllocateSuffix]
		if left != nil {
			served[name]++
			want := strings.TrimSuffix(*left, strings.Repeat(";", served[name]))
			if got := now[toAllocatePrefix+word+toAllocateSuffix]; got != want {
				t.Errorf("%s, step %d: pod %s has %q left, expected %q", one.ID, i, name, got, want)
			}
			isOver = strings.Trim(*left, ";") == ""
		}
		want := phaseSuccess
		if phase := changes[bindPhase]; phase != nil && *phase == phaseFailed {
			want = phaseFailed
			if events := s.api.Events(); len(events) == 0 || events[len(events)-1].Message != one.Output.Steps[i].Error.Message {
				t.Errorf("%s, step %d: events %v, expected one with the refusal", one.ID, i, events)
			}
		} else if !isOver {
			want = phaseAllocating
		}
		if now[bindPhase] != want && !(want == phaseAllocating && now[bindPhase] == phaseSuccess) {
			t.Errorf("%s, step %d: pod %s has phase %q, expected %q", one.ID, i, name, now[bindPhase], want)
		}
	}
	_, isLocked := s.api.Node(one.Input.Node).Annotations[lockAnnotation]
	if _, isReleased := one.Output.Steps[i].Node["hami.io/mutex.lock"]; one.Output.Steps[i].Node != nil && !isReleased && isLocked == isOver {
		t.Errorf("%s, step %d: locked %t, expected %t", one.ID, i, isLocked, !isOver)
	}
}
