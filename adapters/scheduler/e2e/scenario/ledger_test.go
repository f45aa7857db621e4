package scenario

import (
	"slices"
	"testing"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

func TestLedgerAgainstAnnotations(t *testing.T) {
	metrics := `# TYPE volcano_vgpu_device_allocated_memory gauge
volcano_vgpu_device_allocated_memory{NodeName="n",devID="GPU-0"} 5000
volcano_vgpu_device_shared_number{NodeName="n",devID="GPU-0"} 2
volcano_vgpu_device_allocated_memory{NodeName="n",devID="GPU-1"} 0
volcano_vgpu_device_shared_number{NodeName="n",devID="GPU-1"} 0
volcano_vgpu_device_allocated_memory{NodeName="n",devID="GPU-2"} 5120
volcano_vgpu_device_shared_number{NodeName="n",devID="GPU-2"} 1
`
	card := func(id string) check.Place { return check.Place{Node: "n", Device: id} }
	well := map[check.Place]check.DeviceUse{card("GPU-0"): {Pods: 2, MemoryMiB: 5000, MemoryKnown: true}, card("GPU-2"): {Pods: 1, MemoryMiB: 5000}}
	if violations := compareLedger(metrics, check.Report{Use: well}); len(violations) != 0 {
		t.Errorf("what agrees: %v", violations)
	}
	wrong := map[check.Place]check.DeviceUse{
		card("GPU-0"): {Pods: 1, MemoryMiB: 4000, MemoryKnown: true}, // both figures differ; GPU-2 is in use for the scheduler alone, twice
		card("GPU-3"): {Pods: 1},                                     // unknown to the scheduler
	}
	var devices []string
	for _, violation := range compareLedger(metrics, check.Report{Use: wrong}) {
		devices = append(devices, violation.Device)
	}
	if slices.Sort(devices); !slices.Equal(devices, []string{"GPU-0", "GPU-0", "GPU-2", "GPU-2", "GPU-3"}) {
		t.Errorf("devices with differences: %v", devices)
	}
}
