package check

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// Names of devices are those of the scheduler's figures, which adapters/live serves.
func TestWhatASchedulerShouldHaveCounted(t *testing.T) {
	chip := func(name, given string, cores int) *corev1.Pod {
		pod := bound(name, "n", objects.Limits{"huawei.com/npu-core": cores}, map[string]string{"huawei.com/npu-core": given})
		pod.Labels = map[string]string{"ring-controller.atlas": "ascend-310P"}
		return pod
	}
	shared := func(name, index, resource string, amount int) *corev1.Pod {
		return bound(name, "n", objects.Limits{resource: amount}, map[string]string{"volcano.sh/gpu-index": index})
	}
	gpu := func(name, given string, units int) *corev1.Pod {
		return bound(name, "n", objects.Limits{"volcano.sh/gpu-mem.128Mi": units}, map[string]string{"vgpualloc.io/cce-devices-allocated": given})
	}
	hami := func(name string, memory, cores int, given string) *corev1.Pod {
		return bound(name, "n", objects.Limits{"nvidia.com/gpu": 1, "nvidia.com/gpumem": memory, "nvidia.com/gpucores": cores},
			map[string]string{"hami.io/vgpu-devices-allocated": given, "hami.io/vgpu-node": "n"})
	}
	instanceOf := vgpuPod("a", 9000, 0, "GPU-n-0[group2-0],NVIDIA,9000,0:")
	uncut := clusterOf(objects.Volcano("n", "mig", 1), vgpuPod("a", 20000, 0, "GPU-n-0[3g.20gb-0],NVIDIA,20000,0:"))
	uncut.ConfigMaps = nil
	known := func(pods, memory, cores int) DeviceUse {
		return DeviceUse{Pods: pods, MemoryMiB: memory, MemoryKnown: true, Cores: cores, CoresKnown: true}
	}
	cases := []struct {
		name    string
		cluster Cluster
		use     map[string]DeviceUse
	}{
		{"cards", clusterOf(objects.Volcano("n", "hami-core", 2), vgpuPod("a", 20000, 40, "GPU-n-0,NVIDIA,20000,40:"),
			vgpuPod("b", 10000, 20, "GPU-n-0,NVIDIA,10000,20:")), map[string]DeviceUse{"GPU-n-0": known(2, 30000, 60)}},
		{"instance of a geometry", clusterOf(objects.Volcano("n", "mig", 1), instanceOf),
			map[string]DeviceUse{"GPU-n-0": {Pods: 1, MemoryMiB: 10240, MemoryKnown: true}}},
		{"instance without a geometry", uncut, map[string]DeviceUse{"GPU-n-0": {Pods: 1}}},
		{"chips", clusterOf(objects.MindCluster310P("n", 2), chip("a", "0-vir02_1c", 2), chip("b", "0-vir01", 1), chip("c", "1", 8)),
			map[string]DeviceUse{"Ascend310P-0": {Pods: 2, Cores: 3, CoresKnown: true},
				"Ascend310P-1": {Pods: 1, Cores: 8, CoresKnown: true}}},
		{"gpushare", clusterOf(objects.Gpushare("n", 3), shared("a", "1", "volcano.sh/gpu-memory", 500),
			shared("b", "1", "volcano.sh/gpu-memory", 1500), shared("c", "0,2", "volcano.sh/gpu-number", 2)),
			map[string]DeviceUse{"n/0": known(1, 16000, 100), "n/1": known(2, 2000, 0), "n/2": known(1, 16000, 100)}},
		{"CCE", clusterOf(objects.CCE("n", 2), gpu("a", "GPU-n-0,1024,0:;", 8), gpu("b", "GPU-n-1,whole:;", 126)),
			map[string]DeviceUse{"GPU-n-0": known(1, 1024, 0), "GPU-n-1": known(1, 16160, 100)}},
		{"HAMi", clusterOf(objects.HAMi("n", 1), hami("a", 1024, 10, "GPU-n-0,NVIDIA,1024,10:;")),
			map[string]DeviceUse{"GPU-n-0": known(1, 1024, 10)}},
		{"NPU", clusterOf(objects.AscendHAMi("n", 1), bound("a", "n", objects.Limits{"huawei.com/Ascend310P": 1, "huawei.com/Ascend310P-memory": 9000},
			map[string]string{"hami.io/Ascend310P-devices-allocated": "NPU-n-0,Ascend310P,12288,0:;",
				"huawei.com/Ascend310P": `[{"UUID":"NPU-n-0","temp":"vir04"}]`})), map[string]DeviceUse{"NPU-n-0": known(1, 12288, 0)}},
	}
	for _, each := range cases {
		t.Run(each.name, func(t *testing.T) {
			expected := map[Place]DeviceUse{}
			for name, use := range each.use {
				expected[Place{"n", name}] = use
			}
			report := Check(each.cluster, Options{})
			if len(report.Violations) != 0 || !maps.Equal(report.Use, expected) {
				t.Errorf("%v, expected %v; violations %v", report.Use, expected, report.Violations)
			}
		})
	}
}
