package scenario

import (
	"context"

	"vgpualloc.example/adapters/scheduler/e2e/control"
)

type extenderSummary struct {
	*Summary
	Killed  *killSummary    `json:"killed"`
	Mixed   *mixedSummary   `json:"mixed"`
	Outages []programOutage `json:"outages"`
}

// programOutage is one in which the extender was not away.
type programOutage struct {
	Program string `json:"program"`
	outage
}

// Extender is what kill and mixed do, one after the other, with a kube-scheduler that asks our extender: it is the extender
// that is killed. Between the two who asks it goes down alone, and the API server, so that answers are lost; then most nodes
// leave, so that pods have to wait.
func Extender(ctx context.Context, options Options) error {
	return conduct(ctx, options, "extender", func(env *Env, common *Summary) outcome {
		summary := &extenderSummary{Summary: common, Killed: &killSummary{Summary: common, Kills: env.Kills}, Mixed: &mixedSummary{Summary: common}}
		env.killAll(summary.Killed, env.Pods/2)
		for _, program := range []*control.Process{env.Plane.Scheduler, env.Plane.APIServer} {
			within(program.Name, func() {
				result, report := env.without(program.Name+" alone", []*control.Process{program}, max(1, env.Pods/20), func() {})
				summary.take(report)
				summary.Outages = append(summary.Outages, programOutage{program.Name, result})
				summary.broken(ruleForgotten, report.Pending)
				env.thinOut(report.Pending > 0)
			})
		}
		env.clear(common)
		env.keepNodes(max(1, env.Nodes/4))
		env.mix(summary.Mixed, env.Pods/2)
		env.measure(common)
		return summary
	})
}

func (summary *extenderSummary) print() {
	summary.Killed.print()
	summary.Mixed.print()
}

// keepNodes deletes all nodes but the first few of each kind.
func (env *Env) keepNodes(count int) {
	for _, kind := range env.Kinds {
		for i := count; i < env.Nodes; i++ {
			must(remove(env.ctx, env.nodes(), nodeName(kind, i)))
		}
	}
	env.Nodes = count
}
