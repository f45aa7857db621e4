package plugin

import (
	"sort"

	v1 "k8s.io/api/core/v1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/live"
)

// plenty of a resource: more than any pods can ask for, and small enough to be counted exactly.
const plenty = 1e15

// sums are amounts that Volcano adds up over a node. Of resources that the core reads they say nothing about devices: two
// halves that are free make no whole. So a session's nodes have plenty of them, and the core says what there is, in
// numbers. Queues count what nodes report, as ever.
type sums struct {
	resources []v1.ResourceName                   // that the core reads, of pods that wait
	held      map[*api.NodeInfo][]v1.ResourceName // of which nodes have less than plenty, until letGo
}

func leaveToTheCore(ssn *framework.Session, cluster *live.Cluster) sums {
	result := sums{held: map[*api.NodeInfo][]v1.ResourceName{}}
	seen := map[v1.ResourceName]bool{}
	for _, job := range ssn.Jobs {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			for name := range task.InitResreq.ScalarResources {
				if !seen[name] && cluster.ReadsResource(string(name)) {
					result.resources = append(result.resources, name)
				}
				seen[name] = true
			}
		}
	}
	sort.Slice(result.resources, func(i, j int) bool { return result.resources[i] < result.resources[j] })
	for _, node := range ssn.Nodes {
		for _, name := range result.resources {
			node.Idle.SetScalar(name, plenty)
		}
	}
	return result
}

// block has Volcano find that there is no room for a preemptor on a node, whatever is evicted there.
func (s *sums) block(node *api.NodeInfo, preemptor *api.TaskInfo) {
	for _, name := range s.resources {
		if preemptor.InitResreq.ScalarResources[name] > 0 {
			s.set(node, name, -plenty)
			return
		}
	}
}

// holdBack makes Volcano see room for a preemptor only after all victims are evicted: its action reclaim stops as soon
// as sums show room.
func (s *sums) holdBack(node *api.NodeInfo, preemptor *api.TaskInfo, victims []*api.TaskInfo) {
	for _, name := range s.resources {
		wanted, ofVictims := preemptor.InitResreq.ScalarResources[name], 0.0
		for _, victim := range victims {
			ofVictims += victim.Resreq.ScalarResources[name]
		}
		if wanted > 0 && ofVictims > 0 {
			released := node.FutureIdle().ScalarResources[name] - node.Idle.ScalarResources[name]
			s.set(node, name, wanted-ofVictims-released)
			return
		}
	}
}

func (s *sums) set(node *api.NodeInfo, name v1.ResourceName, amount float64) {
	node.Idle.SetScalar(name, amount)
	s.held[node] = append(s.held[node], name)
}

// letGo gives all nodes plenty again.
func (s *sums) letGo() {
	for node, names := range s.held {
		for _, name := range names {
			node.Idle.SetScalar(name, plenty)
		}
		delete(s.held, node)
	}
}
