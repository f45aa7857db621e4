package kube

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// configKey is what a ConfigMap with the devices' configuration has.
const configKey = "device-config.yaml"

// How long Watch waits for the ConfigMaps that are there.
const configPatience = 10 * time.Second

// ConfigMaps follows the ConfigMap with the devices' configuration, and those that say what devices nodes have. Watch and
// FollowConfig are for one goroutine.
type ConfigMaps struct {
	client  kubernetes.Interface
	changed func() // called after each change, from any goroutine; may be nil
	watched map[string]bool
	failure error // why the present configuration is refused

	mutex   sync.Mutex
	wanted  types.NamespacedName            // the configuration
	given   string                          // the one that the cluster was told of last, in JSON; empty: none
	configs map[types.NamespacedName]string // all that could be one
	told    map[types.NamespacedName][]byte // of nodes' devices, since the last FollowNodes
	removed map[types.NamespacedName]struct{}
}

// NewConfigMaps watches nothing yet. `changed` may be nil.
func NewConfigMaps(client kubernetes.Interface, changed func()) *ConfigMaps {
	return &ConfigMaps{client: client, changed: changed, watched: map[string]bool{},
		configs: map[types.NamespacedName]string{}, told: map[types.NamespacedName][]byte{},
		removed: map[types.NamespacedName]struct{}{}}
}

// Watch names the ConfigMap with the devices' configuration and whether MindCluster's are of interest. Only namespaces are
// watched that this takes: no rights are needed for others. What is there is known when it returns, unless the API server
// is slow.
func (w *ConfigMaps) Watch(namespace, name string, mindCluster bool) {
	w.mutex.Lock()
	w.wanted = types.NamespacedName{Namespace: namespace, Name: name}
	w.mutex.Unlock()
	namespaces := []string{namespace}
	if mindCluster {
		namespaces = append(namespaces, mindClusterNamespaces...)
	}
	patience, cancel := context.WithTimeout(context.Background(), configPatience)
	defer cancel()
	for _, each := range namespaces {
		if !w.watched[each] {
			w.watched[each] = true
			w.watchNamespace(patience, each)
		}
	}
}

func (w *ConfigMaps) watchNamespace(patience context.Context, namespace string) {
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	see := func(object any, gone bool) {
		if configMap, ok := object.(*v1.ConfigMap); ok {
			w.see(configMap, gone)
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
		Report(err, "ConfigMaps of namespace", namespace)
		return
	}
	factory.Start(context.Background().Done())
	cache.WaitForCacheSync(patience.Done(), registration.HasSynced)
}

func (w *ConfigMaps) see(configMap *v1.ConfigMap, gone bool) {
	text, err := objects.Text(objects.ConfigMap(configMap))
	if err != nil {
		Report(err, "ConfigMap", configMap.Name)
		return
	}
	w.keep(configMap, text, gone)
	if w.changed != nil {
		w.changed()
	}
}

func (w *ConfigMaps) keep(configMap *v1.ConfigMap, text []byte, gone bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	name := types.NamespacedName{Namespace: configMap.Namespace, Name: configMap.Name}
	if _, isConfig := configMap.Data[configKey]; !gone && (isConfig || name == w.wanted) {
		w.configs[name] = string(text)
	} else {
		delete(w.configs, name)
	}
	// Whoever may write into the configuration's namespace does not say what nodes have.
	if strings.HasPrefix(name.Name, devicesOfNodePrefix) && slices.Contains(mindClusterNamespaces, name.Namespace) {
		delete(w.told, name)
		delete(w.removed, name)
		if gone {
			w.removed[name] = struct{}{}
		} else {
			w.told[name] = text
		}
	}
}

// FollowConfig has a cluster take the devices' configuration where that is another one than before; one that is refused
// changes nothing. `options` are those of the cluster with such a configuration.
func (w *ConfigMaps) FollowConfig(cluster *live.Cluster, options func(deviceConfig string) vga.Options) {
	w.mutex.Lock()
	wanted, config := w.wanted, w.configs[w.wanted]
	changed := config != w.given
	w.given = config
	w.mutex.Unlock()
	if !changed {
		return
	}
	if w.failure = cluster.Configure(options(config)); w.failure != nil {
		klog.ErrorS(w.failure, "The devices' configuration is refused; the last that was good stays", "configMap", wanted)
		return
	}
	klog.InfoS("The devices' configuration holds from now on", "configMap", wanted)
}

// HasNews is whether FollowConfig has something to tell.
func (w *ConfigMaps) HasNews() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.configs[w.wanted] != w.given
}

// Failure is why the present configuration is refused; nil if it is followed.
func (w *ConfigMaps) Failure() error { return w.failure }

// FollowNodes tells a cluster what has changed in nodes' devices.
func (w *ConfigMaps) FollowNodes(cluster *live.Cluster) {
	w.mutex.Lock()
	told, removed := w.told, w.removed
	w.told, w.removed = map[types.NamespacedName][]byte{}, map[types.NamespacedName]struct{}{}
	w.mutex.Unlock()
	for name, text := range told {
		_, err := cluster.Tell(text)
		Report(err, "ConfigMap", name.String())
	}
	for name := range removed {
		Report(cluster.RemoveConfigMap(name.String()), "ConfigMap", name.String())
	}
}
