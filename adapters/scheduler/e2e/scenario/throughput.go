package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"vgpualloc.example/adapters/scheduler/e2e/measure"
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

	env *Env
}

// devicePart is what a profile says of those who decide about devices.
type devicePart struct {
	measure.Share
	PerPodMS float64 `json:"per_pod_ms"`
}

// Throughput posts pods of the kinds as fast as it goes (or at a rate) and waits until all have a node.
func Throughput(ctx context.Context, options Options) error {
	return conduct(ctx, options, "throughput", func(env *Env, common *Summary) outcome {
		summary := &throughputSummary{Summary: common, env: env}
		env.idle()
		summary.Before = env.use()
		var units []Unit
		for i := range env.Pods {
			units = append(units, env.Unit(env.kinds[i%len(env.kinds)], 1, nil))
		}
		env.Say("%d nodes are known; %d pods come", env.Nodes*len(env.Kinds), len(units))
		sampled := env.sample(2 * time.Second)
		profiled := env.startProfile()
		submitted := beside(func() error { return env.Submit(units, env.Rate) })
		// Who makes no progress for long will not bind the rest: it has no room, or has given up.
		for env.Recorder.Bound() < len(units) && env.Recorder.Quiet() < env.quiet()+30*time.Second {
			must(pause(env.ctx, 200*time.Millisecond))
		}
		submitted()
		env.measure(common)
		summary.APIServer = got(measure.Process(env.Plane.APIServer.Pid()))
		summary.Samples = sampled()
		summary.Unbound = len(units) - env.Recorder.Bound()
		summary.CPUPerPodMS = 1000 * (summary.Use.CPUSeconds - summary.Before.CPUSeconds) / float64(max(1, summary.Waits.Pods))
		if env.Profile > 0 {
			profile := profiled()
			env.keep("throughput-"+env.Label+".pprof", profile)
			share := got(measure.ShareOf(strings.NewReader(profile), measure.DevicePart))
			summary.DevicePart = &devicePart{Share: share, PerPodMS: share.Ratio() * summary.CPUPerPodMS}
		}
		summary.take(env.settleAndCheck())
		env.keep("throughput-"+env.Label+".metrics.txt", got(env.Plane.Metrics()))
		return summary
	})
}

func (summary *throughputSummary) print() {
	fmt.Printf("%d nodes of %d devices, %d pods: %d not bound; %.2f ms of CPU a pod (%.1f s before the first); API server %.0f CPU s\n",
		summary.Nodes*len(summary.Kinds), summary.Devices, summary.Pods, summary.Unbound, summary.CPUPerPodMS, summary.Before.CPUSeconds,
		summary.APIServer.CPUSeconds)
	if part := summary.DevicePart; part != nil {
		fmt.Printf("device part, of a profile of %v: %.2f of %.2f s, %.2f ms of CPU a pod\n", summary.env.Profile, part.CPUSeconds, part.OfSeconds,
			part.PerPodMS)
	}
}

// startProfile has the scheduler profiled from now on. The function that it returns waits for the profile.
func (env *Env) startProfile() func() string {
	var text string
	join := beside(func() (err error) {
		if env.Profile > 0 {
			text, err = env.Plane.Profile(env.Profile)
		}
		return err
	})
	return func() string { join(); return text }
}

// use is what the decider has used so far.
func (env *Env) use() measure.Use { return got(measure.Process(env.Plane.Decider().Pid())) }

// idle waits until the scheduler uses little, as it does once it knows all nodes: less than a tenth of a CPU over two periods.
func (env *Env) idle() {
	span := 2*env.Control.Period + time.Second
	for range 30 {
		before := env.use()
		must(pause(env.ctx, span))
		if env.use().CPUSeconds-before.CPUSeconds < span.Seconds()/10 {
			return
		}
	}
	env.Say("the scheduler is not idle without pods; going on")
}
