package allocate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
)

func onMIG(t *testing.T) *rig {
	r := newRig(t)
	r.card.Mode = config.MIG
	r.gpus = append(r.gpus, hardware.GPU{Index: 3, UUID: "GPU-t4", Name: "Tesla T4"},
		hardware.GPU{Index: 4, UUID: "GPU-h100", Name: "NVIDIA H100 80GB HBM3", MigCapable: true})
	return r
}

func TestMIGDevices(t *testing.T) {
	r := onMIG(t)
	response := r.answered(pod("p", uuidA+"[group2-3],NVIDIA,5000,0:"+uuidB+"[group1-0],NVIDIA,5000,0:"+uuidA+"[group2-0],NVIDIA,1,0:", 1))
	expected := "MIG-aaaa-group2-3,MIG-bbbb-group1-0,MIG-aaaa-group2-0"
	if response.Envs[visibleDevices] != expected || len(response.Envs) != 1 || len(response.Mounts) > 0 {
		t.Errorf("%v, expected %s alone", response, expected)
	}
	r.expectPhase("p", `success 18446744073709551615 ""`)
	if calls := []string{uuidA + " group2 3", uuidB + " group1 0", uuidA + " group2 0"}; !slices.Equal(r.mig.calls, calls) {
		t.Errorf("%v, expected %v", r.mig.calls, calls)
	}
	r.config.Flags.DeviceListStrategies, r.config.Flags.DeviceIDStrategy = []string{"cdi-cri"}, "index"
	response = r.answered(pod("q", "GPU-h100[3g.40gb-4],NVIDIA,1,0:", 1))
	if len(response.CdiDevices) != 1 || response.CdiDevices[0].Name != cdiKind+"MIG-h100-3g.40gb-4" {
		t.Errorf("a profile at a start, by CDI: %v", response)
	}
}

func TestAMIGDeviceOfACardInModeHAMiCore(t *testing.T) {
	r := onMIG(t)
	r.card.Mode = config.HAMiCore
	response := r.answered(pod("p", uuidA+"[group1-0],NVIDIA,5000,0:", 1))
	if response.Envs[visibleDevices] != "MIG-aaaa-group1-0" || response.Envs["CUDA_DEVICE_MEMORY_LIMIT_0"] != "5000m" {
		t.Errorf("%v", response.Envs)
	}
}

func TestMIGDevicesThatCannotBe(t *testing.T) {
	for assigned, reason := range map[string]string{
		"GPU-other[group1-0],NVIDIA,1,0:":                                   "this machine has no such GPU",
		"GPU-t4[group1-0],NVIDIA,1,0:":                                      "model Tesla T4 has no MIG",
		"GPU-h100[group1-0],NVIDIA,1,0:":                                    "model NVIDIA H100 80GB HBM3: no list of knownMigGeometries names it",
		uuidA + "[group9-0],NVIDIA,1,0:":                                    "has no such group for model NVIDIA A100-SXM4-40GB",
		uuidA + "[group2-4],NVIDIA,1,0:":                                    "position 4: group group2 has 4 instances",
		uuidA + "[group1-0],NVIDIA,1,0:" + uuidA + "[group2-0],NVIDIA,1,0:": `groups "group1" and "group2"`,
		uuidB + "[group1-0],NVIDIA,1,0:" + uuidA + "[group2-4],NVIDIA,1,0:": "position 4",
	} {
		r := onMIG(t)
		r.api.Put(pod("p", assigned, 1))
		ids := []string{uuidA + "-0", uuidA + "-1"}[:strings.Count(assigned, ":")]
		r.expectRefused(reason, ids...)
		r.expectPhase("p", failedPhase+fmt.Sprintf("%q", assigned))
		if len(r.mig.calls) > 0 {
			t.Errorf("%s: %v was made before everything was checked", assigned, r.mig.calls)
		}
	}
}

func TestAMIGDeviceThatCannotBeMade(t *testing.T) {
	r := onMIG(t)
	r.mig.err = errors.New("an instance is in use")
	r.api.Put(pod("p", uuidA+"[group1-0],NVIDIA,1,0:", 1))
	r.expectRefused("an instance is in use", uuidA+"-0")
	r.expectPhase("p", failedPhase+fmt.Sprintf("%q", uuidA+"[group1-0],NVIDIA,1,0:"))
	if event := <-r.events.Events; !strings.Contains(event, "an instance is in use") {
		t.Errorf("event %q", event)
	}
	options := r.options()
	options.Instances = nil
	r.Allocator = New(options)
	r.api.Put(pod("q", uuidA+"[group1-0],NVIDIA,1,0:", 1))
	r.expectRefused("cuts no cards", uuidA+"-0")
}
