// Package scenario has what is done with a cluster: a small library (this file and its neighbours), and the scenarios on it.
package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"volcano.sh/apis/pkg/client/clientset/versioned"

	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/control"
	"vgpualloc.example/adapters/scheduler/e2e/kubelet"
	"vgpualloc.example/adapters/scheduler/e2e/measure"
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
	Label    string        // of the scheduler, in the summary
}

// A session that finished may have begun before the last change, so that one is not enough.
const sessionsToSettle = 3

// Env is a running control plane with a node side, and clients.
type Env struct {
	Options
	Plane    *control.Plane
	Client   kubernetes.Interface
	Volcano  versioned.Interface // nil with a kube-scheduler: no gangs then, and none of Volcano's resources
	Recorder *measure.Recorder
	Kubelet  *kubelet.Kubelet
	Pods     corelisters.PodLister
	Random   *rand.Rand

	end     context.CancelFunc
	workers sync.WaitGroup
	began   time.Time

	mutex    sync.Mutex
	members  map[string]int // pods of each PodGroup that are to come or there
	orphaned chan string    // PodGroups without pods
	names    int
	evicted  map[string]bool
	came     map[string]int  // pods by kind
	bound    map[string]int  // of these, those that have ever had a node
	crashes  []string        // the ends of logs
	watched  atomic.Bool     // the scheduler is to run; if it ends, that is a crash
	removed  map[string]bool // pods that the scenario itself told to end
	tried    int             // looks at kube-scheduler at which it had tried every pod
}

// Open starts etcd and kube-apiserver and prepares the cluster. The scheduler is started by StartScheduler.
func Open(ctx context.Context, options Options) (*Env, error) {
	plane, err := control.New(options.Control)
	if err != nil {
		return nil, err
	}
	env := &Env{Options: options, Plane: plane, Random: rand.New(rand.NewSource(options.Seed)), began: time.Now(),
		members: map[string]int{}, orphaned: make(chan string, 100000), evicted: map[string]bool{}, removed: map[string]bool{},
		came: map[string]int{}, bound: map[string]int{}}
	env.Say("starting etcd and kube-apiserver in %s", options.Control.Dir)
	if err := plane.Start(ctx); err != nil {
		plane.Stop()
		return nil, err
	}
	if err := env.connect(ctx); err != nil {
		env.Close()
		return nil, err
	}
	return env, nil
}

// openWithNodes is Open with nodes of every kind, and a scheduler that runs.
func openWithNodes(ctx context.Context, options Options) (*Env, error) {
	env, err := Open(ctx, options)
	if err != nil {
		return nil, err
	}
	if err = env.AddNodes(ctx); err == nil {
		err = env.StartScheduler(ctx)
	}
	if err != nil {
		env.Close()
		return nil, err
	}
	return env, nil
}

func (env *Env) connect(ctx context.Context) error {
	config := env.Plane.Config()
	binary := rest.CopyConfig(config)
	binary.ContentType, binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	var err error
	if env.Client, err = kubernetes.NewForConfig(binary); err != nil {
		return err
	}
	if env.Control.Extender == "" {
		if env.Volcano, err = versioned.NewForConfig(config); err != nil {
			return err
		}
	}
	if err := env.prepareCluster(ctx, config); err != nil {
		return fmt.Errorf("preparing the cluster: %w", err)
	}
	factory := informers.NewSharedInformerFactory(env.Client, 0)
	pods := factory.Core().V1().Pods()
	env.Pods = pods.Lister()
	if env.Recorder, err = measure.NewRecorder(pods.Informer()); err != nil {
		return err
	}
	if env.Kubelet, err = kubelet.New(env.Client, pods.Informer(), kubelet.Options{Ending: env.Ending, NodeLocks: env.Locks, Workers: 8}); err != nil {
		return err
	}
	if _, err = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { env.notice(&corev1.Pod{}, object.(*corev1.Pod)) },
		UpdateFunc: func(before, object any) { env.notice(before.(*corev1.Pod), object.(*corev1.Pod)) },
		DeleteFunc: func(object any) { env.forget(object) },
	}); err != nil {
		return err
	}
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	env.end = end
	env.workers.Add(3)
	go func() { defer env.workers.Done(); env.superviseScheduler(working) }()
	go func() { defer env.workers.Done(); env.Kubelet.Run(working) }()
	go func() { defer env.workers.Done(); env.reapGroups(working) }()
	factory.Start(working.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return ctx.Err()
	}
	return nil
}

// Close ends everything that Open and the scenario have started.
func (env *Env) Close() {
	env.watched.Store(false)
	if env.end != nil {
		env.end()
		env.workers.Wait()
	}
	env.Plane.Stop()
}

// Say tells how far a scenario is.
func (env *Env) Say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "[%6.1f s] %s\n", time.Since(env.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// AddNode posts a node and what belongs to it.
func (env *Env) AddNode(ctx context.Context, node objects.NodeWithExtras) error {
	for _, config := range node.ConfigMaps {
		if err := again(ctx, func() error {
			_, err := env.Client.CoreV1().ConfigMaps(config.Namespace).Create(ctx, config, metav1.CreateOptions{})
			return err
		}); err != nil {
			return fmt.Errorf("ConfigMap %s: %w", config.Name, err)
		}
	}
	if err := again(ctx, func() error {
		_, err := env.Client.CoreV1().Nodes().Create(ctx, node.Node, metav1.CreateOptions{})
		return err
	}); err != nil {
		return fmt.Errorf("node %s: %w", node.Node.Name, err)
	}
	return nil
}

// AddNodes posts the nodes of every kind.
func (env *Env) AddNodes(ctx context.Context) error {
	for _, name := range env.Kinds {
		kind, err := objects.KindNamed(name)
		if err != nil {
			return err
		}
		if err := inParallel(env.Nodes, 8, func(i int) error {
			return env.AddNode(ctx, kind.Node(nodeName(kind.Name, i), env.Devices))
		}); err != nil {
			return err
		}
	}
	return nil
}

func nodeName(kind string, number int) string { return fmt.Sprintf("%s-%d", kind, number) }

// Check reads all objects from the API server and checks them.
func (env *Env) Check(ctx context.Context, options check.Options) (check.Report, error) {
	cluster, err := env.Cluster(ctx)
	if err != nil {
		return check.Report{}, err
	}
	report := check.Check(cluster, options)
	if env.Ledger && options.Settled {
		metrics, err := env.Plane.Metrics()
		if err != nil {
			return report, err
		}
		report.Violations = append(report.Violations, compareLedger(metrics, report)...)
	}
	return report, nil
}

// Cluster is what the API server tells now.
func (env *Env) Cluster(ctx context.Context) (check.Cluster, error) {
	var result check.Cluster
	err := again(ctx, func() error {
		pods, err := env.Client.CoreV1().Pods(objects.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		nodes, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		configMaps, err := env.Client.CoreV1().ConfigMaps("kube-system").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		result = check.Cluster{Nodes: pointers(nodes.Items), Pods: pointers(pods.Items), ConfigMaps: pointers(configMaps.Items)}
		if env.Volcano == nil {
			return nil
		}
		groups, err := env.Volcano.SchedulingV1beta1().PodGroups(objects.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		result.Groups = pointers(groups.Items)
		return nil
	})
	return result, err
}

// Settle waits until no pod has been bound or has gone for a while in which the scheduler had sessions, and no pod is on
// its way to run or to its end.
func (env *Env) Settle(ctx context.Context, quiet, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	seen, sessions, enough := -1, 0, false
	for {
		if now, err := env.sessions(); err == nil {
			// After a change, of the pods or of the scheduler's life, sessions are counted anew.
			if seen < 0 || now < seen || env.Recorder.Quiet() < 200*time.Millisecond {
				seen = now
			}
			sessions = now - seen
			enough = sessions >= sessionsToSettle
		}
		if enough && env.Recorder.Quiet() >= quiet && env.moving() == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not settled after %v: last change %v ago, %d sessions since, %d pods on their way", patience,
				env.Recorder.Quiet().Round(time.Millisecond), sessions, env.moving())
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// sessions counts how often the scheduler has tried all pods that wait: with Volcano its sessions; with a kube-scheduler,
// which has none, the looks at it at which it knew all pods that wait and had none of them yet to try. After the API server was
// away a kube-scheduler asks it again in ever longer intervals; until then it knows no new pods, so that its queues are empty.
func (env *Env) sessions() (int, error) {
	if env.Volcano != nil {
		return env.Plane.Sessions()
	}
	known, untried, err := env.Plane.Queues()
	if err == nil && untried == 0 && known >= env.Waiting() {
		env.tried++
	}
	return env.tried, err
}

// moving counts pods that are bound and do not run yet, and pods that have been told to end.
func (env *Env) moving() int {
	count := 0
	for _, pod := range env.list() {
		if pod.Spec.NodeName != "" && (pod.Status.Phase == corev1.PodPending || pod.DeletionTimestamp != nil) {
			count++
		}
	}
	return count
}

// write puts a summary into the output folder, as NAME.json.
func (env *Env) write(name string, summary any) error {
	text, err := json.MarshalIndent(summary, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(env.Out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(env.Out, name+".json")
	env.Say("summary in %s", path)
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// again repeats a request while the API server cannot be reached or has no time. A thing that is already there after a
// first try that seemed to fail was made by that try.
func again(ctx context.Context, request func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for try := 0; ; try++ {
		err := request()
		var status apierrors.APIStatus
		switch {
		case err == nil, try > 0 && apierrors.IsAlreadyExists(err):
			return nil
		case errors.As(err, &status) && !apierrors.IsServerTimeout(err) && !apierrors.IsTooManyRequests(err) &&
			!apierrors.IsInternalError(err) && !apierrors.IsServiceUnavailable(err) && !apierrors.IsForbidden(err):
			return err
		case time.Now().After(deadline):
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}

func pointers[T any](values []T) []*T {
	result := make([]*T, len(values))
	for i := range values {
		result[i] = &values[i]
	}
	return result
}

// inParallel calls work with 0 to count - 1, some at a time, and returns the first error.
func inParallel(count, atOnce int, work func(int) error) error {
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	failed := make(chan error, count)
	for i := range count {
		slots <- struct{}{}
		group.Add(1)
		go func() {
			defer func() { <-slots; group.Done() }()
			if err := work(i); err != nil {
				failed <- err
			}
		}()
	}
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}
