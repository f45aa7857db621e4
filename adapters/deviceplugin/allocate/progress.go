package allocate

import (
	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// Progress is how far a container is with the devices that its pod was given.
type Progress int

// The values of Progress.
const (
	Served  Progress = iota // the kubelet may have its answer
	Waiting                 // its Allocate was not answered yet
	Failed                  // its pod has failed: it has nothing any more
)

// ProgressOf reads from a pod's annotations how far one of its containers is. What cannot be read counts as served, so that nothing is
// taken away that may be in use.
func ProgressOf(conf *config.Config, pod *v1.Pod, container string) Progress {
	resources := resourcesOf(conf)
	for _, dialect := range dialects {
		switch pod.Annotations[dialect.phase] {
		case phaseFailed:
			return Failed
		case phaseAllocating:
			if dialect.waits(pod, resources[dialect], container) {
				return Waiting
			}
		}
	}
	return Served
}

// waits: entries of the container are not erased yet.
func (d *dialect) waits(pod *v1.Pod, resource, container string) bool {
	slots, err := d.read(pod.Annotations[d.devices])
	if err != nil {
		return false
	}
	placed, err := d.containersOf(pod, resource, slots)
	if err != nil {
		return false
	}
	for slot, entries := range slots {
		if slot < len(placed.containers) && placed.containers[slot].Name == container {
			return len(entries) > 0
		}
	}
	return false
}
