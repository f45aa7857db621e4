package allocate

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// TestProgress: what is erased has been answered, whichever containers have slots; what cannot be read counts as answered.
func TestProgress(t *testing.T) {
	conf := &config.Config{Resources: config.Resources{Number: number}, HAMiResource: hamiResource}
	device := one(uuidA)
	withInit := func(pod *v1.Pod, devices int, name string) *v1.Pod {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container(name, devices))
		return pod
	}
	ofVolcano := func(phase, open, whole string, containers ...v1.Container) *v1.Pod {
		result := pod("p", open, 1)
		result.Annotations[volcano.phase], result.Annotations[volcano.whole] = phase, whole
		result.Spec.Containers = containers
		return result
	}
	ended := hamiPod("p", device+";", container("a", 0))
	ended.Annotations[hami.phase] = phaseFailed
	for name, one := range map[string]struct {
		pod       *v1.Pod
		container string
		expected  Progress
	}{
		"all wait":                      {ofVolcano(phaseAllocating, device+";"+device, "", container("a", 1), container("b", 1)), "a", Waiting},
		"the first is answered":         {ofVolcano(phaseAllocating, ";"+device, device+";"+device, container("a", 1), container("b", 1)), "a", Served},
		"the second waits":              {ofVolcano(phaseAllocating, ";"+device, device+";"+device, container("a", 1), container("b", 1)), "b", Waiting},
		"one slot of two containers":    {ofVolcano(phaseAllocating, device, device, container("side", 0), container("a", 1)), "a", Waiting},
		"beside one without devices":    {ofVolcano(phaseAllocating, ";"+device, device+";"+device, container("side", 0), container("a", 1), container("b", 1)), "a", Served},
		"an init container with a slot": {withInit(ofVolcano(phaseAllocating, ";"+device, device+";"+device, container("a", 1)), 1, "i"), "i", Served},
		"the container after it":        {withInit(ofVolcano(phaseAllocating, ";"+device, device+";"+device, container("a", 1)), 1, "i"), "a", Waiting},
		"the phase is over":             {ofVolcano(phaseSuccess, "", device, container("a", 1)), "a", Served},
		"failed":                        {ofVolcano(phaseFailed, device, device, container("a", 1)), "a", Failed},
		"unreadable":                    {ofVolcano(phaseAllocating, uuidA+",NVIDIA,x,1:", "", container("a", 1)), "a", Served},
		"HAMi, answered":                {withInit(hamiPod("p", ";;"+device+";", container("a", 0), container("b", 0)), 0, "i"), "a", Served},
		"HAMi, waits":                   {withInit(hamiPod("p", ";;"+device+";", container("a", 0), container("b", 0)), 0, "i"), "b", Waiting},
		"HAMi, failed":                  {ended, "a", Failed},
	} {
		if progress := ProgressOf(conf, one.pod, one.container); progress != one.expected {
			t.Errorf("%s: %d, expected %d", name, progress, one.expected)
		}
	}
}
