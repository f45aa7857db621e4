package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vgpualloc.example/adapters/scheduler/e2e/measure"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

type throughputSummary struct {
	*Summary
	// What the scheduler had used when it knew all nodes and no pod had come yet.
	Before      measure.Use `json:"scheduler_use_before"`
	CPUPerPodMS float64     `json:"scheduler_cpu_per_pod_ms"`
	APIServer   measure.Use `json:"apiserver_use"`
	DevicePart  *devicePart `json:"device_part,omitempty"`
	Unbound     int         `json:"not_bound"`
	Samples     []Sample    `json:"samples"`
}

// devicePart is what a profile says of those who decide about devices.
type devicePart struct {
	measure.Share
	PerPodMS float64 `json:"per_pod_ms"`
}

// Throughput posts pods of the kinds as fast as it goes (or at a rate) and waits until all have a node.
func Throughput(ctx context.Context, options Options) error {
	env, err := openWithNodes(ctx, options)
	if err != nil {
		return err
	}
	defer env.Close()
	summary := &throughputSummary{Summary: env.summary("throughput")}
	if err := env.idle(ctx); err != nil {
		return err
	}
	if summary.Before, err = measure.Process(env.Plane.Decider().Pid()); err != nil {
		return err
	}
	var units []Unit
	for i := range env.Options.Pods {
		kind, err := objects.KindNamed(env.Kinds[i%len(env.Kinds)])
		if err != nil {
			return err
		}
		units = append(units, env.Unit(kind, 1, nil))
	}
	env.Say("%d nodes are known; %d pods come", env.Nodes*len(env.Kinds), len(units))
	sampler := env.startSampler(2 * time.Second)
	profiling := env.startProfile()
	submitting := make(chan error, 1)
	go func() { submitting <- env.Submit(ctx, units, env.Rate) }()
	// Who makes no progress for long will not bind the rest: it has no room, or has given up.
	for env.Recorder.Bound() < len(units) && env.Recorder.Quiet() < env.quiet()+30*time.Second {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	if err := <-submitting; err != nil {
		return err
	}
	env.finish(summary.Summary)
	if summary.APIServer, err = measure.Process(env.Plane.APIServer.Pid()); err != nil {
		return err
	}
	summary.Samples = sampler.stop()
	summary.Unbound = len(units) - env.Recorder.Bound()
	summary.CPUPerPodMS = 1000 * (summary.Use.CPUSeconds - summary.Before.CPUSeconds) / float64(max(1, summary.Summary.Waits.Pods))
	if summary.DevicePart, err = env.devicePart(profiling, summary.CPUPerPodMS); err != nil {
		return err
	}
	report, err := env.settleAndCheck(ctx)
	if err != nil {
		return err
	}
	summary.take(report)
	if err := env.keepMetrics("throughput-" + env.Label); err != nil {
		return err
	}
	if err := env.write("throughput-"+env.Label, summary); err != nil {
		return err
	}
	fmt.Printf("%d nodes of %d devices, %d pods: %d not bound; %.2f ms of CPU a pod (%.1f s before the first); API server %.0f CPU s\n",
		env.Nodes*len(env.Kinds), env.Devices, len(units), summary.Unbound, summary.CPUPerPodMS, summary.Before.CPUSeconds, summary.APIServer.CPUSeconds)
	if part := summary.DevicePart; part != nil {
		fmt.Printf("device part, of a profile of %v: %.2f of %.2f s, %.2f ms of CPU a pod\n", env.Profile, part.CPUSeconds, part.OfSeconds,
			part.PerPodMS)
	}
	return summary.verdict()
}

// profileOutcome is a profile as the scheduler writes it.
type profileOutcome struct {
	text string
	err  error
}

// startProfile is nil if none is wanted.
func (env *Env) startProfile() <-chan profileOutcome {
	if env.Profile == 0 {
		return nil
	}
	outcome := make(chan profileOutcome, 1)
	go func() {
		text, err := env.Plane.Profile(env.Profile)
		outcome <- profileOutcome{text, err}
	}()
	return outcome
}

// devicePart keeps the profile beside the summary and looks what share of it decides about devices.
func (env *Env) devicePart(profiling <-chan profileOutcome, cpuPerPodMS float64) (*devicePart, error) {
	if profiling == nil {
		return nil, nil
	}
	outcome := <-profiling
	if outcome.err != nil {
		return nil, outcome.err
	}
	if err := env.keep("throughput-"+env.Label+".pprof", outcome.text); err != nil {
		return nil, err
	}
	share, err := measure.ShareOf(strings.NewReader(outcome.text), measure.DevicePart)
	if err != nil {
		return nil, err
	}
	return &devicePart{Share: share, PerPodMS: share.Ratio() * cpuPerPodMS}, nil
}

// idle waits until the scheduler uses little, as it does once it knows all nodes: less than a tenth of a CPU over two periods.
func (env *Env) idle(ctx context.Context) error {
	span := 2*env.Control.Period + time.Second
	for range 30 {
		before, err := measure.Process(env.Plane.Decider().Pid())
		if err != nil {
			return err
		}
		if err := pause(ctx, span); err != nil {
			return err
		}
		after, err := measure.Process(env.Plane.Decider().Pid())
		if err != nil {
			return err
		}
		if after.CPUSeconds-before.CPUSeconds < span.Seconds()/10 {
			return nil
		}
	}
	env.Say("the scheduler is not idle without pods; going on")
	return nil
}

// keepMetrics puts what the scheduler serves for Prometheus beside the summary.
func (env *Env) keepMetrics(name string) error {
	text, err := env.Plane.Metrics()
	if err != nil {
		return err
	}
	return env.keep(name+".metrics.txt", text)
}

func (env *Env) keep(name, text string) error {
	if err := os.MkdirAll(env.Out, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(env.Out, name), []byte(text), 0o644)
}
