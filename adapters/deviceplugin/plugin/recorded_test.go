package plugin_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// recorded is a case of vgpu-health.jsonl.
type recorded struct {
	ID    string
	Input struct {
		Env    map[string]string
		Device string `json:"device_config_yaml"`
		File   string `json:"node_config_json"`
		GPUs   []struct {
			UUID, Name string
			Memory     uint64 `json:"memory_bytes"`
			Minor      int
		}
		Events []struct {
			GPU  int
			Xid  uint64
			Type string
		} `json:"xid_events"`
		Faults []struct {
			Call   string
			Return int `json:"nvml_return"`
		} `json:"nvml_faults"`
	}
	Output struct {
		Unhealthy map[string][][]string `json:"unhealthy_after_each_update"`
	}
}

var allRecordings = flag.Bool("all-recordings", false, "play all recorded cases, not one of sixteen")

// TestRecordedHealth: the kubelet is sent as many lists as by volcano-vgpu-device-plugin, the first and the last with the same cards.
func TestRecordedHealth(t *testing.T) {
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	file, err := os.Open(filepath.Join(folder, "conformance", "node", "vgpu-health.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	cases := make(chan recorded)
	workers := sync.WaitGroup{}
	for range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for one := range cases {
				t.Run(one.ID, func(t *testing.T) { playHealth(t, one) })
			}
		}()
	}
	count := 0
	for lines.Scan() {
		one := recorded{}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		if *allRecordings || count%16 == 0 {
			cases <- one
		}
		count++
	}
	close(cases)
	workers.Wait()
	if lines.Err() != nil || count == 0 {
		t.Errorf("%d cases, %v", count, lines.Err())
	}
}

func playHealth(t *testing.T, one recorded) {
	machine := &machine{events: make(chan hardware.Event, 64), failures: map[string]error{}}
	for i, gpu := range one.Input.GPUs {
		machine.gpus = append(machine.gpus, hardware.GPU{Index: i, UUID: gpu.UUID, Name: gpu.Name, MemoryBytes: gpu.Memory, Minor: gpu.Minor})
	}
	for _, fault := range one.Input.Faults {
		for _, gpu := range machine.gpus {
			switch {
			case fault.Call == "nvmlEventSetCreate":
				machine.unwatchable = errors.New("injected")
			case fault.Call == "nvmlDeviceRegisterEvents" && fault.Return == 3:
				if machine.failures[gpu.UUID] == nil {
					machine.failures[gpu.UUID] = hardware.ErrUnsupported
				}
			default:
				machine.failures[gpu.UUID] = errors.New("injected")
			}
		}
	}
	for _, event := range one.Input.Events {
		made := hardware.Event{Xid: event.Xid, Kind: map[string]hardware.EventKind{"xid": hardware.XidCritical, "": hardware.XidCritical,
			"ecc_double": hardware.DoubleBitECC, "ecc_single": hardware.SingleBitECC}[event.Type]}
		if event.GPU >= 0 {
			made.UUID = machine.gpus[event.GPU].UUID
		}
		machine.events <- made
	}
	files := map[string]string{}
	if one.Input.File != "" {
		files["/config/config.json"] = one.Input.File
	}
	r := newRig(t, machine, one.Input.Device, files)
	r.env, r.recheck = one.Input.Env, time.Hour
	r.start()
	for resource, updates := range one.Output.Unhealthy {
		r.wait(fmt.Sprintf("%d lists of %s", len(updates), resource), func() bool { return len(r.kubelet.Lists(resource)) >= len(updates) })
	}
	time.Sleep(20 * time.Millisecond) // for what must not come
	for resource, updates := range one.Output.Unhealthy {
		lists := r.kubelet.Lists(resource)
		first, end := unhealthy(lists[0]), unhealthy(last(lists))
		if len(lists) != len(updates) || first != join(updates[0]) || end != join(updates[len(updates)-1]) {
			t.Errorf("%s: %d lists, first %q, last %q\nrecorded %v", resource, len(lists), first, end, updates)
		}
	}
}

func join(uuids []string) string {
	uuids = slices.Clone(uuids)
	slices.Sort(uuids)
	return strings.Join(uuids, " ")
}

func unhealthy(devices []*pluginapi.Device) string {
	uuids := []string{}
	for _, device := range devices {
		uuid := strings.Join(strings.Split(device.ID, "-")[:6], "-")
		if device.Health != pluginapi.Healthy && !slices.Contains(uuids, uuid) {
			uuids = append(uuids, uuid)
		}
	}
	return join(uuids)
}
