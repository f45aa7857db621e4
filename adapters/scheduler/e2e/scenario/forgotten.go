package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

// explanation is what is looked at of an answer to /explain.
type explanation struct {
	Nodes []struct {
		Name string `json:"name"`
		Fits bool   `json:"fits"`
	} `json:"nodes"`
}

// forgotten are the pods that wait although there is a node for them. Kube-scheduler asks about a pod again only when something
// has changed that may help it, and Volcano may give a job up early; nothing may be missed by that. All has settled before.
func (env *Env) forgotten() []check.Violation {
	return got(forgottenIn(env.cluster(), func(pod *corev1.Pod) (answer explanation, err error) {
		text, err := env.Plane.Explanation(pod.Namespace, pod.Name)
		if err == nil {
			err = json.Unmarshal([]byte(text), &answer)
		}
		return answer, err
	}))
}

// forgottenIn asks about every pod that waits. One pod of a gang that fits is none that was forgotten, as the others may not: if
// a group lacks n pods, at least n have to fit on n nodes each. Then each can have a node of its own, whatever the others
// take. The scenarios' queues have no limits, so that nothing waits for these.
func forgottenIn(cluster check.Cluster, explain func(*corev1.Pod) (explanation, error)) ([]check.Violation, error) {
	nodes := map[string]*corev1.Node{}
	for _, node := range cluster.Nodes {
		nodes[node.Name] = node
	}
	lacking := map[string]int{} // pods until a group may run; who is in no group needs itself
	for _, group := range cluster.Groups {
		lacking[group.Namespace+"/"+group.Name] = int(group.Spec.MinMember)
	}
	waiting := map[string][]*corev1.Pod{}
	for _, pod := range cluster.Pods {
		group := groupOf(pod)
		switch {
		case pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodFailed:
			lacking[group]--
		case pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil:
			waiting[group] = append(waiting[group], pod)
		}
	}
	var result []check.Violation
	for _, group := range slices.Sorted(maps.Keys(waiting)) {
		needed := max(1, lacking[group])
		var fitting []check.Violation
		for _, pod := range waiting[group] {
			answer, err := explain(pod)
			if err != nil {
				return nil, err
			}
			var taking []string
			for _, node := range answer.Nodes {
				if node.Fits && admits(nodes[node.Name], pod) {
					taking = append(taking, node.Name)
				}
			}
			if len(taking) >= needed {
				fitting = append(fitting, check.Violation{Rule: ruleForgotten, Node: taking[0], Pods: []string{pod.Namespace + "/" + pod.Name},
					Text: "a pod waits, and the node would take it"})
			}
		}
		if len(fitting) >= needed {
			result = append(result, fitting...)
		}
	}
	return result, nil
}

func groupOf(pod *corev1.Pod) string {
	if name := pod.Annotations["scheduling.k8s.io/group-name"]; name != "" {
		return pod.Namespace + "/" + name
	}
	return "pod " + pod.Namespace + "/" + pod.Name
}

// admits says whether a node takes a pod as far as it is not about devices or amounts, by all that pods of scenarios ask for.
func admits(node *corev1.Node, pod *corev1.Pod) bool {
	if node == nil || node.Spec.Unschedulable || len(node.Spec.Taints) > 0 {
		return false
	}
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

// neverBound counts the kinds of which pods came and none was ever bound. A scheduler that binds nothing breaks no rule about
// what pods were given.
func (env *Env) neverBound(summary *Summary) {
	came, bound := env.Recorder.Kinds()
	for _, kind := range slices.Sorted(maps.Keys(came)) {
		if bound[kind] == 0 {
			summary.example(check.Violation{Rule: ruleNeverBound, Text: fmt.Sprintf("%d pods of kind %s came, and none was bound", came[kind], kind)})
		}
	}
}
