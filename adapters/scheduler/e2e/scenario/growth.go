package scenario

import (
	"fmt"
	"slices"
)

// growth is how memory and goroutines of a scheduler went while pods came and left. Its two windows are the second and the
// last quarter of the samples: in the first the heap grows to its size.
type growth struct {
	Samples        int     `json:"samples"`
	Pods           int     `json:"pods_between_windows"`
	RSSThenMiB     float64 `json:"rss_mib_second_quarter"` // medians
	RSSNowMiB      float64 `json:"rss_mib_last_quarter"`
	GoroutinesThen float64 `json:"goroutines_second_quarter"` // lower quartiles: bindings under way have some for a moment
	GoroutinesNow  float64 `json:"goroutines_last_quarter"`
	// Slopes of straight lines (least squares) through all samples but those of the first quarter.
	RSSPerThousand        float64 `json:"rss_mib_per_1000_pods"`
	GoroutinesPerThousand float64 `json:"goroutines_per_1000_pods"`
	RSSMayGrowMiB         float64 `json:"rss_mib_may_grow"`
	GoroutinesMayGrow     float64 `json:"goroutines_may_grow"`
}

// How much more there may be in the last window than in the second quarter: what comes and goes whatever happens, and a bound
// for each 1,000 pods between the windows, beyond which something is kept of pods that have gone. On two busy cores memory was
// 9.7 MiB larger in a run of 300 pods, 8.7 of 2,000 and 7.7 of 6,000, as the heap comes to its size only by and by, and
// goroutines 0 to 14 more, while those of bindings under way were 76 to 231 for moments. With these bounds a run of 20,000 pods
// finds what keeps 3.5 KiB of each pod or a goroutine of every 200th, one of 300 pods what keeps a goroutine of every third.
const (
	rssSlackMiB          = 24
	rssMiBPerThousand    = 1
	goroutinesSlack      = 40
	goroutinesOfThousand = 1
	samplesOfWindow      = 3
)

// growthOf looks at samples in the order of time. ok is false where they are too few, or no pods came between the windows.
func growthOf(samples []Sample) (result growth, ok bool) {
	quarter := len(samples) / 4
	result.Samples = len(samples)
	if quarter < samplesOfWindow {
		return result, false
	}
	second, last := samples[quarter:2*quarter], samples[len(samples)-quarter:]
	rss := func(sample Sample) float64 { return sample.RSSMiB }
	goroutines := func(sample Sample) float64 { return float64(sample.Goroutines) }
	bound := func(sample Sample) float64 { return float64(sample.Bound) }
	result.Pods = int(median(last, bound) - median(second, bound))
	result.RSSThenMiB, result.RSSNowMiB = median(second, rss), median(last, rss)
	result.GoroutinesThen, result.GoroutinesNow = lowerQuartile(second, goroutines), lowerQuartile(last, goroutines)
	result.RSSPerThousand = 1000 * slope(samples[quarter:], bound, rss)
	result.GoroutinesPerThousand = 1000 * slope(samples[quarter:], bound, goroutines)
	thousands := float64(result.Pods) / 1000
	result.RSSMayGrowMiB = rssSlackMiB + rssMiBPerThousand*thousands
	result.GoroutinesMayGrow = goroutinesSlack + goroutinesOfThousand*thousands
	return result, result.Pods > 0
}

// violations are by rule, with by how much.
func (growth growth) violations() map[string]int {
	result := map[string]int{}
	if more := growth.RSSNowMiB - growth.RSSThenMiB; more > growth.RSSMayGrowMiB {
		result[ruleMemory] = int(more)
	}
	if more := growth.GoroutinesNow - growth.GoroutinesThen; more > growth.GoroutinesMayGrow {
		result[ruleGoroutines] = int(more)
	}
	return result
}

func (growth growth) String() string {
	return fmt.Sprintf("%d samples; from the second quarter to the last, %d pods later: memory %.1f to %.1f MiB (may grow by %.1f; slope %+.2f a 1,000 pods), "+
		"goroutines %.0f to %.0f (may grow by %.0f; slope %+.2f)", growth.Samples, growth.Pods, growth.RSSThenMiB, growth.RSSNowMiB, growth.RSSMayGrowMiB,
		growth.RSSPerThousand, growth.GoroutinesThen, growth.GoroutinesNow, growth.GoroutinesMayGrow, growth.GoroutinesPerThousand)
}

func sortedValues(samples []Sample, value func(Sample) float64) []float64 {
	var sorted []float64
	for _, sample := range samples {
		sorted = append(sorted, value(sample))
	}
	slices.Sort(sorted)
	return sorted
}

func lowerQuartile(samples []Sample, value func(Sample) float64) float64 {
	return sortedValues(samples, value)[len(samples)/4]
}

func median(samples []Sample, value func(Sample) float64) float64 {
	sorted := sortedValues(samples, value)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// slope is that of the straight line with the least squares, 0 where all x are the same.
func slope(samples []Sample, x, y func(Sample) float64) float64 {
	var meanX, meanY, products, squares float64
	count := float64(len(samples))
	for _, sample := range samples {
		meanX += x(sample) / count
		meanY += y(sample) / count
	}
	for _, sample := range samples {
		products += (x(sample) - meanX) * (y(sample) - meanY)
		squares += (x(sample) - meanX) * (x(sample) - meanX)
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}
