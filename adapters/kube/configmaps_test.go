package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/livetest"
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

// What ConfigMaps say of nodes' devices may let nodes in; of equal nodes the first is taken.
func TestConfigMapsAreToldInTheOrderOfTheirNames(t *testing.T) {
	log := filepath.Join(t.TempDir(), "decisions.jsonl")
	opened, err := decisionlog.Open(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := live.New(vga.Options{}, opened)
	if err != nil {
		t.Fatal(err)
	}
	var maps []runtime.Object
	var names []string
	for i := range 20 {
		name := fmt.Sprintf("%sdeviceinfo-%02d", devicesOfNodePrefix, i)
		maps = append(maps, configMap("mindx-dl", name, "DeviceInfoCfg", "{}"))
		names = append(names, "mindx-dl/"+name)
	}
	client := fake.NewClientset(maps...)
	watch := NewConfigMaps(client, nil)
	watch.Watch("elsewhere", "volcano-vgpu-device-config", true)
	watch.FollowNodes(cluster)
	for _, name := range names {
		short := strings.TrimPrefix(name, "mindx-dl/")
		if err := client.CoreV1().ConfigMaps("mindx-dl").Delete(context.Background(), short, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, removed := watch.counts(); removed == len(names) {
			break
		}
	}
	watch.FollowNodes(cluster)
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	var told, removed []string
	for _, event := range livetest.Events(t, log, "tell", "remove_config_map") {
		if event.Event == "remove_config_map" {
			removed = append(removed, event.Name)
			continue
		}
		var object v1.ConfigMap
		if err := json.Unmarshal(event.Object, &object); err != nil {
			t.Fatal(err)
		}
		told = append(told, object.Namespace+"/"+object.Name)
	}
	if !slices.Equal(told, names) || !slices.Equal(removed, names) {
		t.Error(told, removed)
	}
}

// Which ConfigMap has the configuration is an argument, and arguments change.
func TestAnotherConfigMapCanBeNamed(t *testing.T) {
	client := fake.NewClientset(configMap("kube-system", "one", configKey, oddConfig),
		configMap("kube-system", "two", configKey, "nvidia: 7\n"), configMap("other", "three", configKey, oddConfig))
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

const oddConfig = "nvidia:\n  resourceCountName: example.com/gpus\n"

// shortly has what takes seconds take less.
func shortly(t *testing.T) {
	watch, refusal := watchPatience, refusalPatience
	watchPatience, refusalPatience = 50*time.Millisecond, 300*time.Millisecond
	t.Cleanup(func() { watchPatience, refusalPatience = watch, refusal })
}

// readsOdd is whether a cluster has the configuration after following it.
func readsOdd(t *testing.T, watch *ConfigMaps) bool {
	t.Helper()
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	watch.FollowConfig(cluster, func(config string) vga.Options { return vga.Options{DeviceConfig: config} })
	reads := cluster.ReadsResource("example.com/gpus")
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	return reads
}

func TestNothingIsKnownBeforeTheAPIServerAnswers(t *testing.T) {
	shortly(t)
	client := fake.NewClientset(configMap("kube-system", "one", configKey, oddConfig))
	answers := make(chan struct{})
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-answers
		return false, nil, nil
	})
	watch := NewConfigMaps(client, nil)
	watch.Watch("kube-system", "one", false)
	if unknown := watch.Unknown(); unknown == nil || !strings.Contains(unknown.Error(), "ConfigMap kube-system/one") ||
		!strings.Contains(unknown.Error(), "has not answered") {
		t.Error(unknown)
	}
	ended, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := watch.Await(ended, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	time.Sleep(refusalPatience) // no answer is none, however long that takes
	if watch.Unknown() == nil {
		t.Error("nobody has answered")
	}
	close(answers)
	if err := watch.Await(context.Background(), func() {}); err != nil || !readsOdd(t, watch) {
		t.Error(err)
	}
}

func TestAnAPIServerThatRefusesToTellHasAnsweredAfterAWhile(t *testing.T) {
	shortly(t)
	for _, each := range []struct{ tellsAtOnce, tellsLater bool }{{true, true}, {false, true}, {false, false}} {
		client := fake.NewClientset(configMap("kube-system", "one", configKey, oddConfig))
		var tells atomic.Bool
		client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			why := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role"))
			return !tells.Load(), nil, why
		})
		watch := NewConfigMaps(client, nil)
		watch.Watch("kube-system", "one", false)
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if unknown := watch.Unknown(); unknown != nil && strings.Contains(unknown.Error(), "no role") {
				break // the refusal itself is told
			}
		}
		if unknown := watch.Unknown(); !apierrors.IsForbidden(unknown) {
			t.Error(unknown)
		}
		tells.Store(each.tellsAtOnce)
		if each.tellsAtOnce { // the roles of a server that has just started
			refusalPatience = time.Hour
		}
		if err := watch.Await(context.Background(), func() {}); err != nil || readsOdd(t, watch) != each.tellsAtOnce {
			t.Error(each, err)
		}
		refusalPatience = 300 * time.Millisecond
		if each.tellsAtOnce || !each.tellsLater {
			continue
		}
		tells.Store(true) // a role that is given later counts at once
		for deadline := time.Now().Add(10 * time.Second); !watch.HasNews() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if !readsOdd(t, watch) {
			t.Error("the configuration may be read now")
		}
	}
}

// What was to be called a device is not known then: under the built-in configuration a pod that asks for a renamed resource
// would pass for one without devices.
func TestABadConfigurationAtTheStartIsNoneUntilItIsMended(t *testing.T) {
	const bad = "nvidia: [\n"
	client := fake.NewClientset(configMap("kube-system", "one", configKey, bad))
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	watch := NewConfigMaps(client, nil)
	watch.Watch("kube-system", "one", false)
	follow := func() {
		watch.FollowConfig(cluster, func(config string) vga.Options { return vga.Options{DeviceConfig: config} })
	}
	change := func(text string) {
		t.Helper()
		maps := client.CoreV1().ConfigMaps("kube-system")
		if _, err := maps.Update(context.Background(), configMap("kube-system", "one", configKey, text), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); !watch.HasNews() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		follow()
	}
	follow()
	if unknown := watch.Unknown(); unknown == nil || !strings.Contains(unknown.Error(), "ConfigMap kube-system/one) is refused") ||
		!strings.Contains(unknown.Error(), "YAML") {
		t.Error(unknown)
	}
	change(oddConfig)
	if unknown := watch.Unknown(); unknown != nil || watch.Failure() != nil || !cluster.ReadsResource("example.com/gpus") {
		t.Error(unknown, watch.Failure())
	}
	change(bad)
	if unknown := watch.Unknown(); unknown != nil || watch.Failure() == nil || !cluster.ReadsResource("example.com/gpus") {
		t.Error("the last that was good stays", unknown, watch.Failure())
	}
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
}

func TestPodsThatAskForWhatTheConfigurationLeavesOut(t *testing.T) {
	for config, expected := range map[string]string{"": "", "nvidia: {knownMigGeometries: []}\n": "volcano.sh/vgpu-memory: ",
		"nvidia: {resourceCountName: volcano.sh/vgpu-number, resourceMemoryName: volcano.sh/vgpu-memory}\n": ""} {
		cluster, err := live.New(vga.Options{DeviceConfig: config}, nil)
		if err != nil {
			t.Fatal(err)
		}
		limits := v1.ResourceList{"volcano.sh/vgpu-number": resource.MustParse("1"), "volcano.sh/vgpu-memory": resource.MustParse("3000"),
			"volcano.sh/vgpu-cores": resource.MustParse("0"), "example.com/other": resource.MustParse("1")}
		pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{}},
			Containers: []v1.Container{{}, {Resources: v1.ResourceRequirements{Limits: limits}}}}}
		why := SwitchedOff(cluster, pod)
		if (why == nil) != (expected == "") || why != nil && !strings.HasPrefix(why.Error(), expected) {
			t.Error(config, why)
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}
}
