// Package service is the allocation core as an extender of kube-scheduler: which nodes take a pod, in which order, which
// pods have to go for it, and binding it with its devices. docs/extender.md has the protocol and the settings.
//
// Nothing is held between the questions about a pod and its binding. Binding decides again on the node that kube-scheduler
// took, and books before it asks the API server.
package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// Settings of a service.
type Settings struct {
	Options                     vga.Options // but for the devices' configuration, which the ConfigMap has
	ConfigNamespace, ConfigName string      // of the ConfigMap with the devices' configuration
	MindCluster                 bool        // whether ConfigMaps in which MindCluster says what its chips are get read
	DecisionLog                 string      // a path, or empty
	DecisionLogLimit            int64       // bytes from which on it begins anew; 0: never

	// SchedulerNames are those of the profiles that ask this extender. Annotations of their pods that are not bound come
	// from a scheduler that ended before it could bind them, and are taken back.
	SchedulerNames []string

	// Patience is how long a question about a pod waits for the pod to be known: kube-scheduler may see it earlier.
	Patience time.Duration
	// LookAgain are the waits between looks at a pod for which the answer to a binding was lost.
	LookAgain []time.Duration
}

// Defaults are settings for a cluster as Kubernetes makes it.
func Defaults() Settings {
	return Settings{
		ConfigNamespace: "kube-system", ConfigName: "volcano-vgpu-device-config",
		DecisionLogLimit: decisionlog.LimitMiB << 20,
		SchedulerNames:   []string{v1.DefaultSchedulerName},
		Patience:         time.Second,
		LookAgain:        []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond},
	}
}

// Service follows a cluster and answers kube-scheduler. Any number of goroutines may ask at once.
type Service struct {
	client   kubernetes.Interface
	cluster  core
	settings Settings
	config   *kube.ConfigMaps
	changed  chan struct{} // has something when ConfigMaps have changed
	ready    atomic.Bool
	learned  atomic.Int64 // when the typical pods were last looked at, in nanoseconds of Unix time

	mutex    sync.Mutex
	early    map[string]*v1.Node   // nodes of the beginning, by name, until all are known; nil afterwards
	pods     map[types.UID]*v1.Pod // as objects.Pod has them, with the resource version
	uids     map[types.NamespacedName]types.UID
	unbound  map[types.UID]struct{}            // pods without a node
	onNode   map[string]map[types.UID]struct{} // pods with one that have not ended
	binding  map[types.UID]bindingState        // pods that kube-scheduler had bound and that are not shown as bound yet
	cleaning map[types.UID]struct{}            // pods whose annotations are being removed
	chosen   candidates
	news     chan struct{} // closed when a pod is new

	life       context.Context // ends with Close
	end        context.CancelFunc
	closed     bool           // nothing more begins in the background; under the mutex
	background sync.WaitGroup // of what Close waits for
}

type bindingState int

const (
	bindingNow       bindingState = iota + 1 // a goroutine is at it
	bindingDone                              // the API server said so
	bindingUncertain                         // nobody knows whether the API server did it; the devices stay reserved
)

// New makes a service that follows nothing yet. The decision log is opened when all else is good.
func New(client kubernetes.Interface, settings Settings) (*Service, error) {
	tried, err := vga.New(settings.Options)
	if err != nil {
		return nil, err
	}
	tried.Close()
	var log *decisionlog.Log
	if settings.DecisionLog != "" {
		if log, err = decisionlog.Open(settings.DecisionLog, settings.DecisionLogLimit); err != nil {
			return nil, err
		}
	}
	cluster, err := live.New(settings.Options, log)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return newService(client, settings, libraryCore{cluster}), nil
}

func newService(client kubernetes.Interface, settings Settings, cluster core) *Service {
	changed := make(chan struct{}, 1)
	config := kube.NewConfigMaps(client, func() {
		select {
		case changed <- struct{}{}:
		default: // somebody is about to look
		}
	})
	life, end := context.WithCancel(context.Background())
	return &Service{
		life: life, end: end, config: config, changed: changed, client: client, cluster: cluster, settings: settings,
		early: map[string]*v1.Node{}, pods: map[types.UID]*v1.Pod{}, uids: map[types.NamespacedName]types.UID{},
		unbound: map[types.UID]struct{}{}, onNode: map[string]map[types.UID]struct{}{}, binding: map[types.UID]bindingState{},
		cleaning: map[types.UID]struct{}{}, chosen: candidates{of: map[types.UID][]string{}},
		news: make(chan struct{}),
	}
}

// Cluster is what the service decides on.
func (s *Service) Cluster() *live.Cluster { return s.cluster.(libraryCore).Cluster }

// Ready is whether everything that there was at the beginning is known.
func (s *Service) Ready() bool { return s.ready.Load() }

// notReady is why nobody is answered yet; nil if the service is ready.
func (s *Service) notReady() error {
	if s.Ready() {
		return nil
	}
	if unknown := s.config.Unknown(); unknown != nil {
		return unknown
	}
	return errors.New("the cluster's objects are not known yet")
}

// Close has Follow end, waits for it and for what goes on in the background, and ends the decision log. Questions after that
// have the answer vga.Closed, also that of a binding that still waits for the API server.
func (s *Service) Close() error {
	s.mutex.Lock()
	s.closed = true
	s.mutex.Unlock()
	s.end()
	s.config.Close()
	s.background.Wait()
	return s.cluster.Close()
}

// inBackground runs what Close waits for. False after Close: it was not begun. The mutex is held.
func (s *Service) inBackground(work func()) bool {
	if s.closed {
		return false
	}
	s.background.Add(1)
	go func() {
		defer s.background.Done()
		work()
	}()
	return true
}

// Explain says why a pod goes where it goes, or nowhere: JSON as `vgpusim explain --json` prints it. False if there is no
// such pod.
func (s *Service) Explain(namespace, name string) (string, bool, error) {
	s.mutex.Lock()
	uid, known := s.uids[types.NamespacedName{Namespace: namespace, Name: name}]
	s.mutex.Unlock()
	if !known {
		return "", false, nil
	}
	text, err := s.cluster.Explain(string(uid))
	return text, true, err
}

// BadRequest is a question that makes no sense, now or at all.
type BadRequest struct{ why string }

func (b *BadRequest) Error() string { return b.why }

func badRequest(format string, values ...any) error {
	return &BadRequest{fmt.Sprintf(format, values...)}
}

// known is a pod that kube-scheduler asks about, as it was told here. It may take some time until that happens.
func (s *Service) known(ctx context.Context, namespace, name string, uid types.UID) (*v1.Pod, error) {
	if uid == "" || name == "" || namespace == "" {
		return nil, badRequest("pod %q of namespace %q with uid %q: expected all three", name, namespace, uid)
	}
	patience := time.NewTimer(s.settings.Patience)
	defer patience.Stop()
	for {
		s.mutex.Lock()
		pod, other, news := s.pods[uid], s.uids[types.NamespacedName{Namespace: namespace, Name: name}], s.news
		s.mutex.Unlock()
		if pod != nil && (pod.Namespace != namespace || pod.Name != name) {
			return nil, badRequest("uid %s is that of pod %s, not of %s/%s", uid, fullName(pod), namespace, name)
		}
		if pod != nil {
			return pod, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience.C:
			if other != "" {
				return nil, badRequest("pod %s/%s has uid %s: expected %s, another pod of that name", namespace, name, uid, other)
			}
			return nil, badRequest("pod %s/%s with uid %s is not known here", namespace, name, uid)
		}
	}
}

func fullName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// waiting makes sure that a pod which kube-scheduler asks about has nothing: what it has comes from a scheduler that
// ended before it could bind the pod, or of a binding that failed so that nobody knew.
func (s *Service) waiting(ctx context.Context, pod *v1.Pod) error {
	s.mutex.Lock()
	state := s.binding[pod.UID]
	if state == bindingUncertain {
		s.binding[pod.UID] = bindingNow // for others that ask meanwhile
	}
	s.mutex.Unlock()
	switch state {
	case bindingUncertain:
		if err := s.settle(ctx, pod); err != nil {
			return err
		}
	case bindingNow, bindingDone:
		return fmt.Errorf("pod %s is being bound", fullName(pod))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if present := s.pods[pod.UID]; present != nil && present.Spec.NodeName != "" {
		return fmt.Errorf("pod %s is bound to node %s already", fullName(pod), present.Spec.NodeName)
	}
	s.takeBack(pod)
	return nil
}

// settle finds out what became of a binding that nobody knew about.
func (s *Service) settle(ctx context.Context, pod *v1.Pod) error {
	present, err := s.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err != nil {
		s.binding[pod.UID] = bindingUncertain
		return fmt.Errorf("pod %s: whether it was bound is not known: %w", fullName(pod), err)
	}
	if present.UID == pod.UID && present.Spec.NodeName != "" {
		s.endBinding(pod, bindingDone)
		return fmt.Errorf("pod %s is bound to node %s already", fullName(pod), present.Spec.NodeName)
	}
	s.endBinding(pod, 0)
	return nil
}

// takeBack frees what a pod has that is not bound, and removes the annotations that say so. The mutex is held.
func (s *Service) takeBack(pod *v1.Pod) {
	uid := string(pod.UID)
	if present := s.pods[pod.UID]; present == nil || present.Spec.NodeName != "" || s.binding[pod.UID] != 0 {
		return
	}
	if state, _ := s.cluster.Pod(uid); state != vga.PodCommitted {
		return
	}
	written, err := s.cluster.Annotations(uid, time.Now())
	kube.Report(err, "pod", fullName(pod))
	kube.Report(s.cluster.Release(uid), "pod", fullName(pod))
	s.clean(pod, written)
}

// clean removes annotations of a pod in the background, unless it has changed since. The mutex is held.
func (s *Service) clean(pod *v1.Pod, written map[string]string) {
	present := s.pods[pod.UID]
	if _, busy := s.cleaning[pod.UID]; busy || present == nil {
		return
	}
	removed := map[string]any{}
	for name := range written {
		if _, has := present.Annotations[name]; has {
			removed[name] = nil
		}
	}
	if len(removed) == 0 {
		return
	}
	s.cleaning[pod.UID] = struct{}{}
	s.inBackground(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		err := kube.Annotate(ctx, s.client, present.ObjectMeta, removed)
		s.mutex.Lock()
		delete(s.cleaning, pod.UID)
		s.mutex.Unlock()
		if err != nil { // it has changed, and then it is looked at again
			klog.V(2).InfoS("Annotations of a pod that is not bound stay for now", "pod", klog.KObj(present), "err", err)
			return
		}
		klog.InfoS("Annotations of a pod that was never bound are removed", "pod", klog.KObj(present))
	})
}

// isOurs is whether the pod is one of the schedulers that ask here.
func (s *Service) isOurs(pod *v1.Pod) bool {
	return slices.Contains(s.settings.SchedulerNames, pod.Spec.SchedulerName)
}

// learn looks at the pods that are there, about once a second.
func (s *Service) learn() {
	now, last := time.Now().UnixNano(), s.learned.Load()
	if now-last < int64(time.Second) || !s.learned.CompareAndSwap(last, now) {
		return
	}
	kube.Report(s.cluster.Learn(), "workload", "")
}

// candidatesMax is how many pods' candidates are kept: a scheduler asks about one pod at a time, and binds few at once.
const candidatesMax = 256

// candidates are the nodes that pods could go to when kube-scheduler asked last.
type candidates struct {
	of    map[types.UID][]string
	order []types.UID // oldest first; also of pods that are gone from `of`
}

func (c *candidates) keep(uid types.UID, nodes []string) {
	if _, known := c.of[uid]; !known {
		c.order = append(c.order, uid)
	}
	c.of[uid] = nodes
	for len(c.order) > candidatesMax {
		delete(c.of, c.order[0])
		c.order = c.order[1:]
	}
}

func (c *candidates) take(uid types.UID) []string {
	nodes := c.of[uid]
	delete(c.of, uid)
	return nodes
}
