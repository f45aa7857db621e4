package live

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"vgpualloc.example/adapters/vga"
)

// Answers are what all nodes say to one pod. They stay as they are; the cluster may have changed since.
type Answers struct {
	state   uint64 // of the cluster
	version uint64 // of the numbers
	names   []string
	numbers map[string]vga.Node

	// By number of the node.
	reasons     []uint8 // vga.Reason: there are less than 256
	scores      []float64
	compromises []int32  // nil: there are none
	ranks       []uint64 // shared with other answers

	words   map[vga.Reason]string
	fitting int
	best    int           // number of the node where the pod goes if it may go to any; -1: it fits on none
	failure error         // why no scheduler can serve the pod; there are no answers then
	took    time.Duration // to find them out
	close   bool          // those of nodes that refuse have numbers
}

// Fitting is the number of nodes that take the pod.
func (a *Answers) Fitting() int { return a.fitting }

// Best is the node where the pod goes if it may go to any that fits; empty if none does.
func (a *Answers) Best() string {
	if a.best < 0 {
		return ""
	}
	return a.names[a.best]
}

// Failure is why no scheduler can serve the pod; nil for a pod that one can.
func (a *Answers) Failure() error { return a.failure }

// Knows is whether a node has answered; those do not that the core was not told of.
func (a *Answers) Knows(node string) bool { return a.number(node) >= 0 }

// number is that of a node; -1 of one that has not answered.
func (a *Answers) number(node string) int {
	number, known := a.numbers[node]
	if !known || int(number) >= len(a.reasons) {
		return -1
	}
	return int(number)
}

// Fits is whether a node takes the pod.
func (a *Answers) Fits(node string) bool {
	number := a.number(node)
	return number >= 0 && a.fits(number)
}

func (a *Answers) fits(number int) bool { return vga.Reason(a.reasons[number]) == vga.Fits }

// Refusal is why a node refuses, in words that are the same for all nodes of a reason so that they can be counted; empty
// if the pod fits.
func (a *Answers) Refusal(node string) string {
	return a.RefusalOf(a.number(node))
}

// RefusalOf is Refusal of a node by its number in Numbers of the same version; a negative one is that of no node.
func (a *Answers) RefusalOf(number int) string {
	switch {
	case a.failure != nil:
		return "the pod's request cannot be served: " + a.failure.Error()
	case number < 0:
		return "node(s) that are not known yet"
	case a.fits(number):
		return ""
	}
	return a.words[vga.Reason(a.reasons[number])]
}

// Version is that of the nodes' numbers.
func (a *Answers) Version() uint64 { return a.version }

// Before is whether a pod goes rather to the one node than to the other: less compromise, higher score, lower rank. Nodes
// that refuse it come last.
func (a *Answers) Before(one, other string) bool {
	first, second := a.number(one), a.number(other)
	if first < 0 || !a.fits(first) {
		return false
	}
	return second < 0 || !a.fits(second) || a.before(first, second)
}

func (a *Answers) before(one, other int) bool {
	if a.compromises != nil && a.compromises[one] != a.compromises[other] {
		return a.compromises[one] < a.compromises[other]
	}
	if a.scores[one] != a.scores[other] {
		return a.scores[one] > a.scores[other]
	}
	return a.ranks[one] < a.ranks[other]
}

// Scores are those of nodes that take the pod, from 0 for the worst to 100 for the best of them.
func (a *Answers) Scores() map[string]float64 {
	scores := make(map[string]float64, a.fitting)
	if a.fitting == 0 {
		return scores
	}
	lowest, highest := a.scores[a.best], a.scores[a.best]
	for number, score := range a.scores {
		if a.fits(number) {
			lowest, highest = min(lowest, score), max(highest, score)
		}
	}
	for number, score := range a.scores {
		switch {
		case !a.fits(number):
		case highest > lowest:
			scores[a.names[number]] = 100 * (score - lowest) / (highest - lowest)
		default:
			scores[a.names[number]] = 100
		}
	}
	return scores
}

// take keeps of what the core has written what is needed later, in a fraction of the room.
func (a *Answers) take(written []vga.Answer, ranks []uint64) {
	a.reasons, a.scores = make([]uint8, len(written)), make([]float64, len(written))
	a.ranks = ranks
	renewed := false
	closest := make([]*vga.Answer, vga.Reasons())
	for number := range written {
		answer := &written[number]
		a.reasons[number] = uint8(answer.Reason)
		if answer.Reason == vga.NodeGone {
			continue
		}
		if number >= len(a.ranks) || a.ranks[number] != answer.Rank { // nearly always they are what they were
			if !renewed {
				a.ranks = append(make([]uint64, 0, len(written)), a.ranks[:min(len(a.ranks), len(written))]...)
				a.ranks = a.ranks[:len(written)]
				renewed = true
			}
			a.ranks[number] = answer.Rank
		}
		switch answer.Reason {
		case vga.Fits:
			a.fitting++
			a.scores[number] = answer.Score
			if answer.Compromise != 0 && a.compromises == nil {
				a.compromises = make([]int32, len(written))
			}
			if a.compromises != nil {
				a.compromises[number] = answer.Compromise
			}
			if a.best < 0 || a.before(number, a.best) {
				a.best = number
			}
		default:
			if best := closest[answer.Reason]; best == nil || answer.Available > best.Available {
				closest[answer.Reason] = answer
			}
		}
	}
	// The words for a reason have the amount that the best node of that reason has left.
	a.words = map[vga.Reason]string{}
	for reason, answer := range closest {
		if answer != nil {
			a.words[vga.Reason(reason)] = describe(answer)
		}
	}
}

func describe(answer *vga.Answer) string {
	reason := strings.ReplaceAll(answer.Reason.String(), "_", " ")
	unit := answer.Unit()
	if unit == "" {
		return "node(s) " + reason
	}
	separator := " "
	if unit == "%" {
		separator = ""
	}
	return fmt.Sprintf("node(s) %s: %d%s%s wanted, at most %d%s%s left", reason, answer.Wanted, separator, unit,
		answer.Available, separator, unit)
}

// Order is those of candidates that take the pod, the best first: least compromise, highest score, lowest rank.
func (a *Answers) Order(candidates []string) []string {
	fitting := make([]int, 0, len(candidates))
	for _, node := range candidates {
		if number := a.number(node); number >= 0 && a.fits(number) {
			fitting = append(fitting, number)
		}
	}
	sort.Slice(fitting, func(i, j int) bool { return a.before(fitting[i], fitting[j]) })
	order := make([]string, len(fitting))
	for i, number := range fitting {
		order[i] = a.names[number]
	}
	return order
}

// among is those of candidates that take the pod, and the best of them; nil stands for all nodes.
func (a *Answers) among(candidates []string) (fitting []string, best string) {
	if candidates == nil {
		return nil, a.Best()
	}
	fitting = make([]string, 0, len(candidates))
	for _, candidate := range candidates {
		if number := a.number(candidate); number >= 0 && a.fits(number) {
			fitting = append(fitting, candidate)
			if best == "" || a.Before(candidate, best) {
				best = candidate
			}
		}
	}
	return fitting, best
}

// less tells candidates from all nodes that fit: by those that are missing, or by naming them where that is shorter.
func (a *Answers) less(candidates []string) (except, only []string) {
	if len(candidates) >= a.fitting {
		return nil, nil
	}
	if len(candidates) <= a.fitting-len(candidates) {
		only = append(only, candidates...)
		sort.Strings(only)
		return nil, only
	}
	among := make(map[string]bool, len(candidates))
	for _, candidate := range candidates {
		among[candidate] = true
	}
	for number := range a.reasons {
		if a.fits(number) && !among[a.names[number]] {
			except = append(except, a.names[number])
		}
	}
	sort.Strings(except)
	return except, nil
}
