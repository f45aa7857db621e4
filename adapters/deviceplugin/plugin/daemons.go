package plugin

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/mps"
)

// daemons are the control daemons of MPS that cards of this node need.
type daemons struct {
	*mps.Watcher // nil: no card needs one
	cards        map[string]bool
}

// startDaemons looks at the daemons before any card is offered, and then again and again.
func (s *session) startDaemons(ctx context.Context, run func(func(context.Context))) {
	cards := map[string]bool{}
	for _, card := range s.inventory.registered(func(string) bool { return true }) {
		if card.Mode == config.MPS {
			cards[card.UUID] = true
		}
	}
	if len(cards) == 0 {
		return
	}
	folders := map[string]string{}
	for _, offer := range s.offers {
		if offer.of == ofCount {
			folders[offer.resource] = s.plugin.options.Root + mps.PipeFolder(s.conf.Flags.MPSRoot, offer.resource)
		}
	}
	watcher := mps.New(mps.Options{Folders: folders, Ask: s.plugin.options.AskMPS, Interval: s.plugin.intervals.MPS, Report: s.plugin.reportMPS,
		Changed: func() { s.plugin.current.publish() }})
	watcher.Look(ctx)
	s.daemons = daemons{Watcher: watcher, cards: cards}
	run(watcher.Run)
}

// areUp: the daemons answer that the card needs.
func (d *daemons) areUp(uuid string) bool { return !d.cards[uuid] || d.Silent() == nil }

func (p *Plugin) reportMPS(resource string, err error) {
	if err == nil {
		klog.InfoS("The control daemon of MPS answers; cards of mode mps are offered", "resource", resource)
		p.event(v1.EventTypeNormal, "MPSDaemon", "the control daemon of MPS for "+resource+" answers")
		return
	}
	klog.ErrorS(err, "The control daemon of MPS does not answer; cards of mode mps are not offered until it does", "resource", resource)
	p.event(v1.EventTypeWarning, "MPSDaemon", fmt.Sprintf("the control daemon of MPS for %s does not answer, cards of mode mps are not offered: %v",
		resource, err))
}

// mpsDaemons says of each resource with cards of mode mps whether its daemon answers.
func (p *Plugin) mpsDaemons() map[string]bool {
	if session := p.current.get(); session != nil {
		return session.daemons.Answers()
	}
	return nil
}
