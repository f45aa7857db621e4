package kube

import (
	"context"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/objects"
	"vgpualloc.example/adapters/vga"
)

// What MindCluster's node side says of its chips is in ConfigMaps of these names, in one of these namespaces.
const devicesOfNodePrefix = "mindx-dl-"

var mindClusterNamespaces = []string{"kube-system", "mindx-dl"}

// How long WatchConfigMaps waits for the ConfigMaps.
const configPatience = 10 * time.Second

// ConfigMaps follows the ConfigMap with the devices' configuration, and those that say what devices nodes have.
type ConfigMaps struct {
	namespace, name string // of the configuration
	changed         func() // called when Follow has something to do
	mutex           sync.Mutex
	config          string // the ConfigMap in JSON; empty: there is none
	configChanged   bool
	told, removed   map[string][]byte // of nodes' devices by name, since the last Follow
}

// WatchConfigMaps begins to watch. What is there at the beginning is there when it returns, unless the API server is slow.
// `changed` may be nil; it is called after each change, from any goroutine.
func WatchConfigMaps(client kubernetes.Interface, namespace, name string, changed func()) *ConfigMaps {
	watch := &ConfigMaps{namespace: namespace, name: name, changed: changed, told: map[string][]byte{},
		removed: map[string][]byte{}}
	namespaces := map[string]bool{namespace: true}
	for _, other := range mindClusterNamespaces {
		namespaces[other] = true
	}
	patience, cancel := context.WithTimeout(context.Background(), configPatience)
	defer cancel()
	for watched := range namespaces {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(watched))
		informer := factory.Core().V1().ConfigMaps().Informer()
		see := func(object any, gone bool) {
			if configMap, ok := object.(*v1.ConfigMap); ok {
				watch.see(configMap, gone)
			}
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { see(object, false) },
			UpdateFunc: func(_, object any) { see(object, false) },
			DeleteFunc: func(object any) {
				if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = last.Obj
				}
				see(object, true)
			},
		})
		if err != nil {
			Report(err, "ConfigMaps of namespace", watched)
			continue
		}
		factory.Start(context.Background().Done())
		cache.WaitForCacheSync(patience.Done(), registration.HasSynced)
	}
	return watch
}

func (w *ConfigMaps) see(configMap *v1.ConfigMap, gone bool) {
	text, err := objects.Text(objects.ConfigMap(configMap))
	if err != nil {
		Report(err, "ConfigMap", configMap.Name)
		return
	}
	w.keep(configMap, string(text), gone)
	if w.changed != nil {
		w.changed()
	}
}

func (w *ConfigMaps) keep(configMap *v1.ConfigMap, text string, gone bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if configMap.Namespace == w.namespace && configMap.Name == w.name {
		config := text
		if gone {
			config = ""
		}
		w.configChanged = w.configChanged || config != w.config
		w.config = config
	}
	if strings.HasPrefix(configMap.Name, devicesOfNodePrefix) {
		delete(w.told, configMap.Name)
		delete(w.removed, configMap.Name)
		if gone {
			w.removed[configMap.Name] = []byte(text)
		} else {
			w.told[configMap.Name] = []byte(text)
		}
	}
}

// FollowConfig has a cluster take the devices' configuration where that is another one than before; one that is refused
// changes nothing. `options` are those of the cluster with such a configuration.
func (w *ConfigMaps) FollowConfig(cluster *live.Cluster, options func(deviceConfig string) vga.Options) {
	w.mutex.Lock()
	changed, config := w.configChanged, w.config
	w.configChanged = false
	w.mutex.Unlock()
	if !changed {
		return
	}
	if err := cluster.Configure(options(config)); err != nil {
		klog.ErrorS(err, "The devices' configuration is refused; the last that was good stays", "namespace", w.namespace,
			"configMap", w.name)
		return
	}
	klog.InfoS("The devices' configuration holds from now on", "namespace", w.namespace, "configMap", w.name)
}

// FollowNodes tells a cluster what has changed in nodes' devices.
func (w *ConfigMaps) FollowNodes(cluster *live.Cluster) {
	w.mutex.Lock()
	told, removed := w.told, w.removed
	w.told, w.removed = map[string][]byte{}, map[string][]byte{}
	w.mutex.Unlock()
	for name, text := range told {
		_, err := cluster.Tell(text)
		Report(err, "ConfigMap", name)
	}
	for name := range removed {
		Report(cluster.RemoveConfigMap(name), "ConfigMap", name)
	}
}
