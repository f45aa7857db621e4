package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALineThatIsNoCaseIsNamed(t *testing.T) {
	const good = `{"id":"a","family":"f","input":{"plugin":"vgpu"},"output":{"startup":"serving"}}`
	for text, expected := range map[string]string{
		good + "\n[1]\n":        ":2: no case: ",
		good + "\n{\"id\":\n":   ":2: no case: ",
		`{"id":"a","input":{}}`: `:1: no case: key "output" is missing`,
		`{"id":"a","input":{"plugin":"other"},"output":{}}`:                             ":1: case a: input.plugin is \"other\": expected vgpu or ascend",
		`{"id":"a","input":{"plugin":"vgpu","steps":[{"op":"jump"}]},"output":{}}`:      ":1: case a: input.steps[0].op is \"jump\": expected one of allocate",
		`{"id":"a","input":{"plugin":"vgpu","device_config_yaml":"@no/x"},"output":{}}`: ":1: the configuration that the case names: ",
		"\n": ": no case in it: expected one JSON object a line",
	} {
		path := filepath.Join(t.TempDir(), "recorded.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path+expected) {
			t.Errorf("%q: error %v, expected %s%s", text, err, path, expected)
		}
	}
}

func TestUnlistedInstancesStandForOnePlace(t *testing.T) {
	const a, b = "MIG-11111111-1111-5111-8111-111111111111", "MIG-22222222-2222-5222-8222-222222222222"
	const here, there = "MIG(gpu 0, profile 9 at 0)", "MIG(gpu 0, profile 9 at 4)"
	places := Places{}
	for i, one := range []struct {
		recorded, other string
		same            bool
	}{
		{a + "," + b, here + "," + there, true},
		{a, here, true},
		{a, there, false},
		{"MIG-33333333-3333-5333-8333-333333333333", here, false},
		{"MIG-falsified", here, false},
		{a + ",", here, false},
		{"", here, false},
	} {
		if same := places.Same(one.recorded, one.other); same != one.same {
			t.Errorf("%d: %q and %q: %v", i, one.recorded, one.other, same)
		}
	}
}
