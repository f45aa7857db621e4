package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

type killRound struct {
	Round      int     `json:"round"`
	AfterMS    int64   `json:"killed_after_ms"`
	BoundThen  int     `json:"bound_when_killed"`
	APIServer  bool    `json:"apiserver_restarted_too"`
	Bound      int     `json:"bound"`
	Forgotten  int     `json:"not_bound"`
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
	env, err := openWithNodes(ctx, options)
	if err != nil {
		return err
	}
	defer env.Close()
	summary := &killSummary{Summary: env.summary("kill"), Kills: env.Kills}
	if err := env.killAll(ctx, summary, env.Options.Pods); err != nil {
		return err
	}
	env.finish(summary.Summary)
	if err := env.write("kill-"+env.Label, summary); err != nil {
		return err
	}
	summary.print()
	return summary.verdict()
}

// DevicesToKill is how many devices of each kind scenarios need that kill: with fewer a few large pods fill them.
const DevicesToKill = 8

// podsOfRound is how many of the pods come in one round of killing. Half of those that are there stay for the next, and the
// larger ones take up to two devices, so that more than two for seven devices could find the cluster full.
func (o *Options) podsOfRound(pods int) int {
	return max(1, min(pods/o.Kills, len(o.Kinds)*o.Nodes*o.Devices*2/7))
}

func (env *Env) killAll(ctx context.Context, summary *killSummary, pods int) error {
	withAPIServer := env.Random.Intn(env.Kills)
	ofRound := env.podsOfRound(pods)
	if ofRound < pods/env.Kills {
		env.Say("%d pods in each of %d rounds in place of %d, as the cluster is never to be full", ofRound, env.Kills, pods/env.Kills)
	}
	for round := range env.Kills {
		if err := env.killOnce(ctx, summary, round, ofRound, round == withAPIServer); err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	if summary.Forgotten > 0 {
		summary.Violations[ruleForgotten] += summary.Forgotten
	}
	return nil
}

func (summary *killSummary) print() {
	fmt.Printf("killed %d times; %d pods bound in all, %d never\n", summary.Kills, summary.Waits.Pods, summary.Forgotten)
}

func (env *Env) killOnce(ctx context.Context, summary *killSummary, round, pods int, withAPIServer bool) error {
	units, err := env.units(pods)
	if err != nil {
		return err
	}
	// Two periods long, so that moments before, in and after a session are all hit.
	delay := time.Duration(env.Random.Int63n(int64(2 * env.Control.Period)))
	submitted := make(chan error, 1)
	began, before := time.Now(), env.Recorder.Bound()
	go func() { submitted <- env.Submit(ctx, units, env.Rate) }()
	if err := pause(ctx, delay); err != nil {
		return err
	}
	result := killRound{Round: round + 1, AfterMS: delay.Milliseconds(), APIServer: withAPIServer, BoundThen: env.Recorder.Bound() - before}
	env.KillScheduler()
	if withAPIServer {
		env.Say("the API server is killed too")
		env.Plane.APIServer.Kill()
		if err := env.Plane.StartAPIServer(ctx); err != nil {
			return err
		}
	}
	// Pods leave while nobody schedules: the next life must not count them.
	var gone []*corev1.Pod
	for _, pods := range sortedGroups(env.Groups()) {
		if pods[0].Status.Phase == corev1.PodRunning && env.Random.Intn(4) == 0 {
			gone = append(gone, pods...)
		}
	}
	if err := env.Delete(ctx, gone); err != nil {
		return err
	}
	if err := env.StartScheduler(ctx); err != nil {
		return err
	}
	if err := <-submitted; err != nil {
		return err
	}
	report, err := env.untilAllBound(ctx, 10*env.Control.Period+20*time.Second)
	if err != nil {
		return err
	}
	summary.take(report)
	result.Bound, result.Forgotten, result.Violations = report.Bound, report.Pending, len(report.Violations)
	result.SettledIn = time.Since(began).Seconds()
	summary.Rounds = append(summary.Rounds, result)
	forgotten := report.Pending
	if forgotten > 0 && env.Explains { // two gangs of large pods can fill all nodes of a kind: who waits then waits rightly
		fitting, err := env.forgotten(ctx)
		if err != nil {
			return err
		}
		forgotten = len(fitting)
	}
	summary.Forgotten += forgotten
	env.Say("round %d: killed after %v with %d of %d bound; now %d bound, %d not, %d violations", round+1, delay.Round(time.Millisecond),
		result.BoundThen, len(units), report.Bound, report.Pending, len(report.Violations))
	return env.thinOut(ctx, report.Pending > 0)
}

// untilAllBound waits until no pod waits for a node and nothing moves; after the patience it checks what there is.
func (env *Env) untilAllBound(ctx context.Context, patience time.Duration) (check.Report, error) {
	if err := env.catchUp(ctx); err != nil {
		return check.Report{}, err
	}
	deadline := time.Now().Add(patience)
	for (env.Waiting() > 0 || env.moving() > 0 || !env.hasBegun()) && time.Now().Before(deadline) {
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return check.Report{}, err
		}
	}
	return env.Check(ctx, check.Options{Settled: true, Health: true})
}

// catchUp waits until this program itself knows the pods that there are. After the API server was away its informer tries
// again in ever longer intervals, and meanwhile neither the scenario nor the node side hears of anything.
func (env *Env) catchUp(ctx context.Context) error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		cluster, err := env.Cluster(ctx)
		if err != nil {
			return err
		}
		known := map[types.UID]bool{}
		for _, pod := range env.list() {
			known[pod.UID] = true
		}
		unknown := slices.ContainsFunc(cluster.Pods, func(pod *corev1.Pod) bool { return !known[pod.UID] })
		if !unknown && len(known) == len(cluster.Pods) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("two minutes after the last change this program knows %d pods, expected %d", len(known), len(cluster.Pods))
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
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
func (env *Env) thinOut(ctx context.Context, waiting bool) error {
	var gone []*corev1.Pod
	for _, pods := range sortedGroups(env.Groups()) {
		if env.Random.Intn(2) == 0 || waiting && pods[0].Spec.NodeName == "" {
			gone = append(gone, pods...)
		}
	}
	if err := env.Delete(ctx, gone); err != nil {
		return err
	}
	deadline := time.Now().Add(time.Minute)
	for env.moving() > 0 && time.Now().Before(deadline) {
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
