package scenario

import (
	"context"
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/scheduler/e2e/control"
)

type extenderSummary struct {
	*Summary
	Killed  *killSummary  `json:"killed"`
	Mixed   *mixedSummary `json:"mixed"`
	Outages []outage      `json:"outages"`
}

// outage is a time in which a program was away and the extender was not.
type outage struct {
	Program   string `json:"program"`
	AfterMS   int64  `json:"killed_after_ms"`
	BoundThen int    `json:"bound_when_killed"`
	Bound     int    `json:"bound"`
	Forgotten int    `json:"not_bound"`
}

// Extender is what kill and mixed do, one after the other, with a kube-scheduler that asks our extender: it is the extender
// that is killed. Between the two who asks it goes down alone, and the API server, so that answers are lost; then most nodes
// leave, so that pods have to wait.
func Extender(ctx context.Context, options Options) error {
	env, err := openWithNodes(ctx, options)
	if err != nil {
		return err
	}
	defer env.Close()
	common := env.summary("extender")
	summary := &extenderSummary{Summary: common, Killed: &killSummary{Summary: common, Kills: env.Kills}, Mixed: &mixedSummary{Summary: common}}
	if err := env.killAll(ctx, summary.Killed, env.Options.Pods/2); err != nil {
		return err
	}
	for _, process := range []*control.Process{env.Plane.Scheduler, env.Plane.APIServer} {
		if err := env.without(ctx, summary, process, max(1, env.Options.Pods/20)); err != nil {
			return fmt.Errorf("%s: %w", process.Name, err)
		}
	}
	if err := env.clear(ctx, common); err != nil {
		return err
	}
	if err := env.keepNodes(ctx, max(1, env.Nodes/4)); err != nil {
		return err
	}
	if err := env.mix(ctx, summary.Mixed, env.Options.Pods/2); err != nil {
		return err
	}
	env.finish(common)
	if err := env.write("extender-"+env.Label, summary); err != nil {
		return err
	}
	summary.Killed.print()
	summary.Mixed.print()
	return summary.verdict()
}

// without kills a program while pods are being bound, and starts it again. Whatever answers are lost by that, every pod gets
// a node, and devices once.
func (env *Env) without(ctx context.Context, summary *extenderSummary, process *control.Process, pods int) error {
	units, err := env.units(pods)
	if err != nil {
		return err
	}
	delay := time.Duration(env.Random.Int63n(int64(2 * env.Control.Period)))
	submitted, before := make(chan error, 1), env.Recorder.Bound()
	go func() { submitted <- env.Submit(ctx, units, env.Rate) }()
	if err := pause(ctx, delay); err != nil {
		return err
	}
	result := outage{Program: process.Name, AfterMS: delay.Milliseconds(), BoundThen: env.Recorder.Bound() - before}
	env.watched.Store(false)
	process.Kill()
	if process == env.Plane.APIServer {
		if err := env.Plane.StartAPIServer(ctx); err != nil {
			return err
		}
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
	result.Bound, result.Forgotten = report.Bound, report.Pending
	summary.Outages = append(summary.Outages, result)
	if report.Pending > 0 {
		summary.Violations[ruleForgotten] += report.Pending
	}
	env.Say("%s was killed alone after %v with %d of %d bound; now %d bound, %d not, %d violations", process.Name,
		delay.Round(time.Millisecond), result.BoundThen, len(units), report.Bound, report.Pending, len(report.Violations))
	return env.thinOut(ctx, report.Pending > 0)
}

// keepNodes deletes all nodes but the first few of each kind.
func (env *Env) keepNodes(ctx context.Context, count int) error {
	for _, kind := range env.Kinds {
		for i := count; i < env.Nodes; i++ {
			if err := again(ctx, func() error {
				return env.Client.CoreV1().Nodes().Delete(ctx, nodeName(kind, i), metav1.DeleteOptions{})
			}); err != nil {
				return err
			}
		}
	}
	env.Nodes = count
	return nil
}

// allowExtender gives the extender the rights that docs/extender.md lists, those for --mindcluster too, and no others.
func (env *Env) allowExtender(ctx context.Context) error {
	rbac, name := env.Client.RbacV1(), metav1.ObjectMeta{Name: control.ExtenderUser}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: control.ExtenderUser}}
	may := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
	}
	everywhere := &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{may("nodes", "list", "watch"),
		may("pods", "list", "watch", "get", "patch"), may("pods/binding", "create")}}
	if _, err := rbac.ClusterRoles().Create(ctx, everywhere, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: name, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, namespace := range []string{"kube-system", "mindx-dl"} {
		configMaps := &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{may("configmaps", "list", "watch")}}
		if _, err := rbac.Roles(namespace).Create(ctx, configMaps, metav1.CreateOptions{}); err != nil {
			return err
		}
		if _, err := rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: name, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name.Name}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
