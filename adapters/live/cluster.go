// Package live is a living cluster for schedulers in Go: adapters/vga with the order of its calls kept in a decision log,
// answers that are asked for once while nothing changes, and counts for metrics. Volcano's plugin
// (adapters/scheduler) and the extender of kube-scheduler (adapters/extender) follow their clusters with it.
package live

import (
	"encoding/json"
	"sync"
	"time"

	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// Cluster receives object updates, answers placement queries and records reservations. Any number of goroutines may use
// it at once; their calls take effect in one order, which is that of the decision log.
type Cluster struct {
	mutex  sync.Mutex
	core   *vga.Cluster
	closed bool
	log    *decisionlog.Log // nil: none is kept
	// what was told last of the log
	logFailure string
	options    vga.Options

	names        []string            // of nodes, by number
	numbers      map[string]vga.Node // by name
	namesVersion uint64

	state   states
	asked   map[string]*Answers // by uid, of any state
	refused map[string]int      // pods whose refusal was counted: with the number of the file that it is logged in
	kept    decisionlog.Objects // for logs that begin anew
	written []vga.Answer        // room for what the core says, used again and again
	ranks   []uint64            // of nodes, as they were last

	counts Counts
}

// New makes a cluster without nodes. The log may be nil; the cluster closes it.
func New(options vga.Options, log *decisionlog.Log) (*Cluster, error) {
	core, err := vga.New(options)
	if err != nil {
		return nil, err
	}
	c := &Cluster{core: core, log: log, options: options, asked: map[string]*Answers{}, refused: map[string]int{},
		kept: decisionlog.NewObjects()}
	c.log.Add(decisionlog.Start(options))
	return c, nil
}

// Close waits for the calls that are under way, ends the log and frees the cluster. Calls after that change nothing, and those that
// return an error return vga.Closed. It may be closed again, which does nothing.
func (c *Cluster) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.changed() // answers of before are none any more
	c.core.Close()
	return c.log.Close()
}

// Options are those that hold at present.
func (c *Cluster) Options() vga.Options {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.options
}

// Configure gives other options; what runs and is reserved stays. After an error the old ones hold.
func (c *Cluster) Configure(options vga.Options) error {
	return c.change(decisionlog.Configure(options), func() error {
		if err := c.core.Configure(options); err != nil {
			return err
		}
		c.options = options
		return nil
	})
}

// Tell is vga.Cluster.Upsert of one object in JSON.
func (c *Cluster) Tell(object []byte) (vga.Upserted, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.tell(object)
}

// TellPod is Tell of a pod: its refusal counts as new afterwards.
func (c *Cluster) TellPod(uid string, object []byte) (vga.Upserted, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	upserted, err := c.tell(object)
	if upserted.Changed > 0 {
		delete(c.refused, uid)
	}
	return upserted, err
}

func (c *Cluster) tell(object []byte) (vga.Upserted, error) {
	var upserted vga.Upserted
	var err error
	if c.log.Rotates() {
		object, upserted, err = c.tellKept(object)
	} else {
		upserted, err = c.core.Upsert(object)
	}
	if upserted.Changed > 0 {
		c.changed()
		c.log.Add(decisionlog.Tell(object))
	}
	return upserted, err
}

// RemoveNode tells that a node is gone.
func (c *Cluster) RemoveNode(name string) error {
	return c.change(decisionlog.RemoveNode(name), func() error {
		c.kept.Forget(decisionlog.Node, name)
		return c.core.RemoveNode(name)
	})
}

// RemovePod tells that a pod is gone; it gives back what it has.
func (c *Cluster) RemovePod(uid string) error {
	return c.change(decisionlog.RemovePod(uid), func() error {
		delete(c.refused, uid)
		c.kept.Forget(decisionlog.Pod, uid)
		return c.core.RemovePod(uid)
	})
}

// RemoveConfigMap tells that a ConfigMap is gone, named as namespace/name.
func (c *Cluster) RemoveConfigMap(name string) error {
	return c.change(decisionlog.RemoveConfigMap(name), func() error {
		c.kept.Forget(decisionlog.ConfigMap, name)
		return c.core.RemoveConfigMap(name)
	})
}

// Learn has the policies take the pods that are there for typical, if these have become others.
func (c *Cluster) Learn() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	learned, err := c.core.LearnWorkload()
	if learned {
		c.changed()
		c.log.Add(decisionlog.Line{Event: "learn"})
	}
	return err
}

// Commit says that a reserved pod is bound.
func (c *Cluster) Commit(uid string) error {
	return c.change(decisionlog.Line{Event: "commit", UID: uid}, func() error {
		delete(c.refused, uid)
		return c.core.Commit(uid)
	})
}

// Release has a committed pod give back what it has.
func (c *Cluster) Release(uid string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.changeLocked(decisionlog.Line{Event: "release", UID: uid}, func() error { return c.core.Release(uid) }); err != nil {
		return err
	}
	return c.showReleased(uid)
}

// Suspend has a committed pod count for nothing until Resume.
func (c *Cluster) Suspend(uid string) error { return c.podCall("suspend", uid, c.core.Suspend) }

// Resume gives a suspended pod its devices again.
func (c *Cluster) Resume(uid string) error { return c.podCall("resume", uid, c.core.Resume) }

// Rollback takes a reservation back: the cluster is exactly as before it.
func (c *Cluster) Rollback(uid string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.core.Rollback(uid); err != nil {
		return err
	}
	if !c.state.rollback(uid) {
		c.changed()
	}
	if !c.log.TakeBackDecision(uid) {
		c.log.Add(decisionlog.Line{Event: "rollback", UID: uid})
	}
	return nil
}

// Pod is the state of a pod, and the name of its node if it is reserved or committed.
func (c *Cluster) Pod(uid string) (vga.PodState, string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	state, node := c.core.Pod(uid)
	if state != vga.PodReserved && state != vga.PodCommitted {
		return state, ""
	}
	return state, c.nodeNames()[node]
}

// ReadingVersion is another number when what pods ask for may read otherwise than before; Configure may change that too.
func (c *Cluster) ReadingVersion() uint64 { return c.core.ReadingVersion() }

// WantsDevices is whether a pod asks for devices; false if it is not known.
func (c *Cluster) WantsDevices(uid string) bool {
	wants, err := c.core.WantsDevices(uid)
	return err == nil && wants
}

// ReadsResource is whether some dialect reads a resource, so that amounts of it are the core's to compare.
func (c *Cluster) ReadsResource(resource string) bool {
	reads, err := c.core.ReadsResource(resource)
	return err == nil && reads
}

// Annotations is what to write on a reserved or committed pod for the device plugins.
func (c *Cluster) Annotations(uid string, decided time.Time) (map[string]string, error) {
	return c.core.Annotations(uid, decided)
}

// Explain says why the pod goes where it goes, or nowhere: JSON as `vgpusim explain --json` prints it.
func (c *Cluster) Explain(uid string) (string, error) { return c.core.Explain(uid) }

// Metrics is what is used of every device and by whom, as JSON: docs/embedding.md has its members.
func (c *Cluster) Metrics() (string, error) { return c.core.Metrics() }

// Warnings is what the devices' configuration switches off, what of the objects could not be read, and what is given out twice.
func (c *Cluster) Warnings() ([]string, error) {
	text, err := c.core.Warnings()
	if err != nil {
		return nil, err
	}
	var warnings []string
	return warnings, json.Unmarshal([]byte(text), &warnings)
}

// Flush writes the decision log up to here. That it cannot be written is told once, as nothing more is written from then on.
func (c *Cluster) Flush() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return vga.Closed
	}
	return c.newLogFailure(c.log.Flush())
}

// newLogFailure is nil where the same was told before. The mutex is held.
func (c *Cluster) newLogFailure(failure error) error {
	if failure == nil || failure.Error() == c.logFailure {
		return nil
	}
	c.logFailure = failure.Error()
	return failure
}

func (c *Cluster) podCall(event, uid string, call func(string) error) error {
	return c.change(decisionlog.Line{Event: event, UID: uid}, func() error { return call(uid) })
}

func (c *Cluster) change(entry decisionlog.Line, call func() error) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.changeLocked(entry, call)
}

// changeLocked is change for those who hold the mutex.
func (c *Cluster) changeLocked(entry decisionlog.Line, call func() error) error {
	if err := call(); err != nil {
		return err
	}
	c.changed()
	c.log.Add(entry)
	return nil
}

// changed forgets what was answered before. The mutex is held.
func (c *Cluster) changed() {
	clear(c.asked)
	c.state.begin()
}

// Numbers are those of the nodes at present, by name, and the version of them. They are not to be changed.
func (c *Cluster) Numbers() (map[string]vga.Node, uint64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.nodeNames()
	return c.numbers, c.namesVersion
}

// nodeNames brings the names of nodes up to date. The mutex is held.
func (c *Cluster) nodeNames() []string {
	if limit, version := c.core.NodesVersion(); version == c.namesVersion && limit == len(c.names) {
		return c.names
	}
	names, version, err := c.core.NodeNames()
	if err != nil {
		names, version = nil, 0 // of a cluster that is closed
	}
	c.names, c.namesVersion = names, version
	c.numbers = make(map[string]vga.Node, len(names))
	for number, name := range names {
		if name != "" { // a number that no node has at present
			c.numbers[name] = vga.Node(number)
		}
	}
	return c.names
}
