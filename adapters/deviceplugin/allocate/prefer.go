package allocate

import (
	"context"
	"slices"

	"k8s.io/klog/v2"
)

// Prefer answers the kubelet's GetPreferredAllocation: ids of the cards that the next container was promised, so that the call that
// follows names them and the kubelet's own books agree with the scheduler's. Ids that the kubelet demands come first. Nil: no
// container waits that fits, and the kubelet may choose.
func (a *Allocator) Prefer(ctx context.Context, resource string, available, mustInclude []string, size int) []string {
	if !a.pods.serves(resource) || size <= 0 || len(mustInclude) > size {
		return nil
	}
	may := a.preparing(ctx, resource)
	cards, known := a.pods.promised(resource, size, may)
	if !known {
		if err := a.list(ctx); err != nil {
			klog.ErrorS(err, "The pods of the node could not be listed; the kubelet chooses device ids")
			return nil
		}
		if cards, known = a.pods.promised(resource, size, may); !known {
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
	return result
}

// promised are the cards of the container that comes next among those with so many; one card for each of its entries.
func (t *table) promised(resource string, count int, may eligible) (cards []string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	best, next := t.choose(resource, make([]string, count), may)
	if best == nil {
		return nil, false
	}
	return uuidsOf(next.entries), true
}
