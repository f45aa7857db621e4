package kubelet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWhatDevicePluginsAcknowledge(t *testing.T) {
	kubelet := &Kubelet{chips: map[string][][]types.UID{}}
	pod := func(uid string, annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Annotations: annotations}, Spec: corev1.PodSpec{NodeName: "n"}}
	}
	written := kubelet.acknowledge(pod("a", map[string]string{"volcano.sh/bind-phase": "allocating", "volcano.sh/devices-to-allocate": "x", "volcano.sh/vgpu-ids-new": "x"}))
	if len(written) != 2 || written["volcano.sh/bind-phase"] != "success" || written["volcano.sh/devices-to-allocate"] != "" {
		t.Errorf("of a vGPU pod: %v, expected phase success and nothing more to allocate", written)
	}
	if written := kubelet.acknowledge(pod("b", map[string]string{"volcano.sh/bind-phase": "success"})); len(written) != 0 {
		t.Errorf("of a pod that was acknowledged: %v, expected nothing", written)
	}
	real := func(uid, given string) string {
		return kubelet.acknowledge(pod(uid, map[string]string{"huawei.com/npu-core": given}))["huawei.com/AscendReal"]
	}
	for i, expected := range []string{"Ascend310P-2c-100-0_0", "Ascend310P-1c-101-0_1", "Ascend310P-1c-101-0_1", "Ascend310P-4c-102-0_2"} {
		given := []string{"0-vir02", "0-vir01", "0-vir01", "0-vir04_3c"}[i]
		if name := real(string(rune('c'+i)), given); name != expected {
			t.Errorf("%s on one chip: %s, expected %s", given, name, expected)
		}
	}
	kubelet.Gone(pod("c", nil))
	if name := real("g", "0-vir02_1c;1,2"); name != "Ascend310P-2c-100-0_0;Ascend310P-1,Ascend310P-2" {
		t.Errorf("two containers after the first pod has left: %s", name)
	}
}
