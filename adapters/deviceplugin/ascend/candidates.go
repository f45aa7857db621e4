package ascend

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/assignment"
)

// Annotations of pods, and what is around a chip's word in them.
const (
	toAllocatePrefix = "hami.io/"
	toAllocateSuffix = "-devices-to-allocate"
	runtimePrefix    = "huawei.com/"
	modeAnnotation   = "huawei.com/vnpu-mode"
	softMode         = "hami-core"
	nodeAnnotation   = "hami.io/vgpu-node"
	bindTime         = "hami.io/bind-time"
	bindPhase        = "hami.io/bind-phase"
	phaseAllocating  = "allocating"
	phaseSuccess     = "success"
	phaseFailed      = "failed"
)

// promise is what a container was promised: the device, and what huawei.com/W says of it.
type promise struct {
	assignment.Entry
	runtime runtimeEntry
	problem error // why it is not known what the runtime has to do
}

// runtimeEntry is what huawei.com/W says of one device.
type runtimeEntry struct {
	UUID     string `json:"UUID"`
	Template string `json:"temp"`
	Memory   *int64 `json:"memory"` // MiB; nil: not said
	Core     *int64 `json:"core"`   // percent; nil: not said
}

// equal is whether two entries say the same.
func (e runtimeEntry) equal(other runtimeEntry) bool {
	same := func(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	return e.UUID == other.UUID && e.Template == other.Template && same(e.Memory, other.Memory) && same(e.Core, other.Core)
}

// candidate is a pod that an Allocate may be about.
type candidate struct {
	pod      *v1.Pod
	slots    assignment.Slots
	promises [][]promise // of all slots
	problem  error       // why its annotations cannot be read
}

// errNothingLeft is the problem of a pod whose containers have all been served.
var errNothingLeft = errors.New("get next container devices: no pending device allocation found")

// read reads what a pod was promised of chips with this word.
func read(pod *v1.Pod, word string) *candidate {
	result := &candidate{pod: pod}
	text, is := pod.Annotations[toAllocatePrefix+word+toAllocateSuffix]
	if !is {
		result.problem = fmt.Errorf("decode device annotations: device %s not found in pod annotations", word)
		return result
	}
	if result.slots, result.problem = assignment.ParseHAMi(text); result.problem != nil {
		result.problem = fmt.Errorf("decode device annotations: %w", result.problem)
		return result
	}
	if result.slots.Next("") < 0 {
		result.problem = errNothingLeft
		return result
	}
	annotation := runtimePrefix + word
	if text, is = pod.Annotations[annotation]; !is {
		result.problem = fmt.Errorf("build runtimeInfo lookup: annotation %s not set", annotation)
		return result
	}
	var runtime []runtimeEntry
	if err := json.Unmarshal([]byte(text), &runtime); err != nil {
		result.problem = fmt.Errorf("build runtimeInfo lookup: annotation %s: %w", annotation, err)
		return result
	}
	result.promises = join(result.slots, runtime)
	return result
}

// join finds what is said of each device. Slots are served in their order, so what is left of them are the last entries.
func join(slots assignment.Slots, runtime []runtimeEntry) [][]promise {
	var left []assignment.Entry
	for _, entries := range slots {
		left = append(left, entries...)
	}
	first := len(runtime) - len(left)
	isByPlace := first >= 0
	for i := 0; isByPlace && i < len(left); i++ {
		isByPlace = runtime[first+i].UUID == left[i].UUID
	}
	result := make([][]promise, len(slots))
	at := 0
	for slot, entries := range slots {
		for _, entry := range entries {
			one := promise{Entry: entry}
			if isByPlace {
				one.runtime = runtime[first+at]
			} else {
				one.runtime, one.problem = onlyOne(runtime, entry.UUID)
			}
			result[slot] = append(result[slot], one)
			at++
		}
	}
	return result
}

// onlyOne is what all entries of a uuid say alike.
func onlyOne(runtime []runtimeEntry, uuid string) (runtimeEntry, error) {
	var result runtimeEntry
	count := 0
	for _, entry := range runtime {
		if entry.UUID != uuid {
			continue
		}
		if count > 0 && !entry.equal(result) {
			return result, fmt.Errorf("uuid %s: its entries for the runtime differ, expected one entry a device, in their order", uuid)
		}
		result = entry
		count++
	}
	if count == 0 {
		return result, fmt.Errorf("uuid %s: no entry for the runtime names it, expected one", uuid)
	}
	return result, nil
}

// matches is whether the next open slots have as many entries as these containers ask for.
func (c *candidate) matches(containers [][]string) bool {
	if c.problem != nil {
		return false
	}
	rest := c.slots
	for _, ids := range containers {
		slot := rest.Next("")
		if slot < 0 || len(rest[slot]) != len(ids) {
			return false
		}
		rest = rest.Erased(slot)
	}
	return true
}

// isWaiting is whether a scheduler has given a pod to this node and its containers have not all been served.
func isWaiting(pod *v1.Pod, node string) bool {
	phase := pod.Annotations[bindPhase]
	_, isBound := pod.Annotations[bindTime]
	return pod.Spec.NodeName == node && pod.Status.Phase == v1.PodPending && pod.DeletionTimestamp == nil && isBound &&
		pod.Annotations[nodeAnnotation] == node && (phase == phaseAllocating || phase == phaseSuccess)
}

// asksFor is whether a container's limits or requests name a resource.
func asksFor(container *v1.Container, resource string) bool {
	limit, isLimit := container.Resources.Limits[v1.ResourceName(resource)]
	request, isRequest := container.Resources.Requests[v1.ResourceName(resource)]
	return isLimit && !limit.IsZero() || isRequest && !request.IsZero()
}

// containersOf are a pod's containers as slots count them: those before the start first.
func containersOf(pod *v1.Pod) []*v1.Container {
	result := make([]*v1.Container, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		result = append(result, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		result = append(result, &pod.Spec.Containers[i])
	}
	return result
}

// containerOf is the container that a slot belongs to. HAMi writes a slot for each; Volcano only for those that ask for the resource.
func containerOf(pod *v1.Pod, slots, slot int, resource string) (string, error) {
	all := containersOf(pod)
	counted := all
	if slots < len(all) {
		var asking []*v1.Container
		for _, container := range all {
			if asksFor(container, resource) {
				asking = append(asking, container)
			}
		}
		if len(asking) >= slots {
			counted = asking
		}
	}
	if slot >= len(counted) {
		return "", fmt.Errorf("slot %d: the pod has %d containers, expected one for each of %d slots", slot, len(all), slots)
	}
	return counted[slot].Name, nil
}

// mayBeAbout is whether a call may be about a pod as far as its requests say; one that names no resources may.
func mayBeAbout(pod *v1.Pod, resource string) bool {
	isSilent := true
	for _, container := range containersOf(pod) {
		if asksFor(container, resource) {
			return true
		}
		isSilent = isSilent && len(container.Resources.Limits) == 0 && len(container.Resources.Requests) == 0
	}
	return isSilent
}
