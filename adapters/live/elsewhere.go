package live

import (
	"sort"
	"time"

	"vgpualloc.example/adapters/vga"
)

// For schedulers that settle the node elsewhere: they ask for an order.

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
