package plugin

import (
	"context"
	"fmt"
	"maps"
	"path"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/allocate"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/kubelet"
	"vgpualloc.example/adapters/deviceplugin/layout"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// kubeletFolder has the plugins' sockets, whatever --kubelet-socket says: the kubelet looks for them there.
const kubeletFolder = "/var/lib/kubelet/device-plugins"

// session is what serves one configuration.
type session struct {
	*prepared
	plugin   *Plugin
	servers  []*kubelet.Server // of offers, in the same order
	writer   *register.Writer
	executor *layout.Executor // nil: no card is to be cut
	ledger   *ledger          // with executor
	pods     *pods
	daemons  daemons
	known    chan struct{} // closed when the ledger knows the pods and the hardware agrees with them
	alloc    *allocate.Allocator

	publishing sync.Mutex
	mutex      sync.Mutex
	registered map[string]bool               // resources, since all were
	slow       map[string]bool               // cards whose change takes long; replaced, never changed
	profiles   map[string][]register.Profile // of MIG cards, for HAMi; a list is replaced, never changed
}

// holder is the session that health is told to.
type holder struct {
	mutex   sync.Mutex
	session *session
}

func (h *holder) get() *session {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.session
}

func (h *holder) set(session *session) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.session = session
}

func (h *holder) publish() {
	if session := h.get(); session != nil {
		session.publish()
	}
}

func (h *holder) replace(gpu hardware.GPU) {
	if session := h.get(); session != nil {
		session.inventory.replace(gpu)
	}
}

// serve serves until the context ends or, with another configuration as its answer, until a reload.
func (p *Plugin) serve(ctx context.Context, what *prepared) (*prepared, error) {
	current := &session{prepared: what, plugin: p, registered: map[string]bool{}, known: make(chan struct{}),
		pods: newPods(p.options.Client, what.conf.Node)}
	current.writer = register.New(register.Options{Client: p.options.Client, Node: what.conf.Node, Schedulers: what.conf.Schedulers,
		Cards: current.shown, Liveness: what.conf.Flags.LivenessAnnotation, Interval: p.intervals.Register, Retry: p.intervals.RegisterRetry,
		Now: p.options.Now, Seen: current.repaired, Rounded: current.rounded})
	p.monitor.Follow(what.inventory.ofPods())
	running, stop := context.WithCancel(ctx)
	defer stop()
	goroutines := sync.WaitGroup{}
	run := func(work func(ctx context.Context)) {
		goroutines.Add(1)
		go func() {
			defer goroutines.Done()
			work(running)
		}()
	}
	failures := make(chan error, 8)
	var err error
	if len(what.inventory.cards) == 0 {
		klog.InfoS("There is no GPU for pods: nothing is registered")
		run(current.writer.Run)
		p.options.Observe("idle")
	} else if err = current.start(running, run, failures); err == nil {
		p.current.set(current)
	}
	var next *prepared
	for err == nil && next == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err = <-failures:
		case <-p.reload:
			if next, err = p.prepare(ctx); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "The new configuration is refused; the one before stays")
				p.event(v1.EventTypeWarning, "DevicePluginConfiguration", "the new configuration is refused: "+err.Error())
				next, err = what, nil // registered again all the same
			}
		}
	}
	if ctx.Err() != nil {
		next, err = nil, nil
	}
	stop()
	goroutines.Wait()
	p.current.set(nil)
	current.close(next == nil)
	return next, err
}

// start begins all that serves.
func (s *session) start(ctx context.Context, run func(func(context.Context)), failures chan<- error) error {
	p, flags := s.plugin, s.conf.Flags
	s.startDaemons(ctx, run)
	if err := s.startLayout(run); err != nil {
		return err
	}
	var cutters allocate.Instances
	if s.executor != nil {
		cutters = instances{s}
	}
	followed := make(chan struct{})
	s.alloc = allocate.New(allocate.Options{Config: s.conf, GPUs: s.inventory.gpus, Client: p.options.Client, Root: p.options.Root,
		Instances: cutters, Events: p.events, Now: p.options.Now, Random: p.options.Random,
		Assigned:  allocate.Checkpoint(p.options.Root + allocate.CheckpointPath),
		Preparing: allocate.KubeletPods(p.options.Root + allocate.PodResourcesPath), Retry: p.intervals.API,
		Heard: s.pods.hear, Gone: s.pods.forget, Followed: func() {
			s.pods.follows()
			close(followed)
		}})
	socket := flags.KubeletSocket
	if socket != "" {
		socket = p.options.Root + path.Clean(socket)
	}
	for _, offer := range s.offers {
		server := kubelet.New(kubelet.Options{Folder: p.options.Root + kubeletFolder, KubeletSocket: socket, Resource: offer.resource,
			Endpoint: offer.endpoint, Allocator: kubelet.Single(timed{s.alloc, p}), Prefer: s.alloc, Retry: p.intervals.KubeletRetry,
			Poll: p.intervals.KubeletPoll, Registered: func() { s.noteRegistered(offer.resource) },
			Updated: func(resource string) { p.options.Observe("updated " + resource) },
			Report:  func(what string, err error) { klog.ErrorS(err, "Trying again", "what", what) }})
		server.Set(s.inventory.devices(offer.of, s.isServed))
		s.servers = append(s.servers, server)
		run(func(ctx context.Context) {
			if err := server.Run(ctx); err != nil {
				failures <- err
			}
		})
	}
	run(func(ctx context.Context) {
		if err := s.alloc.Run(ctx); err != nil && ctx.Err() == nil {
			failures <- fmt.Errorf("following the pods: %w", err)
		}
	})
	run(s.writer.Run)
	run(func(ctx context.Context) {
		s.awaitLists(ctx)
		p.monitor.Run(ctx)
	})
	if s.executor != nil {
		run(func(ctx context.Context) {
			select {
			case <-followed:
				s.repairAgain(ctx, func() { close(s.known) })
			case <-ctx.Done():
			}
		})
	}
	return nil
}

// awaitLists waits until the kubelet has the lists, so that it sees each change of them.
func (s *session) awaitLists(ctx context.Context) {
	patience := time.NewTimer(s.plugin.intervals.Lists)
	defer patience.Stop()
	for _, server := range s.servers {
		select {
		case <-server.Listed():
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// isServed: pods may be started on the card.
func (s *session) isServed(uuid string) bool {
	return s.plugin.monitor.IsHealthy(uuid) && s.daemons.areUp(uuid) && (s.executor == nil || s.executor.Status(uuid).Service != layout.Withdrawn)
}

// shown are the cards as schedulers see them: one that has been in the middle of a change for long is not for new pods.
func (s *session) shown() []register.Card {
	s.mutex.Lock()
	slow, profiles := s.slow, maps.Clone(s.profiles)
	s.mutex.Unlock()
	cards := s.inventory.registered(func(uuid string) bool { return s.isServed(uuid) && !slow[uuid] })
	for i := range cards {
		cards[i].Profiles = profiles[cards[i].UUID]
	}
	return cards
}

func (s *session) setSlow(slow map[string]bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.slow = slow
}

// publish tells the kubelet and the schedulers how the cards are now.
func (s *session) publish() {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	for i, server := range s.servers {
		server.Set(s.inventory.devices(s.offers[i].of, s.isServed))
	}
	s.writer.Kick()
}

func (s *session) noteRegistered(resource string) {
	s.mutex.Lock()
	s.registered[resource] = true
	areAll := len(s.registered) == len(s.offers)
	if areAll {
		s.registered = map[string]bool{}
	}
	s.mutex.Unlock()
	s.plugin.metrics.Registered(resource)
	klog.InfoS("Registered with the kubelet", "resource", resource)
	if areAll {
		s.plugin.options.Observe("registered")
	}
}

func (s *session) rounded(err error) {
	s.plugin.metrics.Annotated(err)
	if err != nil {
		klog.ErrorS(err, "Schedulers could not be told of the cards; trying again")
	}
	s.plugin.options.Observe("annotated")
}

// repaired believes the node's annotation, and takes it away.
func (s *session) repaired(annotations map[string]string) {
	cards := repairedCards(annotations)
	if len(cards) == 0 {
		return
	}
	for _, uuid := range cards {
		s.plugin.monitor.Repaired(uuid)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	body := []byte(`{"metadata":{"annotations":{"` + repairedAnnotation + `":null}}}`)
	_, err := s.plugin.options.Client.CoreV1().Nodes().Patch(ctx, s.conf.Node, types.StrategicMergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		klog.ErrorS(err, "The annotation could not be taken away", "annotation", repairedAnnotation)
	}
}

// close ends what start began and, at the plugin's end, withdraws the registration.
func (s *session) close(isEnd bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if isEnd {
		if err := s.writer.Withdraw(ctx); err != nil {
			klog.ErrorS(err, "The registration could not be withdrawn")
		}
	}
	if s.executor != nil {
		if err := s.executor.Close(ctx); err != nil {
			klog.ErrorS(err, "The layout's calls have not ended")
		}
	}
	if s.ledger != nil {
		s.ledger.Close()
	}
}
