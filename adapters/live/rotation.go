package live

import (
	"bytes"
	"errors"

	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// A decision log that has become too long begins anew, in a file that replays alone: with the options, the objects as
// they are and what is booked. The core begins anew from the same lines, so that what it decides afterwards follows from
// them.

// tellKept tells the core of an object, and keeps it. Of a pod that has devices early the core is told what it has, too, as
// it would take them back otherwise. The mutex is held.
func (c *Cluster) tellKept(text []byte) (told []byte, upserted vga.Upserted, err error) {
	of, err := decisionlog.HeadOf(text)
	if err != nil {
		return nil, upserted, err
	}
	name := of.ObjectName()
	if told, err = c.asTold(name, of, text); err != nil {
		return nil, upserted, err
	}
	if upserted, err = c.core.Upsert(told); err == nil {
		c.kept.Keep(name, text)
	}
	return told, upserted, err
}

func (c *Cluster) asTold(name decisionlog.Name, of decisionlog.Head, text []byte) ([]byte, error) {
	if _, early := c.kept.Early[name.Name]; !early || name.Kind != decisionlog.Pod {
		return text, nil
	}
	if state, node := c.core.Pod(name.Name); of.Spec.NodeName == "" && state == vga.PodCommitted {
		c.kept.Early[name.Name] = bytes.Clone(text)
		return decisionlog.Bound(c.core, name.Name, node, text)
	}
	delete(c.kept.Early, name.Name) // it says itself what it has
	return text, nil
}

// showReleased tells the core of a pod as its object is, if it was told more. The mutex is held.
func (c *Cluster) showReleased(uid string) error {
	text, early := c.kept.Early[uid]
	if !early {
		return nil
	}
	delete(c.kept.Early, uid)
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
	if err := c.log.Flush(); err != nil || !c.log.IsFull() || !c.isSettled() {
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
		return c.log.RefuseToRotate(err)
	}
	defer core.Close() // what the cluster was before, or what it did not become
	next, err := c.log.Next()
	if err != nil {
		return c.log.RefuseToRotate(err)
	}
	early, err := decisionlog.Retell(c.core, core, c.options, &c.kept, next)
	if err == nil {
		err = next.Flush()
	}
	if err == nil {
		err = c.core.Swap(core)
	}
	if err != nil {
		next.Discard()
		return c.log.RefuseToRotate(err)
	}
	if err := c.log.ReplaceBy(next); err != nil {
		if back := c.core.Swap(core); back != nil { // the log has not what the core is now
			return errors.Join(err, c.log.Fail(back))
		}
		return c.log.RefuseToRotate(err)
	}
	c.kept.Early = early
	c.changed()
	return nil
}

// isSettled is whether pods have what objects can say: no reservation, which may be taken back, and nobody suspended.
func (c *Cluster) isSettled() bool {
	for _, name := range c.kept.Of(decisionlog.Pod) {
		switch state, _ := c.core.Pod(name.Name); state {
		case vga.PodUnknown: // it has ended, or another one has its name
			c.kept.Forget(decisionlog.Pod, name.Name)
		case vga.PodReserved, vga.PodSuspended:
			return false
		}
	}
	return true
}
