package register

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// Options are what a Writer is made with. Client, Node and Cards are needed.
type Options struct {
	Client     kubernetes.Interface
	Node       string
	Schedulers config.Schedulers
	Cards      func() []Card // in the order in which they are registered; none: the annotations are taken away
	Liveness   string        // annotation with the time of the last round, RFC 3339; empty: none
	Interval   time.Duration // between rounds; 0: 30 s
	Retry      time.Duration // after one that failed; 0: 5 s
	Patience   time.Duration // for one call; 0: 10 s
	Now        func() time.Time
	Seen       func(annotations map[string]string) // those of the Node, each round; may be nil
	Rounded    func(err error)                     // after each round; may be nil
}

// Writer keeps the annotations of the Node.
type Writer struct {
	options Options
	again   chan struct{}

	mutex   sync.Mutex
	written map[string]string // by this Writer, its last values
}

// New writes nothing yet.
func New(options Options) *Writer {
	for _, interval := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&options.Interval, 30 * time.Second}, {&options.Retry, 5 * time.Second}, {&options.Patience, 10 * time.Second}} {
		if *interval.value <= 0 {
			*interval.value = interval.fallback
		}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Seen == nil {
		options.Seen = func(map[string]string) {}
	}
	if options.Rounded == nil {
		options.Rounded = func(error) {}
	}
	return &Writer{options: options, again: make(chan struct{}, 1), written: map[string]string{}}
}

// Kick has Run write at once, as when a card's health has changed.
func (w *Writer) Kick() {
	select {
	case w.again <- struct{}{}:
	default:
	}
}

// Run writes until the context ends. The annotations stay: Withdraw takes them away.
func (w *Writer) Run(ctx context.Context) {
	for {
		err := w.round(ctx)
		if ctx.Err() != nil {
			return
		}
		w.options.Rounded(err)
		wait := w.options.Interval
		if err != nil {
			wait = w.options.Retry
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.again:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// texts are the annotations as they should be; nil: there should be none.
func (w *Writer) texts() (map[string]*string, error) {
	texts, cards := map[string]*string{}, w.options.Cards()
	putFor := func(cards []Card, key, value string) {
		if len(cards) == 0 {
			texts[key] = nil
		} else {
			texts[key] = &value
		}
	}
	put := func(key, value string) { putFor(cards, key, value) }
	now := w.options.Now()
	handshake := "Reported_" + now.UTC().Format("2006.01.02 15:04:05")
	if w.options.Schedulers.Volcano {
		put(VolcanoAnnotation, Volcano(cards))
		put(VolcanoHandshakeAnnotation, handshake)
	}
	if w.options.Schedulers.HAMi {
		ofHAMi := forHAMi(cards, !w.options.Schedulers.Volcano)
		text, err := HAMi(ofHAMi)
		if err != nil {
			return nil, err
		}
		putFor(ofHAMi, HAMiAnnotation, text)
		putFor(ofHAMi, HandshakeAnnotation, handshake)
	}
	if w.options.Liveness != "" {
		put(w.options.Liveness, now.UTC().Format(time.RFC3339))
	}
	return texts, nil
}

// round reads the Node and writes what differs.
func (w *Writer) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.options.Patience)
	defer cancel()
	node, err := w.options.Client.CoreV1().Nodes().Get(ctx, w.options.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading node %q: %w", w.options.Node, err)
	}
	w.options.Seen(node.Annotations)
	texts, err := w.texts()
	if err != nil {
		return err
	}
	changes := map[string]*string{}
	for key, text := range texts {
		now, has := node.Annotations[key]
		if text == nil && has || text != nil && (!has || now != *text) {
			changes[key] = text
		}
	}
	return w.patch(ctx, changes)
}

func (w *Writer) patch(ctx context.Context, changes map[string]*string) error {
	if len(changes) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": changes}})
	if err != nil {
		return err
	}
	_, err = w.options.Client.CoreV1().Nodes().Patch(ctx, w.options.Node, types.StrategicMergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing annotations of node %q: %w", w.options.Node, err)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for key, text := range changes {
		if text == nil {
			delete(w.written, key)
		} else {
			w.written[key] = *text
		}
	}
	return nil
}

// Withdraw takes the annotations away that say what this plugin says: after another plugin has taken the node over, they are its.
// Call it when Run has ended, with a context that has not.
func (w *Writer) Withdraw(ctx context.Context) error {
	node, err := w.options.Client.CoreV1().Nodes().Get(ctx, w.options.Node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading node %q: %w", w.options.Node, err)
	}
	texts, err := w.texts()
	if err != nil {
		return err
	}
	w.mutex.Lock()
	changes := map[string]*string{}
	for key, text := range texts {
		now, has := node.Annotations[key]
		isOurs := now == w.written[key] || text != nil && now == *text
		if has && isOurs {
			changes[key] = nil
		}
	}
	w.mutex.Unlock()
	for registration, handshake := range handshakes {
		_, isWithdrawn := changes[registration]
		if _, has := node.Annotations[handshake]; has && isWithdrawn {
			changes[handshake] = nil
		}
	}
	return w.patch(ctx, changes)
}
