package allocate

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Prefer answers the kubelet's GetPreferredAllocation: ids of the cards that the next container was promised, so that the call that
// follows names them and the kubelet's own books agree with the scheduler's. Ids that the kubelet demands come first. Nil: no
// container waits that fits, and the kubelet may choose.
func (a *Allocator) Prefer(ctx context.Context, resource string, available, mustInclude []string, size int) []string {
	if !a.pods.serves(resource) || size <= 0 || len(mustInclude) > size {
		return nil
	}
	var may eligible
	if a.pods.fitting(resource, size) > 1 {
		may = a.preparing(ctx, resource)
	}
	cards, known := a.pods.cardsOfNext(resource, size, may)
	if !known {
		if err := a.list(ctx); err != nil {
			klog.ErrorS(err, "The pods of the node could not be listed; the kubelet chooses device ids")
			return nil
		}
		if cards, known = a.pods.cardsOfNext(resource, size, may); !known {
			return nil
		}
	}
	result := slices.Clone(mustInclude)
	for _, id := range mustInclude {
		if at := slices.Index(cards, cardOf(id)); at >= 0 {
			cards = slices.Delete(cards, at, at+1)
		}
	}
	for _, card := range cards {
		at := slices.IndexFunc(available, func(id string) bool { return cardOf(id) == card && !slices.Contains(result, id) })
		if at >= 0 && len(result) < size {
			result = append(result, available[at])
		}
	}
	if may != nil {
		a.pods.promise(resource, result, may)
	}
	return result
}

// promise is a container that the kubelet has been asked about, and the ids that it was told to take for it.
type promise struct {
	resource string
	ids      string
	pod      types.UID
	target   string
	until    time.Time
}

// promiseLasts is how long after GetPreferredAllocation the kubelet's Allocate comes at the latest; it follows at once.
const promiseLasts = time.Second

func joined(ids []string) string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}

// promise notes for whom these ids are, so that the kubelet need not be asked a second time.
func (t *table) promise(resource string, ids []string, may eligible) {
	t.mu.Lock()
	defer t.mu.Unlock()
	best, next := t.choose(resource, make([]string, len(ids)), may)
	if t.promised = nil; best != nil {
		t.promised = &promise{resource, joined(ids), best.waiting.pod.UID, next.key(), time.Now().Add(promiseLasts)}
	}
}

// redeem claims the container that these ids were promised to; nil: none.
func (t *table) redeem(resource string, ids []string) *claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	promise := t.promised
	t.promised = nil
	if promise == nil || promise.resource != resource || promise.ids != joined(ids) || time.Now().After(promise.until) {
		return nil
	}
	state := t.states[promise.pod]
	if state == nil {
		return nil
	}
	next := state.next(resource)
	if next == nil || next.count != len(ids) || next.key() != promise.target {
		return nil
	}
	return t.claim(state, next)
}

// fitting counts the pods whose next container has so many entries.
func (t *table) fitting(resource string, count int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	result := 0
	for _, state := range t.states {
		if next := state.next(resource); next != nil && next.count == count {
			result++
		}
	}
	return result
}

// cardsOfNext are the cards of the container that comes next among those with so many; one card for each of its entries.
func (t *table) cardsOfNext(resource string, count int, may eligible) (cards []string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	best, next := t.choose(resource, make([]string, count), may)
	if best == nil {
		return nil, false
	}
	return uuidsOf(next.entries), true
}
