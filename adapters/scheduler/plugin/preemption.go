package plugin

import (
	"context"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"
)

// preempting is the pod for which room is made on a node at present.
type preempting struct {
	task api.TaskID
	node string // empty: on one where nothing can be evicted
}

func (p *plugin) addPreemption(ssn *framework.Session) {
	p.parallel = triesInParallel(ssn)
	ssn.AddPreemptableFn(Name, p.victims(ssn, ssn.Preemptable, false))
	ssn.AddReclaimableFn(Name, p.victims(ssn, ssn.Reclaimable, true))
	ssn.AddAllocatableFn(Name, p.allocatable)
	ssn.AddSimulateRemoveTaskFn(Name, p.simulateRemove)
	ssn.AddSimulateAddTaskFn(Name, p.simulateAdd)
	ssn.AddSimulatePredicateFn(Name, p.simulatePredicate)
}

// triesInParallel is whether the action preempt looks at several nodes at once, on copies of them.
func triesInParallel(ssn *framework.Session) bool {
	parallel := false
	framework.GetArgOfActionFromConf(ssn.Configurations, "preempt").GetBool(&parallel, preempt.EnableTopologyAwarePreemptionKey)
	return parallel
}

// roomComing returns the nodes where a pod fits once the pods being deleted are gone; no eviction is needed there.
func (p *plugin) roomComing(task *api.TaskInfo) []string {
	asked, err := p.ask(task)
	if err != nil {
		return nil
	}
	asked.once.Do(func() {
		for node, leaving := range p.leaving {
			if p.cluster.FitsWithout(string(task.Pod.UID), node, leaving) {
				asked.coming = append(asked.coming, node)
			}
		}
		slices.Sort(asked.coming)
	})
	return asked.coming
}

// victims finds by trial which pods of a node have to go: of those that the other plugins agree to (which `ask` tells),
// none that could stay.
func (p *plugin) victims(ssn *framework.Session,
	ask func(*api.TaskInfo, []*api.TaskInfo) []*api.TaskInfo, reclaiming bool) api.EvictableFn {
	return func(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
		if _, asking := p.trying.Load(preemptor); asking || !p.wantsDevices(preemptor) {
			return preemptees, util.Abstain
		}
		if len(preemptees) == 0 { // on which node is not said
			p.preempting.Store(&preempting{task: preemptor.UID})
			return preemptees, util.Abstain
		}
		// A copy of the preemptor marks the question: nodes may be tried out in several goroutines at once.
		marked := preemptor.Clone()
		p.trying.Store(marked, nil)
		agreed := ask(marked, preemptees)
		p.trying.Delete(marked)

		node := preemptees[0].NodeName
		p.preempting.Store(&preempting{preemptor.UID, node})
		reject := func() ([]*api.TaskInfo, int) {
			if !p.parallel {
				p.sums.block(ssn.Nodes[node], preemptor)
			}
			return nil, util.Reject
		}
		if answers, err := p.answers(preemptor); err == nil && answers.Fitting() == 0 {
			if coming := p.roomComing(preemptor); slices.Contains(coming, node) {
				return nil, util.Permit // it waits there
			} else if len(coming) > 0 {
				return reject()
			}
		}
		byUID := map[string]*api.TaskInfo{}
		var important []string // first
		for queue := ssn.BuildVictimsPriorityQueue(agreed, preemptor); !queue.Empty(); {
			victim := queue.Pop().(*api.TaskInfo) // the least important first
			uid := string(victim.Pod.UID)
			byUID[uid] = victim
			important = append([]string{uid}, important...)
		}
		victims, possible := p.cluster.Victims(string(preemptor.Pod.UID), node, p.leaving[node], important)
		if !possible {
			return reject()
		}
		result := make([]*api.TaskInfo, 0, len(victims))
		for _, uid := range victims {
			result = append(result, byUID[uid])
		}
		if reclaiming {
			p.sums.holdBack(ssn.Nodes[node], preemptor, result)
		}
		return result, util.Permit
	}
}

// allocatable keeps Volcano from stopping too early when it evicts pods: it adds amounts up over a node, and devices may
// be too full still.
func (p *plugin) allocatable(_ *api.QueueInfo, candidate *api.TaskInfo) bool {
	room := p.preempting.Load()
	if room == nil || room.task != candidate.UID {
		return true
	}
	// Where the pod fits somewhere nobody has to go: those nodes come first, and the action allocate asks here too.
	answers, err := p.answers(candidate)
	if err == nil && (answers.Fitting() > 0 || room.node == "" && len(p.roomComing(candidate)) > 0) {
		return true
	}
	return p.cluster.FitsWithout(string(candidate.Pod.UID), room.node, p.leaving[room.node])
}

// removedKey is where a trial of preemption keeps which pods are not there in it.
const removedKey = fwk.StateKey(Name + "/removed")

type removedPods map[string]struct{}

// Clone is of fwk.StateData.
func (r removedPods) Clone() fwk.StateData {
	result := make(removedPods, len(r))
	for uid := range r {
		result[uid] = struct{}{}
	}
	return result
}

func removedIn(state fwk.CycleState) removedPods {
	if data, err := state.Read(removedKey); err == nil {
		return data.(removedPods)
	}
	removed := removedPods{}
	state.Write(removedKey, removed)
	return removed
}

func (p *plugin) simulateRemove(_ context.Context, state fwk.CycleState, _, gone *api.TaskInfo, _ *api.NodeInfo) error {
	removedIn(state)[string(gone.Pod.UID)] = struct{}{}
	return nil
}

func (p *plugin) simulateAdd(_ context.Context, state fwk.CycleState, _, back *api.TaskInfo, _ *api.NodeInfo) error {
	delete(removedIn(state), string(back.Pod.UID))
	return nil
}

func (p *plugin) simulatePredicate(_ context.Context, state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo) error {
	if !p.wantsDevices(task) {
		return nil
	}
	removed := slices.Clone(p.leaving[node.Name])
	for uid := range removedIn(state) {
		removed = append(removed, uid)
	}
	if !p.cluster.FitsWithout(string(task.Pod.UID), node.Name, removed) {
		return fmt.Errorf("pod %s does not fit on node %s without %d of its pods", fullName(task), node.Name, len(removed))
	}
	return nil
}
