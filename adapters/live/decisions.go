package live

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"vgpualloc.example/adapters/vga"
)

// Answers are what all nodes say to one pod. They stay as they are; the cluster may have changed since.
type Answers struct {
	answers []vga.Answer
	names   []string
	numbers map[string]vga.Node
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

// Of is one node's answer; nil for a node that the core was not told of.
func (a *Answers) Of(node string) *vga.Answer {
	number, known := a.numbers[node]
	if !known || int(number) >= len(a.answers) {
		return nil
	}
	return &a.answers[number]
}

// Refusal is why a node refuses, in words that are the same for all nodes of a reason so that they can be counted; empty
// if the pod fits.
func (a *Answers) Refusal(node string) string {
	if a.failure != nil {
		return "the pod's request cannot be served: " + a.failure.Error()
	}
	answer := a.Of(node)
	switch {
	case answer == nil:
		return "node(s) that are not known yet"
	case answer.Reason == vga.Fits:
		return ""
	}
	return a.words[answer.Reason]
}

// Before is whether a pod goes rather to the one node than to the other: less compromise, higher score, lower rank. Nodes
// that refuse it come last.
func (a *Answers) Before(one, other string) bool {
	first, second := a.Of(one), a.Of(other)
	if first == nil || first.Reason != vga.Fits {
		return false
	}
	return second == nil || second.Reason != vga.Fits || before(first, second)
}

func before(a, b *vga.Answer) bool {
	if a.Compromise != b.Compromise {
		return a.Compromise < b.Compromise
	}
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	return a.Rank < b.Rank
}

// Scores are those of nodes that take the pod, from 0 for the worst to 100 for the best of them.
func (a *Answers) Scores() map[string]float64 {
	scores := make(map[string]float64, a.fitting)
	first := true
	var lowest, highest float64
	for number := range a.answers {
		answer := &a.answers[number]
		if answer.Reason != vga.Fits || a.names[number] == "" {
			continue
		}
		scores[a.names[number]] = answer.Score
		if first || answer.Score < lowest {
			lowest = answer.Score
		}
		if first || answer.Score > highest {
			highest = answer.Score
		}
		first = false
	}
	for node, score := range scores {
		if highest > lowest {
			scores[node] = 100 * (score - lowest) / (highest - lowest)
		} else {
			scores[node] = 100
		}
	}
	return scores
}

// Ask asks every node about a pod that waits. Errors: vga.UnknownPod.
func (c *Cluster) Ask(uid, pod string) (*Answers, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.ask(uid, pod)
}

func (c *Cluster) ask(uid, pod string) (*Answers, error) {
	if answers := c.asked[uid]; answers != nil {
		return answers, nil
	}
	began := time.Now()
	names := c.nodeNames()
	result := &Answers{names: names, numbers: c.numbers, words: map[vga.Reason]string{}, best: -1}
	answers, err := c.core.Evaluate(uid, false, make([]vga.Answer, len(names)))
	if err == nil {
		result.count(answers)
		if result.fitting == 0 { // what is missing is worth a closer look
			answers, err = c.core.Evaluate(uid, true, answers[:cap(answers)])
		}
	}
	if errors.Is(err, vga.BadInput) {
		result.failure = err
	} else if err != nil {
		return nil, err
	}
	result.answers = answers
	result.describe()
	result.took = time.Since(began)
	c.keep(uid, result)
	if result.fitting == 0 {
		c.noteRefusal(uid, pod, result)
	}
	return result, nil
}

// keptAnswers is how many pods' answers are kept: a scheduler asks again about the few that it is at.
const keptAnswers = 64

func (c *Cluster) keep(uid string, answers *Answers) {
	if len(c.asked) >= keptAnswers {
		clear(c.asked)
	}
	c.asked[uid] = answers
}

func (a *Answers) count(answers []vga.Answer) {
	for number := range answers {
		if answers[number].Reason != vga.Fits || number >= len(a.names) || a.names[number] == "" {
			continue
		}
		a.fitting++
		if a.best < 0 || before(&answers[number], &answers[a.best]) {
			a.best = number
		}
	}
}

// describe finds the words for each reason: with the amount that the best node of that reason has left.
func (a *Answers) describe() {
	closest := make([]*vga.Answer, vga.Reasons())
	for number := range a.answers {
		answer := &a.answers[number]
		if answer.Reason == vga.Fits || number >= len(a.names) || a.names[number] == "" {
			continue
		}
		if best := closest[answer.Reason]; best == nil || answer.Available > best.Available {
			closest[answer.Reason] = answer
		}
	}
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

// noteRefusal writes into the log that no node takes a pod, once until the pod changes.
func (c *Cluster) noteRefusal(uid, pod string, answers *Answers) {
	if c.refused[uid] {
		return
	}
	c.refused[uid] = true
	reasons := map[string]int{}
	for number := range answers.answers {
		if number < len(answers.names) && answers.names[number] != "" {
			reasons[answers.answers[number].Reason.String()]++
		}
	}
	if answers.failure != nil {
		reasons["request_not_valid"] = 1
	}
	for reason, nodes := range reasons {
		c.figures.rejections.WithLabelValues(reason).Add(float64(nodes))
	}
	if answers.failure == nil { // the log is for what another policy could do otherwise
		c.log.add(line{Event: "refuse", UID: uid, Pod: pod, Reasons: reasons})
	}
}

// Refused is a pod that a node did not take when it was to be booked there.
type Refused struct{ Pod, Node, Reason string }

func (r *Refused) Error() string {
	return fmt.Sprintf("pod %s does not fit on node %s: %s", r.Pod, r.Node, r.Reason)
}

// Decision is where a pod was booked, and what has to be written on it for the device plugins.
type Decision struct {
	Node        string
	Annotations map[string]string
}

// Reserve books a waiting pod on a node that was chosen earlier, among candidates of that time (nil: all that took the pod).
// Where it is still the best of those that take the pod, the log has them as what there was to choose from; otherwise the
// choice was not the core's, and the log has that node alone. Errors: Refused; vga.UnknownPod, vga.UnknownNode,
// vga.WrongState.
func (c *Cluster) Reserve(uid, pod, node string, candidates []string, decided time.Time) (*Decision, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	began := time.Now()
	answers, err := c.ask(uid, pod)
	if err != nil {
		return nil, err
	}
	fitting, best := answers.among(candidates)
	if best != node {
		fitting = []string{node}
	}
	return c.reserve(uid, pod, node, fitting, decided, answers, began)
}

// among is those of candidates that take the pod, and the best of them; nil stands for all nodes.
func (a *Answers) among(candidates []string) (fitting []string, best string) {
	if candidates == nil {
		return nil, a.Best()
	}
	fitting = make([]string, 0, len(candidates))
	for _, candidate := range candidates {
		if answer := a.Of(candidate); answer != nil && answer.Reason == vga.Fits {
			fitting = append(fitting, candidate)
			if best == "" || a.Before(candidate, best) {
				best = candidate
			}
		}
	}
	return fitting, best
}

// reserve books a pod with these answers of now. The mutex is held.
func (c *Cluster) reserve(uid, pod, node string, candidates []string, decided time.Time, answers *Answers,
	began time.Time) (*Decision, error) {
	number, known := answers.numbers[node]
	if !known {
		return nil, fmt.Errorf("node %s: %w", node, vga.UnknownNode)
	}
	entry := line{Event: "decide", UID: uid, Pod: pod, Node: node, Time: decided.UnixNano()}
	if candidates != nil {
		entry.Except, entry.Only = answers.less(candidates)
	}
	answer, err := c.core.Reserve(uid, number)
	if err != nil {
		return nil, err
	}
	if answer.Reason != vga.Fits {
		return nil, &Refused{Pod: pod, Node: node, Reason: describe(&answer)}
	}
	annotations, err := c.Annotations(uid, decided)
	if err != nil {
		return nil, errors.Join(err, c.core.Rollback(uid))
	}
	c.changed()
	entry.Annotations = annotations
	c.log.addDecision(entry)
	c.figures.decisions.Observe((answers.took + time.Since(began)).Seconds())
	return &Decision{Node: node, Annotations: annotations}, nil
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
	for number := range a.answers {
		if name := a.names[number]; name != "" && a.answers[number].Reason == vga.Fits && !among[name] {
			except = append(except, name)
		}
	}
	sort.Strings(except)
	return except, nil
}

// FitsWithout is whether a waiting pod fits on a node if these pods had nothing.
func (c *Cluster) FitsWithout(uid, node string, pods []string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.nodeNames()
	number, known := c.numbers[node]
	return known && c.fitsWithout(uid, number, pods)
}

func (c *Cluster) fitsWithout(uid string, node vga.Node, pods []string) bool {
	answer, err := c.core.AskWithout(uid, node, pods)
	return err == nil && answer.Reason == vga.Fits
}

// Victims are pods of candidates, which come most important first, that have to go so that a waiting pod fits on a node
// where others go anyway: none that could stay, and the more important stay. Nothing if it fits as it is; false if it does
// not fit without all of them either.
func (c *Cluster) Victims(uid, node string, others, candidates []string) ([]string, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.nodeNames()
	number, known := c.numbers[node]
	if !known {
		return nil, false
	}
	gone := append(append([]string(nil), others...), candidates...)
	if !c.fitsWithout(uid, number, gone) {
		return nil, false
	}
	for i := len(others); i < len(gone); {
		without := append(append([]string(nil), gone[:i]...), gone[i+1:]...)
		if c.fitsWithout(uid, number, without) {
			gone = without
		} else {
			i++
		}
	}
	return gone[len(others):], true
}
