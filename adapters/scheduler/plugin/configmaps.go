package plugin

import (
	"context"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/objects"
)

// What MindCluster's node side says of its chips is in ConfigMaps of these names, in one of these namespaces.
const devicesOfNodePrefix = "mindx-dl-"

var mindClusterNamespaces = []string{"kube-system", "mindx-dl"}

// How long the first session waits for the ConfigMaps.
const configPatience = 10 * time.Second

// configWatch follows the ConfigMap with the devices' configuration, and those that say what devices nodes have.
type configWatch struct {
	client          kubernetes.Interface
	namespace, name string          // of the devices' configuration
	watched         map[string]bool // namespaces

	mutex         sync.Mutex
	config        string // the ConfigMap in JSON; empty: there is none
	configChanged bool
	told, removed map[string][]byte // of nodes' devices by name, since the last session
}

func newConfigWatch(client kubernetes.Interface, namespace, name string) *configWatch {
	return &configWatch{client: client, namespace: namespace, name: name, watched: map[string]bool{},
		told: map[string][]byte{}, removed: map[string][]byte{}}
}

// watch begins to watch those namespaces that are not watched yet; the scheduler needs rights for them, and for no others.
// What is there at the beginning is there when it returns, unless the API server is slow.
func (w *configWatch) watch(namespaces ...string) {
	patience, cancel := context.WithTimeout(context.Background(), configPatience)
	defer cancel()
	for _, watched := range namespaces {
		if w.watched[watched] {
			continue
		}
		w.watched[watched] = true
		factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(watched))
		informer := factory.Core().V1().ConfigMaps().Informer()
		see := func(object any, gone bool) {
			if configMap, ok := object.(*v1.ConfigMap); ok {
				w.see(configMap, gone, configMap.Namespace == w.namespace && configMap.Name == w.name)
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
			report(err, "ConfigMaps of namespace", watched)
			continue
		}
		factory.Start(context.Background().Done())
		cache.WaitForCacheSync(patience.Done(), registration.HasSynced)
	}
}

func (w *configWatch) see(configMap *v1.ConfigMap, gone, isConfig bool) {
	text, err := objects.Text(objects.ConfigMap(configMap))
	if err != nil {
		report(err, "ConfigMap", configMap.Name)
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if isConfig {
		config := string(text)
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
			w.removed[configMap.Name] = text
		} else {
			w.told[configMap.Name] = text
		}
	}
}

// next is the configuration if it has changed since the last call.
func (w *configWatch) next() (string, bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	changed := w.configChanged
	w.configChanged = false
	return w.config, changed
}

// follow tells the core what has changed in nodes' devices.
func (w *configWatch) follow(cluster *live.Cluster) {
	w.mutex.Lock()
	told, removed := w.told, w.removed
	w.told, w.removed = map[string][]byte{}, map[string][]byte{}
	w.mutex.Unlock()
	for name, text := range told {
		_, err := cluster.Tell(text)
		report(err, "ConfigMap", name)
	}
	for name := range removed {
		report(cluster.RemoveConfigMap(name), "ConfigMap", name)
	}
}
