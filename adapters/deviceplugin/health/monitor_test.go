package health_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/health"
)

// library is what a Monitor asks. Events are handled in order; errors are of Next.
type library struct {
	hardware.Library
	mutex  sync.Mutex
	gpus   []hardware.GPU
	events chan any // hardware.Event or error
}

func newLibrary(count int) *library {
	made := &library{events: make(chan any, 16)}
	for i := range count {
		made.gpus = append(made.gpus, hardware.GPU{UUID: "GPU-" + string(rune('a'+i))})
	}
	return made
}

func (l *library) GPUs() ([]hardware.GPU, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]hardware.GPU{}, l.gpus...), nil
}
func (l *library) Watch([]string) (hardware.Watch, map[string]error, error) { return l, nil, nil }
func (l *library) Close() error                                             { return nil }
func (l *library) Next(ctx context.Context, wait time.Duration) (hardware.Event, bool, error) {
	select {
	case what := <-l.events:
		if err, isError := what.(error); isError {
			return hardware.Event{}, false, err
		}
		return what.(hardware.Event), true, nil
	case <-ctx.Done():
	case <-time.After(wait):
	}
	return hardware.Event{}, false, nil
}

// handle runs a monitor over events and answers with the sick cards after each change.
func handle(t *testing.T, options health.Options, count int, events ...any) (*health.Monitor, []string) {
	t.Helper()
	source, changes := newLibrary(count), []string{}
	options.Library, options.Wait, options.Recheck, options.Quiet = source, time.Millisecond, time.Hour, time.Hour
	var monitor *health.Monitor
	left := len(events)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	options.Changed = func() {
		sick := ""
		for _, gpu := range source.gpus {
			if !monitor.IsHealthy(gpu.UUID) {
				sick += gpu.UUID[4:]
			}
		}
		changes = append(changes, sick)
	}
	options.Handled = func() {
		if left--; left == 0 {
			cancel()
		}
	}
	monitor = health.New(options)
	monitor.Follow(source.gpus)
	for _, event := range events {
		source.events <- event
	}
	if health := options.Disabled; strings.EqualFold(health, "all") && options.Enabled == "" {
		time.AfterFunc(30*time.Millisecond, cancel)
	}
	monitor.Run(ctx)
	return monitor, changes
}

func xid(card string, number uint64) hardware.Event {
	event := hardware.Event{Xid: number}
	if card != "" {
		event.UUID = "GPU-" + card
	}
	return event
}

func TestRules(t *testing.T) {
	for name, one := range map[string]struct {
		disabled, enabled string
		events            []any
		want              string // sick cards after each change
	}{
		"a card":                        {"", "", []any{xid("b", 79)}, "b"},
		"again":                         {"", "", []any{xid("b", 79), xid("b", 48)}, "b b"},
		"two cards":                     {"", "", []any{xid("b", 79), xid("a", 79)}, "b ab"},
		"which card is not known":       {"", "", []any{xid("", 79)}, "a ab"},
		"a card that is not for pods":   {"", "", []any{xid("z", 79)}, ""},
		"Xids of applications":          {"", "", []any{xid("a", 13), xid("a", 31), xid("a", 43), xid("a", 45), xid("a", 68), xid("a", 109)}, ""},
		"other events":                  {"", "", []any{hardware.Event{UUID: "GPU-a", Kind: hardware.DoubleBitECC, Xid: 79}}, ""},
		"switched off by number":        {" 79 , 63", "", []any{xid("a", 79), xid("a", 63), xid("a", 48)}, "a"},
		"switched on by number":         {"79", "79,13", []any{xid("a", 79), xid("a", 13)}, "a a"},
		"all on":                        {"all", "XIDS", []any{xid("a", 13)}, "a"},
		"0 is all":                      {"", "0", []any{xid("a", 31)}, "a"},
		"all off":                       {"All", "", []any{xid("a", 79)}, ""},
		"what is no number":             {"abc,74;79,-1", "", []any{xid("a", 79)}, "a"},
		"numbers do not switch on over": {"48", "13", []any{xid("a", 48), xid("a", 13)}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, changes := handle(t, health.Options{Disabled: one.disabled, Enabled: one.enabled}, 2, one.events...)
			if got := strings.Join(changes, " "); got != one.want {
				t.Errorf("%q, expected %q", got, one.want)
			}
		})
	}
	// All off, and some on by number: nothing counts.
	monitor := health.New(health.Options{Library: newLibrary(1), Disabled: "all", Enabled: "79"})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	monitor.Follow([]hardware.GPU{{UUID: "GPU-a"}})
	monitor.Run(ctx)
	if !monitor.IsHealthy("GPU-a") {
		t.Error("an event counted")
	}
}

func TestStateIsKeptUntilTheMachineStarts(t *testing.T) {
	folder := t.TempDir()
	state, boot := filepath.Join(folder, "x", "health.json"), filepath.Join(folder, "boot")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(boot, "one\n")
	options := health.Options{StateFile: state, BootFile: boot}
	handle(t, options, 2, xid("b", 79))
	options.Library = newLibrary(2)
	again := health.New(options)
	if card, isSick := again.Sick("GPU-b"); !isSick || card.Xid != 79 || again.IsHealthy("GPU-b") || !again.IsHealthy("GPU-a") {
		t.Errorf("after a restart of the plugin: %+v %v", card, isSick)
	}
	write(boot, "two\n")
	if !health.New(options).IsHealthy("GPU-b") {
		t.Error("after a restart of the machine: not healthy")
	}
	write(state, "{")
	reports := 0
	options.Report = func(string, error) { reports++ }
	if !health.New(options).IsHealthy("GPU-b") || reports != 1 {
		t.Errorf("a broken state: %d reports", reports)
	}
}

func TestLostDriver(t *testing.T) {
	source := newLibrary(2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changes := make(chan struct{}, 16)
	monitor := health.New(health.Options{Library: source, Wait: time.Millisecond, Recheck: 5 * time.Millisecond, Quiet: 50 * time.Millisecond,
		Changed: func() { changes <- struct{}{} }})
	monitor.Follow(source.gpus)
	ended := make(chan struct{})
	go func() { defer close(ended); monitor.Run(ctx) }()
	source.events <- errors.New("Unknown Error")
	for range 2 {
		<-changes
	}
	if monitor.IsHealthy("GPU-a") || monitor.IsHealthy("GPU-b") {
		t.Error("healthy without a driver")
	}
	for range 2 { // it answers again
		<-changes
	}
	if !monitor.IsHealthy("GPU-a") || !monitor.IsHealthy("GPU-b") {
		t.Error("not healthy although the driver answers")
	}
	cancel()
	<-ended
}

// An Xid that NVIDIA mends by a reset is not mended by time.
func TestTimeMendsOnlySome(t *testing.T) {
	for number, mends := range map[uint64]bool{94: true, 63: true, 79: false, 48: false, 119: false} {
		source := newLibrary(1)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		var mutex sync.Mutex
		clock := time.Unix(1000, 0)
		looks := make(chan struct{}, 64)
		monitor := health.New(health.Options{Library: source, Wait: time.Millisecond, Recheck: time.Minute, Quiet: 5 * time.Minute,
			Now: func() time.Time {
				mutex.Lock()
				defer mutex.Unlock()
				clock = clock.Add(10 * time.Second)
				return clock
			},
			Changed: func() { looks <- struct{}{} }})
		monitor.Follow(source.gpus)
		ended := make(chan struct{})
		go func() { defer close(ended); monitor.Run(ctx) }()
		source.events <- xid("a", number)
		<-looks
		select {
		case <-looks:
		case <-time.After(200 * time.Millisecond): // more than half an hour by the clock
		}
		if monitor.IsHealthy("GPU-a") != mends {
			t.Errorf("Xid %d: healthy %v, expected %v", number, !mends, mends)
		}
		cancel()
		<-ended
	}
}
