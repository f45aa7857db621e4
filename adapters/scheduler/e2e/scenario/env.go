// Package scenario has what is done with a cluster: a small library (this file and its neighbours), and the scenarios on it.
package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"volcano.sh/apis/pkg/client/clientset/versioned"
	typedschedulingv1beta1 "volcano.sh/apis/pkg/client/clientset/versioned/typed/scheduling/v1beta1"

	"vgpualloc.example/adapters/scheduler/e2e/control"
	"vgpualloc.example/adapters/scheduler/e2e/kubelet"
	"vgpualloc.example/adapters/scheduler/e2e/measure"
	"vgpualloc.example/adapters/scheduler/e2e/node"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// Options are common to all scenarios.
type Options struct {
	Control  control.Options
	CRDs     string // folder of Volcano's CustomResourceDefinitions
	Kinds    []string
	Nodes    int // of each kind
	Devices  int // of each node
	Pods     int
	Rate     float64 // pods a second, 0 for as fast as it goes
	Seed     int64
	Ending   time.Duration // that pods take to end
	Kills    int
	Locks    bool          // the node side releases node locks
	Nudge    bool          // change all nodes after each start of the scheduler
	Ledger   bool          // the scheduler's metrics say what it has counted of each device
	Explains bool          // the scheduler says at /explain why a pod waits
	Profile  time.Duration // of the scheduler's CPU time from the first pod on; 0: none
	Only     string        // the faults to provoke, by comma; empty: all
	Out      string        // folder of the summary
	Rounds   int           // of scenario churn
	Real     *node.Options // what real nodes are made of; nil: nodes are played
	Rights   string        // file with the device plugin's account and roles on real nodes
	Factor   int           // MiB in a unit of memory on real nodes; the scenario sets it
	Label    string        // of the scheduler, in the summary
}

// Env is a running control plane with a node side, and clients.
type Env struct {
	Options
	ctx      context.Context // ends with the scenario
	Plane    *control.Plane
	Client   kubernetes.Interface
	Volcano  versioned.Interface // nil with a kube-scheduler: no gangs then, and none of Volcano's resources
	Recorder *measure.Recorder
	Kubelet  *kubelet.Kubelet
	Random   *rand.Rand

	kinds   []objects.Kind
	real    []*realNode
	rights  *pluginRights // of the device plugins on them
	known   corelisters.PodLister
	end     context.CancelFunc
	workers sync.WaitGroup
	began   time.Time
	names   int
	tried   int // looks at kube-scheduler at which it had tried every pod

	mutex    sync.Mutex
	members  map[string]int // pods of each PodGroup that are to come or there
	orphaned chan string    // PodGroups without pods
	crashes  []string       // the ends of logs
	watched  atomic.Bool    // the scheduler is to run; if it ends, that is a crash
}

// onCluster starts etcd and kube-apiserver, prepares the cluster, plays a scenario on it and ends everything.
func onCluster(ctx context.Context, options Options, scenario func(*Env)) error {
	plane, err := control.New(options.Control)
	if err != nil {
		return err
	}
	env := &Env{Options: options, Plane: plane, Random: rand.New(rand.NewSource(options.Seed)), began: time.Now(),
		Recorder: measure.NewRecorder(), members: map[string]int{}, orphaned: make(chan string, 100000)}
	env.ctx, env.end = context.WithCancel(ctx)
	defer env.close()
	return attempt(func() {
		env.Say("starting etcd and kube-apiserver in %s", options.Control.Dir)
		must(plane.Start(ctx))
		env.connect()
		scenario(env)
	})
}

// An outcome is what a scenario writes: the common summary and what it has of its own.
type outcome interface {
	print()
	verdict() error
}

// conduct plays a scenario with nodes of every kind and a scheduler that runs.
func conduct(ctx context.Context, options Options, name string, scenario func(*Env, *Summary) outcome) error {
	return judged(ctx, options, name, func(env *Env, summary *Summary) outcome {
		env.addNodes()
		must(env.StartScheduler())
		return scenario(env, summary)
	})
}

// judged plays a scenario on a cluster without nodes, and writes, prints and judges the outcome.
func judged(ctx context.Context, options Options, name string, scenario func(*Env, *Summary) outcome) error {
	var result outcome
	err := onCluster(ctx, options, func(env *Env) {
		result = scenario(env, env.summary(name))
		env.write(name, result)
	})
	if err != nil {
		return err
	}
	result.print()
	return result.verdict()
}

func (env *Env) connect() {
	for _, name := range env.Kinds {
		env.kinds = append(env.kinds, got(objects.KindNamed(name)))
	}
	config := env.Plane.Config()
	binary := rest.CopyConfig(config)
	binary.ContentType, binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	env.Client = got(kubernetes.NewForConfig(binary))
	if env.Control.Extender == "" {
		env.Volcano = got(versioned.NewForConfig(config))
	}
	within("preparing the cluster", func() { env.prepareCluster() })
	factory := informers.NewSharedInformerFactory(env.Client, 0)
	pods := factory.Core().V1().Pods()
	env.known = pods.Lister()
	env.Kubelet = kubelet.New(env.Client, env.known, kubelet.Options{Ending: env.Ending, NodeLocks: env.Locks, Workers: 8})
	got(pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { env.hear(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { env.hear(object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			env.gone(object.(*corev1.Pod))
		},
	}))
	env.work(env.superviseScheduler)
	if env.Real == nil {
		env.work(func() { env.Kubelet.Run(env.ctx) })
	}
	for range 8 {
		env.work(env.reapGroups)
	}
	factory.Start(env.ctx.Done())
	if !cache.WaitForCacheSync(env.ctx.Done(), pods.Informer().HasSynced) {
		must(env.ctx.Err())
	}
}

// hear is called with a pod that came or changed, as the API server tells.
func (env *Env) hear(pod *corev1.Pod) {
	env.Recorder.Hear(pod)
	if env.Real == nil {
		env.Kubelet.Hear(pod)
	}
}

// gone is called with a pod that has gone. Its group goes with the last, and nobody else removes it.
func (env *Env) gone(pod *corev1.Pod) {
	env.Recorder.Gone(pod)
	env.Kubelet.Gone(pod)
	group := pod.Annotations["scheduling.k8s.io/group-name"]
	env.mutex.Lock()
	defer env.mutex.Unlock()
	if _, known := env.members[group]; !known {
		return
	}
	if env.members[group]--; env.members[group] == 0 {
		delete(env.members, group)
		env.orphaned <- group
	}
}

// work starts what goes on until the scenario ends.
func (env *Env) work(worker func()) {
	env.workers.Add(1)
	go func() { defer env.workers.Done(); worker() }()
}

func (env *Env) close() {
	env.watched.Store(false)
	env.end()
	env.workers.Wait()
	for _, real := range env.real {
		real.Stop()
	}
	env.Plane.Stop()
}

func (env *Env) nodes() typedcorev1.NodeInterface { return env.Client.CoreV1().Nodes() }
func (env *Env) pods() typedcorev1.PodInterface   { return env.Client.CoreV1().Pods(objects.Namespace) }
func (env *Env) groups() typedschedulingv1beta1.PodGroupInterface {
	return env.Volcano.SchedulingV1beta1().PodGroups(objects.Namespace)
}

// Say tells how far a scenario is.
func (env *Env) Say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "[%6.1f s] %s\n", time.Since(env.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// addNode posts a node and what belongs to it.
func (env *Env) addNode(node objects.NodeWithExtras) error {
	for _, config := range node.ConfigMaps {
		if err := create(env.ctx, env.Client.CoreV1().ConfigMaps(config.Namespace), config); err != nil {
			return err
		}
	}
	return create(env.ctx, env.nodes(), node.Node)
}

// addNodes posts the nodes of every kind.
func (env *Env) addNodes() {
	for _, kind := range env.kinds {
		must(inParallel(env.Nodes, 8, func(i int) error { return env.addNode(kind.Node(nodeName(kind.Name, i), env.Devices)) }))
	}
}

func nodeName(kind string, number int) string { return fmt.Sprintf("%s-%d", kind, number) }

// write puts a summary into the output folder, as NAME-WHO.json.
func (env *Env) write(name string, summary any) {
	env.keep(name+"-"+env.Label+".json", string(got(json.MarshalIndent(summary, "", "  ")))+"\n")
	env.Say("summary in %s", filepath.Join(env.Out, name+"-"+env.Label+".json"))
}

// keep puts a file into the output folder.
func (env *Env) keep(name, text string) {
	must(os.MkdirAll(env.Out, 0o755))
	must(os.WriteFile(filepath.Join(env.Out, name), []byte(text), 0o644))
}
