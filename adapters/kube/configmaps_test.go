package kube

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

func configMap(namespace, name, key, text string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: text}}
}

func (w *ConfigMaps) counts() (told, removed int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.told), len(w.removed)
}

func TestMindClustersConfigMapsSayWhatNodesHave(t *testing.T) {
	for mindCluster, expected := range map[bool]int{true: 3, false: 0} {
		client := fake.NewClientset(configMap("kube-system", "mindx-dl-deviceinfo-a", "DeviceInfoCfg", "{}"),
			configMap("mindx-dl", "mindx-dl-deviceinfo-b", "DeviceInfoCfg", "{}"), configMap("mindx-dl", "mindx-dl-deviceinfo-a", "DeviceInfoCfg", "{}"), // another one than that of kube-system
			configMap("elsewhere", "mindx-dl-deviceinfo-a", "DeviceInfoCfg", "{}"), // not MindCluster's
			configMap("kube-system", "other", "a", "b"))
		watch := NewConfigMaps(client, nil)
		watch.Watch("elsewhere", "volcano-vgpu-device-config", mindCluster)
		if told, removed := watch.counts(); told != expected || removed != 0 {
			t.Error(mindCluster, told, removed)
		}
		if !mindCluster {
			continue
		}
		err := client.CoreV1().ConfigMaps("mindx-dl").Delete(context.Background(), "mindx-dl-deviceinfo-b", metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if _, removed := watch.counts(); removed == 1 {
				break
			}
		}
		if told, removed := watch.counts(); told != 2 || removed != 1 {
			t.Error(told, removed)
		}
	}
}

// Which ConfigMap has the configuration is an argument, and arguments change.
func TestAnotherConfigMapCanBeNamed(t *testing.T) {
	const odd = "nvidia:\n  resourceCountName: example.com/gpus\n"
	client := fake.NewClientset(configMap("kube-system", "one", configKey, odd),
		configMap("kube-system", "two", configKey, "nvidia: 7\n"), configMap("other", "three", configKey, odd))
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	watch := NewConfigMaps(client, nil)
	for _, each := range []struct {
		namespace, name string
		refused, reads  bool
	}{{"kube-system", "none", false, false}, {"kube-system", "one", false, true}, {"kube-system", "two", true, true},
		{"other", "three", false, true}, {"other", "four", false, false}} {
		watch.Watch(each.namespace, each.name, false)
		watch.FollowConfig(cluster, func(config string) vga.Options { return vga.Options{DeviceConfig: config} })
		if (watch.Failure() != nil) != each.refused || cluster.ReadsResource("example.com/gpus") != each.reads {
			t.Error(each, watch.Failure())
		}
	}
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
}
