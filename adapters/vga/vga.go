// Package vga is the allocation core in Go: the C interface of libvgpualloc (vgpualloc/c_api.h) with Go's types and
// errors, and the only package of the adapters that calls C, but for kubectl's (kubectl/ask).
//
// What a call costs is copying its arguments and crossing into C, about a quarter of a microsecond; answers to questions
// about all nodes are written into the caller's own slice. A Cluster may be used by any number of goroutines at once.
package vga

/*
#cgo pkg-config: --static vgpualloc
#include <stdlib.h>
#include "vgpualloc/c_api.h"
*/
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Error is a call that could not be carried out; nothing has changed then.
type Error struct {
	Status  Status
	Message string
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Status.String()
	}
	return e.Message
}

// Is makes errors.Is(err, vga.UnknownPod) ask for the status.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// String is the status as the header has it.
func (s Status) String() string { return C.GoString(C.vga_status_name(C.vga_status(s))) }

// Error lets a status stand where an error is asked for.
func (s Status) Error() string { return s.String() }

// Reason says why a node refuses a pod; Fits if it does not.
type Reason uint32

// Fits is the Reason of a node that takes the pod.
const Fits Reason = 0

// NodeGone is the Reason of a number that no node has at present.
var NodeGone = reasonNamed("node_gone")

func reasonNamed(name string) Reason {
	for reason := range Reason(Reasons()) {
		if reason.String() == name {
			return reason
		}
	}
	panic("the library has no reason " + name)
}

// String is the reason's name: "insufficient_device_memory".
func (r Reason) String() string { return C.GoString(C.vga_reason_name(C.vga_reason(r))) }

// Reasons is the number of reasons there are.
func Reasons() int { return int(C.vga_reason_count()) }

// Version is that of the library that is linked.
func Version() string { return C.GoString(C.vga_version()) }

// library is a hash of the archive that is linked; the linker writes it, so that programs are linked anew with another.
var library string

// Library names the archive that is linked, beside Version; empty where nobody told the linker.
func Library() string { return library }

// Options of a cluster; empty texts stand for the defaults. See vga_options in the header.
type Options struct {
	Policy          string
	DevicePolicy    string
	Catalog         string
	DeviceConfig    string
	SchedulerConfig string
}

// Answer is what one node says to a pod. Its fields are those of vga_answer, in the same order.
type Answer struct {
	Score      float64
	Rank       uint64
	Wanted     int64
	Available  int64
	unit       uintptr // of a text that is never freed; no pointer, so that Go need not look at what C has written
	Compromise int32
	Reason     Reason
}

// An Answer is written by C: these do not compile where it is laid out otherwise.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Answer{})-unsafe.Sizeof(C.vga_answer{})]
	_ = [1]struct{}{}[unsafe.Offsetof(Answer{}.Score)-unsafe.Offsetof(C.vga_answer{}.score)]
	_ = [1]struct{}{}[unsafe.Offsetof(Answer{}.Rank)-unsafe.Offsetof(C.vga_answer{}.rank)]
	_ = [1]struct{}{}[unsafe.Offsetof(Answer{}.Wanted)-unsafe.Offsetof(C.vga_answer{}.wanted)]
	_ = [1]struct{}{}[unsafe.Offsetof(Answer{}.Available)-unsafe.Offsetof(C.vga_answer{}.available)]
	_ = [1]struct{}{}[unsafe.Offsetof(Answer{}.unit)-unsafe.Offsetof(C.vga_answer{}.unit)]
	_ = [1]struct{}{}[unsafe.Offsetof(Answer{}.Compromise)-unsafe.Offsetof(C.vga_answer{}.compromise)]
	_ = [1]struct{}{}[unsafe.Offsetof(Answer{}.Reason)-unsafe.Offsetof(C.vga_answer{}.reason)]
)

// Unit of Wanted and Available: "MiB", "%", "devices"; empty without numbers.
func (a *Answer) Unit() string {
	return C.GoString(*(**C.char)(unsafe.Pointer(&a.unit)))
}

// Upserted is what became of the objects of one call.
type Upserted struct {
	Objects, Changed, Outdated int
}

// Node is the number of a node, valid while the node is there.
type Node uint32

// Closed is the error of every call on a cluster after Close.
var Closed = errors.New("the cluster is closed")

// Cluster is a living cluster: told of objects, asked about pods, booked on. Close frees it. Calls after that change nothing:
// those that return an error return Closed, and NodesVersion, Pod and ReadingVersion return zeros.
type Cluster struct {
	lock   sync.RWMutex   // read: a call is under way; written: nobody uses handle
	handle *C.vga_cluster // nil: closed
	number uint64         // of all clusters of the process: the order in which two of them are locked

	explanation, metrics, names atomic.Uint64 // how long the last ones were
}

var clusters atomic.Uint64 // that were made

// do makes one call, during which the cluster is not closed.
func (c *Cluster) do(ask func(call *call) C.vga_status) error {
	c.lock.RLock()
	defer c.lock.RUnlock()
	if c.handle == nil {
		return Closed
	}
	call := calls.get()
	return call.end(ask(call))
}

// answer does so for a call that writes call.answer.
func (c *Cluster) answer(ask func(call *call) C.vga_status) (answer Answer, err error) {
	c.lock.RLock()
	defer c.lock.RUnlock()
	if c.handle == nil {
		return answer, Closed
	}
	call := calls.get()
	return call.endWithAnswer(ask(call))
}

// text does so for a call that writes a text; `last`, which may be nil, is how long the last one was.
func (c *Cluster) text(last *atomic.Uint64, ask func(call *call, to *C.vga_text) C.vga_status) (string, error) {
	c.lock.RLock()
	defer c.lock.RUnlock()
	if c.handle == nil {
		return "", Closed
	}
	return resultText(last, ask)
}

// New makes a cluster without nodes.
func New(options Options) (*Cluster, error) {
	call := calls.get()
	given := newOptions(options)
	defer given.free()
	var handle *C.vga_cluster
	if err := call.end(C.vga_cluster_new(given.options, &handle, &call.why)); err != nil {
		return nil, err
	}
	return &Cluster{handle: handle, number: clusters.Add(1)}, nil
}

// Swap has each of two clusters be what the other one is, between two calls of others.
func (c *Cluster) Swap(other *Cluster) error {
	first, second := c, other
	if second.number < first.number { // whoever swaps these two the other way round waits for the same one first
		first, second = second, first
	}
	first.lock.RLock()
	defer first.lock.RUnlock()
	if first != second {
		second.lock.RLock()
		defer second.lock.RUnlock()
	}
	if c.handle == nil || other.handle == nil {
		return Closed
	}
	call := calls.get()
	return call.end(C.vga_swap(c.handle, other.handle, &call.why))
}

// Close waits for the calls that are under way and frees the cluster. It may be closed again, which does nothing.
func (c *Cluster) Close() {
	c.lock.Lock()
	defer c.lock.Unlock()
	C.vga_cluster_free(c.handle)
	c.handle = nil
}

// Configure gives other options; what runs and is reserved stays.
func (c *Cluster) Configure(options Options) error {
	given := newOptions(options)
	defer given.free()
	return c.do(func(call *call) C.vga_status { return C.vga_configure(c.handle, given.options, &call.why) })
}

// Upsert tells of objects as they are now, in JSON or YAML.
func (c *Cluster) Upsert(object []byte) (Upserted, error) {
	var done C.vga_upserted
	done.struct_size = C.size_t(unsafe.Sizeof(done))
	text := (*C.char)(unsafe.Pointer(unsafe.SliceData(object)))
	err := c.do(func(call *call) C.vga_status {
		return C.vga_upsert(c.handle, text, C.size_t(len(object)), &done, &call.why)
	})
	return Upserted{Objects: int(done.objects), Changed: int(done.changed), Outdated: int(done.outdated)}, err
}

// RemoveNode tells that a node is gone.
func (c *Cluster) RemoveNode(name string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_remove_node(c.handle, call.text(name), &call.why) })
}

// RemovePod tells that a pod is gone; it gives back what it has.
func (c *Cluster) RemovePod(uid string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_remove_pod(c.handle, call.text(uid), &call.why) })
}

// RemoveConfigMap tells that a ConfigMap is gone, named as namespace/name.
func (c *Cluster) RemoveConfigMap(name string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_remove_config_map(c.handle, call.text(name), &call.why) })
}

// NodesVersion rises whenever a number gets or loses its node; all numbers are below the limit.
func (c *Cluster) NodesVersion() (limit int, version uint64) {
	var number C.uint32_t
	var current C.uint64_t
	_ = c.do(func(*call) C.vga_status { return C.vga_nodes_version(c.handle, &number, &current) })
	return int(number), uint64(current)
}

// FindNode is the number of a node.
func (c *Cluster) FindNode(name string) (Node, error) {
	var node C.uint32_t
	err := c.do(func(call *call) C.vga_status { return C.vga_find_node(c.handle, call.text(name), &node, &call.why) })
	return Node(node), err
}

// NodeName is the name of a node.
func (c *Cluster) NodeName(node Node) (string, error) {
	return c.text(nil, func(_ *call, to *C.vga_text) C.vga_status {
		return C.vga_node_name(c.handle, C.uint32_t(node), to)
	})
}

// NodeNames are the names of all nodes by number, empty for a number that no node has, and their version as NodesVersion
// has it.
func (c *Cluster) NodeNames() (names []string, version uint64, err error) {
	var limit C.uint32_t
	var current C.uint64_t
	text, err := c.text(&c.names, func(_ *call, to *C.vga_text) C.vga_status {
		return C.vga_node_names(c.handle, &limit, &current, to)
	})
	if err != nil {
		return nil, 0, err
	}
	names = make([]string, 0, int(limit))
	for range int(limit) {
		name, others, _ := strings.Cut(text, "\x00")
		names, text = append(names, name), others
	}
	return names, uint64(current), nil
}

// EvaluateEmpty asks every node about a pod that waits as if no pod had anything there; with numbers. Answers are by number of the
// node, in `room` if that is large enough.
func (c *Cluster) EvaluateEmpty(uid string, room []Answer) ([]Answer, error) {
	return c.evaluate(room, func(call *call, answers *C.vga_answer, capacity C.size_t, count *C.size_t) C.vga_status {
		return C.vga_evaluate_empty(c.handle, call.text(uid), answers, capacity, count, &call.why)
	})
}

// Evaluate asks every node about a pod that waits. Answers are by number of the node, in `room` if that is large enough.
// With numbers, nodes that refuse say what was wanted and available.
func (c *Cluster) Evaluate(uid string, withNumbers bool, room []Answer) ([]Answer, error) {
	flags := C.uint32_t(0)
	if withNumbers {
		flags = C.VGA_WITH_NUMBERS
	}
	return c.evaluate(room, func(call *call, answers *C.vga_answer, capacity C.size_t, count *C.size_t) C.vga_status {
		return C.vga_evaluate(c.handle, call.text(uid), flags, answers, capacity, count, &call.why)
	})
}

// evaluate makes a call that writes every node's answer, again with more room if there is too little.
func (c *Cluster) evaluate(room []Answer,
	ask func(call *call, answers *C.vga_answer, capacity C.size_t, count *C.size_t) C.vga_status) ([]Answer, error) {
	for {
		var count C.size_t
		err := c.do(func(call *call) C.vga_status {
			return ask(call, (*C.vga_answer)(unsafe.Pointer(unsafe.SliceData(room))), C.size_t(len(room)), &count)
		})
		if errors.Is(err, TooSmall) {
			room = make([]Answer, int(count)+int(count)/8)
			continue
		}
		if err != nil {
			return nil, err
		}
		return room[:int(count)], nil
	}
}

// AskNode is one node's answer, with numbers.
func (c *Cluster) AskNode(uid string, node Node) (Answer, error) {
	return c.answer(func(call *call) C.vga_status {
		return C.vga_ask_node(c.handle, call.text(uid), C.uint32_t(node), &call.answer, &call.why)
	})
}

// AskWithout is one node's answer if these pods had nothing.
func (c *Cluster) AskWithout(uid string, node Node, pods []string) (Answer, error) {
	list := newList(pods)
	defer list.free()
	return c.answer(func(call *call) C.vga_status {
		return C.vga_ask_without(c.handle, call.text(uid), C.uint32_t(node), list.texts, C.size_t(len(pods)), &call.answer,
			&call.why)
	})
}

// Choose is the node of candidates where the pod goes; false if it fits on none of them.
func (c *Cluster) Choose(uid string, candidates []Node) (Node, bool, error) {
	var node C.uint32_t
	var found C.int
	err := c.do(func(call *call) C.vga_status {
		return C.vga_choose(c.handle, call.text(uid), (*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(candidates))),
			C.size_t(len(candidates)), &node, &found, &call.why)
	})
	return Node(node), found != 0, err
}

// Explain says why the pod goes where it goes, or nowhere: JSON as `vgpusim explain --json` prints it.
func (c *Cluster) Explain(uid string) (string, error) {
	return c.text(&c.explanation, func(call *call, to *C.vga_text) C.vga_status {
		return C.vga_explain(c.handle, call.text(uid), to, &call.why)
	})
}

// Pod is the state of a pod, and its node if it is reserved or committed.
func (c *Cluster) Pod(uid string) (PodState, Node) {
	var state C.vga_pod_state
	var node C.uint32_t
	_ = c.do(func(call *call) C.vga_status { return C.vga_get_pod(c.handle, call.text(uid), &state, &node) })
	return PodState(state), Node(node)
}

// ReadsResource is whether some dialect reads a resource, so that amounts of it are the core's to compare.
func (c *Cluster) ReadsResource(resource string) (bool, error) {
	var reads C.int
	err := c.do(func(call *call) C.vga_status {
		return C.vga_reads_resource(c.handle, call.text(resource), &reads, &call.why)
	})
	return reads != 0, err
}

// ReadingVersion is another number when what pods ask for may read otherwise than before.
func (c *Cluster) ReadingVersion() uint64 {
	var version C.uint64_t
	_ = c.do(func(*call) C.vga_status { return C.vga_reading_version(c.handle, &version) })
	return uint64(version)
}

// WantsDevices is whether a pod asks for devices, also where its request cannot be read.
func (c *Cluster) WantsDevices(uid string) (bool, error) {
	var wants C.int
	err := c.do(func(call *call) C.vga_status { return C.vga_wants_devices(c.handle, call.text(uid), &wants, &call.why) })
	return wants != 0, err
}

// Reserve books a pod that waits on the devices of a node that the policy prefers there. The answer's reason is Fits if
// it was booked.
func (c *Cluster) Reserve(uid string, node Node) (Answer, error) {
	return c.answer(func(call *call) C.vga_status {
		return C.vga_reserve(c.handle, call.text(uid), C.uint32_t(node), &call.answer, &call.why)
	})
}

// Commit says that a reserved pod is bound.
func (c *Cluster) Commit(uid string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_commit(c.handle, call.text(uid), &call.why) })
}

// Rollback takes a reservation back.
func (c *Cluster) Rollback(uid string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_rollback(c.handle, call.text(uid), &call.why) })
}

// Release has a committed pod give back what it has.
func (c *Cluster) Release(uid string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_release(c.handle, call.text(uid), &call.why) })
}

// Suspend has a committed pod count for nothing until Resume: what would be if it were evicted.
func (c *Cluster) Suspend(uid string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_suspend(c.handle, call.text(uid), &call.why) })
}

// Resume gives a suspended pod its devices again, also if others got them meanwhile. UnknownNode while its node is gone.
func (c *Cluster) Resume(uid string) error {
	return c.do(func(call *call) C.vga_status { return C.vga_resume(c.handle, call.text(uid), &call.why) })
}

// Annotations is what to write on a reserved or committed pod for the device plugins.
func (c *Cluster) Annotations(uid string, decided time.Time) (map[string]string, error) {
	text, err := c.text(nil, func(call *call, to *C.vga_text) C.vga_status {
		return C.vga_annotations(c.handle, call.text(uid), C.int64_t(decided.UnixNano()), to, &call.why)
	})
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{}
	if err := json.Unmarshal([]byte(text), &annotations); err != nil {
		return nil, fmt.Errorf("the annotations of pod %s: %w", uid, err)
	}
	return annotations, nil
}

// BeginTrial opens a scope in which anything may be booked and given back. It is open for all goroutines: the caller
// keeps others away until it ends.
func (c *Cluster) BeginTrial() error {
	return c.do(func(call *call) C.vga_status { return C.vga_begin_trial(c.handle, &call.why) })
}

// EndTrial ends the innermost trial; unless it is kept, the cluster is exactly as it was.
func (c *Cluster) EndTrial(keep bool) error {
	kept := C.int(0)
	if keep {
		kept = 1
	}
	return c.do(func(call *call) C.vga_status { return C.vga_end_trial(c.handle, kept, &call.why) })
}

// LearnWorkload has the policies take the pods that are there for typical; true if these are others than the last time.
func (c *Cluster) LearnWorkload() (bool, error) {
	var learned C.int
	err := c.do(func(call *call) C.vga_status { return C.vga_learn_workload(c.handle, &learned, &call.why) })
	return learned != 0, err
}

// Metrics is what is used of every device and by whom, as JSON.
func (c *Cluster) Metrics() (string, error) {
	return c.text(&c.metrics, func(_ *call, to *C.vga_text) C.vga_status { return C.vga_metrics(c.handle, to) })
}

// Warnings is what the devices' configuration switches off, what of the objects could not be read, and what is given out twice: a
// JSON list of texts.
func (c *Cluster) Warnings() (string, error) {
	return c.text(nil, func(_ *call, to *C.vga_text) C.vga_status { return C.vga_warnings(c.handle, to) })
}
