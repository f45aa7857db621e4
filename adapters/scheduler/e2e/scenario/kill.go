package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/control"
)

// outage is a time in which programs were away.
type outage struct {
	AfterMS   int64 `json:"killed_after_ms"`
	BoundThen int   `json:"bound_when_killed"`
	Bound     int   `json:"bound"`
	Forgotten int   `json:"not_bound"`
}

type killRound struct {
	Round int `json:"round"`
	outage
	APIServer  bool    `json:"apiserver_restarted_too"`
	SettledIn  float64 `json:"settled_in_s"`
	Violations int     `json:"violations"`
}

type killSummary struct {
	*Summary
	Kills     int         `json:"kills"`
	Forgotten int         `json:"pods_never_bound"`
	Rounds    []killRound `json:"rounds"`
}

// Kill ends the scheduler with SIGKILL at random moments of submissions, deletes pods while it is away, starts it again and
// checks. In one round the API server goes down in the middle as well. The cluster is hardly ever full: every pod has to get a
// node, unless a scheduler that explains itself has none that fits.
func Kill(ctx context.Context, options Options) error {
	return conduct(ctx, options, "kill", func(env *Env, common *Summary) outcome {
		summary := &killSummary{Summary: common, Kills: env.Kills}
		env.killAll(summary, env.Pods)
		env.measure(common)
		return summary
	})
}

// DevicesToKill is how many devices of each kind scenarios need that kill: with fewer a few large pods fill them.
const DevicesToKill = 8

// podsOfRound is how many of the pods come in one round of killing. Half of those that are there stay for the next, and the
// larger ones take up to two devices, so that more than two for seven devices could find the cluster full.
func (o *Options) podsOfRound(pods int) int {
	return max(1, min(pods/o.Kills, len(o.Kinds)*o.Nodes*o.Devices*2/7))
}

func (env *Env) killAll(summary *killSummary, pods int) {
	withAPIServer := env.Random.Intn(env.Kills)
	ofRound := env.podsOfRound(pods)
	if ofRound < pods/env.Kills {
		env.Say("%d pods in each of %d rounds in place of %d, as the cluster is never to be full", ofRound, env.Kills, pods/env.Kills)
	}
	for round := range env.Kills {
		name := fmt.Sprintf("round %d", round+1)
		within(name, func() { env.killOnce(summary, name, ofRound, round == withAPIServer) })
	}
	summary.broken(ruleForgotten, summary.Forgotten)
}

func (summary *killSummary) print() {
	fmt.Printf("killed %d times; %d pods bound in all, %d never\n", summary.Kills, summary.Waits.Pods, summary.Forgotten)
}

func (env *Env) killOnce(summary *killSummary, name string, pods int, withAPIServer bool) {
	// A kube-scheduler that asks who decides on devices goes on.
	programs := []*control.Process{env.Plane.Decider()}
	if withAPIServer {
		programs = append(programs, env.Plane.APIServer)
	}
	began := time.Now()
	result, report := env.without(name, programs, pods, func() {
		// Pods leave while nobody schedules: the next life must not count them.
		env.deleteGroups(func(first *corev1.Pod) bool {
			return first.Status.Phase == corev1.PodRunning && env.Random.Intn(4) == 0
		})
	})
	summary.take(report)
	summary.Rounds = append(summary.Rounds, killRound{Round: len(summary.Rounds) + 1, outage: result, APIServer: withAPIServer,
		SettledIn: time.Since(began).Seconds(), Violations: len(report.Violations)})
	if report.Pending > 0 && env.Explains { // two gangs of large pods can fill all nodes of a kind: who waits then waits rightly
		summary.Forgotten += len(env.forgotten())
	} else {
		summary.Forgotten += report.Pending
	}
	env.thinOut(report.Pending > 0)
}

// without kills programs at a random moment while pods are being bound, and starts them again. Whatever is lost by that, every
// pod is to get a node, and devices once.
func (env *Env) without(name string, programs []*control.Process, pods int, meanwhile func()) (outage, check.Report) {
	units := env.units(pods)
	// Two periods long, so that moments before, in and after a session are all hit.
	delay := time.Duration(env.Random.Int63n(int64(2 * env.Control.Period)))
	before := env.Recorder.Bound()
	submitted := beside(func() error { return env.Submit(units, env.Rate) })
	must(pause(env.ctx, delay))
	result := outage{AfterMS: delay.Milliseconds(), BoundThen: env.Recorder.Bound() - before}
	env.watched.Store(false)
	for _, program := range programs {
		program.Kill()
	}
	if slices.Contains(programs, env.Plane.APIServer) {
		must(env.Plane.StartAPIServer(env.ctx))
	}
	meanwhile()
	must(env.StartScheduler())
	submitted()
	report := env.untilAllBound(10*env.Control.Period + 20*time.Second)
	result.Bound, result.Forgotten = report.Bound, report.Pending
	env.Say("%s: killed after %v with %d of %d bound; now %d bound, %d not, %d violations", name, delay.Round(time.Millisecond),
		result.BoundThen, len(units), report.Bound, report.Pending, len(report.Violations))
	return result, report
}

// untilAllBound waits until no pod waits for a node and nothing moves; after the patience it checks what there is.
func (env *Env) untilAllBound(patience time.Duration) check.Report {
	env.catchUp()
	env.until(patience, func() bool { return env.waiting() == 0 && env.moving() == 0 && env.hasBegun() })
	return env.Check(check.Options{Settled: true, Health: true})
}

// hasBegun says whether this life of the scheduler has had two sessions: before the first it knows nothing of the cluster,
// and in the first perhaps not all. An extender that serves knows the cluster, and hears of changes soon after.
func (env *Env) hasBegun() bool {
	if env.Volcano == nil {
		return env.Recorder.Quiet() > 300*time.Millisecond
	}
	sessions, err := env.Plane.Sessions()
	return err == nil && sessions > 1
}

// thinOut deletes half of the groups, and all that wait where some do, so that the next round finds room.
func (env *Env) thinOut(waiting bool) {
	env.deleteGroups(func(first *corev1.Pod) bool { return env.Random.Intn(2) == 0 || waiting && first.Spec.NodeName == "" })
	env.until(time.Minute, func() bool { return env.moving() == 0 })
}
