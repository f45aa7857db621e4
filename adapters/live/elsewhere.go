package live

import (
	"sort"
	"time"

	"vgpualloc.example/adapters/vga"
)

// For schedulers that settle the node elsewhere: they ask for an order, and say afterwards what they took.

// Order is those of candidates that take the pod, the best first: least compromise, highest score, lowest rank.
func (a *Answers) Order(candidates []string) []string {
	type entry struct {
		node   string
		answer *vga.Answer
	}
	fitting := make([]entry, 0, len(candidates))
	for _, node := range candidates {
		if answer := a.Of(node); answer != nil && answer.Reason == vga.Fits {
			fitting = append(fitting, entry{node, answer})
		}
	}
	sort.Slice(fitting, func(i, j int) bool { return before(fitting[i].answer, fitting[j].answer) })
	order := make([]string, len(fitting))
	for i := range fitting {
		order[i] = fitting[i].node
	}
	return order
}

// AskClosely is Ask where nodes that refuse say what was wanted and what is left also if other nodes take the pod.
func (c *Cluster) AskClosely(uid, pod string) (*Answers, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	answers, err := c.ask(uid, pod)
	if err != nil || answers.failure != nil || answers.fitting == 0 || answers.close {
		return answers, err
	}
	began := time.Now()
	closely, err := c.core.Evaluate(uid, true, nil)
	if err != nil {
		return nil, err
	}
	result := &Answers{names: answers.names, numbers: answers.numbers, words: map[vga.Reason]string{}, answers: closely,
		fitting: answers.fitting, best: answers.best, close: true}
	result.describe()
	result.took = answers.took + time.Since(began)
	c.keep(uid, result)
	return result, nil
}

// ReserveAmong is Reserve for a node that was chosen earlier, among candidates of that time (nil: all that took the pod).
// Where it is still the best of those that take the pod, the log has them as what there was to choose from; otherwise the
// choice was not the core's, and the log has that node alone.
func (c *Cluster) ReserveAmong(uid, pod, node string, candidates []string, decided time.Time) (*Decision, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	began := time.Now()
	answers, err := c.ask(uid, pod)
	if err != nil {
		return nil, err
	}
	if candidates == nil {
		if answers.Best() != node {
			candidates = []string{node}
		}
		return c.reserve(uid, pod, node, candidates, decided, answers, began)
	}
	among := make([]string, 0, len(candidates))
	best := ""
	for _, candidate := range candidates {
		if answer := answers.Of(candidate); answer != nil && answer.Reason == vga.Fits {
			among = append(among, candidate)
			if best == "" || answers.Before(candidate, best) {
				best = candidate
			}
		}
	}
	if best != node {
		among = []string{node}
	}
	return c.reserve(uid, pod, node, among, decided, answers, began)
}
