package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeviceConfigYAML is the device configuration that every scenario gives the scheduler: the built-in kinds, the ways in
// which a MIG card may be cut, and a name for memory in percent. It is in the form that Volcano 1.14 reads.
const DeviceConfigYAML = `nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceMemoryPercentageName: volcano.sh/vgpu-memory-percentage
  resourceCoreName: volcano.sh/vgpu-cores
  defaultMemory: 0
  defaultCores: 0
  defaultGPUNum: 1
  deviceSplitCount: 10
  deviceMemoryScaling: 1
  deviceCoreScaling: 1
  gpuMemoryFactor: 1
  knownMigGeometries:
  - models: ["A100-SXM4-40GB"]
    allowedGeometries:
    - group: group1
      geometries:
      - {name: 1g.5gb, memory: 5120, count: 7}
    - group: group2
      geometries:
      - {name: 2g.10gb, memory: 10240, count: 3}
      - {name: 1g.5gb, memory: 5120, count: 1}
    - group: group3
      geometries:
      - {name: 3g.20gb, memory: 20480, count: 2}
    - group: group4
      geometries:
      - {name: 7g.40gb, memory: 40960, count: 1}
  - models: ["H200"]
    allowedGeometries:
    - group: group-1
      geometries:
      - {name: 1g.18gb, memory: 18432, count: 7}
  - models: ["A100-TWICE"] # two groups of one name
    allowedGeometries:
    - group: half
      geometries:
      - {name: 1g.5gb, memory: 5120, count: 1}
    - group: half
      geometries:
      - {name: 2g.10gb, memory: 10240, count: 1}
      - {name: 3g.20gb, memory: 20480, count: 1}
vnpus:
- chipName: 310P3
  commonWord: Ascend310P
  resourceName: huawei.com/Ascend310P
  resourceMemoryName: huawei.com/Ascend310P-memory
  memoryAllocatable: 21527
  memoryCapacity: 24576
  aiCore: 8
  aiCPU: 7
  templates:
  - {name: vir01, memory: 3072, aiCore: 1, aiCPU: 1}
  - {name: vir02, memory: 6144, aiCore: 2, aiCPU: 2}
  - {name: vir04, memory: 12288, aiCore: 4, aiCPU: 4}
`

// DeviceConfig is the ConfigMap that Volcano's deviceshare and our plugin look for.
func DeviceConfig() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "volcano-vgpu-device-config", Namespace: "kube-system"},
		Data:       map[string]string{"device-config.yaml": DeviceConfigYAML},
	}
}
