package live

import (
	"testing"
	"time"
)

func TestCountsOfDecisions(t *testing.T) {
	var counts Counts
	for _, took := range []time.Duration{time.Microsecond, 10 * time.Microsecond, 11 * time.Microsecond, time.Second} {
		counts.decide(took)
	}
	if counts.Decisions != 4 || counts.Took != time.Second+22*time.Microsecond {
		t.Error(counts)
	}
	if counts.Within[0] != 2 || counts.Within[1] != 3 || counts.Within[decisionTimes-1] != 3 {
		t.Error("counts are of all that took at most so long", counts.Within)
	}
	if longest := DecisionBound(decisionTimes - 1); longest != 327680*time.Microsecond {
		t.Error(longest)
	}
}
