// Package plugin is the allocation core as a plugin of the Volcano scheduler. It uses framework.Plugin and the functions
// of framework.Session only. docs/scheduler.md has its arguments and what it writes.
package plugin

import (
	"errors"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// Name of the plugin in volcano-scheduler.conf.
const Name = "vgpualloc"

// Resources of devices that nodes do not offer or not under that name, so that sums over a node would refuse every pod
// that asks for them: the core sees to them. Upstream leaves out the memory of Ascend chips in the same way.
var resourcesOfTheCore = []string{
	"volcano.sh/vgpu-memory-percentage", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
	"huawei.com/Ascend310P-memory", "huawei.com/Ascend910A-memory", "huawei.com/Ascend910B-memory",
	"huawei.com/Ascend910B2-memory", "huawei.com/Ascend910B3-memory", "huawei.com/Ascend910B4-memory",
	"huawei.com/Ascend910B4-1-memory", "huawei.com/Ascend910C-memory",
}

// Volcano reads requests when pods and nodes enter its cache, which is before any plugin is made.
func init() { api.IgnoredDevicesList.AppendList(resourcesOfTheCore) }

// Engine is what stays from session to session: the core with all that it was told. One is made for a process.
type Engine struct {
	mutex    sync.Mutex
	cluster  *live.Cluster
	settings settings
	failure  error // why the arguments are not understood
	unusable bool  // they never were: pods that ask for devices are refused, and told why
	mirror   mirror
	config   *kube.ConfigMaps

	decisions sync.Map // *live.Decision by uid, of reservations and of pods that are being bound

	// OnCluster is called once with the cluster when it is made, as for its metrics. May be nil.
	OnCluster func(*live.Cluster)
}

// NewEngine makes the engine of a process.
func NewEngine() *Engine { return &Engine{mirror: newMirror()} }

// New makes the plugin of a session; it is a framework.PluginBuilder.
func (e *Engine) New(arguments framework.Arguments) framework.Plugin {
	return &plugin{engine: e, arguments: arguments}
}

// configure brings the core to the arguments of this session, and the devices' configuration of the cluster.
func (e *Engine) configure(arguments framework.Arguments, configurations []conf.Configuration,
	client kubernetes.Interface) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	wanted, err := readArguments(arguments, configurations)
	if err == nil && client != nil {
		if e.config == nil {
			e.config = kube.NewConfigMaps(client, nil)
		}
		e.config.Watch(wanted.configNamespace, wanted.configName, wanted.mindCluster)
	}
	switch {
	case err == nil && (e.cluster == nil || e.unusable):
		err = nameArgument(e.start(wanted), arguments)
	case err == nil && wanted != e.settings:
		err = nameArgument(e.cluster.Configure(wanted.options("", e.cluster.Options().DeviceConfig)), arguments)
		if err == nil {
			if wanted.decisionLog != e.settings.decisionLog || wanted.logLimit != e.settings.logLimit {
				klog.InfoS("Another decision log holds from the next start of the scheduler", "argument", logArgument,
					"now", e.settings.decisionLog, "then", wanted.decisionLog)
			}
			e.settings = wanted
			e.mirror.reread = true
		}
	}
	if err != nil && (e.failure == nil || e.failure.Error() != err.Error()) {
		if e.cluster == nil || e.unusable {
			klog.ErrorS(err, "The arguments of plugin vgpualloc are refused; no pod that asks for devices is placed until they are good")
		} else {
			klog.ErrorS(err, "The arguments of plugin vgpualloc are refused; the last that were good stay")
		}
	}
	e.failure = err
	if e.cluster == nil { // which pods ask for devices has to be known all the same
		e.unusable = true
		if e.cluster, err = live.New(vga.Options{}, nil); err != nil {
			return err
		}
	}
	if e.unusable {
		return e.failure
	}
	if e.config != nil {
		e.mirror.reread = e.mirror.reread || e.config.HasNews()
		e.config.FollowConfig(e.cluster, func(config string) vga.Options { return e.settings.options("", config) })
		if unknown := e.config.Unknown(); unknown != nil {
			return &notKnownYet{unknown}
		}
	}
	return nil
}

func (e *Engine) start(wanted settings) error {
	var log *decisionlog.Log
	var err error
	if wanted.decisionLog != "" {
		if log, err = decisionlog.Open(wanted.decisionLog, wanted.logLimit); err != nil {
			klog.ErrorS(err, "No decision log is written", "argument", logArgument)
			log = nil // pods are worth more
		}
	}
	cluster, err := live.New(wanted.options("", ""), log)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	if e.unusable {
		_ = e.cluster.Close() // has no log
		e.mirror = newMirror()
	}
	e.cluster, e.settings, e.unusable = cluster, wanted, false
	if e.OnCluster != nil {
		e.OnCluster(cluster)
	}
	return nil
}

// ConfigFailure is why the present devices' configuration is not followed; nil if it is.
func (e *Engine) ConfigFailure() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.config == nil {
		return nil
	}
	return e.config.Failure()
}

// Explain says why a pod goes where it goes, or nowhere: JSON as `vgpusim explain --json` prints it. False if there is no
// such pod.
func (e *Engine) Explain(namespace, name string) (string, bool, error) {
	e.mutex.Lock()
	uid, known := e.mirror.uid(namespace, name)
	cluster := e.cluster
	e.mutex.Unlock() // an explanation takes a while, and sessions go on
	if !known || cluster == nil {
		return "", false, nil
	}
	text, err := cluster.Explain(uid)
	return text, true, err
}

// Close ends the watches of ConfigMaps and the decision log.
func (e *Engine) Close() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.config != nil {
		e.config.Close()
	}
	if e.cluster == nil {
		return nil
	}
	return e.cluster.Close()
}
