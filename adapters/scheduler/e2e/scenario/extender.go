package scenario

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
