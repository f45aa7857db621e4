package firstconfig

import (
	"context"
	"os"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/deviceplugin/config"
)

func TestAFirstMIGConfigurationIsWritten(t *testing.T) {
	client := fake.NewSimpleClientset()
	created, err := Create(context.Background(), client)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := client.CoreV1().ConfigMaps("kube-system").Get(context.Background(), "volcano-vgpu-device-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Text()
	if err != nil {
		t.Fatal(err)
	}
	if stored.Data["device-config.yaml"] != text || created.Data["device-config.yaml"] != text {
		t.Errorf("the ConfigMap has %q", stored.Data)
	}
}

func TestAConfigurationThatIsThereStays(t *testing.T) {
	there := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: config.DeviceConfigName},
		Data: map[string]string{config.DeviceConfigKey: "nvidia: {}"}}
	client := fake.NewSimpleClientset(there)
	created, err := Create(context.Background(), client)
	if err != nil {
		t.Fatal(err)
	}
	if created.Data[config.DeviceConfigKey] != "nvidia: {}" {
		t.Errorf("it was replaced by %q", created.Data)
	}
}

// The plugin reads what it writes, and cuts each of the models that the text names.
func TestTheFirstConfigurationIsReadWithoutWarnings(t *testing.T) {
	flags, err := config.ReadFlags([]string{"--node-name=node"}, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	text, err := Text()
	if err != nil {
		t.Fatal(err)
	}
	built, err := config.Build(flags, []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Warnings) > 0 {
		t.Errorf("warnings: %q", built.Warnings)
	}
	for name, smallest := range map[string]string{"NVIDIA A30": "1g.6gb", "NVIDIA A100-SXM4-40GB": "1g.5gb", "NVIDIA A100-SXM4-80GB": "1g.10gb",
		"NVIDIA A100 80GB PCIe": "1g.10gb", "NVIDIA H100 80GB HBM3": "1g.10gb", "NVIDIA H100 PCIe": "1g.10gb", "NVIDIA H100 NVL": "1g.12gb",
		"NVIDIA H200": "1g.18gb", "NVIDIA H200 NVL": "1g.18gb", "NVIDIA B200": "1g.23gb"} {
		geometries := built.GeometriesOf(name)
		if geometries == nil || geometries.Groups[0].Instances[0].Name != smallest {
			t.Errorf("%s: cut as %+v, expected %s first", name, geometries, smallest)
		}
	}
	for _, name := range []string{"NVIDIA GH200 480GB", "NVIDIA GB200", "Tesla T4"} {
		if geometries := built.GeometriesOf(name); geometries != nil {
			t.Errorf("%s: cut as %+v, expected as nothing: its instances are others", name, geometries)
		}
	}
}

// Who installs by the chart and who lets the plugin make the ConfigMap get the same.
func TestTheTextSaysWhatTheChartsFileSays(t *testing.T) {
	chart, err := os.ReadFile("../../delivery/chart/files/device-config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := Text()
	if err != nil {
		t.Fatal(err)
	}
	var ofChart, ofPlugin map[string]any
	if err := yaml.UnmarshalStrict(chart, &ofChart); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(text), &ofPlugin); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(ofChart, ofPlugin) {
		t.Errorf("the chart's file says\n%v\nand the plugin writes\n%v", ofChart, ofPlugin)
	}
}
