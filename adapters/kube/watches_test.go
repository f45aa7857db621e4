package kube

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// watches are those of an API server that have not been stopped, by namespace.
type watches struct {
	mutex sync.Mutex
	begun map[string][]*watch.FakeWatcher
}

// watchesOf has a client note its watches, which show nothing by themselves.
func watchesOf(client *fake.Clientset) *watches {
	noted := &watches{begun: map[string][]*watch.FakeWatcher{}}
	client.PrependWatchReactor("configmaps", func(action clienttesting.Action) (bool, watch.Interface, error) {
		noted.mutex.Lock()
		defer noted.mutex.Unlock()
		shows := watch.NewFake()
		noted.begun[action.GetNamespace()] = append(noted.begun[action.GetNamespace()], shows)
		return true, shows, nil
	})
	return noted
}

func (w *watches) open() (namespaces []string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for namespace, begun := range w.begun {
		for _, shows := range begun {
			if !shows.IsStopped() {
				namespaces = append(namespaces, namespace)
			}
		}
	}
	slices.Sort(namespaces)
	return namespaces
}

func (w *watches) await(t *testing.T, namespaces ...string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if slices.Equal(w.open(), namespaces) {
			return
		}
	}
	t.Error("watched are", w.open(), "expected", namespaces)
}

func TestOnlyTheNamespacesOfThePresentArgumentsAreWatched(t *testing.T) {
	client := fake.NewClientset(configMap("one", "config", configKey, oddConfig), configMap("two", "config", configKey, "vnpus: []\n"),
		configMap("mindx-dl", "mindx-dl-deviceinfo-a", "DeviceInfoCfg", "{}"))
	begun := watchesOf(client)
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cluster.Close() }()
	var changes atomic.Int64
	w := NewConfigMaps(client, func() { changes.Add(1) })
	defer w.Close()
	follow := func() {
		w.FollowConfig(cluster, func(config string) vga.Options { return vga.Options{DeviceConfig: config} })
		w.FollowNodes(cluster)
	}
	w.Watch("one", "config", true)
	begun.await(t, "kube-system", "mindx-dl", "one")
	former := w.watched["one"]
	follow()
	w.Watch("two", "config", false)
	begun.await(t, "two")

	// What a watch shows that is being stopped is not followed any more.
	before := changes.Load()
	w.see(former, configMap("one", "config", configKey, "nvidia: 7\n"), false)
	w.see(former, configMap("two", "config", configKey, "nvidia: 7\n"), false)
	follow()
	if changes.Load() != before || w.Failure() != nil || cluster.ReadsResource("example.com/gpus") {
		t.Error(changes.Load()-before, w.Failure())
	}
	// Nor does the cluster keep what nobody would tell of again.
	if err := cluster.RemoveConfigMap("mindx-dl/mindx-dl-deviceinfo-a"); err == nil {
		t.Error("the cluster knows a ConfigMap of MindCluster's still")
	}

	w.Watch("one", "config", true)
	begun.await(t, "kube-system", "mindx-dl", "one")
	follow()
	if !cluster.ReadsResource("example.com/gpus") {
		t.Error("the first one is followed again", w.Failure())
	}
	if err := cluster.RemoveConfigMap("mindx-dl/mindx-dl-deviceinfo-a"); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsAllWatches(t *testing.T) {
	client := fake.NewClientset()
	begun := watchesOf(client)
	w := NewConfigMaps(client, nil)
	w.Watch("one", "config", true)
	begun.await(t, "kube-system", "mindx-dl", "one")
	w.Close()
	if open := begun.open(); len(open) > 0 {
		t.Error(open)
	}
	w.Watch("two", "config", false)
	time.Sleep(50 * time.Millisecond)
	if open := begun.open(); len(open) > 0 {
		t.Error(open)
	}
}

// A ConfigMap that came and went before anybody looked is nothing that the core could forget.
func TestWhatTheClusterWasNotToldOfIsNotTakenBack(t *testing.T) {
	const name = "mindx-dl-deviceinfo-a"
	client := fake.NewClientset(configMap("mindx-dl", name, "DeviceInfoCfg", "{}"))
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cluster.Close() }()
	w := NewConfigMaps(client, nil)
	defer w.Close()
	w.Watch("elsewhere", "config", true)
	if err := client.CoreV1().ConfigMaps("mindx-dl").Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, removed := w.counts(); removed == 1 {
			break
		}
	}
	var log bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	w.FollowNodes(cluster)
	klog.Flush()
	klog.SetOutput(os.Stderr)
	klog.LogToStderr(true)
	if log.Len() > 0 {
		t.Error(log.String())
	}
}
