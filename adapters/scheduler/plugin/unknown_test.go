package plugin

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/vga"
)

// Under the built-in configuration a pod that asks for the resource of another one would be bound as if it asked for
// nothing.
func TestNothingIsDecidedBeforeTheDevicesConfigurationIsKnown(t *testing.T) {
	config := devicesConfig(1)
	config.Data["device-config.yaml"] = "nvidia:\n  resourceCountName: example.com/gpus\n"
	client := kubefake.NewClientset(config)
	answers := make(chan struct{})
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-answers
		return false, nil, nil
	})
	engine := NewEngine()
	session := &plugin{engine: engine, arguments: framework.Arguments{}}
	open := func() {
		session.failure = engine.configure(session.arguments, nil, client)
		session.cluster = engine.cluster
	}
	open()
	ours, plain, other := pod("ours", "pg", 3000), pod("plain", "pg", 0), pod("other", "pg", 0)
	other.Spec.Containers[0].Resources.Limits = v1.ResourceList{"example.com/gpus": resource.MustParse("1")}
	where := api.NewNodeInfo(node("a", 16384))
	refusal := func(pod *v1.Pod) string {
		if err := session.predicate(api.NewTaskInfo(pod), where); err != nil {
			return err.Error()
		}
		return ""
	}
	pods := []*v1.Pod{ours, plain, other}
	follow(&engine.mirror, engine.cluster, []*v1.Node{where.Node}, pods)
	const why = "the devices' configuration (ConfigMap kube-system/volcano-vgpu-device-config) is not known yet"
	if words := refusal(ours); !strings.Contains(words, why) {
		t.Error(words)
	}
	if words := refusal(other); !strings.Contains(words, why) {
		t.Error("it may ask for devices", words)
	}
	if words := refusal(plain); words != "" {
		t.Error("it asks for nothing that could be a device", words)
	}
	close(answers)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if open(); session.failure == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(session.failure)
		}
	}
	follow(&engine.mirror, engine.cluster, []*v1.Node{where.Node}, pods)
	if !session.wantsDevices(api.NewTaskInfo(other)) {
		t.Error("the configuration says that it asks for devices")
	}
	if words := refusal(plain); words != "" {
		t.Error(words)
	}
	if state, _ := engine.cluster.Pod(string(other.UID)); state != vga.PodWaiting {
		t.Error(state)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}

// refusal is what a session says of a pod on a node; empty where it takes the pod.
func refusal(session *plugin, pod *v1.Pod, node *api.NodeInfo) string {
	if err := session.predicate(api.NewTaskInfo(pod), node); err != nil {
		return err.Error()
	}
	return ""
}

// What was bad at the start names resources that nobody knows, and under what is left out pods would get no devices.
func TestPodsThatWouldBeBoundWithoutTheirDevicesWait(t *testing.T) {
	for _, each := range []struct{ config, ours, other string }{
		{"nvidia: [\n", "(ConfigMap kube-system/volcano-vgpu-device-config) is refused, and there was no good one since the start", "is refused"},
		{"nvidia: {knownMigGeometries: []}\n", "volcano.sh/vgpu-memory: the devices' configuration does not name it", ""},
	} {
		config := devicesConfig(1)
		config.Data["device-config.yaml"] = each.config
		client := kubefake.NewClientset(config)
		engine := NewEngine()
		session := &plugin{engine: engine, arguments: framework.Arguments{}}
		session.failure = engine.configure(session.arguments, nil, client)
		session.cluster = engine.cluster
		ours, plain, other := pod("ours", "pg", 3000), pod("plain", "pg", 0), pod("other", "pg", 0)
		other.Spec.Containers[0].Resources.Limits = v1.ResourceList{"example.com/gpus": resource.MustParse("1")}
		where := api.NewNodeInfo(node("a", 16384))
		follow(&engine.mirror, engine.cluster, []*v1.Node{where.Node}, []*v1.Pod{ours, plain, other})
		if words := refusal(session, ours, where); !strings.Contains(words, each.ours) {
			t.Error(each.config, words)
		}
		if words := refusal(session, other, where); !strings.Contains(words, each.other) || (words == "") != (each.other == "") {
			t.Error(each.config, words)
		}
		if words := refusal(session, plain, where); words != "" {
			t.Error(each.config, words)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}
