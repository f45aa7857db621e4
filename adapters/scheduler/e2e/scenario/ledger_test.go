package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

// figuresOf are a device's figures as the scheduler serves them.
func figuresOf(device string, memory, cores, pods int) string {
	var text strings.Builder
	for _, figure := range []struct {
		name  string
		value int
	}{{"allocated_memory", memory}, {"allocated_cores", cores}, {"shared_number", pods}} {
		fmt.Fprintf(&text, "volcano_vgpu_device_%s{NodeName=\"n\",devID=\"%s\"} %d\n", figure.name, device, figure.value)
	}
	return text.String()
}

func TestLedgerAgainstAnnotations(t *testing.T) {
	metrics := "# TYPE volcano_vgpu_device_allocated_memory gauge\n" + figuresOf("GPU-0", 5000, 30, 2) + figuresOf("GPU-1", 0, 0, 0) +
		figuresOf("GPU-2", 5120, 14, 1) + figuresOf("n/0", 700, 0, 1) + figuresOf("Ascend310P-0", 0, 4, 1)
	card := func(id string) check.Place { return check.Place{Node: "n", Device: id} }
	well := func() map[check.Place]check.DeviceUse {
		return map[check.Place]check.DeviceUse{
			card("GPU-0"):        {Pods: 2, MemoryMiB: 5000, MemoryKnown: true, Cores: 30, CoresKnown: true},
			card("GPU-2"):        {Pods: 1}, // a MIG instance without a geometry
			card("n/0"):          {Pods: 1, MemoryMiB: 700, MemoryKnown: true, CoresKnown: true},
			card("Ascend310P-0"): {Pods: 1, Cores: 4, CoresKnown: true},
		}
	}
	cases := []struct {
		name    string
		metrics string
		change  func(map[check.Place]check.DeviceUse)
		devices []string // with differences, once for each
	}{
		{"what agrees", metrics, func(map[check.Place]check.DeviceUse) {}, nil},
		{"memory, cores, pods", metrics, func(uses map[check.Place]check.DeviceUse) {
			uses[card("GPU-0")] = check.DeviceUse{Pods: 1, MemoryMiB: 4000, MemoryKnown: true, Cores: 20, CoresKnown: true}
		}, []string{"GPU-0", "GPU-0", "GPU-0"}},
		{"cores alone", metrics, func(uses map[check.Place]check.DeviceUse) {
			uses[card("Ascend310P-0")] = check.DeviceUse{Pods: 1, Cores: 2, CoresKnown: true}
		}, []string{"Ascend310P-0"}},
		{"counted for nobody", metrics, func(uses map[check.Place]check.DeviceUse) {
			delete(uses, card("n/0"))
			delete(uses, card("Ascend310P-0"))
			delete(uses, card("GPU-2"))
		}, []string{"Ascend310P-0", "Ascend310P-0", "GPU-2", "GPU-2", "GPU-2", "n/0", "n/0"}},
		{"unknown to the scheduler", metrics, func(uses map[check.Place]check.DeviceUse) {
			uses[card("GPU-3")] = check.DeviceUse{Pods: 1}
		}, []string{"GPU-3", "GPU-3", "GPU-3"}},
		{"one figure is missing", strings.Replace(metrics, "allocated_cores{NodeName=\"n\",devID=\"GPU-0\"", "other{", 1),
			func(map[check.Place]check.DeviceUse) {}, []string{"GPU-0"}},
	}
	for _, each := range cases {
		t.Run(each.name, func(t *testing.T) {
			uses := well()
			each.change(uses)
			violations := compareLedger(each.metrics, check.Report{Use: uses})
			var devices []string
			for _, violation := range violations {
				devices = append(devices, violation.Device)
			}
			if slices.Sort(devices); !slices.Equal(devices, each.devices) {
				t.Errorf("%v, expected differences of %v", violations, each.devices)
			}
		})
	}
}
