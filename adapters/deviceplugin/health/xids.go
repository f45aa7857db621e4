// Package health follows what the driver reports of the GPUs, keeps which of them are not healthy over restarts of the plugin, and
// looks again whether they have come back.
package health

import (
	"strconv"
	"strings"
)

// ofApplications are Xids that a program of a pod causes: the card is as good as before.
var ofApplications = []uint64{13, 31, 43, 45, 68, 109}

// ofTheHardware are Xids after which NVIDIA's list of Xid errors asks for a reset of the GPU or of the machine
// (docs.nvidia.com/deploy/xid-errors, immediate action RESET_GPU or RESTART_BM): time alone does not mend them.
var ofTheHardware = []uint64{46, 48, 61, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143}

// xidSet is a list of the environment: numbers, or all of them.
type xidSet struct {
	all     bool
	numbers map[uint64]bool
	leftOut []string
}

// readXids reads numbers joined by commas. `all`, `xids` and 0 are all; anything else is left out.
func readXids(text string) xidSet {
	set := xidSet{numbers: map[uint64]bool{}}
	for _, item := range strings.Split(strings.ToLower(text), ",") {
		item = strings.TrimSpace(item)
		number, err := strconv.ParseUint(item, 10, 64)
		switch {
		case item == "all" || item == "xids" || err == nil && number == 0:
			set.all = true
		case err == nil:
			set.numbers[number] = true
		case item != "":
			set.leftOut = append(set.leftOut, item)
		}
	}
	return set
}

// rules say which Xids make a card unhealthy: DP_DISABLE_HEALTHCHECKS and, over it, DP_ENABLE_HEALTHCHECKS.
type rules struct{ disabled, enabled xidSet }

func newRules(disabled, enabled string) rules {
	return rules{disabled: readXids(disabled), enabled: readXids(enabled)}
}

// isOff: no event counts, not even those that are enabled by number.
func (r rules) isOff() bool { return r.disabled.all && !r.enabled.all }

func (r rules) counts(xid uint64) bool {
	switch {
	case r.isOff():
		return false
	case r.enabled.all || r.enabled.numbers[xid]:
		return true
	}
	return !r.disabled.numbers[xid] && !contains(ofApplications, xid)
}

func contains(list []uint64, xid uint64) bool {
	for _, other := range list {
		if other == xid {
			return true
		}
	}
	return false
}
