package scenario

import (
	"context"
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
	env, err := openWithNodes(ctx, options)
	if err != nil {
		return err
	}
	defer env.Close()
	summary := &soakSummary{Summary: env.summary("soak")}
	sampler := env.startSampler(soakSamples)
	flapping, stop := context.WithCancel(ctx)
	flapped := make(chan int)
	go func() { flapped <- env.flap(flapping) }()
	err = env.churn(ctx, summary)
	churned := time.Since(env.began).Seconds()
	stop()
	summary.Flaps = <-flapped
	if err != nil {
		return err
	}
	if err := env.checkSettled(ctx, summary); err != nil {
		return err
	}
	env.finish(summary.Summary)
	env.neverBound(summary.Summary)
	summary.Bound = env.Recorder.Bound()
	if err := env.clear(ctx, summary.Summary); err != nil {
		return err
	}
	summary.Samples = sampler.stop()
	summary.judge(churned)
	if err := env.write("soak-"+env.Label, summary); err != nil {
		return err
	}
	fmt.Printf("%d pods bound, nodes changed %d times; %v\n", summary.Bound, summary.Flaps, summary.Growth)
	return summary.verdict()
}

// judge looks at the samples from the first pod that was bound until no more came.
func (summary *soakSummary) judge(churned float64) {
	busy := slices.DeleteFunc(slices.Clone(summary.Samples), func(sample Sample) bool { return sample.Bound == 0 || sample.Seconds > churned })
	growth, ok := growthOf(busy)
	summary.Growth = growth
	if !ok {
		summary.Violations[ruleTooFew] = 1
		summary.Examples = append(summary.Examples, check.Violation{Rule: ruleTooFew, Text: fmt.Sprintf(
			"%d samples, %d pods between the windows, expected %d samples or more and pods; -pods may help", growth.Samples, growth.Pods, 4*samplesOfWindow)})
		return
	}
	maps.Copy(summary.Violations, growth.violations())
}

func (env *Env) churn(ctx context.Context, summary *soakSummary) error {
	for sent := 0; sent < env.Options.Pods; {
		units, err := env.units(min(soakBatch, env.Options.Pods-sent))
		if err != nil {
			return err
		}
		for _, unit := range units {
			sent += len(unit.Pods)
		}
		if err := env.Submit(ctx, units, env.Rate); err != nil {
			return err
		}
		// Some may have to wait for a node that is unready; who waits longer leaves with the others.
		deadline := time.Now().Add(3 * env.Control.Period)
		for env.Waiting() > 0 && time.Now().Before(deadline) {
			if err := pause(ctx, 20*time.Millisecond); err != nil {
				return err
			}
		}
		report, err := env.Check(ctx, check.Options{})
		if err != nil {
			return err
		}
		summary.take(report)
		var gone []*corev1.Pod
		for _, pods := range sortedGroups(env.Groups()) {
			if env.Random.Intn(10) < 7 {
				gone = append(gone, pods...)
			}
		}
		if err := env.Delete(ctx, gone); err != nil {
			return err
		}
		if sent/1000 != (sent-soakBatch)/1000 {
			env.Say("%d pods sent, %d bound so far, %d there, %d violations", sent, env.Recorder.Bound(), report.Pods, len(summary.seen))
		}
	}
	return nil
}

// checkSettled: with no more pods coming and all nodes well, nobody without a node may still carry what an earlier attempt wrote.
func (env *Env) checkSettled(ctx context.Context, summary *soakSummary) error {
	if err := env.Settle(ctx, env.quiet(), 2*time.Minute); err != nil {
		return err
	}
	report, err := env.Check(ctx, check.Options{Settled: true})
	if err != nil {
		return err
	}
	summary.take(report)
	return nil
}

// flap changes a node each half second, and back with the next change, until the context ends. Kubelets do this when they
// lose the API server, and device plugins when a card fails.
func (env *Env) flap(ctx context.Context) int {
	nodes, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		return 0
	}
	flaps := 0
	for turn := 0; ; turn++ {
		node := nodes.Items[turn/2%len(nodes.Items)].DeepCopy()
		well := turn%2 == 1
		// When time is up a node that was changed is changed back first, and that request must not end with the context.
		if !well && pause(ctx, 250*time.Millisecond) != nil {
			return flaps
		}
		if well {
			_ = pause(ctx, 250*time.Millisecond)
		}
		request := context.WithoutCancel(ctx)
		if turn/2%2 == 0 {
			err = env.setReady(request, node.Name, well)
		} else {
			err = env.setHealth(request, node, well)
		}
		if err != nil {
			env.Say("changing node %s: %v", node.Name, err)
		}
		flaps++
	}
}

func (env *Env) setReady(ctx context.Context, name string, ready bool) error {
	return again(ctx, func() error {
		node, err := env.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range node.Status.Conditions {
			condition := &node.Status.Conditions[i]
			if condition.Type == corev1.NodeReady {
				condition.Status = map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[ready]
				condition.LastTransitionTime = metav1.Now()
			}
		}
		_, err = env.Client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// setHealth makes the first card of a registration sick, or the registration as it was at first.
func (env *Env) setHealth(ctx context.Context, original *corev1.Node, well bool) error {
	return again(ctx, func() error {
		node, err := env.Client.CoreV1().Nodes().Get(ctx, original.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for key, text := range original.Annotations {
			if well {
				node.Annotations[key] = text
			} else {
				text = strings.Replace(text, ",true,", ",false,", 1)
				node.Annotations[key] = strings.Replace(text, `"health":true`, `"health":false`, 1)
			}
		}
		_, err = env.Client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
