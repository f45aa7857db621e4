package ascend

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/ascend/fakechips"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// recording is a recorded case, as far as these tests read it.
type recording struct {
	ID    string `json:"id"`
	Input struct {
		Plugin          string              `json:"plugin"`
		Node            string              `json:"node_name"`
		NodeAnnotations map[string]string   `json:"node_annotations"`
		Env             map[string]string   `json:"env"`
		Args            []string            `json:"args"`
		APIFaults       []testbed.Fault     `json:"api_faults"`
		ToolFailures    []string            `json:"tool_failures"`
		NPU             fakechips.Machine   `json:"npu"`
		Config          *string             `json:"ascend_config_yaml"`
		NodeConfig      *string             `json:"ascend_node_config_yaml"`
		AssetsMissing   bool                `json:"assets_missing"`
		Pods            []recordedPod       `json:"pods"`
		Steps           []recordedInputStep `json:"steps"`
	} `json:"input"`
	Output struct {
		Startup         string                     `json:"startup"`
		NodeAnnotations map[string]string          `json:"node_annotations"`
		Devices         map[string]recordedDevices `json:"kubelet_devices"`
		VendorCalls     []string                   `json:"vendor_calls"`
		Exec            []fakechips.Ran            `json:"exec"`
		Dirs            map[string]string          `json:"dirs"`
		Steps           []recordedStep             `json:"steps"`
	} `json:"output"`
}

type recordedDevices struct {
	PerDevice []struct {
		UUID   string `json:"uuid"`
		Count  int    `json:"count"`
		Health string `json:"health"`
	} `json:"per_device"`
}

// every is which part of the recordings is played; scripts/node_recordings.sh plays all of them.
var every = flag.Int("every", 3, "play every n-th recorded case")

// recordings are every n-th case of a file; the test is skipped where there is no evidence.
func recordings(t *testing.T, file string) []recording {
	t.Helper()
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	opened, err := os.Open(filepath.Join(folder, "conformance", "node", file))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var result []recording
	lines := bufio.NewScanner(opened)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var one recording
		if err = json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s, case %d: %v", file, len(result), err)
		}
		result = append(result, one)
	}
	if err = lines.Err(); err != nil || len(result) == 0 {
		t.Fatalf("%s: %d cases: %v", file, len(result), err)
	}
	var sample []recording
	for i := *every / 2; i < len(result); i += *every {
		sample = append(sample, result[i])
	}
	return sample
}

// standOf is a stand as a recorded case has it.
func standOf(t *testing.T, of recording) (*stand, *fakechips.Library, *fakechips.Programs) {
	s := newStand(t, of.Input.Node, of.Input.NodeAnnotations)
	chips, programs := fakechips.New(of.Input.NPU), &fakechips.Programs{Fails: slices.Contains(of.Input.ToolFailures, "npu-smi")}
	s.options.Library, s.options.Exec = chips, programs
	s.options.Arguments = append(slices.Clone(of.Input.Args), s.options.Arguments...)
	env := s.options.Env
	s.options.Env = func(name string) (string, bool) {
		if value, is := of.Input.Env[name]; is {
			return value, value != "<unset>"
		}
		return env(name)
	}
	if of.Input.Config != nil {
		s.write(t, "/ascend.yaml", *of.Input.Config)
	}
	if of.Input.NodeConfig != nil {
		s.write(t, "/ascend-node.yaml", *of.Input.NodeConfig)
	}
	if of.Input.AssetsMissing {
		if err := os.RemoveAll(filepath.Join(s.root, softAssets)); err != nil {
			t.Fatal(err)
		}
	}
	return s, chips, programs
}

func TestRegistrationIsAsRecorded(t *testing.T) {
	equal, explained := 0, 0
	for _, one := range recordings(t, "ascend-register.jsonl") {
		s, chips, programs := standOf(t, one)
		s.api.SetFaults(one.Input.APIFaults...)
		r, err := s.plugin().start(context.Background())
		if one.Output.Startup == "exit" {
			switch {
			case err != nil:
				equal++
			case one.Input.AssetsMissing && !r.config.isSoft: // N44
				explained++
			default:
				t.Errorf("%s: it starts, expected a refusal", one.ID)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", one.ID, err)
			continue
		}
		_ = r.register(context.Background()) // the first round is what is recorded, also where the API server refuses it
		if problem := differences(s, one, chips, programs); problem != nil {
			t.Errorf("%s: %v", one.ID, problem)
			continue
		}
		equal++
	}
	t.Logf("%d equal, %d explained (N44)", equal, explained)
}

// differences is what differs from a recorded registration.
func differences(s *stand, one recording, chips *fakechips.Library, programs *fakechips.Programs) error {
	var problems []error
	differ := func(what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			problems = append(problems, errors.New(what+" "+text(got)+", recorded "+text(want)))
		}
	}
	annotations := map[string]string{}
	for key, value := range s.api.Node(one.Input.Node).Annotations {
		if strings.HasPrefix(key, reportedPrefix) {
			if value != "2026-11-28T22:00:00Z" { // N46
				differ(key, value, "2026-11-28T22:00:00Z")
			}
			continue
		}
		if strings.HasPrefix(value, "Reported_") {
			if value != "Reported_2026.11.28 22:00:01" && value != one.Input.NodeAnnotations[key] {
				differ(key, value, "Reported_2026.11.28 22:00:01")
			}
			value = "Reported_<time>"
		}
		annotations[key] = value
	}
	differ("annotations", annotations, one.Output.NodeAnnotations)
	devices := map[string]int{}
	for _, listed := range one.Output.Devices {
		for _, chip := range listed.PerDevice {
			devices[chip.UUID] = chip.Count
			if chip.Health != "Healthy" {
				devices[chip.UUID] = -chip.Count
			}
		}
	}
	differ("devices", s.lists.last(), devices)
	_, isResource := one.Output.Devices[s.lists.resource]
	differ("resource "+s.lists.resource, isResource, true)
	calls := chips.Calls()
	differ("vendor calls", append([]string{}, calls...), append([]string{}, one.Output.VendorCalls...))
	ran := programs.Ran()
	slices.SortFunc(ran, func(a, b fakechips.Ran) int {
		return strings.Compare(strings.Join(a.Argv, " "), strings.Join(b.Argv, " "))
	})
	differ("programs", append([]fakechips.Ran{}, ran...), append([]fakechips.Ran{}, one.Output.Exec...))
	mode, err := os.Stat(filepath.Join(s.root, sharedRegion))
	if err != nil {
		problems = append(problems, err)
	} else {
		differ("shared folder's mode", mode.Mode().Perm(), os.FileMode(0o777))
	}
	return errors.Join(problems...)
}

func text(of any) string {
	result, err := json.Marshal(of)
	if err != nil {
		return err.Error()
	}
	return string(result)
}
