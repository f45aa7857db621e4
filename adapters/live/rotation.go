package live

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"vgpualloc.example/adapters/vga"
)

// A decision log that has become too long begins anew, in a file that replays alone: with the options, the objects as
// they are and what is booked. The core begins anew from the same lines, so that what it decides afterwards follows from
// them.

// objectName is how an object is known: a node by its name, a ConfigMap by namespace/name, a pod by its uid.
type objectName struct{ kind, name string }

const podKind, nodeKind, configMapKind = "Pod", "Node", "ConfigMap"

type keptObject struct {
	text  []byte
	since uint64 // what was there before another one has less
}

// keptObjects are those that the core was told of last, for logs that may begin anew.
type keptObjects struct {
	objects map[objectName]keptObject
	told    uint64
	// Pods that have devices which their object does not show yet, though the core was told so when the log began: with
	// the object itself.
	early map[string][]byte
}

func newKeptObjects() keptObjects {
	return keptObjects{objects: map[objectName]keptObject{}, early: map[string][]byte{}}
}

// head is what has to be known of an object besides its text.
type head struct {
	Kind     string
	Metadata struct{ Name, Namespace, UID string }
	Spec     struct{ NodeName string }
}

func headOf(text []byte) (head, error) {
	var of head
	if err := json.Unmarshal(text, &of); err != nil {
		return of, fmt.Errorf("an object for the decision log: %w", err)
	}
	return of, nil
}

func (h *head) name() objectName {
	full := cmp.Or(h.Metadata.Namespace, "default") + "/" + h.Metadata.Name
	switch h.Kind {
	case podKind:
		return objectName{podKind, cmp.Or(h.Metadata.UID, full)}
	case configMapKind:
		return objectName{configMapKind, full}
	}
	return objectName{h.Kind, h.Metadata.Name}
}

func (k *keptObjects) keep(name objectName, text []byte) {
	since := k.objects[name].since
	if since == 0 {
		k.told++
		since = k.told
	}
	k.objects[name] = keptObject{bytes.Clone(text), since}
}

func (k *keptObjects) forget(kind, name string) {
	delete(k.objects, objectName{kind, name})
	if kind == podKind {
		delete(k.early, name)
	}
}

// of is all that are there of a kind, in the order in which they came.
func (k *keptObjects) of(kind string) []objectName {
	var names []objectName
	for name := range k.objects {
		if name.kind == kind {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b objectName) int { return cmp.Compare(k.objects[a].since, k.objects[b].since) })
	return names
}

// boundTo is the object of a pod that says what it has, as the API server will show it when the pod is bound.
func boundTo(text []byte, node string, annotations map[string]string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	member := func(of map[string]any, name string) map[string]any {
		inner, isThere := of[name].(map[string]any)
		if !isThere {
			inner = map[string]any{}
			of[name] = inner
		}
		return inner
	}
	member(object, "spec")["nodeName"] = node
	present := member(member(object, "metadata"), "annotations")
	for name, value := range annotations {
		present[name] = value
	}
	return json.Marshal(object)
}

// tellKept tells the core of an object, and keeps it. Of a pod that has devices early the core is told what it has, too, as
// it would take them back otherwise. The mutex is held.
func (c *Cluster) tellKept(text []byte) (told []byte, upserted vga.Upserted, err error) {
	of, err := headOf(text)
	if err != nil {
		return nil, upserted, err
	}
	name := of.name()
	if told, err = c.asTold(name, of, text); err != nil {
		return nil, upserted, err
	}
	if upserted, err = c.core.Upsert(told); err == nil {
		c.kept.keep(name, text)
	}
	return told, upserted, err
}

func (c *Cluster) asTold(name objectName, of head, text []byte) ([]byte, error) {
	if _, early := c.kept.early[name.name]; !early || name.kind != podKind {
		return text, nil
	}
	if state, node := c.core.Pod(name.name); of.Spec.NodeName == "" && state == vga.PodCommitted {
		c.kept.early[name.name] = bytes.Clone(text)
		return c.boundText(c.core, name.name, node, text)
	}
	delete(c.kept.early, name.name) // it says itself what it has
	return text, nil
}

func (c *Cluster) boundText(core *vga.Cluster, uid string, node vga.Node, text []byte) ([]byte, error) {
	name, err := core.NodeName(node)
	if err != nil {
		return nil, err
	}
	annotations, err := c.Annotations(uid, time.Now())
	if err != nil {
		return nil, err
	}
	return boundTo(text, name, annotations)
}

// showReleased tells the core of a pod as its object is, if it was told more. The mutex is held.
func (c *Cluster) showReleased(uid string) error {
	text, early := c.kept.early[uid]
	if !early {
		return nil
	}
	delete(c.kept.early, uid)
	_, err := c.tell(text)
	return err
}

// RotateLog is Flush where a log that has become too long begins anew, unless some pod is reserved or suspended, which no
// object can show: that is for moments at which this is not to be expected, as the end of a session. After an error the
// log goes on as it was, and the same error is told once.
func (c *Cluster) RotateLog() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return vga.Closed
	}
	return c.newLogFailure(c.rotateIfFull())
}

func (c *Cluster) rotateIfFull() error {
	if err := c.log.flush(); err != nil || !c.log.isFull() || !c.isSettled() {
		return err
	}
	err := c.rotate()
	if err == nil {
		c.logFailure = ""
	}
	return err
}

func (c *Cluster) rotate() error {
	core, err := vga.New(c.options)
	if err != nil {
		return c.log.refuseToRotate(err)
	}
	defer core.Close() // what the cluster was before, or what it did not become
	next, err := c.log.next()
	if err != nil {
		return c.log.refuseToRotate(err)
	}
	early, err := c.retell(core, next)
	if err == nil {
		err = next.flush()
	}
	if err == nil {
		err = c.core.Swap(core)
	}
	if err != nil {
		next.discard()
		return c.log.refuseToRotate(err)
	}
	if err := c.log.replaceBy(next); err != nil {
		if back := c.core.Swap(core); back != nil { // the log has not what the core is now
			return errors.Join(err, c.log.fail(back))
		}
		return c.log.refuseToRotate(err)
	}
	c.kept.early = early
	c.changed()
	return nil
}

// isSettled is whether pods have what objects can say: no reservation, which may be taken back, and nobody suspended.
func (c *Cluster) isSettled() bool {
	for name := range c.kept.objects {
		if name.kind != podKind {
			continue
		}
		switch state, _ := c.core.Pod(name.name); state {
		case vga.PodUnknown: // it has ended, or another one has its name
			c.kept.forget(podKind, name.name)
		case vga.PodReserved, vga.PodSuspended:
			return false
		}
	}
	return true
}

// retell makes another core what this one is, and writes down how. It returns the pods that were told as bound before
// their objects say so.
func (c *Cluster) retell(core *vga.Cluster, to *Log) (map[string][]byte, error) {
	to.add(startLine(c.options))
	tell := func(text []byte) error {
		to.add(tellLine(text))
		_, err := core.Upsert(text)
		return err
	}
	for _, kind := range []string{configMapKind, nodeKind} {
		for _, name := range c.kept.of(kind) {
			if err := tell(c.kept.objects[name].text); err != nil {
				return nil, fmt.Errorf("%s %s: %w", kind, name.name, err)
			}
		}
	}
	early := map[string][]byte{}
	for _, name := range c.kept.of(podKind) {
		uid, text := name.name, c.kept.objects[name].text
		of, err := headOf(text)
		if err != nil {
			return nil, err
		}
		state, node := c.core.Pod(uid)
		if state == vga.PodCommitted && of.Spec.NodeName == "" {
			early[uid] = text
			if text, err = c.boundText(c.core, uid, node, text); err != nil {
				return nil, fmt.Errorf("pod %s: %w", uid, err)
			}
		}
		if err := tell(text); err != nil {
			return nil, fmt.Errorf("pod %s: %w", uid, err)
		}
	}
	if err := c.matchPods(core, to); err != nil {
		return nil, err
	}
	learned, err := core.LearnWorkload()
	if learned {
		to.add(line{Event: "learn"})
	}
	return early, err
}

// matchPods has pods give back what their objects say and a scheduler took back, and makes sure that all have what they
// had.
func (c *Cluster) matchPods(core *vga.Cluster, to *Log) error {
	for _, name := range c.kept.of(podKind) {
		uid := name.name
		state, node := c.core.Pod(uid)
		now, where := core.Pod(uid)
		if state == vga.PodWaiting && now == vga.PodCommitted {
			if err := core.Release(uid); err != nil {
				return err
			}
			to.add(line{Event: "release", UID: uid})
			now, where = core.Pod(uid)
		}
		if now != state {
			return fmt.Errorf("pod %s is in state %d and would be in state %d", uid, state, now)
		}
		if state != vga.PodCommitted {
			continue
		}
		has, err := c.core.NodeName(node)
		if err != nil {
			return err
		}
		if would, err := core.NodeName(where); err != nil || would != has {
			return fmt.Errorf("pod %s is on node %s and would be on node %q (%v)", uid, has, would, err)
		}
	}
	return nil
}
