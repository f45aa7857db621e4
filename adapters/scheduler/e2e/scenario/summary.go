package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/measure"
)

// Rules of the scenarios themselves, beside those of package check.
const (
	ruleForgotten    = "forgotten"     // a pod waits, and there is room for it
	ruleNeverBound   = "never_bound"   // pods of a kind came, and none was ever bound
	ruleNotPreempted = "not_preempted" // a pod of high priority waits, and pods of low priority run
	ruleMemory       = "memory_grows"
	ruleGoroutines   = "goroutines_grow"
	ruleTooFew       = "too_few_samples" // to say whether these grow
)

// ErrViolations is returned by a scenario that ran to its end and found something wrong.
var ErrViolations = errors.New("the scenario ran to its end and found faults")

// Summary is what every scenario writes.
type Summary struct {
	Scenario   string            `json:"scenario"`
	Scheduler  string            `json:"scheduler"`
	Seed       int64             `json:"seed"`
	Kinds      []string          `json:"kinds"`
	Nodes      int               `json:"nodes_per_kind"`
	Devices    int               `json:"devices_per_node"`
	Pods       int               `json:"pods"`
	Checks     int               `json:"checks"`
	Violations map[string]int    `json:"violations_by_rule"`
	Examples   []check.Violation `json:"violation_examples"`
	Waits      measure.Waits     `json:"creation_to_bind"`
	Use        measure.Use       `json:"scheduler_use"`
	Goroutines int               `json:"scheduler_goroutines"`
	Seconds    float64           `json:"seconds"`
	Failures   int64             `json:"node_side_failures"`
	Crashes    []string          `json:"scheduler_crashes"`
	// Why pods waited when all had settled: kind of pod and the scheduler's message, with how often that was seen.
	Refused map[string]int `json:"refusals"`
	// Rights are the device plugin's on real nodes.
	Rights *pluginRights `json:"plugin_rights,omitempty"`

	seen map[string]bool
}

const examplesMax = 8 // of each rule

func (env *Env) summary(name string) *Summary {
	return &Summary{Scenario: name, Scheduler: env.Label, Seed: env.Seed, Kinds: env.Kinds, Nodes: env.Nodes, Devices: env.Devices,
		Pods: env.Pods, Violations: map[string]int{}, Examples: []check.Violation{}, Refused: map[string]int{}, seen: map[string]bool{}}
}

// take adds what a check found. A violation that an earlier check found too is counted once.
func (summary *Summary) take(report check.Report) {
	summary.Checks++
	for _, reason := range report.Waiting {
		summary.Refused[reason]++
	}
	for _, violation := range report.Violations {
		text := violation.String()
		if summary.seen[text] {
			continue
		}
		summary.seen[text] = true
		summary.example(violation)
	}
}

// example counts a violation, and tells of it unless there are many of its rule.
func (summary *Summary) example(violation check.Violation) {
	summary.Violations[violation.Rule]++
	if summary.Violations[violation.Rule] <= examplesMax {
		summary.Examples = append(summary.Examples, violation)
	}
}

// broken counts violations of which there is no more to tell, if there are any.
func (summary *Summary) broken(rule string, count int) {
	if count > 0 {
		summary.Violations[rule] += count
	}
}

// measure fills in what is known at the end.
func (env *Env) measure(summary *Summary) {
	summary.Waits = env.Recorder.Waits()
	if pid := env.Plane.Decider().Pid(); pid != 0 {
		if use, err := measure.Process(pid); err == nil {
			summary.Use = use
			cpuSeconds, peakMiB := env.Plane.Decider().Past()
			summary.Use.CPUSeconds += cpuSeconds
			summary.Use.RSSPeakMiB = max(use.RSSPeakMiB, peakMiB)
		}
		if goroutines, err := env.Plane.Goroutines(); err == nil {
			summary.Goroutines = goroutines
		}
	}
	summary.Seconds = time.Since(env.began).Seconds()
	summary.Failures = env.Kubelet.Failures()
	env.measureRights(summary)
	env.mutex.Lock()
	defer env.mutex.Unlock()
	summary.Crashes = append([]string{}, env.crashes...)
	summary.broken("crash", len(summary.Crashes))
}

// verdict prints the result in a few lines and says whether it is good.
func (summary *Summary) verdict() error {
	waits, use := summary.Waits, summary.Use
	fmt.Printf("%s with %s: %d pods bound, %.1f pods/s, creation to bind p50 %.2f s, p99 %.2f s; scheduler %.1f CPU s, peak %.0f MiB, %d goroutines; %d checks, %.0f s\n",
		summary.Scenario, summary.Scheduler, waits.Pods, waits.PodsPerSecond, waits.P50Seconds, waits.P99Seconds,
		use.CPUSeconds, use.RSSPeakMiB, summary.Goroutines, summary.Checks, summary.Seconds)
	if summary.Rights != nil {
		summary.Rights.print()
	}
	if len(summary.Violations) == 0 {
		fmt.Println("no rule broken")
		return nil
	}
	for _, rule := range slices.Sorted(maps.Keys(summary.Violations)) {
		fmt.Printf("  %s: %d\n", rule, summary.Violations[rule])
		if rule == "crash" {
			fmt.Printf("    for example %s\n", summary.Crashes[0])
		}
		if i := slices.IndexFunc(summary.Examples, func(each check.Violation) bool { return each.Rule == rule }); i >= 0 {
			fmt.Printf("    for example %s\n", summary.Examples[i])
		}
	}
	return ErrViolations
}

// Sample is the scheduler at a moment.
type Sample struct {
	Seconds    float64 `json:"at_s"`
	RSSMiB     float64 `json:"rss_mib"`
	CPUSeconds float64 `json:"cpu_s"`
	Goroutines int     `json:"goroutines"`
	Pods       int     `json:"pods"`
	Bound      int     `json:"bound_so_far"`
}

// samplesMax is when every second sample is dropped, and from then on half as many are taken.
const samplesMax = 1000

func thin(samples []Sample) []Sample {
	if len(samples) <= samplesMax {
		return samples
	}
	var kept []Sample
	for i := 0; i < len(samples); i += 2 {
		kept = append(kept, samples[i])
	}
	return kept
}

// sample looks at the scheduler now and then. The function that it returns looks once more and ends that.
func (env *Env) sample(every time.Duration) (stop func() []Sample) {
	var samples []Sample
	sampling, end := context.WithCancel(env.ctx)
	sampled := beside(func() error {
		for ended := false; ; ended = pause(sampling, every) != nil {
			// Between two lives of the scheduler there is nothing to see.
			use, err := measure.Process(env.Plane.Decider().Pid())
			goroutines, goroutinesErr := env.Plane.Goroutines()
			if err == nil && goroutinesErr == nil {
				samples = append(samples, Sample{Seconds: time.Since(env.began).Seconds(), RSSMiB: use.RSSMiB, CPUSeconds: use.CPUSeconds,
					Goroutines: goroutines, Pods: len(env.list()), Bound: env.Recorder.Bound()})
			}
			if kept := thin(samples); len(kept) < len(samples) {
				samples = kept
				every *= 2
			}
			if ended {
				return nil
			}
		}
	})
	return func() []Sample { end(); sampled(); return samples }
}
