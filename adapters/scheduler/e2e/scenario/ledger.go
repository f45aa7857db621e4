package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

var deviceFigure = regexp.MustCompile(`^(volcano_vgpu_device_(?:allocated_memory|shared_number))\{NodeName="([^"]*)",devID="([^"]*)"[^}]*\} (\S+)$`)

// compareLedger holds what the scheduler says that it has counted, in its metrics, against the annotations of the pods.
func compareLedger(metrics string, report check.Report) []check.Violation {
	var result []check.Violation
	found := map[check.Place]bool{}
	differs := func(at check.Place, text string) {
		result = append(result, check.Violation{Rule: check.LedgerDiffers, Node: at.Node, Device: at.Device, Text: text})
	}
	for _, line := range strings.Split(metrics, "\n") {
		parts := deviceFigure.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		at := check.Place{Node: parts[2], Device: parts[3]}
		value, err := strconv.ParseFloat(parts[4], 64)
		if err != nil {
			differs(at, fmt.Sprintf("%s is %q, expected a number", parts[1], parts[4]))
			continue
		}
		found[at] = true
		use, inUse := report.Use[at]
		if !inUse && value != 0 && strings.HasPrefix(at.Device, "GPU-") {
			differs(at, fmt.Sprintf("%s is %v, and no pod has it", parts[1], value))
		}
		if !inUse {
			continue
		}
		expected, known := float64(use.Pods), true
		if strings.HasSuffix(parts[1], "allocated_memory") {
			expected, known = float64(use.MemoryMiB), use.MemoryKnown
		}
		if known && value != expected {
			differs(at, fmt.Sprintf("%s is %v, by the annotations %v", parts[1], value, expected))
		}
	}
	for at := range report.Use {
		if !found[at] {
			differs(at, "pods have it, and the scheduler has no figure of it")
		}
	}
	return result
}
