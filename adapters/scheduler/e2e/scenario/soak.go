package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

type soakSummary struct {
	*Summary
	Flaps   int      `json:"node_flaps"`
	Bound   int      `json:"pods_bound"`
	Growth  growth   `json:"growth"`
	Samples []Sample `json:"samples"`
}

const (
	soakBatch   = 100
	soakSamples = 100 * time.Millisecond // from one to the next, at first
)

// Soak sends many pods through creation and deletion while nodes become unready and ready and cards sick and healthy.
// Memory and goroutines of the scheduler in the last quarter of that time are held against those in the second.
func Soak(ctx context.Context, options Options) error {
	return conduct(ctx, options, "soak", func(env *Env, common *Summary) outcome {
		summary := &soakSummary{Summary: common}
		sampled := env.sample(soakSamples)
		flapping, stop := context.WithCancel(env.ctx)
		flapped := beside(func() error { summary.Flaps = env.flap(flapping); return nil })
		err := attempt(func() { env.churn(summary) })
		churned := time.Since(env.began).Seconds()
		stop()
		flapped()
		must(err)
		// With no more pods coming and all nodes well, nobody without a node may still carry what an earlier attempt wrote.
		must(env.settle(env.quiet(), 2*time.Minute))
		summary.take(env.Check(check.Options{Settled: true}))
		env.measure(common)
		env.neverBound(common)
		summary.Bound = env.Recorder.Bound()
		env.clear(common)
		summary.Samples = sampled()
		summary.judge(churned)
		return summary
	})
}

func (summary *soakSummary) print() {
	fmt.Printf("%d pods bound, nodes changed %d times; %v\n", summary.Bound, summary.Flaps, summary.Growth)
}

// judge looks at the samples from the first pod that was bound until no more came.
func (summary *soakSummary) judge(churned float64) {
	busy := slices.DeleteFunc(slices.Clone(summary.Samples), func(sample Sample) bool { return sample.Bound == 0 || sample.Seconds > churned })
	growth, ok := growthOf(busy)
	summary.Growth = growth
	if !ok {
		summary.example(check.Violation{Rule: ruleTooFew, Text: fmt.Sprintf("%d samples, %d pods between the windows, "+
			"expected %d samples or more and pods; -pods may help", growth.Samples, growth.Pods, 4*samplesOfWindow)})
		return
	}
	maps.Copy(summary.Violations, growth.violations())
}

func (env *Env) churn(summary *soakSummary) {
	for sent := 0; sent < env.Pods; {
		units := env.units(min(soakBatch, env.Pods-sent))
		for _, unit := range units {
			sent += len(unit.Pods)
		}
		must(env.Submit(units, env.Rate))
		// Some may have to wait for a node that is unready; who waits longer leaves with the others.
		env.until(3*env.Control.Period, func() bool { return env.waiting() == 0 })
		report := env.Check(check.Options{})
		summary.take(report)
		env.deleteGroups(func(*corev1.Pod) bool { return env.Random.Intn(10) < 7 })
		if sent/1000 != (sent-soakBatch)/1000 {
			env.Say("%d pods sent, %d bound so far, %d there, %d violations", sent, env.Recorder.Bound(), report.Pods, len(summary.seen))
		}
	}
}

// flap changes a node each half second, and back with the next change, until the context ends. Kubelets do this when they
// lose the API server, and device plugins when a card fails.
func (env *Env) flap(ctx context.Context) int {
	nodes, err := env.nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		return 0
	}
	flaps := 0
	for turn := 0; ; turn++ {
		node := nodes.Items[turn/2%len(nodes.Items)]
		well := turn%2 == 1
		// When time is up a node that was changed is changed back first, and that request must not end with the context.
		if !well && pause(ctx, 250*time.Millisecond) != nil {
			return flaps
		}
		if well {
			_ = pause(ctx, 250*time.Millisecond)
		}
		change := readiness(well)
		if turn/2%2 == 1 {
			change = health(node, well)
		}
		if err := patch(context.WithoutCancel(ctx), env.nodes(), node.Name, change, "status"); err != nil {
			env.Say("%v", err)
		}
		flaps++
	}
}

func readiness(ready bool) []byte {
	status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[ready]
	return fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q,"lastTransitionTime":%q}]}}`, status,
		time.Now().UTC().Format(time.RFC3339))
}

// health makes the first card of a registration sick, or the registration as it was at first.
func health(original corev1.Node, well bool) []byte {
	annotations := maps.Clone(original.Annotations)
	for key, text := range annotations {
		if !well {
			text = strings.Replace(text, ",true,", ",false,", 1)
			annotations[key] = strings.Replace(text, `"health":true`, `"health":false`, 1)
		}
	}
	return got(json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}}))
}
