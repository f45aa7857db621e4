package play

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
)

func TestAPodAsksForWhatItsAnnotationAssigns(t *testing.T) {
	names := config.Resources{Number: "volcano.sh/vgpu-number", Memory: "volcano.sh/vgpu-memory", Cores: "volcano.sh/vgpu-cores"}
	pod := func(value string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{assigned: value}},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
	}
	bound := pod(";GPU-a[group1-0],NVIDIA,600,50:GPU-b[group1-1],NVIDIA,300,0:")
	result := asking(bound, names)
	if len(result.Spec.Containers[0].Resources.Limits) != 0 {
		t.Errorf("container a asks for %v, expected nothing", result.Spec.Containers[0].Resources.Limits)
	}
	limits := result.Spec.Containers[1].Resources.Limits
	for name, expected := range map[string]int64{names.Number: 2, names.Memory: 600, names.Cores: 50} {
		if amount := limits[v1.ResourceName(name)]; amount.Value() != expected {
			t.Errorf("%s: %v, expected %d", name, amount.Value(), expected)
		}
	}
	if len(bound.Spec.Containers[1].Resources.Limits) != 0 {
		t.Error("the pod itself was changed")
	}
	for name, same := range map[string]*v1.Pod{"none": pod(""), "bad": pod("GPU-a,NVIDIA,x,1:")} {
		if asking(same, names) != same {
			t.Errorf("%s: changed", name)
		}
	}
	if asking(bound, config.Resources{}) != bound {
		t.Error("without names: changed")
	}
}
