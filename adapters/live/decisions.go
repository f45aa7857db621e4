package live

import (
	"errors"
	"fmt"
	"time"

	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// Ask asks every node about a pod that waits. Errors: vga.UnknownPod.
func (c *Cluster) Ask(uid, pod string) (*Answers, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.ask(uid, pod)
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
	closely := c.newAnswers(true)
	if err := c.evaluate(uid, closely); err != nil {
		return nil, err
	}
	closely.took = answers.took + time.Since(began)
	c.keep(uid, closely)
	return closely, nil
}

func (c *Cluster) ask(uid, pod string) (*Answers, error) {
	if answers := c.asked[uid]; answers != nil && answers.state == c.state.now {
		return answers, nil
	}
	began := time.Now()
	answers := c.newAnswers(false)
	err := c.evaluate(uid, answers)
	if err == nil && answers.fitting == 0 { // what is missing is worth a closer look
		answers = c.newAnswers(true)
		err = c.evaluate(uid, answers)
	}
	if errors.Is(err, vga.BadInput) {
		answers.failure = err
	} else if err != nil {
		return nil, err
	}
	answers.took = time.Since(began)
	c.keep(uid, answers)
	if answers.fitting == 0 {
		c.noteRefusal(uid, pod, answers)
	}
	return answers, nil
}

// evaluate asks the core, with numbers if answers are to be close.
func (c *Cluster) evaluate(uid string, answers *Answers) error {
	written, err := c.core.Evaluate(uid, answers.close, c.written)
	return c.take(answers, written, err)
}

func (c *Cluster) take(answers *Answers, written []vga.Answer, err error) error {
	if err != nil {
		return err
	}
	answers.take(written, c.ranks)
	c.ranks = answers.ranks
	return nil
}

// AskEmpty asks every node about a pod that waits as if no pod had anything there: where evicting pods could make room for it.
// Errors: vga.UnknownPod; vga.BadInput for a pod that no scheduler can serve.
func (c *Cluster) AskEmpty(uid string) (*Answers, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	answers := c.newAnswers(true)
	written, err := c.core.EvaluateEmpty(uid, c.written)
	if err := c.take(answers, written, err); err != nil {
		return nil, err
	}
	return answers, nil
}

// newAnswers has no answers yet. The mutex is held.
func (c *Cluster) newAnswers(close bool) *Answers {
	names := c.nodeNames()
	if len(c.written) < len(names) {
		c.written = make([]vga.Answer, len(names)+len(names)/8)
	}
	return &Answers{state: c.state.now, version: c.namesVersion, names: names, numbers: c.numbers, close: close, best: -1}
}

// keptAnswers is how many pods' answers are kept: a scheduler asks again about the few that it is at.
const keptAnswers = 64

func (c *Cluster) keep(uid string, answers *Answers) {
	if len(c.asked) >= keptAnswers {
		clear(c.asked)
	}
	c.asked[uid] = answers
}

// noteRefusal writes into the log that no node takes a pod, once until the pod changes.
func (c *Cluster) noteRefusal(uid, pod string, answers *Answers) {
	file, counted := c.refused[uid]
	if counted && file == c.log.File() {
		return
	}
	c.refused[uid] = c.log.File()
	reasons := map[string]int{}
	for _, reason := range answers.reasons {
		if vga.Reason(reason) != vga.NodeGone {
			reasons[vga.Reason(reason).String()]++
		}
	}
	if answers.failure != nil {
		reasons["request_not_valid"] = 1
	}
	if !counted {
		c.counts.refuse(reasons)
	}
	if answers.failure == nil { // the log is for what another policy could do otherwise
		c.log.Add(decisionlog.Line{Event: "refuse", UID: uid, Pod: pod, Reasons: reasons})
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

// reserve books a pod with these answers of now. The mutex is held.
func (c *Cluster) reserve(uid, pod, node string, candidates []string, decided time.Time, answers *Answers,
	began time.Time) (*Decision, error) {
	number, known := answers.numbers[node]
	if !known {
		return nil, &vga.Error{Status: vga.UnknownNode, Message: fmt.Sprintf("node %s is not known here", node)}
	}
	entry := decisionlog.Line{Event: "decide", UID: uid, Pod: pod, Node: node, Time: decided.UnixNano()}
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
	c.state.reserve(uid, number)
	entry.Annotations = annotations
	c.log.AddDecision(entry)
	c.counts.decide(answers.took + time.Since(began))
	return &Decision{Node: node, Annotations: annotations}, nil
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
