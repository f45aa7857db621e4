package allocate

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/assignment"
	"vgpualloc.example/adapters/deviceplugin/config"
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
	whole                      string // annotation with the assignment as it was before anything was erased
	reserved                   string // annotation with the MIG devices of the entries; empty: the entries name them
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
		devices: "volcano.sh/devices-to-allocate", whole: "volcano.sh/vgpu-ids-new", lock: "hamivgpu", endsTime: true,
		read: assignment.ParseVolcano, write: assignment.Slots.Volcano,
	}
	hami = &dialect{
		node: "hami.io/vgpu-node", time: "hami.io/vgpu-time", phase: "hami.io/bind-phase",
		devices: "hami.io/vgpu-devices-to-allocate", whole: "hami.io/vgpu-devices-allocated",
		reserved: "hami.io/vgpu-mig-allocations", lock: "hami.io/mutex.lock",
		lockNamesPod: true, isInMiB: true, allContainers: true,
		read: assignment.ParseHAMi, write: assignment.Slots.HAMi,
	}
	dialects = []*dialect{volcano, hami}
)

// resourcesOf are those whose ids the kubelet sends for pods of a dialect; empty: none.
func resourcesOf(conf *config.Config) map[*dialect]string {
	return map[*dialect]string{volcano: conf.Resources.Number, hami: conf.HAMiResource}
}

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

// mapping is one way in which the slots of an assignment may belong to containers.
type mapping struct {
	containers  []*v1.Container // of the slots
	withoutSlot []*v1.Container // init containers that request devices: they use those of a container that comes after them
}

// mappingsOf are the ways in which schedulers have written slots, the usual one of the dialect first. Volcano writes slots for the
// containers that request devices; HAMi for all, init containers first.
func (d *dialect) mappingsOf(pod *v1.Pod, resource string) []mapping {
	initial, regular := pointers(pod.Spec.InitContainers), pointers(pod.Spec.Containers)
	initialRequesting, regularRequesting := requesting(initial, resource), requesting(regular, resource)
	result := []mapping{
		{containers: regularRequesting, withoutSlot: initialRequesting},
		{containers: regular, withoutSlot: initialRequesting},
		{containers: slices.Concat(initial, regular)},
		{containers: slices.Concat(initialRequesting, regularRequesting)},
	}
	if d.allContainers {
		result[0], result[2] = result[2], result[0]
	}
	return result
}

// containersOf finds the mapping of an assignment: it has as many containers as slots, and they request what the slots have. Where
// none fits in both ways its number decides; empty slots at the end may be left out. Where the spec of no container requests
// devices, slots may end before the containers do. The whole assignment tells more than what is left of it.
func (d *dialect) containersOf(pod *v1.Pod, resource string, slots assignment.Slots) (mapping, error) {
	mappings := d.mappingsOf(pod, resource)
	if whole, err := d.read(pod.Annotations[d.whole]); err == nil && len(whole) == len(slots) {
		slots = whole
	}
	for count := len(slots); count > 0; count-- {
		var fitting []mapping
		for _, candidate := range mappings {
			if len(candidate.containers) == count {
				fitting = append(fitting, candidate)
			}
		}
		for _, candidate := range fitting {
			if candidate.requests(resource, slots) {
				return candidate, nil
			}
		}
		if len(fitting) > 0 {
			return fitting[0], nil
		}
		if len(slots[count-1]) > 0 {
			break
		}
	}
	regular := mappings[1]
	if requesting := len(mappings[3].containers); requesting == 0 && len(slots) < len(regular.containers) {
		return mapping{containers: regular.containers[:len(slots)]}, nil
	}
	return mapping{}, fmt.Errorf("annotation %s has %d slots, expected one for each container that requests %s, or for all containers",
		d.devices, len(slots), resource)
}

// requests says whether the containers request what the slots have; slots may be empty.
func (m mapping) requests(resource string, slots assignment.Slots) bool {
	for i, container := range m.containers {
		if count := len(slots[i]); count > 0 && count != requested(container, resource) {
			return false
		}
	}
	return true
}

// cardsOf is a text that is equal for equal sets of cards, whatever their order.
func cardsOf(uuids []string) string {
	slices.Sort(uuids)
	return strings.Join(uuids, ",")
}

// cardsOfIDs are those of a kubelet's device ids, as cardsOf writes them.
func cardsOfIDs(ids []string) string {
	cards := make([]string, len(ids))
	for i, id := range ids {
		cards[i] = cardOf(id)
	}
	return cardsOf(cards)
}

// cardOf is the card of a kubelet's device id, `uuid-3`.
func cardOf(id string) string {
	if dash := strings.LastIndexByte(id, '-'); dash > 0 {
		return id[:dash]
	}
	return id
}
