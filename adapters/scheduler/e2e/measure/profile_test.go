package measure

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/pprof/profile"
)

func TestShareOfAProfile(t *testing.T) {
	var written bytes.Buffer
	functions := []*profile.Function{{ID: 1, Name: "main.run"}, {ID: 2, Name: "core.decide"}, {ID: 3, Name: "other.core.decide"}}
	var locations []*profile.Location
	for _, function := range functions {
		locations = append(locations, &profile.Location{ID: function.ID, Line: []profile.Line{{Function: function}}})
	}
	run, decide, other := locations[0], locations[1], locations[2]
	sample := func(ms int64, stack ...*profile.Location) *profile.Sample {
		return &profile.Sample{Location: stack, Value: []int64{ms / 10, ms * 1e6}}
	}
	described := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   functions, Location: locations,
		Sample: []*profile.Sample{sample(50, run), sample(30, decide, run), sample(20, run, decide, decide), sample(100, other, run)},
	}
	if err := described.Write(&written); err != nil {
		t.Fatal(err)
	}
	share, err := ShareOf(&written, []string{"core."})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(share.CPUSeconds-0.05) > 1e-9 || math.Abs(share.OfSeconds-0.2) > 1e-9 || math.Abs(share.Ratio()-0.25) > 1e-9 {
		t.Errorf("%v s of %v s, expected 0.05 of 0.2", share.CPUSeconds, share.OfSeconds)
	}
	if ratio := (Share{}).Ratio(); ratio != 0 {
		t.Errorf("a share of nothing: %v, expected 0", ratio)
	}
	if _, err := ShareOf(bytes.NewBufferString("404 page not found"), nil); err == nil {
		t.Error("what is no profile was read")
	}
}
