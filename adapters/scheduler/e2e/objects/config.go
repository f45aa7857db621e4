package objects

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:embed device-config.yaml
var deviceConfig string

// DeviceConfig is the ConfigMap that Volcano's deviceshare and our plugin look for.
func DeviceConfig() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "volcano-vgpu-device-config", Namespace: "kube-system"},
		Data:       map[string]string{"device-config.yaml": deviceConfig},
	}
}
