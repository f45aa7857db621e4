package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	env, err := openWithNodes(ctx, options)
	if err != nil {
		return err
	}
	defer env.Close()
	summary := &mixedSummary{Summary: env.summary("mixed")}
	if err := env.mix(ctx, summary, env.Options.Pods); err != nil {
		return err
	}
	env.finish(summary.Summary)
	if err := env.write("mixed-"+env.Label, summary); err != nil {
		return err
	}
	summary.print()
	return summary.verdict()
}

// mix sends the waves and has pods preempted. At the end no pod is there.
func (env *Env) mix(ctx context.Context, summary *mixedSummary, pods int) error {
	for i := range waves {
		if err := env.wave(ctx, summary, i, pods/waves); err != nil {
			return err
		}
	}
	if slices.Contains(env.Kinds, "hami-core") {
		if err := env.preempt(ctx, summary); err != nil {
			return err
		}
	}
	env.neverBound(summary.Summary)
	return env.clear(ctx, summary.Summary)
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

// units makes pods of random kinds, of six units one a gang of two to four where there are gangs.
func (env *Env) units(pods int) ([]Unit, error) {
	var result []Unit
	for count := 0; count < pods; {
		kind, err := objects.KindNamed(env.Kinds[env.Random.Intn(len(env.Kinds))])
		if err != nil {
			return nil, err
		}
		members := 1
		if env.Volcano != nil && env.Random.Intn(6) == 0 {
			members = 2 + env.Random.Intn(3)
		}
		result = append(result, env.Unit(kind, members, nil))
		count += members
	}
	return result, nil
}

func (env *Env) wave(ctx context.Context, summary *mixedSummary, number, pods int) error {
	units, err := env.units(pods)
	if err != nil {
		return err
	}
	if err := env.Submit(ctx, units, env.Rate); err != nil {
		return err
	}
	report, err := env.settleAndCheck(ctx)
	if err != nil {
		return err
	}
	summary.take(report)
	result := wave{Bound: report.Bound, Pending: report.Pending, Gangs: report.Gangs, Dialects: report.ByDialect, Waits: env.Recorder.Waits()}
	for _, unit := range units {
		result.Submitted += len(unit.Pods)
	}
	// Whole groups leave, so that what is left of gangs is whole.
	var ended, deleted []*corev1.Pod
	for _, pods := range sortedGroups(env.Groups()) {
		switch running := pods[0].Spec.NodeName != ""; {
		case running && pods[0].Status.Phase == corev1.PodSucceeded:
			deleted = append(deleted, pods...)
		case running && env.Random.Intn(10) == 0:
			ended = append(ended, pods...)
		case env.Random.Intn(3) == 0:
			deleted = append(deleted, pods...)
		}
	}
	if err := env.Finish(ctx, ended); err != nil {
		return err
	}
	if err := env.Delete(ctx, deleted); err != nil {
		return err
	}
	result.Ended, result.Deleted = len(ended), len(deleted)
	summary.Waves = append(summary.Waves, result)
	env.Say("wave %d: %d bound, %d wait; now %d end and %d are deleted; %d violations", number+1, result.Bound, result.Pending,
		result.Ended, result.Deleted, len(report.Violations))
	return nil
}

func (env *Env) settleAndCheck(ctx context.Context) (check.Report, error) {
	if err := env.Settle(ctx, env.quiet(), 2*time.Minute); err != nil {
		return check.Report{}, err
	}
	report, err := env.Check(ctx, check.Options{Settled: true, Health: true})
	if err != nil || !env.Explains {
		return report, err
	}
	forgotten, err := env.forgotten(ctx)
	report.Violations = append(report.Violations, forgotten...)
	return report, err
}

// quiet is after how long without any change nothing more is expected: a few sessions of the scheduler.
func (env *Env) quiet() time.Duration { return 3*env.Control.Period + time.Second }

func (env *Env) preempt(ctx context.Context, summary *mixedSummary) error {
	if err := env.clear(ctx, summary.Summary); err != nil {
		return err
	}
	kind, err := objects.KindNamed("hami-core")
	if err != nil {
		return err
	}
	whole := func(priority string) func(*objects.PodSpec) {
		return func(spec *objects.PodSpec) {
			spec.Annotations = map[string]string{"volcano.sh/vgpu-mode": "hami-core"}
			spec.Containers = []objects.Limits{{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 40960, "volcano.sh/vgpu-cores": 100}}
			spec.Priority, spec.Preemptable = priority, priority == Low
			spec.Grace = 30
		}
	}
	cards := env.Nodes * env.Devices
	// The gang plugin gives up no pod that a group needs, so one group has all and needs one.
	low, high := []Unit{env.Unit(kind, cards, whole(Low))}, []Unit{}
	if low[0].Group != nil {
		low[0].Group.Spec.MinMember = 1
	}
	for range cards / 2 {
		high = append(high, env.Unit(kind, 1, whole(High)))
	}
	if err := env.Submit(ctx, low, 0); err != nil {
		return err
	}
	report, err := env.settleAndCheck(ctx)
	if err != nil {
		return err
	}
	summary.take(report)
	result := &preemption{Cards: cards, Low: report.Bound, High: len(high)}
	before := env.Evicted()
	if err := env.Submit(ctx, high, 0); err != nil {
		return err
	}
	if err := env.Settle(ctx, 2*env.quiet(), 3*time.Minute); err != nil {
		return err
	}
	if report, err = env.Check(ctx, check.Options{Settled: true, Health: true}); err != nil {
		return err
	}
	summary.take(report)
	for _, pod := range env.list() {
		if pod.Spec.PriorityClassName == High && pod.Spec.NodeName != "" {
			result.Bound++
		}
	}
	result.Evicted = env.Evicted() - before
	if result.Bound < result.High {
		summary.Violations[ruleNotPreempted] += result.High - result.Bound
	}
	// With an explanation of each this was found pod by pod.
	if !env.Explains && result.Low < cards {
		summary.Violations[ruleForgotten] += cards - result.Low
	}
	summary.Preemption = result
	return nil
}

// clear deletes all pods and checks that nothing stays.
func (env *Env) clear(ctx context.Context, summary *Summary) error {
	if err := env.Delete(ctx, env.list()); err != nil {
		return err
	}
	deadline := time.Now().Add(2 * time.Minute)
	for len(env.list()) > 0 {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d pods are still there two minutes after they were deleted", len(env.list()))
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	report, err := env.Check(ctx, check.Options{})
	if err != nil {
		return err
	}
	summary.take(report)
	return nil
}

func sortedGroups(groups map[string][]*corev1.Pod) [][]*corev1.Pod {
	var result [][]*corev1.Pod
	for _, pods := range groups {
		slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		result = append(result, pods)
	}
	slices.SortFunc(result, func(a, b []*corev1.Pod) int { return strings.Compare(a[0].Name, b[0].Name) })
	return result
}
