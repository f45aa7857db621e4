package plugin

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/layout"
)

// watcher tells schedulers of changes that take long, and everyone of cards that are withdrawn.
type watcher struct {
	session *session
	changes chan struct{}
}

func newWatcher(of *session) *watcher { return &watcher{session: of, changes: make(chan struct{}, 1)} }

// changed is layout.Options.Changed.
func (w *watcher) changed(string, layout.Service, string) {
	select {
	case w.changes <- struct{}{}:
	default:
	}
}

// run ends with the context. A change that ends soon is told to nobody.
func (w *watcher) run(ctx context.Context) {
	before := map[string]layout.Service{}
	isShown := false
	for {
		var timer <-chan time.Time
		changing := false
		isDifferent := false
		for _, gpu := range w.session.inventory.ofPods() {
			now := w.session.executor.Status(gpu.UUID).Service
			changing = changing || now == layout.Reconfiguring
			isDifferent = isDifferent || (now == layout.Withdrawn) != (before[gpu.UUID] == layout.Withdrawn)
			before[gpu.UUID] = now
		}
		switch {
		case isDifferent:
			w.session.publish()
		case !changing && isShown:
			isShown = false
			w.session.writer.Kick()
		case changing && !isShown:
			timer = time.After(reconfiguringShown)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.changes:
		case <-timer:
			isShown = true
			w.session.writer.Kick()
		}
	}
}

// reconfiguringShown is how long a card may be in the middle of a change before schedulers are told.
const reconfiguringShown = 500 * time.Millisecond

// startLayout makes the executor where some card is to be cut.
func (s *session) startLayout(run func(func(context.Context))) error {
	cards, areAny := s.inventory.registered(func(string) bool { return true }), false
	for i := range cards {
		areAny = areAny || cards[i].Mode == config.MIG
	}
	if !areAny {
		return nil
	}
	var err error
	if s.ledger, err = s.plugin.newLedger(s.conf.Node, s.deviceConfig, cards, s.conf.Resources); err != nil {
		return err
	}
	layouts := newWatcher(s)
	s.executor, err = layout.New(layout.Options{Library: s.plugin.library, Ledger: s.ledger, Node: s.conf.Node, Claim: s.ledger.claim,
		Geometry: s.geometry, Refresh: s.ledger.refresh, Changed: layouts.changed})
	if err != nil {
		return err
	}
	run(layouts.run)
	run(func(ctx context.Context) {
		s.ledger.follow(ctx, func() { s.repair(ctx) })
	})
	return nil
}

func (s *session) geometry(model, group string) (config.Geometry, bool) {
	if list := s.conf.GeometriesOf(model); list != nil {
		for _, geometry := range list.Groups {
			if geometry.Group == group {
				return geometry, true
			}
		}
	}
	return config.Geometry{}, false
}

// repair compares the hardware with the pods, once these are known.
func (s *session) repair(ctx context.Context) {
	findings, err := s.executor.Repair(ctx)
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "The MIG layouts could not be compared with the pods")
	}
	for _, finding := range findings {
		if finding.Err != nil || finding.Status.Service != layout.InService {
			klog.ErrorS(finding.Err, "A MIG layout does not agree with the pods", "gpu", finding.GPU, "service", finding.Status.Service,
				"reason", finding.Status.Reason)
			s.plugin.event(v1.EventTypeWarning, "MIGLayout", fmt.Sprintf("%s is %s: %s %v", finding.GPU, finding.Status.Service,
				finding.Status.Reason, finding.Err))
		}
	}
}
