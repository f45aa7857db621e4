package objects

import (
	_ "embed"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:embed device-config.yaml
var deviceConfig string

// DeviceConfig is the ConfigMap that Volcano's deviceshare and our plugin look for.
func DeviceConfig() *corev1.ConfigMap { return deviceConfigMap(deviceConfig) }

// RealDeviceConfig is DeviceConfig for our device plugin: with so many MiB in one unit of memory, as a kubelet takes 4 MiB of a device
// plugin at most, and has a line for each unit; and without the model of which two groups have one name, which it refuses.
func RealDeviceConfig(memoryFactor int) *corev1.ConfigMap {
	text := strings.Replace(deviceConfig, "gpuMemoryFactor: 1\n", fmt.Sprintf("gpuMemoryFactor: %d\n", memoryFactor), 1)
	before, after, _ := strings.Cut(text, "  - models: [\"A100-TWICE\"]")
	return deviceConfigMap(before + after[strings.Index(after, "vnpus:"):])
}

func deviceConfigMap(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "volcano-vgpu-device-config", Namespace: "kube-system"},
		Data:       map[string]string{"device-config.yaml": text},
	}
}
