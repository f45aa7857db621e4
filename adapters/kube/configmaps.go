package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// How long Watch waits for the ConfigMaps that are there, and for how long an API server may refuse to tell of the devices'
// configuration before that is its answer: one that has just started does not know all roles yet. Variables for tests.
var watchPatience, refusalPatience = 2 * time.Second, 10 * time.Second

// How often Await looks.
const awaitPause = 20 * time.Millisecond

// ConfigMaps follows the ConfigMap with the devices' configuration, and those that say what devices nodes have. Watch,
// Await and FollowConfig are for one goroutine.
type ConfigMaps struct {
	client  kubernetes.Interface
	changed func() // called after each change, from any goroutine; may be nil

	life      context.Context // ends with Close
	end       context.CancelFunc
	informers sync.WaitGroup

	mutex   sync.Mutex
	failure error                           // why the present configuration is refused
	isGood  bool                            // some configuration was followed, or it was seen that there is none, so that the built-in one holds
	watched map[string]*namespaceWatch      // by namespace
	wanted  types.NamespacedName            // the configuration
	given   string                          // the one that the cluster was told of last, in JSON; empty: none
	configs map[types.NamespacedName]string // all that could be one
	told    map[types.NamespacedName][]byte // of nodes' devices, since the last FollowNodes
	removed map[types.NamespacedName]struct{}
	held    map[types.NamespacedName]struct{} // of nodes' devices, that the cluster was told of
}

// namespaceWatch is what is known of the ConfigMaps of a namespace.
type namespaceWatch struct {
	stop     context.CancelFunc
	isKnown  func() bool // whether all that there were are told; nil: they cannot be followed
	refused  error       // the API server's last answer, if it is not allowed to look
	since    time.Time   // of the first one
	reported bool
}

// Configured is a cluster whose options may change.
type Configured interface {
	Configure(options vga.Options) error
}

// ToldOfConfigMaps is a cluster that is told what devices nodes have.
type ToldOfConfigMaps interface {
	Tell(object []byte) (vga.Upserted, error)
	RemoveConfigMap(name string) error
}

// NewConfigMaps watches nothing yet. `changed` may be nil.
func NewConfigMaps(client kubernetes.Interface, changed func()) *ConfigMaps {
	life, end := context.WithCancel(context.Background())
	return &ConfigMaps{client: client, changed: changed, life: life, end: end, watched: map[string]*namespaceWatch{},
		configs: map[types.NamespacedName]string{}, told: map[types.NamespacedName][]byte{},
		removed: map[types.NamespacedName]struct{}{}, held: map[types.NamespacedName]struct{}{}}
}

// Close ends all watches and waits for them. Nothing is watched afterwards.
func (w *ConfigMaps) Close() {
	w.mutex.Lock()
	w.end()
	w.mutex.Unlock()
	w.informers.Wait()
}

// Watch names the ConfigMap with the devices' configuration and whether MindCluster's are of interest. Only namespaces are
// watched that this takes: no rights are needed for others, and watches of others end. What is there is known when it returns,
// unless the API server is slow or refuses; Unknown tells of the configuration.
func (w *ConfigMaps) Watch(namespace, name string, mindCluster bool) {
	namespaces := []string{namespace}
	if mindCluster {
		namespaces = append(namespaces, mindClusterNamespaces...)
	}
	w.mutex.Lock()
	w.wanted = types.NamespacedName{Namespace: namespace, Name: name}
	for watched := range w.watched {
		if !slices.Contains(namespaces, watched) {
			w.stopWatching(watched)
		}
	}
	w.mutex.Unlock()
	patience, cancel := context.WithTimeout(w.life, watchPatience)
	defer cancel()
	for _, namespace := range namespaces {
		w.watchNamespace(patience, namespace)
	}
}

// stopWatching forgets what a namespace has: nobody would tell that it changes. The mutex is held.
func (w *ConfigMaps) stopWatching(namespace string) {
	w.watched[namespace].stop()
	delete(w.watched, namespace)
	isThere := func(name types.NamespacedName) bool { return name.Namespace == namespace }
	maps.DeleteFunc(w.configs, func(name types.NamespacedName, _ string) bool { return isThere(name) })
	maps.DeleteFunc(w.told, func(name types.NamespacedName, _ []byte) bool { return isThere(name) })
	for name := range w.held {
		if isThere(name) {
			w.removed[name] = struct{}{}
		}
	}
}

// watchNamespace watches a namespace unless it is watched already.
func (w *ConfigMaps) watchNamespace(patience context.Context, namespace string) {
	w.mutex.Lock()
	if _, isWatched := w.watched[namespace]; isWatched {
		w.mutex.Unlock()
		return
	}
	ctx, stop := context.WithCancel(w.life)
	watch := &namespaceWatch{stop: stop}
	w.watched[namespace] = watch
	w.mutex.Unlock()
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	see := func(object any, gone bool) {
		if configMap, ok := object.(*v1.ConfigMap); ok {
			w.see(watch, configMap, gone)
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
	if err == nil {
		err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *cache.Reflector, err error) {
			cache.DefaultWatchErrorHandler(ctx, reflector, err)
			w.seeFailure(watch, err)
		})
	}
	if err != nil {
		Report(err, "ConfigMaps of namespace", namespace)
		return
	}
	w.mutex.Lock()
	watch.isKnown = registration.HasSynced
	if w.life.Err() == nil { // Close waits for those that have begun before it
		w.informers.Add(1)
		go func() {
			defer w.informers.Done()
			informer.Run(ctx.Done())
		}()
	}
	w.mutex.Unlock()
	cache.WaitForCacheSync(patience.Done(), registration.HasSynced)
}

func (w *ConfigMaps) see(watch *namespaceWatch, configMap *v1.ConfigMap, gone bool) {
	text, err := objects.Text(objects.ConfigMap(configMap))
	if err != nil {
		Report(err, "ConfigMap", configMap.Name)
		return
	}
	if w.keep(watch, configMap, text, gone) && w.changed != nil {
		w.changed()
	}
}

// keep is false for an event of a watch that was stopped.
func (w *ConfigMaps) keep(watch *namespaceWatch, configMap *v1.ConfigMap, text []byte, gone bool) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.watched[configMap.Namespace] != watch {
		return false
	}
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
	return true
}

// seeFailure notes whether the API server refuses to tell, which is an answer, or does not answer.
func (w *ConfigMaps) seeFailure(watch *namespaceWatch, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch {
	case !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err):
		watch.refused = nil
	case watch.refused == nil:
		watch.refused, watch.since = err, time.Now()
	default:
		watch.refused = err
	}
}

// Unknown is why no devices' configuration holds yet, so that nothing may be decided: the API server has not shown it, or that
// there is none, or the one that there was at the start is refused, and nobody knows what was to be called a device.
func (w *ConfigMaps) Unknown() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if unseen := w.unseen(); unseen != nil {
		return unseen
	}
	if w.failure != nil && !w.isGood {
		return fmt.Errorf("the devices' configuration (ConfigMap %s) is refused, and there was no good one since the start: %w",
			w.wanted, w.failure)
	}
	return nil
}

// unseen is why the devices' configuration is not seen yet; nil when the API server has shown it, or that there is none. One that
// refuses to tell for a while has answered, too: the built-in configuration holds then until it tells. The mutex is held.
func (w *ConfigMaps) unseen() error {
	watch := w.watched[w.wanted.Namespace]
	switch {
	case watch == nil || watch.isKnown == nil || watch.isKnown():
		return nil
	case watch.refused == nil:
		return fmt.Errorf("the devices' configuration (ConfigMap %s) is not known yet: the API server has not answered",
			w.wanted)
	case time.Since(watch.since) < refusalPatience:
		return fmt.Errorf("the devices' configuration (ConfigMap %s) is not known yet: %w", w.wanted, watch.refused)
	case !watch.reported:
		watch.reported = true
		klog.ErrorS(watch.refused, "The devices' configuration cannot be read; the built-in one holds", "configMap", w.wanted)
	}
	return nil
}

// Await waits until some devices' configuration holds; `follow` calls FollowConfig.
func (w *ConfigMaps) Await(ctx context.Context, follow func()) error {
	for {
		follow()
		unknown := w.Unknown()
		if unknown == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), unknown)
		case <-time.After(awaitPause):
		}
	}
}

// FollowConfig has a cluster take the devices' configuration where that is seen and another one than before; one that is
// refused changes nothing. `options` are those of the cluster with such a configuration.
func (w *ConfigMaps) FollowConfig(cluster Configured, options func(deviceConfig string) vga.Options) {
	w.mutex.Lock()
	if w.unseen() != nil {
		w.mutex.Unlock()
		return
	}
	wanted, config := w.wanted, w.configs[w.wanted]
	changed := config != w.given
	w.given = config
	w.isGood = w.isGood || !changed && w.failure == nil // there is none
	w.mutex.Unlock()
	if !changed {
		return
	}
	err := cluster.Configure(options(config))
	w.mutex.Lock()
	w.failure = err
	w.isGood = w.isGood || err == nil
	isGood := w.isGood
	w.mutex.Unlock()
	switch {
	case err == nil:
		klog.InfoS("The devices' configuration holds from now on", "configMap", wanted)
		warn(options(config), wanted)
	case isGood:
		klog.ErrorS(err, "The devices' configuration is refused; the last that was good stays", "configMap", wanted)
	default:
		klog.ErrorS(err, "The devices' configuration is refused, and there was no good one since the start: no pod that may ask for "+
			"devices is placed", "configMap", wanted)
	}
}

// warn writes down what is said of a configuration that is not wrong, as of what it switches off.
func warn(options vga.Options, configMap types.NamespacedName) {
	alone, err := live.New(options, nil) // knows no objects, which have warnings of their own
	if err != nil {
		return
	}
	defer func() { _ = alone.Close() }() // has no log
	warnings, err := alone.Warnings()
	if err != nil {
		klog.ErrorS(err, "What there is to say of the devices' configuration is not known", "configMap", configMap)
	}
	for _, warning := range warnings {
		klog.Warningf("ConfigMap %s: %s", configMap, warning)
	}
}

// HasNews is whether FollowConfig has something to tell.
func (w *ConfigMaps) HasNews() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.configs[w.wanted] != w.given
}

// Failure is why the present configuration is refused; nil if it is followed.
func (w *ConfigMaps) Failure() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.failure
}

// FollowNodes tells a cluster what has changed in nodes' devices, in the order of the ConfigMaps' names.
func (w *ConfigMaps) FollowNodes(cluster ToldOfConfigMaps) {
	w.mutex.Lock()
	told, removed := w.told, w.removed
	w.told, w.removed = map[types.NamespacedName][]byte{}, map[types.NamespacedName]struct{}{}
	maps.DeleteFunc(removed, func(name types.NamespacedName, _ struct{}) bool {
		_, isHeld := w.held[name]
		return !isHeld
	})
	for name := range told {
		w.held[name] = struct{}{}
	}
	for name := range removed {
		delete(w.held, name)
	}
	w.mutex.Unlock()
	for _, name := range inOrder(told) {
		_, err := cluster.Tell(told[name])
		Report(err, "ConfigMap", name.String())
	}
	for _, name := range inOrder(removed) {
		Report(cluster.RemoveConfigMap(name.String()), "ConfigMap", name.String())
	}
}

func inOrder[Value any](named map[types.NamespacedName]Value) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(named), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
