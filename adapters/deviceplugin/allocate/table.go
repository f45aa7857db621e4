package allocate

import (
	"errors"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/kube"
)

// errChanged is why a call chooses again: its pod is gone, or is not as it was.
var errChanged = errors.New("the pod is not as it was")

// table has the pods of the node that wait for devices, and which of their containers a call is at.
type table struct {
	node      string
	resources map[*dialect]string // whose ids the kubelet sends for pods of a dialect; empty: none

	mu    sync.Mutex
	taken int // how often a container was claimed
	// isFollowed: all pods that were there at the start are known.
	isFollowed bool
	states     map[types.UID]*podState // of all pods of the node
	promised   *promise                // the last; nil: none
}

// podState is what is known of a pod.
type podState struct {
	version string     // the newest that was seen
	waiting *candidate // nil: it does not wait
	claimed map[string]bool
	served  map[string]bool // init containers without a slot
	doomed  bool            // it has failed, though its annotations do not say so yet

	isInherited bool   // it was there before this process followed the pods
	came        uint64 // the version at which it was first seen on this node; 0: the API server's versions are no numbers
}

// before is the order in which the kubelet prepares pods: as they come to the node. It hears of them as this process does, by a watch,
// and of those that were there when it began it is not known: then who was assigned first is first.
func (s *podState) before(other *podState) bool {
	switch {
	case s.isInherited != other.isInherited:
		return s.isInherited
	case !s.isInherited && s.came != other.came:
		return s.came < other.came
	}
	return s.waiting.before(other.waiting)
}

// claim is a container that a call is at.
type claim struct {
	*candidate
	target
	mountsFolder bool // its answer mounts the folder of its counters
}

// mayEnd says whether this container may be its pod's last.
func (c *claim) mayEnd() bool { return c.slot >= 0 && c.slots.Erased(c.slot).Next(vendor) < 0 }

func newTable(node string, resources map[*dialect]string) *table {
	return &table{node: node, resources: resources, states: map[types.UID]*podState{}}
}

// serves says whether containers get devices by this resource.
func (t *table) serves(resource string) bool {
	for _, served := range t.resources {
		if served == resource {
			return resource != ""
		}
	}
	return false
}

// put takes a version of a pod of the node, unless a newer one is known.
func (t *table) put(pod *v1.Pod) {
	if pod.Spec.NodeName != t.node {
		return
	}
	waiting := t.readCandidate(pod)
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.states[pod.UID]
	switch {
	case state == nil:
		came, err := strconv.ParseUint(pod.ResourceVersion, 10, 64)
		if err != nil {
			came = 0
		}
		state = &podState{claimed: map[string]bool{}, isInherited: !t.isFollowed, came: came}
		t.states[pod.UID] = state
	case kube.IsOlder(pod.ResourceVersion, state.version):
		return
	}
	state.version, state.waiting = pod.ResourceVersion, waiting
	if waiting == nil {
		state.doomed, state.served = false, nil
	}
}

// remove forgets a pod that has gone.
func (t *table) remove(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.states, uid)
}

// replace takes a list of all pods of the node: those that the list lacks have gone, unless they are newer than it.
func (t *table) replace(pods []v1.Pod, version string) {
	listed := map[types.UID]bool{}
	for i := range pods {
		listed[pods[i].UID] = true
		t.put(&pods[i])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid, state := range t.states {
		if !listed[uid] && !kube.IsOlder(version, state.version) {
			delete(t.states, uid)
		}
	}
}

// current is the newest version of a pod that waits; nil: it does not.
func (t *table) current(uid types.UID) *candidate {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state := t.states[uid]; state != nil {
		return state.waiting
	}
	return nil
}

// isAmbiguous says whether several pods fit a call equally well, and one of them was there before this process: another one may have
// served it.
func (t *table) isAmbiguous(resource string, ids []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := cardsOfIDs(ids)
	fitting, exact, inherited := 0, 0, false
	for _, state := range t.states {
		next := state.next(resource)
		if next == nil || next.count != len(ids) {
			continue
		}
		fitting++
		if next.cards == wanted {
			exact++
		}
		inherited = inherited || state.isInherited
	}
	return inherited && fitting > 1 && exact != 1
}

// follow notes that the pods which come from now on are new.
func (t *table) follow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isFollowed = true
}

// next is the container of a pod that the kubelet prepares next with this resource; nil: none waits.
func (s *podState) next(resource string) *target {
	if s.waiting == nil || s.doomed || s.waiting.resource != resource {
		return nil
	}
	for i := range s.waiting.targets {
		if key := s.waiting.targets[i].key(); !s.claimed[key] && !s.served[key] {
			return &s.waiting.targets[i]
		}
	}
	return nil
}

// eligible says whether a call can be for a container; nil container: it is not clear which of the pod's.
type eligible func(pod *v1.Pod, container *v1.Container) bool

// take claims the container that a call with these ids is for; nil: none fits. isExact: only one that was promised the ids' cards.
func (t *table) take(resource string, ids []string, may eligible, isExact bool) *claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	best, next := t.choose(resource, ids, may)
	if best == nil || isExact && next.cards != cardsOfIDs(ids) {
		return nil
	}
	return t.claim(best, next)
}

// claim notes that a call is at a container; the lock is held.
func (t *table) claim(state *podState, next *target) *claim {
	state.claimed[next.key()] = true
	t.taken++
	return &claim{candidate: state.waiting, target: *next}
}

// choose is take without the claim; the lock is held.
func (t *table) choose(resource string, ids []string, may eligible) (best *podState, next *target) {
	wanted := cardsOfIDs(ids)
	for _, state := range t.states {
		waiting := state.next(resource)
		if waiting == nil || waiting.count != len(ids) {
			continue
		}
		if may != nil && !may(state.waiting.pod, waiting.container) {
			continue
		}
		switch {
		case best == nil:
		case (waiting.cards == wanted) != (next.cards == wanted):
			if waiting.cards != wanted {
				continue
			}
		case !state.before(best):
			continue
		}
		best, next = state, waiting
	}
	return best, next
}

// claims is how often a container was claimed so far.
func (t *table) claims() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.taken
}

// release gives a claim back.
func (t *table) release(claim *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state := t.states[claim.pod.UID]; state != nil {
		delete(state.claimed, claim.key())
	}
}

// serve notes that an init container without a slot has been served.
func (t *table) serve(claim *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state := t.states[claim.pod.UID]; state != nil {
		if state.served == nil {
			state.served = map[string]bool{}
		}
		state.served[claim.key()] = true
	}
}

// doom takes a pod out of the choice that has failed.
func (t *table) doom(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state := t.states[uid]; state != nil {
		state.doomed = true
	}
}
