package judge_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/recordings/judge"
	"vgpualloc.example/adapters/deviceplugin/recordings/model"
	"vgpualloc.example/adapters/deviceplugin/recordings/play"
)

// every is which part of the recordings is played: every n-th case.
var every = flag.Int("every", 60, "falsify every n-th recorded case, and judge three times as many")

func TestMain(m *testing.M) {
	play.Quiet()
	os.Exit(m.Run())
}

// recordings are the evidence's, sampled: every n-th case of each file.
func recordings(t *testing.T, every int) []cases.Case {
	t.Helper()
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	files, err := filepath.Glob(filepath.Join(folder, "conformance", "node", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", folder, err)
	}
	var result []cases.Case
	for _, file := range files {
		read, err := cases.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := every / 2; i < len(read); i += every {
			result = append(result, read[i])
		}
	}
	return result
}

func answer(t *testing.T, c *cases.Case) *cases.Output {
	t.Helper()
	var ours cases.Output
	var err error
	if c.Input.Plugin == "ascend" {
		ours, err = play.Ascend(c)
	} else {
		ours, err = play.VGPU(c, fake.NeedLibrary(t))
	}
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	return &ours
}

// leaf is a value in a JSON tree, and how to change it.
type leaf struct {
	path string
	set  func(change func(any) any)
}

// compared are the parts of an output that are compared.
var compared = []string{"startup", "exit", "kubelet_register", "kubelet_devices", "node_annotations", "unhealthy_after_each_update", "dirs",
	"warning", "steps"}

// ignoredSteps are the parts of a step that are not.
var ignoredSteps = []string{"api", "patches", "exec", "vendor_calls"}

func leaves(path string, value any, set func(any), match *[]leaf) {
	switch tree := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(tree))
		for key := range tree {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			isIgnored := path == "" && !slices.Contains(compared, key) || strings.HasPrefix(path, ".steps[") && slices.Contains(ignoredSteps, key) ||
				strings.HasSuffix(path, ".exit") && key != "code"
			if !isIgnored {
				leaves(path+"."+key, tree[key], func(other any) { tree[key] = other }, match)
			}
		}
	case []any:
		for i := range tree {
			leaves(fmt.Sprintf("%s[%d]", path, i), tree[i], func(other any) { tree[i] = other }, match)
		}
	default:
		*match = append(*match, leaf{path, func(change func(any) any) { set(change(value)) }})
	}
}

// falsified is a value that is not this one.
func falsified(value any) any {
	switch value := value.(type) {
	case string:
		if strings.HasSuffix(value, "}]") { // JSON stays JSON
			return strings.Replace(value, "0", "1", 1) + " "
		}
		return value + "x"
	case float64:
		return value + 1
	case bool:
		return !value
	}
	return "something"
}

// TestFalsifiedRecordingsFail changes one compared value of a case at a time, as often as there are values, up to a limit.
func TestFalsifiedRecordingsFail(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	tried := 0
	for _, c := range recordings(t, *every) {
		ours := answer(t, &c)
		if verdict := judge.Of(&c, ours, nil); verdict.Failed() {
			t.Logf("%s fails as it is: %s", c.ID, verdict.Complaint)
			continue
		}
		loose := model.Upstream(&c.Input).Loose
		text := recorded(t, &c)
		var all []leaf
		var tree any
		read := func() {
			all = nil
			if err := json.Unmarshal(text, &tree); err != nil {
				t.Fatal(err)
			}
			leaves("", tree, func(any) {}, &all)
		}
		read()
		for _, at := range random.Perm(len(all))[:min(6, len(all))] {
			read()
			path := all[at].path
			if loose.Order && strings.Contains(path, "unhealthy_after") || loose.Health && strings.Contains(path, "node_annotations") {
				continue // the input leaves it open
			}
			all[at].set(falsified)
			changed := c
			changed.Others = nil
			if parse(t, tree, &changed) == nil && !judgeFails(&changed, ours) {
				t.Errorf("%s: passes although %s was changed", c.ID, path)
			}
			tried++
		}
	}
	t.Logf("%d changed recordings", tried)
	if tried < 6000 / *every {
		t.Errorf("only %d changed recordings were tried", tried)
	}
}

func judgeFails(c *cases.Case, ours *cases.Output) bool {
	verdict := judge.Of(c, ours, nil)
	return verdict.Failed()
}

// recorded is the output of a case as its file has it.
func recorded(t *testing.T, c *cases.Case) []byte {
	t.Helper()
	text, err := os.ReadFile(c.File)
	if err != nil {
		t.Fatal(err)
	}
	var parts struct {
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal([]byte(strings.Split(string(text), "\n")[c.Line-1]), &parts); err != nil {
		t.Fatal(err)
	}
	return parts.Output
}

// parse makes a changed tree the output of a case; the error of one that cannot be one, which is a failure too.
func parse(t *testing.T, tree any, c *cases.Case) error {
	t.Helper()
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return c.SetOutput(text)
}

// TestEvidence judges a sample of the recordings; scripts/node_recordings.sh judges all of them.
func TestEvidence(t *testing.T) {
	var verdicts []judge.Verdict
	for _, c := range recordings(t, max(*every/3, 1)) {
		verdict := judge.Of(&c, answer(t, &c), nil)
		if verdict.Failed() {
			t.Errorf("%s: %s", verdict.ID, verdict.Complaint)
		}
		verdicts = append(verdicts, verdict)
	}
	t.Log(judge.Summary(verdicts))
}
