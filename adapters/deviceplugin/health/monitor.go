package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/pause"
)

// Options are what a Monitor is made with.
type Options struct {
	Library           hardware.Library
	Disabled, Enabled string        // DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS
	StateFile         string        // where the state is kept, on this machine; empty: nowhere
	BootFile          string        // the kernel's name of this boot; a state of another one is forgotten
	Wait              time.Duration // for one event; 0: 5 s
	Recheck           time.Duration // between looks at cards that are not healthy; 0: 30 s
	Quiet             time.Duration // without an event, until a card may be healthy again; 0: 5 min
	Now               func() time.Time
	// Changed is called for each card that an event is about, also one that was not healthy before, and when a card has come back.
	Changed func()
	Read    func(gpu hardware.GPU)       // what the library says of a card that has come back
	Handled func()                       // after each event
	Event   func(event hardware.Event)   // each, before it is judged
	Report  func(what string, err error) // what an operator should know
}

// Monitor knows which cards are healthy. Its methods may be called from any goroutine, Run from one.
type Monitor struct {
	options Options
	rules   rules

	mutex sync.Mutex
	uuids []string         // in the order of the cards
	sick  map[string]*Card // those that are not healthy
}

// Card is why a card is not healthy, and what was seen since.
type Card struct {
	Reason string    `json:"reason"`
	Xid    uint64    `json:"xid,omitempty"`
	Since  time.Time `json:"since"`
	Last   time.Time `json:"last"` // event, or failed look
	// Away: it was seen to be gone or unreadable since, as a card is that is being reset.
	Away bool `json:"away,omitempty"`
	// Suspect: the driver could not say which card it was.
	Suspect bool `json:"suspect,omitempty"`

	unwatched bool // the driver does not watch it
	fault     bool // the library could not read it when the plugin started
}

// New reads the state that is kept.
func New(options Options) *Monitor {
	for _, interval := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&options.Wait, 5 * time.Second}, {&options.Recheck, 30 * time.Second}, {&options.Quiet, 5 * time.Minute}} {
		if *interval.value <= 0 {
			*interval.value = interval.fallback
		}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	for _, callback := range []*func(){&options.Changed, &options.Handled} {
		if *callback == nil {
			*callback = func() {}
		}
	}
	if options.Read == nil {
		options.Read = func(hardware.GPU) {}
	}
	if options.Event == nil {
		options.Event = func(hardware.Event) {}
	}
	if options.Report == nil {
		options.Report = func(string, error) {}
	}
	monitor := &Monitor{options: options, rules: newRules(options.Disabled, options.Enabled), sick: map[string]*Card{}}
	monitor.load()
	return monitor
}

// Follow names the cards. Those with a fault are not healthy until the library can read them.
func (m *Monitor) Follow(gpus []hardware.GPU) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.uuids = nil
	for i := range gpus {
		gpu := &gpus[i]
		m.uuids = append(m.uuids, gpu.UUID)
		known := m.sick[gpu.UUID]
		if gpu.Fault != nil && known == nil {
			now := m.options.Now()
			m.sick[gpu.UUID] = &Card{Reason: gpu.Fault.Error(), Since: now, Last: now, fault: true}
		}
	}
}

// IsHealthy says whether pods may be started on a card.
func (m *Monitor) IsHealthy(uuid string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.sick[uuid] == nil
}

// Sick is why a card is not healthy.
func (m *Monitor) Sick(uuid string) (Card, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if card := m.sick[uuid]; card != nil {
		return *card, true
	}
	return Card{}, false
}

// Run follows events and looks at cards again until the context ends.
func (m *Monitor) Run(ctx context.Context) {
	for _, list := range []struct {
		name string
		set  xidSet
	}{{"DP_DISABLE_HEALTHCHECKS", m.rules.disabled}, {"DP_ENABLE_HEALTHCHECKS", m.rules.enabled}} {
		if len(list.set.leftOut) > 0 {
			m.options.Report(list.name, fmt.Errorf("%q left out: expected numbers of Xid errors joined by commas, or all", list.set.leftOut))
		}
	}
	if m.rules.isOff() {
		m.options.Report("health checks are switched off by DP_DISABLE_HEALTHCHECKS", nil)
	}
	var watch hardware.Watch
	defer func() {
		if watch != nil {
			_ = watch.Close()
		}
	}()
	isTried := false
	looked := m.options.Now()
	for ctx.Err() == nil {
		if watch == nil && !isTried && !m.rules.isOff() {
			watch, isTried = m.watch(), true
		}
		if watch == nil {
			pause.For(ctx, min(m.options.Wait, m.options.Recheck))
		} else if event, isOne, err := watch.Next(ctx, min(m.options.Wait, m.options.Recheck)); ctx.Err() != nil {
			return
		} else if err != nil {
			m.lose(err)
			_ = watch.Close()
			watch = nil
			pause.For(ctx, m.options.Wait)
		} else if isOne {
			m.options.Event(event)
			m.handle(event)
			m.options.Handled()
		}
		if now := m.options.Now(); now.Sub(looked) >= m.options.Recheck {
			looked = now
			if m.look() && watch != nil {
				_ = watch.Close() // some card is not watched: all are registered again
				watch = nil
			}
			isTried = false
		}
	}
}

// watch has the driver report events; nil: it does not.
func (m *Monitor) watch() hardware.Watch {
	m.mutex.Lock()
	uuids := append([]string{}, m.uuids...)
	m.mutex.Unlock()
	watch, failures, err := m.options.Library.Watch(uuids)
	if err != nil {
		m.options.Report("health cannot be watched", err)
		return nil
	}
	for _, uuid := range uuids {
		switch failure := failures[uuid]; {
		case failure == nil:
			m.watched(uuid)
		case errors.Is(failure, hardware.ErrUnsupported):
			m.options.Report("card "+uuid+" is too old to be watched", failure)
		default:
			m.mark(uuid, Card{Reason: fmt.Sprintf("cannot be watched: %v", failure), unwatched: true})
		}
	}
	return watch
}

// watched: a card that was not healthy only because it could not be watched is so again.
func (m *Monitor) watched(uuid string) {
	m.mutex.Lock()
	card := m.sick[uuid]
	isBack := card != nil && card.unwatched && card.Xid == 0 && !card.fault
	if isBack {
		delete(m.sick, uuid)
	} else if card != nil {
		card.unwatched = false
	}
	m.mutex.Unlock()
	if isBack {
		m.options.Changed()
	}
}

// lose: nothing is known any more of any card.
func (m *Monitor) lose(err error) {
	m.options.Report("waiting for events of the driver", err)
	m.mutex.Lock()
	uuids := append([]string{}, m.uuids...)
	m.mutex.Unlock()
	for _, uuid := range uuids {
		if m.IsHealthy(uuid) {
			m.mark(uuid, Card{Reason: fmt.Sprintf("events cannot be waited for: %v", err), Suspect: true})
		}
	}
}

func (m *Monitor) handle(event hardware.Event) {
	if event.Kind != hardware.XidCritical || !m.rules.counts(event.Xid) {
		return
	}
	m.mutex.Lock()
	uuids := append([]string{}, m.uuids...)
	m.mutex.Unlock()
	for _, uuid := range uuids {
		if event.UUID == "" || event.UUID == uuid {
			m.mark(uuid, Card{Reason: fmt.Sprintf("Xid %d", event.Xid), Xid: event.Xid, Suspect: event.UUID == ""})
		}
	}
}

// mark says that a card is not healthy, each time anew.
func (m *Monitor) mark(uuid string, why Card) {
	m.mutex.Lock()
	why.Since = m.options.Now()
	why.Last = why.Since
	if before := m.sick[uuid]; before != nil {
		why.Since = before.Since
		why.fault = before.fault
		if why.Xid == 0 || !why.needsReset() && before.needsReset() { // the worse one counts
			why.Reason, why.Xid, why.Suspect, why.Away = before.Reason, before.Xid, before.Suspect, before.Away
		}
	}
	m.sick[uuid] = &why
	m.save()
	m.mutex.Unlock()
	m.options.Report(fmt.Sprintf("card %s is not healthy", uuid), errors.New(why.Reason))
	m.options.Changed()
}

func (c *Card) needsReset() bool { return !c.Suspect && contains(ofTheHardware, c.Xid) }

// look reads the cards that are not healthy again. True: some card is not watched.
func (m *Monitor) look() bool {
	m.mutex.Lock()
	count := len(m.sick)
	m.mutex.Unlock()
	if count == 0 {
		return false
	}
	gpus, err := m.options.Library.GPUs()
	if err != nil {
		m.options.Report("looking at cards that are not healthy", err)
	}
	now := m.options.Now()
	back, anyUnwatched := []hardware.GPU{}, false
	m.mutex.Lock()
	for _, uuid := range m.uuids {
		card := m.sick[uuid]
		if card == nil {
			continue
		}
		anyUnwatched = anyUnwatched || card.unwatched
		gpu := find(gpus, uuid)
		if gpu == nil || gpu.Fault != nil {
			card.Away, card.Last = true, now
			continue
		}
		isQuiet := now.Sub(card.Last) >= m.options.Quiet || card.fault && card.Xid == 0
		if !card.unwatched && isQuiet && (!card.needsReset() || card.Away) {
			delete(m.sick, uuid)
			back = append(back, *gpu)
		}
	}
	m.save()
	m.mutex.Unlock()
	for _, gpu := range back {
		m.options.Report(fmt.Sprintf("card %s is healthy again", gpu.UUID), nil)
		m.options.Read(gpu)
		m.options.Changed()
	}
	return anyUnwatched
}

func find(gpus []hardware.GPU, uuid string) *hardware.GPU {
	for i := range gpus {
		if gpus[i].UUID == uuid {
			return &gpus[i]
		}
	}
	return nil
}

// Repaired is the word of somebody who knows: a card is healthy again.
func (m *Monitor) Repaired(uuid string) {
	m.mutex.Lock()
	_, wasSick := m.sick[uuid]
	delete(m.sick, uuid)
	m.save()
	m.mutex.Unlock()
	if wasSick {
		m.options.Changed()
	}
}
