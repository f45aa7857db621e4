package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// What the driver says of a container's processes, in any mode.
var containerMemory = ours("vgpualloc_plugin_container_memory_bytes", "Memory of a card, or of one of its MIG instances, that a "+
	"container's processes use, as the driver counts it; without a container: processes that belong to none of this node's",
	"podnamespace", "podname", "ctrname", "deviceuuid", "migUUID")

// containerID is a container's id as control groups are named by it.
var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// containerName is a container of a pod.
type containerName struct{ namespace, pod, name string }

// containers finds the container that a process belongs to.
type containers struct {
	proc string
	byID map[string]containerName
}

func newContainers(pods []*v1.Pod, proc string) *containers {
	result := &containers{proc: proc, byID: map[string]containerName{}}
	for _, pod := range pods {
		for _, statuses := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses,
			pod.Status.EphemeralContainerStatuses} {
			for i := range statuses {
				if id := containerID.FindString(statuses[i].ContainerID); id != "" {
					result.byID[id] = containerName{pod.Namespace, pod.Name, statuses[i].Name}
				}
			}
		}
	}
	return result
}

// of is the container of a process; empty: it is in none that is known.
func (c *containers) of(pid uint32) containerName {
	text, err := os.ReadFile(filepath.Join(c.proc, strconv.FormatUint(uint64(pid), 10), "cgroup"))
	if err != nil { // it has ended
		return containerName{}
	}
	for _, id := range containerID.FindAllString(string(text), -1) {
		if name, is := c.byID[id]; is {
			return name
		}
	}
	return containerName{}
}

// processes adds up what a container's processes use of a card or of an instance.
func (r *reading) processes(card *register.Card, instances map[uint32]hardware.Instance) {
	list, err := r.options.Library.Processes(card.UUID)
	if err != nil {
		r.fail("processes", err, "gpu", card.UUID)
		return
	}
	type place struct {
		containerName
		migUUID string
	}
	used := map[place]uint64{}
	for _, process := range list {
		at := place{containerName: r.running.of(process.PID)}
		if process.GI != hardware.NoInstance {
			at.migUUID = instances[process.GI].UUID
		}
		used[at] += process.MemoryBytes
	}
	for at, bytes := range used {
		r.gauge(containerMemory, float64(bytes), r.options.Node, at.namespace, at.pod, at.name, card.UUID, at.migUUID)
	}
}
