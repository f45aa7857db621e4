package allocate

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/assignment"
)

// candidate is a pod that waits for devices, as one version of it was.
type candidate struct {
	pod      *v1.Pod
	dialect  *dialect
	resource string // of which the kubelet sends ids
	slots    assignment.Slots
	problem  error  // why it cannot be served; its turn comes all the same, and then it fails
	time     uint64 // when it was assigned; math.MaxUint64: nobody knows
	targets  []target
}

// target is a container that waits, in the order in which the kubelet prepares them.
type target struct {
	container *v1.Container // nil: it is not clear which
	slot      int           // below 0: an init container without one
	entries   []assignment.Entry
	count     int    // of ids that the kubelet sends for it
	cards     string // as cardsOf writes them
}

// key tells the targets of a pod apart.
func (t *target) key() string {
	if t.slot >= 0 {
		return strconv.Itoa(t.slot)
	}
	return "init/" + t.container.Name
}

// readCandidate reads a pod; nil: it does not wait for devices of this node.
func (t *table) readCandidate(pod *v1.Pod) *candidate {
	if pod.Spec.NodeName != t.node || pod.DeletionTimestamp != nil || pod.Status.Phase != v1.PodPending {
		return nil
	}
	for _, dialect := range dialects {
		text := pod.Annotations[dialect.devices]
		isOurs := t.resources[dialect] != "" && pod.Annotations[dialect.node] == t.node
		if !isOurs || pod.Annotations[dialect.phase] != phaseAllocating || !strings.Contains(text, ",") {
			continue
		}
		result := &candidate{pod: pod, dialect: dialect, resource: t.resources[dialect], time: math.MaxUint64}
		if time, err := strconv.ParseUint(pod.Annotations[dialect.time], 10, 64); err == nil {
			result.time = time
		}
		result.slots, result.problem = dialect.read(text)
		result.findTargets()
		if len(result.targets) > 0 {
			return result
		}
	}
	return nil
}

func (c *candidate) findTargets() {
	placed, err := c.dialect.containersOf(c.pod, c.resource, c.slots)
	if err != nil && c.problem == nil {
		c.problem = err
	}
	for _, container := range placed.withoutSlot {
		c.targets = append(c.targets, c.shared(container, requested(container, c.resource)))
	}
	kind := vendor
	if c.slots.Next(kind) < 0 {
		kind = "" // nothing of ours: then it is an assignment that fails its pod
	}
	for slot, entries := range c.slots {
		if assignment.Count(entries, kind) == 0 {
			continue
		}
		waiting := target{slot: slot, entries: entries, count: len(entries), cards: cardsOf(uuidsOf(entries))}
		if slot < len(placed.containers) {
			waiting.container = placed.containers[slot]
			if count := requested(placed.containers[slot], c.resource); count > 0 {
				waiting.count = count
			}
		}
		c.targets = append(c.targets, waiting)
	}
	if c.slots.Next("") < 0 {
		c.targets = nil
	}
}

// shared is the target of an init container that uses devices of a later container: those of the first with as many, or the first
// ones of the first that has more. It has no entries where no container has so many.
func (c *candidate) shared(container *v1.Container, count int) target {
	result := target{container: container, slot: -1, count: count}
	for _, entries := range c.slots {
		if len(entries) == count {
			result.entries = entries
			break
		}
		if len(entries) > count && result.entries == nil {
			result.entries = entries[:count]
		}
	}
	result.cards = cardsOf(uuidsOf(result.entries))
	return result
}

func uuidsOf(entries []assignment.Entry) []string {
	result := make([]string, len(entries))
	for i := range entries {
		result[i] = entries[i].UUID
	}
	return result
}

// before orders candidates: who was assigned first, was created first, and then by name, so that the order is always the same.
func (c *candidate) before(other *candidate) bool {
	mine, others := c.pod, other.pod
	created := mine.CreationTimestamp.Time.Compare(others.CreationTimestamp.Time)
	return cmp.Or(cmp.Compare(c.time, other.time), created, cmp.Compare(mine.Namespace, others.Namespace),
		cmp.Compare(mine.Name, others.Name), cmp.Compare(mine.UID, others.UID)) < 0
}
