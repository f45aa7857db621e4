package scenario

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// Check reads all objects from the API server and checks them.
func (env *Env) Check(options check.Options) check.Report {
	report := check.Check(env.cluster(), options)
	if env.Ledger && options.Settled {
		report.Violations = append(report.Violations, compareLedger(got(env.Plane.Metrics()), report)...)
	}
	return report
}

// cluster is what the API server tells now.
func (env *Env) cluster() (result check.Cluster) {
	must(again(env.ctx, func() error {
		return attempt(func() {
			all := metav1.ListOptions{}
			result = check.Cluster{Pods: pointers(got(env.pods().List(env.ctx, all)).Items), Nodes: pointers(got(env.nodes().List(env.ctx, all)).Items),
				ConfigMaps: pointers(got(env.Client.CoreV1().ConfigMaps("kube-system").List(env.ctx, all)).Items)}
			if env.Volcano != nil {
				result.Groups = pointers(got(env.groups().List(env.ctx, all)).Items)
			}
		})
	}))
	return result
}

func pointers[T any](values []T) []*T {
	result := make([]*T, len(values))
	for i := range values {
		result[i] = &values[i]
	}
	return result
}

// settle waits until no pod has been bound or has gone for a while in which the scheduler had sessions, and no pod is on
// its way to run or to its end.
func (env *Env) settle(quiet, patience time.Duration) error {
	sessions := env.sessionsSince()
	if env.until(patience, func() bool {
		return sessions() >= sessionsToSettle && env.Recorder.Quiet() >= quiet && env.moving() == 0
	}) {
		return nil
	}
	return fmt.Errorf("not settled after %v: last change %v ago, %d sessions since, %d pods on their way", patience,
		env.Recorder.Quiet().Round(time.Millisecond), sessions(), env.moving())
}

func (env *Env) settleAndCheck() check.Report {
	must(env.settle(env.quiet(), 2*time.Minute))
	report := env.Check(check.Options{Settled: true, Health: true})
	if env.Explains {
		report.Violations = append(report.Violations, env.forgotten()...)
	}
	return report
}

// quiet is after how long without any change nothing more is expected: a few sessions of the scheduler.
func (env *Env) quiet() time.Duration { return 3*env.Control.Period + time.Second }

// A session that finished may have begun before the last change, so that one is not enough.
const sessionsToSettle = 3

// sessionsSince counts the scheduler's sessions, anew after each change of the pods or of the scheduler's life.
func (env *Env) sessionsSince() func() int {
	first, now := -1, -1
	return func() int {
		if count, err := env.sessions(); err == nil {
			now = count
			if first < 0 || now < first || env.Recorder.Quiet() < 200*time.Millisecond {
				first = now
			}
		}
		return now - first
	}
}

// sessions counts how often the scheduler has tried all pods that wait: with Volcano its sessions; with a kube-scheduler,
// which has none, the looks at it at which it knew all pods that wait and had none of them yet to try. After the API server was
// away a kube-scheduler asks it again in ever longer intervals; until then it knows no new pods, so that its queues are empty.
func (env *Env) sessions() (int, error) {
	if env.Volcano != nil {
		return env.Plane.Sessions()
	}
	known, untried, err := env.Plane.Queues()
	if err == nil && untried == 0 && known >= env.waiting() {
		env.tried++
	}
	return env.tried, err
}

// catchUp waits until this program itself knows the pods that there are. After the API server was away its informer tries
// again in ever longer intervals, and meanwhile neither the scenario nor the node side hears of anything.
func (env *Env) catchUp() {
	known := map[types.UID]bool{}
	if !env.until(2*time.Minute, func() bool {
		pods := env.cluster().Pods
		clear(known)
		for _, pod := range env.list() {
			known[pod.UID] = true
		}
		for _, pod := range pods {
			if !known[pod.UID] {
				return false
			}
		}
		return len(known) == len(pods)
	}) {
		must(fmt.Errorf("two minutes after the last change this program knows %d pods, and others are there", len(known)))
	}
}

// moving counts pods that are bound and do not run yet, and pods that have been told to end.
func (env *Env) moving() int { return env.count(starting) + env.count(ending) }

func starting(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil
}

func ending(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && pod.DeletionTimestamp != nil }

// waiting counts pods without a node.
func (env *Env) waiting() int {
	return env.count(func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" })
}

func (env *Env) count(are func(*corev1.Pod) bool) int {
	count := 0
	for _, pod := range env.list() {
		if are(pod) {
			count++
		}
	}
	return count
}

func (env *Env) list() []*corev1.Pod {
	pods, err := env.known.Pods(objects.Namespace).List(labels.Everything())
	if err != nil {
		return nil // a lister of a store in memory has no errors
	}
	return pods
}
