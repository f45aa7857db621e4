package scenario

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

var deviceFigure = regexp.MustCompile(
	`^(volcano_vgpu_device_(allocated_memory|allocated_cores|shared_number))\{NodeName="([^"]*)",devID="([^"]*)"[^}]*\} (\S+)$`)

// expectations are what each figure of a device should be, and whether that is known.
var expectations = map[string]func(check.DeviceUse) (int, bool){
	"allocated_memory": func(use check.DeviceUse) (int, bool) { return use.MemoryMiB, use.MemoryKnown },
	"allocated_cores":  func(use check.DeviceUse) (int, bool) { return use.Cores, use.CoresKnown },
	"shared_number":    func(use check.DeviceUse) (int, bool) { return use.Pods, true },
}

// compareLedger holds what the scheduler says that it has counted, in its metrics, against the annotations of the pods. Of a
// device that no pod has, all is expected to be 0.
func compareLedger(metrics string, report check.Report) []check.Violation {
	var result []check.Violation
	figures := map[check.Place]map[string]bool{} // that the metrics have
	differs := func(at check.Place, text string) {
		result = append(result, check.Violation{Rule: check.LedgerDiffers, Node: at.Node, Device: at.Device, Text: text})
	}
	for _, line := range strings.Split(metrics, "\n") {
		parts := deviceFigure.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		at := check.Place{Node: parts[3], Device: parts[4]}
		if figures[at] == nil {
			figures[at] = map[string]bool{}
		}
		figures[at][parts[2]] = true
		value, err := strconv.ParseFloat(parts[5], 64)
		if err != nil {
			differs(at, fmt.Sprintf("%s is %q, expected a number", parts[1], parts[5]))
			continue
		}
		use, inUse := report.Use[at]
		expected, known := expectations[parts[2]](use)
		switch {
		case !inUse && value != 0:
			differs(at, fmt.Sprintf("%s is %v, and no pod has it", parts[1], value))
		case inUse && known && value != float64(expected):
			differs(at, fmt.Sprintf("%s is %v, by the annotations %d", parts[1], value, expected))
		}
	}
	for at := range report.Use {
		for _, figure := range slices.Sorted(maps.Keys(expectations)) {
			if !figures[at][figure] {
				differs(at, "pods have it, and the scheduler has no figure "+figure+" of it")
			}
		}
	}
	return result
}
