package judge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/recordings/judge"
	"vgpualloc.example/adapters/deviceplugin/recordings/model"
)

// ownCase is a case of ours: two chips, a pod with one of them.
func ownCase(t *testing.T) *cases.Case {
	t.Helper()
	config := `{"vnpus":{"configs":[{"commonWord":"Ascend910B3","chipName":"910B3","resourceName":"huawei.com/Ascend910B3",
		"memoryAllocatable":65536,"aiCore":20,"templates":[{"name":"vir05_1c_16g","memory":16384}]}]}}`
	assigned := "CHIP-A,Ascend910B3,16384,0:;"
	result := &cases.Case{ID: "own", Input: cases.Input{
		Plugin: "ascend", NodeName: "node-a", AscendConfig: &config,
		NPU: json.RawMessage(`{"chip_type":"Ascend","chip_name":"910B3","npus":[
			{"logic_id":0,"phy_id":3,"card_id":0,"vdie":"CHIP-A"},{"logic_id":1,"phy_id":1,"card_id":1,"vdie":"CHIP-B"}]}`),
		Pods: []cases.Pod{{
			Namespace: "default", Name: "pod-0", UID: "uid-0", NodeName: "node-a", Phase: "Pending", Containers: []cases.Container{{Name: "main"}},
			Annotations: map[string]string{
				"hami.io/Ascend910B3-devices-to-allocate": assigned, "hami.io/bind-phase": "allocating", "hami.io/bind-time": "1790000000",
				"hami.io/vgpu-node": "node-a", "huawei.com/Ascend910B3": `[{"UUID":"CHIP-A","temp":"vir05_1c_16g"}]`,
			},
		}},
		Steps: []cases.Step{{Op: "allocate", Resource: "huawei.com/Ascend910B3", ContainerRequests: [][]string{{"CHIP-A-0"}}}},
	}}
	result.Output = model.Upstream(&result.Input).Output
	return result
}

func TestAnExplanationCoversExactlyWhatAMistakeChanges(t *testing.T) {
	c := ownCase(t)
	ours := answer(t, c)
	verdict := judge.Of(c, ours, nil)
	if verdict.Failed() || verdict.Equal || len(verdict.Mistakes) != 1 || verdict.Mistakes[0] != 35 {
		t.Fatalf("%+v: expected that N35 explains the erased annotation", verdict)
	}
	key, wrong := "hami.io/Ascend910B3-devices-to-allocate", "wrong"
	changes := map[string]func(*cases.StepOutput){
		"another variable":             func(s *cases.StepOutput) { s.Responses[0].Envs["ASCEND_VISIBLE_DEVICES"] = "1" },
		"a variable more":              func(s *cases.StepOutput) { s.Responses[0].Envs["OTHER"] = "1" },
		"the value that N35 explains":  func(s *cases.StepOutput) { s.PodAnnotations["default/pod-0"][key] = &wrong },
		"another value beside it":      func(s *cases.StepOutput) { s.PodAnnotations["default/pod-0"]["hami.io/bind-phase"] = &wrong },
		"an error":                     func(s *cases.StepOutput) { s.Error = &cases.RPCError{Code: "Unknown"} },
		"a folder":                     func(s *cases.StepOutput) { s.Dirs = map[string]string{"/somewhere": "0777"} },
		"an answer without a variable": func(s *cases.StepOutput) { delete(s.Responses[0].Envs, "ASCEND_VNPU_SPECS") },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			changed := ownCase(t)
			change(&changed.Output.Steps[0])
			if verdict := judge.Of(changed, ours, nil); !verdict.Failed() {
				t.Errorf("%+v: expected a complaint", verdict)
			}
		})
	}
	ours.Steps[0].Responses[0].Envs["ASCEND_VISIBLE_DEVICES"] = "1"
	if verdict := judge.Of(c, ours, nil); !strings.Contains(verdict.Complaint, "ASCEND_VISIBLE_DEVICES") {
		t.Errorf("%+v: a wrong answer of ours is not explained", verdict)
	}
}

func TestSummaryCounts(t *testing.T) {
	text := judge.Summary([]judge.Verdict{{Equal: true}, {Mistakes: []int{11, 13}}, {Mistakes: []int{2}}, {Mistakes: []int{11}}, {Complaint: "x"}})
	if expected := "1 equal, 3 explained (N2 1, N11 2), 1 unexplained\n4 passed, 1 failed\n"; text != expected {
		t.Errorf("%q, expected %q", text, expected)
	}
}
