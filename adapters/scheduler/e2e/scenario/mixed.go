package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/measure"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

const waves = 6

type wave struct {
	Submitted int            `json:"submitted"`
	Bound     int            `json:"bound"`
	Pending   int            `json:"pending"`
	Gangs     int            `json:"gangs_running"`
	Dialects  map[string]int `json:"bound_by_dialect"`
	Ended     int            `json:"ended"`
	Deleted   int            `json:"deleted"`
	Waits     measure.Waits  `json:"creation_to_bind"`
}

type preemption struct {
	Cards   int `json:"cards"`
	Low     int `json:"low_bound"`
	High    int `json:"high_submitted"`
	Bound   int `json:"high_bound"`
	Evicted int `json:"evicted"`
}

type mixedSummary struct {
	*Summary
	Waves      []wave      `json:"waves"`
	Preemption *preemption `json:"preemption"`
}

// Mixed sends pods of every kind, single and in gangs, in waves; after each some end, some are deleted. Then pods of high
// priority come to nodes that are full of pods that may be preempted. All is checked after each wave.
func Mixed(ctx context.Context, options Options) error {
	return conduct(ctx, options, "mixed", func(env *Env, common *Summary) outcome {
		summary := &mixedSummary{Summary: common}
		env.mix(summary, env.Pods)
		env.measure(common)
		return summary
	})
}

// mix sends the waves and has pods preempted. At the end no pod is there.
func (env *Env) mix(summary *mixedSummary, pods int) {
	for i := range waves {
		env.wave(summary, i, pods/waves)
	}
	if slices.Contains(env.Kinds, "hami-core") {
		env.preempt(summary)
	}
	env.neverBound(summary.Summary)
	env.clear(summary.Summary)
}

func (summary *mixedSummary) print() {
	for i, each := range summary.Waves {
		fmt.Printf("wave %d: %d submitted, %d bound, %d wait, %d gangs run\n", i+1, each.Submitted, each.Bound, each.Pending, each.Gangs)
	}
	if summary.Preemption != nil {
		fmt.Printf("preemption: %d of low priority had nodes, each wants one of %d cards; %d of %d of high priority were bound, %d evicted\n",
			summary.Preemption.Low, summary.Preemption.Cards, summary.Preemption.Bound, summary.Preemption.High, summary.Preemption.Evicted)
	}
}

func (env *Env) wave(summary *mixedSummary, number, pods int) {
	units := env.units(pods)
	must(env.Submit(units, env.Rate))
	report := env.settleAndCheck()
	summary.take(report)
	result := wave{Bound: report.Bound, Pending: report.Pending, Gangs: report.Gangs, Dialects: report.ByDialect, Waits: env.Recorder.Waits()}
	for _, unit := range units {
		result.Submitted += len(unit.Pods)
	}
	var ended, deleted []*corev1.Pod
	for _, pods := range env.sortedGroups() {
		switch running := pods[0].Spec.NodeName != ""; {
		case running && pods[0].Status.Phase == corev1.PodSucceeded:
			deleted = append(deleted, pods...)
		case running && env.Random.Intn(10) == 0:
			ended = append(ended, pods...)
		case env.Random.Intn(3) == 0:
			deleted = append(deleted, pods...)
		}
	}
	env.finish(ended)
	env.delete(deleted)
	result.Ended, result.Deleted = len(ended), len(deleted)
	summary.Waves = append(summary.Waves, result)
	env.Say("wave %d: %d bound, %d wait; now %d end and %d are deleted; %d violations", number+1, result.Bound, result.Pending,
		result.Ended, result.Deleted, len(report.Violations))
}

// wholeCard asks for all of a card, and lets others take its place if its priority is low.
func wholeCard(spec *objects.PodSpec, priority string) {
	spec.Containers = []objects.Limits{objects.VGPU(1, 40960, 100)}
	spec.Priority, spec.Preemptable = priority, priority == Low
}

func (env *Env) preempt(summary *mixedSummary) {
	env.clear(summary.Summary)
	units := func(count, members int, priority string) []Unit {
		var result []Unit
		for range count {
			result = append(result, env.Unit(got(objects.KindNamed("hami-core")), members, func(spec *objects.PodSpec) {
				wholeCard(spec, priority)
				spec.Grace = 30
			}))
		}
		return result
	}
	cards := env.Nodes * env.Devices
	// The gang plugin gives up no pod that a group needs, so one group has all and needs one.
	low, high := units(1, cards, Low), units(cards/2, 1, High)
	if low[0].Group != nil {
		low[0].Group.Spec.MinMember = 1
	}
	must(env.Submit(low, 0))
	report := env.settleAndCheck()
	summary.take(report)
	result := &preemption{Cards: cards, Low: report.Bound, High: len(high)}
	before := env.Recorder.Evicted()
	must(env.Submit(high, 0))
	must(env.settle(2*env.quiet(), 3*time.Minute))
	summary.take(env.Check(check.Options{Settled: true, Health: true}))
	result.Bound = env.count(func(pod *corev1.Pod) bool { return pod.Spec.PriorityClassName == High && pod.Spec.NodeName != "" })
	result.Evicted = env.Recorder.Evicted() - before
	summary.broken(ruleNotPreempted, result.High-result.Bound)
	// With an explanation of each this was found pod by pod.
	if !env.Explains {
		summary.broken(ruleForgotten, cards-result.Low)
	}
	summary.Preemption = result
}

// clear deletes all pods and checks that nothing stays.
func (env *Env) clear(summary *Summary) {
	env.delete(env.list())
	if !env.until(2*time.Minute, func() bool { return len(env.list()) == 0 }) {
		must(fmt.Errorf("%d pods are still there two minutes after they were deleted", len(env.list())))
	}
	summary.take(env.Check(check.Options{}))
}
