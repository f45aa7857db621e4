package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/recordings/model"
)

// TestMain is the program where a test has started this binary as one of its parts.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-part") {
		main()
	}
	os.Exit(m.Run())
}

// recording is a file with a case of ours: a node with one chip.
func recording(t *testing.T, change func(*cases.Case)) string {
	t.Helper()
	config := `{"vnpus":{"configs":[{"commonWord":"Ascend910A","chipName":"910A","resourceName":"huawei.com/Ascend910A","memoryAllocatable":32768,"aiCore":30}]}}`
	c := cases.Case{ID: "own", Family: "own", Input: cases.Input{
		Plugin: "ascend", NodeName: "node-a", AscendConfig: &config,
		NPU: json.RawMessage(`{"chip_type":"Ascend","chip_name":"910A","npus":[{"logic_id":0,"phy_id":0,"card_id":0,"vdie":"CHIP-A"}]}`),
	}}
	c.Output = model.Upstream(&c.Input).Output
	change(&c)
	text, err := json.Marshal(map[string]any{"id": c.ID, "family": c.Family, "input": c.Input, "output": c.Output})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "own.jsonl")
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVerdictsAndExitCodes(t *testing.T) {
	good := recording(t, func(*cases.Case) {})
	wrong := recording(t, func(c *cases.Case) { c.Output.Registers[0].Endpoint = "other.sock" })
	var out bytes.Buffer
	if code, err := run([]string{good}, &out); code != 0 || err != nil || out.String() != "1 equal, 0 explained, 0 unexplained\n1 passed, 0 failed\n" {
		t.Errorf("code %d, error %v, output %q", code, err, out.String())
	}
	out.Reset()
	code, err := run([]string{"-workers", "2", good, wrong}, &out)
	if code != 1 || err != nil || !strings.Contains(out.String(), "own ("+wrong+":1): kubelet_register") ||
		!strings.HasSuffix(out.String(), "1 equal, 0 explained, 1 unexplained\n1 passed, 1 failed\n") {
		t.Errorf("code %d, error %v, output %q", code, err, out.String())
	}
	for name, arguments := range map[string][]string{"no file": nil, "missing": {"none.jsonl"}, "flag": {"-x", good}, "case": {"-case", "other", good}} {
		if code, err := run(arguments, &out); code != 2 || err == nil {
			t.Errorf("%s: code %d, error %v", name, code, err)
		}
	}
}
