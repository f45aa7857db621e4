package cases

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Ops are the steps that a case may have.
var Ops = []string{"allocate", "put_pod", "delete_pod", "api_faults", "set_busy", "restart", "events", "wait_registration",
	"kubelet_restart", "signal", "npu_health", "rpc"}

// Read reads a file of cases. Its errors name the file, the line and what was expected.
func Read(path string) ([]Case, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var result []Case
	lines := bufio.NewReaderSize(file, 1<<20)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			read, problem := readCase(path, text)
			if problem != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, number, problem)
			}
			read.File, read.Line = path, number
			result = append(result, read)
		}
		if err != nil {
			break
		}
	}
	if len(result) == 0 {
		return nil, fmt.Errorf("%s: no case in it: expected one JSON object a line, with id, input and output", path)
	}
	return result, nil
}

func readCase(path, text string) (Case, error) {
	var result Case
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		return result, fmt.Errorf("no case: %w: expected a JSON object with id, input and output", err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		return result, err
	}
	for _, key := range []string{"id", "input", "output"} {
		if parts[key] == nil {
			return result, fmt.Errorf("no case: key %q is missing: expected id, input and output", key)
		}
	}
	if result.Input.Plugin != "vgpu" && result.Input.Plugin != "ascend" {
		return result, fmt.Errorf("case %s: input.plugin is %q: expected vgpu or ascend", result.ID, result.Input.Plugin)
	}
	for i, step := range result.Input.Steps {
		if !isOp(step.Op) {
			return result, fmt.Errorf("case %s: input.steps[%d].op is %q: expected one of %s", result.ID, i, step.Op, strings.Join(Ops, ", "))
		}
	}
	for _, output := range result.outputs() {
		output.isAscend = result.Input.Plugin == "ascend"
		output.NameInstances()
	}
	return result, result.Input.resolve(filepath.Dir(path))
}

// SetOutput replaces the recorded output by one from JSON.
func (c *Case) SetOutput(text []byte) error {
	c.Output = Output{}
	if err := json.Unmarshal(text, &c.Output); err != nil {
		return err
	}
	c.Output.isAscend = c.Input.Plugin == "ascend"
	c.Output.NameInstances()
	return nil
}

// outputs are all recorded ones.
func (c *Case) outputs() []*Output {
	result := []*Output{&c.Output}
	for i := range c.Others {
		result = append(result, &c.Others[i])
	}
	return result
}

func isOp(op string) bool {
	for _, known := range Ops {
		if op == known {
			return true
		}
	}
	return false
}

// resolve replaces "@configs/mig.yaml" by the text of that file beside the recording.
func (in *Input) resolve(folder string) error {
	for _, text := range []*string{in.DeviceConfig, in.NodeConfig, in.PluginConfig, in.AscendConfig, in.AscendNodeConfig} {
		if text == nil {
			continue
		}
		name, ok := strings.CutPrefix(*text, "@")
		if !ok {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, filepath.Clean("/"+name)))
		if err != nil {
			return fmt.Errorf("the configuration that the case names: %w", err)
		}
		*text = string(content)
	}
	return nil
}

// Getenv is the environment of a case: what it sets, over a default.
func (in *Input) Getenv(name, byDefault string) (string, bool) {
	value, ok := in.Env[name]
	switch {
	case !ok:
		return byDefault, byDefault != ""
	case value == "<unset>":
		return "", false
	}
	return value, true
}
