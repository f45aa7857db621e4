package plugin

import (
	"errors"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
)

func TestAListWithoutEndIsRefusedBeforeItIsMade(t *testing.T) {
	list := &inventory{cards: []card{{gpu: hardware.GPU{UUID: "GPU-a", MemoryBytes: 1<<64 - 1},
		conf: config.Card{SplitCount: 1 << 20, MemoryFactor: 1, MemoryScaling: 1, CoreScaling: 1}}}}
	for of, words := range map[kind]string{ofMemory: "set gpuMemoryFactor to at least", ofCount: "set a smaller deviceSplitCount"} {
		if err := list.checkLength("volcano.sh/x", of); !errors.Is(err, errTooLong) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, expected %q", err, words)
		}
	}
	if err := list.checkLength("volcano.sh/x", ofCores); err != nil {
		t.Error(err)
	}
}
