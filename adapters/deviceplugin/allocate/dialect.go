package allocate

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/assignment"
)

// vendor is the type of the entries that this plugin serves.
const vendor = "NVIDIA"

// Texts of the annotation of phases.
const (
	phaseAllocating = "allocating"
	phaseSuccess    = "success"
	phaseFailed     = "failed"
	timeEnded       = "18446744073709551615" // of a pod that no longer waits
)

// dialect is how one family of schedulers writes assignments.
type dialect struct {
	node, time, phase, devices string // annotations of pods
	lock                       string // annotation of nodes
	lockNamesPod               bool   // its value is "time,namespace,name"
	endsTime                   bool   // the time becomes timeEnded with the phase
	isInMiB                    bool   // memory is not in units of the memory resource
	allContainers              bool   // init containers have slots, and those without devices
	read                       func(string) (assignment.Slots, error)
	write                      func(assignment.Slots) string
}

var (
	volcano = &dialect{
		node: "volcano.sh/vgpu-node", time: "volcano.sh/vgpu-time", phase: "volcano.sh/bind-phase",
		devices: "volcano.sh/devices-to-allocate", lock: "hamivgpu", endsTime: true,
		read: assignment.ParseVolcano, write: assignment.Slots.Volcano,
	}
	hami = &dialect{
		node: "hami.io/vgpu-node", time: "hami.io/vgpu-time", phase: "hami.io/bind-phase",
		devices: "hami.io/vgpu-devices-to-allocate", lock: "hami.io/mutex.lock", lockNamesPod: true, isInMiB: true, allContainers: true,
		read: assignment.ParseHAMi, write: assignment.Slots.HAMi,
	}
	dialects = []*dialect{volcano, hami}
)

// requested is how many devices of a resource a container requests.
func requested(container *v1.Container, resource string) int {
	amount, ok := container.Resources.Limits[v1.ResourceName(resource)]
	if !ok {
		amount = container.Resources.Requests[v1.ResourceName(resource)]
	}
	return int(amount.Value())
}

func pointers(containers []v1.Container) []*v1.Container {
	result := make([]*v1.Container, len(containers))
	for i := range containers {
		result[i] = &containers[i]
	}
	return result
}

func requesting(containers []*v1.Container, resource string) []*v1.Container {
	return slices.DeleteFunc(slices.Clone(containers), func(c *v1.Container) bool { return requested(c, resource) == 0 })
}

// containersOf are the containers of the slots of an assignment, and the init containers that request devices without a slot of
// their own: they use the devices of a container that comes after them. Volcano writes slots for the containers that request
// devices; HAMi for all, init containers first. Where the spec of no container requests any, slots count all containers.
func (d *dialect) containersOf(pod *v1.Pod, resource string, slots assignment.Slots) (of, withoutSlot []*v1.Container, err error) {
	initial, regular := pointers(pod.Spec.InitContainers), pointers(pod.Spec.Containers)
	all := slices.Concat(initial, regular)
	initialRequesting, regularRequesting := requesting(initial, resource), requesting(regular, resource)
	count := len(slots)
	for ; count > 0; count-- {
		switch {
		case d.allContainers && count == len(all):
			return all, nil, nil
		case !d.allContainers && len(regularRequesting) > 0 && count == len(regularRequesting):
			return regularRequesting, initialRequesting, nil
		case count == len(regular):
			return regular, initialRequesting, nil
		case count == len(all):
			return all, nil, nil
		case len(initialRequesting) > 0 && count == len(initialRequesting)+len(regularRequesting):
			return slices.Concat(initialRequesting, regularRequesting), nil, nil
		case len(regularRequesting) == 0 && len(initialRequesting) == 0 && count < len(regular):
			return regular[:count], nil, nil
		}
		if len(slots[count-1]) > 0 {
			break // only what is empty at the end may be left out
		}
	}
	return nil, nil, fmt.Errorf("annotation %s has %d containers, expected the %d that request %s, or all %d",
		d.devices, len(slots), len(regularRequesting), resource, len(all))
}

// cardsOf is a text that is equal for equal sets of cards, whatever their order.
func cardsOf(uuids []string) string {
	slices.Sort(uuids)
	return strings.Join(uuids, ",")
}

// cardOf is the card of a kubelet's device id, `uuid-3`.
func cardOf(id string) string {
	if dash := strings.LastIndexByte(id, '-'); dash > 0 {
		return id[:dash]
	}
	return id
}
