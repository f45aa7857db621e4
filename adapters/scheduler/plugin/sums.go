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
	resources []v1.ResourceName // that the core reads, of pods that wait
	held      *api.NodeInfo     // has less than plenty, until letGo
	resource  v1.ResourceName
}

func leaveToTheCore(ssn *framework.Session, cluster *live.Cluster) sums {
	result := sums{}
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

// holdBack has Volcano find that there is room for a preemptor only when all victims are evicted: its action reclaim
// stops as soon as sums say so.
func (s *sums) holdBack(node *api.NodeInfo, preemptor *api.TaskInfo, victims []*api.TaskInfo) {
	s.letGo()
	for _, name := range s.resources {
		wanted, of := preemptor.InitResreq.ScalarResources[name], 0.0
		for _, victim := range victims {
			of += victim.Resreq.ScalarResources[name]
		}
		if wanted == 0 || of == 0 {
			continue
		}
		others := node.FutureIdle().ScalarResources[name] - node.Idle.ScalarResources[name] // releasing and pipelined
		node.Idle.SetScalar(name, wanted-of-others)
		s.held, s.resource = node, name
		return
	}
}

func (s *sums) letGo() {
	if s.held != nil {
		s.held.Idle.SetScalar(s.resource, plenty)
		s.held = nil
	}
}
