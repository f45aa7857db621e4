// Package firstconfig makes the device configuration that a cluster begins with: names of resources and the ways in which cards of
// the common models are cut by MIG.
package firstconfig

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// Namespace is where Create makes the ConfigMap: the one that schedulers and device plugins look into first.
const Namespace = "kube-system"

// names is what the section has beside the geometries.
const names = `# Made by vgpualloc-device-plugin because there was none.
nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceMemoryPercentageName: volcano.sh/vgpu-memory-percentage
  resourceCoreName: volcano.sh/vgpu-cores
  gpuMemoryFactor: 1
  deviceSplitCount: 10
  deviceCoreScaling: 1
  applyAllKeys: true
`

// Text is device-config.yaml as Create writes it.
func Text() (string, error) {
	text, err := config.WithFirstGeometries([]byte(names))
	return string(text), err
}

// Create makes ConfigMap volcano-vgpu-device-config with Text, and returns it as the API server has it. One that is there already,
// as when the plugin of another node came first, is returned as it is. The error is the API server's.
func Create(ctx context.Context, client kubernetes.Interface) (*v1.ConfigMap, error) {
	text, err := Text()
	if err != nil {
		return nil, fmt.Errorf("a first %s: %w", config.DeviceConfigKey, err)
	}
	first := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: config.DeviceConfigName},
		Data: map[string]string{config.DeviceConfigKey: text}}
	created, err := client.CoreV1().ConfigMaps(Namespace).Create(ctx, first, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		created, err = client.CoreV1().ConfigMaps(Namespace).Get(ctx, config.DeviceConfigName, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("making ConfigMap %s in namespace %s: %w", config.DeviceConfigName, Namespace, err)
	}
	return created, nil
}
