package plugin

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
)

func TestAPodAsksForWhatItsAnnotationAssigns(t *testing.T) {
	names := config.Resources{Number: "volcano.sh/vgpu-number", Memory: "volcano.sh/vgpu-memory", Cores: "volcano.sh/vgpu-cores"}
	pod := func(assigned string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{wholeAnnotation: assigned}},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
	}
	given := pod(";GPU-a[group1-0],NVIDIA,600,50:GPU-b[group1-1],NVIDIA,300,0:")
	result := asking(given, names)
	if len(result.Spec.Containers[0].Resources.Limits) != 0 {
		t.Errorf("container a asks for %v, expected nothing", result.Spec.Containers[0].Resources.Limits)
	}
	limits := result.Spec.Containers[1].Resources.Limits
	for name, expected := range map[string]int64{names.Number: 2, names.Memory: 600, names.Cores: 50} {
		if amount := limits[v1.ResourceName(name)]; amount.Value() != expected {
			t.Errorf("%s: %v, expected %d", name, amount.Value(), expected)
		}
	}
	if len(given.Spec.Containers[1].Resources.Limits) != 0 {
		t.Error("the pod itself was changed")
	}
	for name, same := range map[string]*v1.Pod{"none": pod(""), "bad": pod("GPU-a,NVIDIA,x,1:")} {
		if asking(same, names) != same {
			t.Errorf("%s: changed", name)
		}
	}
	asks := pod("GPU-a,NVIDIA,600,50:")
	asks.Spec.Containers[1].Resources.Requests = v1.ResourceList{v1.ResourceName(names.Number): resource.MustParse("1")}
	if asking(asks, names) != asks {
		t.Error("a pod with requests was changed")
	}
}
