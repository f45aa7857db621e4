package scenario

import (
	"math"
	"slices"
	"testing"
)

// run makes samples of a run of so many pods.
func run(samples, pods int, rss func(pods float64) float64, goroutines func(pods float64) float64) []Sample {
	var result []Sample
	for i := range samples {
		bound := pods * i / (samples - 1)
		result = append(result, Sample{Bound: bound, RSSMiB: rss(float64(bound)), Goroutines: int(goroutines(float64(bound)))})
	}
	return result
}

func constant(value float64) func(float64) float64 { return func(float64) float64 { return value } }
func rising(from, byPod float64) func(float64) float64 {
	return func(pods float64) float64 { return from + byPod*pods }
}

func TestGrowthThatIsFound(t *testing.T) {
	warming := func(pods float64) float64 { return 130 - 45*math.Exp(-pods/200) } // as runs of 300 to 20,000 pods showed
	cases := []struct {
		name    string
		samples []Sample
		rules   []string
	}{
		{"nothing grows, 20,000 pods", run(800, 20000, warming, constant(261)), nil},
		{"nothing grows, 300 pods", run(24, 300, warming, constant(261)), nil},
		{"4 KiB a pod, 20,000 pods", run(800, 20000, rising(130, 4.0/1024), constant(261)), []string{"memory_grows"}},
		{"a goroutine in 100 pods, 20,000 pods", run(800, 20000, warming, rising(261, 0.01)), []string{"goroutines_grow"}},
		{"a goroutine of each pod, 300 pods", run(24, 300, warming, rising(261, 1)), []string{"goroutines_grow"}},
		{"400 KiB a pod, 300 pods", run(24, 300, rising(100, 0.4), constant(261)), []string{"memory_grows"}},
		{"both, 1,200 pods", run(100, 1200, rising(100, 0.1), rising(261, 0.2)), []string{"goroutines_grow", "memory_grows"}},
	}
	for _, each := range cases {
		t.Run(each.name, func(t *testing.T) {
			growth, ok := growthOf(each.samples)
			var rules []string
			for rule := range growth.violations() {
				rules = append(rules, rule)
			}
			if slices.Sort(rules); !ok || !slices.Equal(rules, each.rules) {
				t.Errorf("%v, enough samples: %v; broken %v, expected %v", growth, ok, rules, each.rules)
			}
		})
	}
}

func TestGrowthIsMeasured(t *testing.T) {
	growth, ok := growthOf(run(101, 10000, rising(100, 0.002), rising(200, 0.01)))
	if !ok || math.Abs(growth.RSSPerThousand-2) > 0.01 || math.Abs(growth.GoroutinesPerThousand-10) > 0.01 {
		t.Errorf("%v, expected slopes of 2 MiB and 10 goroutines", growth)
	}
	if growth.Pods != 5100 || math.Abs(growth.RSSNowMiB-growth.RSSThenMiB-10.2) > 0.01 {
		t.Errorf("%v, expected 5,100 pods between the medians, and 10.2 MiB", growth)
	}
	one := run(40, 1000, constant(100), constant(200))
	one[12].RSSMiB, one[35].RSSMiB, one[36].Goroutines = 900, 900, 900 // a moment is no growth
	if growth, ok := growthOf(one); !ok || len(growth.violations()) != 0 {
		t.Errorf("%v, expected no growth", growth)
	}
	for i := range 7 { // most of the last quarter is bindings under way
		one[39-i].Goroutines = 400
	}
	if growth, ok := growthOf(one); !ok || len(growth.violations()) != 0 {
		t.Errorf("%v, expected no growth while three of ten samples are as ever", growth)
	}
	for i := range 3 {
		one[30+i].Goroutines = 400
	}
	if growth, ok := growthOf(one); !ok || growth.violations()[ruleGoroutines] != 200 {
		t.Errorf("%v, expected 200 goroutines more", growth)
	}
}

func TestTooFewSamples(t *testing.T) {
	if _, ok := growthOf(run(4*samplesOfWindow-1, 300, constant(100), constant(200))); ok {
		t.Error("a verdict from too few samples")
	}
	if _, ok := growthOf(run(4*samplesOfWindow, 300, constant(100), constant(200))); !ok {
		t.Error("no verdict from enough samples")
	}
	if _, ok := growthOf(run(40, 0, constant(100), constant(200))); ok {
		t.Error("a verdict without pods")
	}
	if _, ok := growthOf(nil); ok {
		t.Error("a verdict from nothing")
	}
}

func TestSamplesStayFew(t *testing.T) {
	var samples []Sample
	thinned := 0
	for i := range 5 * samplesMax {
		samples = append(samples, Sample{Pods: i})
		if kept := thin(samples); len(kept) < len(samples) {
			samples = kept
			thinned++
		}
	}
	if len(samples) > samplesMax || len(samples) < samplesMax/2 || thinned == 0 || samples[0].Pods != 0 {
		t.Errorf("%d samples, thinned %d times, the first of %d", len(samples), thinned, samples[0].Pods)
	}
}
