package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/layout"
	"vgpualloc.example/adapters/deviceplugin/pause"
)

// watcher tells schedulers of changes that take long, and everyone of cards that are withdrawn.
type watcher struct {
	session *session
	changes chan struct{}
	began   map[string]time.Time // changes that are under way
}

func newWatcher(of *session) *watcher {
	return &watcher{session: of, changes: make(chan struct{}, 1), began: map[string]time.Time{}}
}

// changed is layout.Options.Changed.
func (w *watcher) changed(string, layout.Service, string) {
	select {
	case w.changes <- struct{}{}:
	default:
	}
}

// time counts changes for the metrics; a short one may be missed.
func (w *watcher) time(uuid string, status layout.Status) {
	began, isUnderWay := w.began[uuid]
	switch {
	case status.Service == layout.Reconfiguring && !isUnderWay:
		w.began[uuid] = time.Now()
	case status.Service != layout.Reconfiguring && isUnderWay:
		delete(w.began, uuid)
		var err error
		if status.Service == layout.Withdrawn {
			err = errors.New(status.Reason)
		}
		w.session.plugin.metrics.Changed(time.Since(began), err)
	}
}

// run ends with the context. A change that ends soon is told to nobody.
func (w *watcher) run(ctx context.Context) {
	before, shown := map[string]layout.Service{}, map[string]bool{}
	for {
		isDifferent, soonest := false, time.Duration(-1)
		slow := map[string]bool{}
		for _, gpu := range w.session.inventory.ofPods() {
			status := w.session.executor.Status(gpu.UUID)
			w.time(gpu.UUID, status)
			isDifferent = isDifferent || (status.Service == layout.Withdrawn) != (before[gpu.UUID] == layout.Withdrawn)
			before[gpu.UUID] = status.Service
			if status.Service != layout.Reconfiguring {
				continue
			}
			if left := reconfiguringShown - time.Since(w.began[gpu.UUID]); left <= 0 {
				slow[gpu.UUID] = true
			} else if soonest < 0 || left < soonest {
				soonest = left
			}
		}
		w.session.setSlow(slow)
		switch {
		case isDifferent:
			w.session.publish()
		case !maps.Equal(shown, slow):
			w.session.writer.Kick()
		}
		shown = slow
		var timer <-chan time.Time
		if soonest >= 0 {
			timer = time.After(soonest)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.changes:
		case <-timer:
		}
	}
}

// reconfiguringShown is how long a card may be in the middle of a change before schedulers are told.
const reconfiguringShown = 500 * time.Millisecond

// startLayout makes the executor where some card is to be cut.
func (s *session) startLayout(run func(func(context.Context))) error {
	cards, factor := s.inventory.registered(func(string) bool { return true }), 0
	for i := range cards {
		if cards[i].Mode == config.MIG && factor == 0 {
			factor = cards[i].MemoryFactor
		}
	}
	if factor == 0 {
		return nil
	}
	deviceConfig, err := s.conf.ForCore(factor)
	if err != nil {
		return err
	}
	if s.ledger, err = newLedger(s.conf, deviceConfig, cards, s.pods); err != nil {
		return err
	}
	layouts := newWatcher(s)
	s.executor, err = layout.New(layout.Options{Library: s.plugin.library, Ledger: s.ledger, Node: s.conf.Node, Claim: s.ledger.claim,
		Geometry: s.geometry, Refresh: s.pods.refresh, Changed: layouts.changed,
		MayEnable: s.isCut, Patience: s.plugin.intervals.Patience})
	if err != nil {
		return err
	}
	run(layouts.run)
	return nil
}

// isCut: the configuration has the card in mode mig.
func (s *session) isCut(uuid string) bool {
	s.inventory.mutex.Lock()
	defer s.inventory.mutex.Unlock()
	for i := range s.inventory.cards {
		if s.inventory.cards[i].gpu.UUID == uuid {
			return s.inventory.cards[i].conf.Mode == config.MIG
		}
	}
	return false
}

// instances has MIG instances made once the pods are known that hold others.
type instances struct{ *session }

// Instance is layout.Executor's.
func (i instances) Instance(ctx context.Context, uuid string, geometry config.Geometry, position int) (string, error) {
	select {
	case <-i.known:
		return i.executor.Instance(ctx, uuid, geometry, position)
	case <-ctx.Done():
		return "", fmt.Errorf("GPU %s: the pods of this node are not known yet: %w", uuid, ctx.Err())
	}
}

// repairAgain repairs until the context ends, so that cards come back that were withdrawn. It calls once after the first time.
func (s *session) repairAgain(ctx context.Context, once func()) {
	reported := map[string]string{}
	for ctx.Err() == nil {
		s.repair(ctx, reported)
		s.readProfiles(ctx, reported)
		if ctx.Err() == nil && once != nil {
			once()
			once = nil
		}
		pause.For(ctx, s.plugin.intervals.Repair)
	}
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

// repair compares the hardware with the pods, once these are known. What was reported before is not reported again.
func (s *session) repair(ctx context.Context, reported map[string]string) {
	findings, err := s.executor.Repair(ctx)
	if err != nil && ctx.Err() == nil {
		klog.ErrorS(err, "The MIG layouts could not be compared with the pods")
	}
	for _, finding := range findings {
		text := wordsOf(finding)
		isNew := reported[finding.GPU] != text
		reported[finding.GPU] = text
		if ctx.Err() != nil || !isNew {
			continue
		}
		if finding.Err != nil || finding.Status.Service != layout.InService {
			klog.ErrorS(finding.Err, "A MIG layout does not agree with the pods", "gpu", finding.GPU, "service", finding.Status.Service,
				"reason", finding.Status.Reason)
			s.plugin.event(v1.EventTypeWarning, "MIGLayout", text)
		}
	}
}

// wordsOf is what an operator is told of a finding.
func wordsOf(finding layout.Finding) string {
	text := finding.GPU + " is " + finding.Status.Service.String()
	if finding.Status.Reason != "" {
		text += ": " + finding.Status.Reason
	}
	if finding.Err != nil {
		text += ": " + finding.Err.Error()
	}
	return text
}
