// Package layout cuts MIG GPUs on the node: it takes the core's plan step by step, creates and destroys instances at the planned
// places, reads the hardware after every step and tells the ledger what became of it.
//
// Rules that hold in every call:
//   - The hardware is read each time; nothing of an earlier call is trusted but which place a position of a group was given.
//   - An instance that is in use is never destroyed: one on which processes run, one that the ledger's pods were answered with, and
//     one that this executor has just handed out.
//   - Only the GPU concerned is touched, and only one change of a GPU is under way at a time; other GPUs go on.
//   - Whether a change is possible is known before its first step. After a failed step the hardware is read, the steps done so far
//     are undone, and the error says what the GPU holds now.
//
// Idle instances stay when their pods are gone, until another layout needs their room: that is the cheapest.
package layout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/vga"
)

// Service says whether a GPU may be given out.
type Service int

// The values of Service.
const (
	InService     Service = iota
	Reconfiguring         // its instances are being changed
	Withdrawn             // hardware and ledger disagree, or the GPU cannot be cut; Status.Reason says why
)

// String is the value in words.
func (s Service) String() string {
	return [...]string{"in service", "reconfiguring", "withdrawn"}[s]
}

// Status is the service of one GPU; Reason is empty in service.
type Status struct {
	Service Service
	Reason  string
}

// Claim is how far a container is with what its pod was given.
type Claim int

// The values of Claim.
const (
	Answered Claim = iota // the kubelet may have its answer, so that the container may use its instances
	Waiting               // it was promised instances, and its Allocate was not answered yet
	Over                  // its pod has failed: it has nothing any more
)

// Ledger is what the executor uses of a vga.Cluster that knows the node and its pods.
type Ledger interface {
	FindNode(name string) (vga.Node, error)
	Metrics() (string, error)
	NoteLayout(node vga.Node, device string, instances, busy []string) error
	NoteStep(node vga.Node, device string, step vga.LayoutStep, done bool) error
	SetService(node vga.Node, device string, service vga.Service) error
}

// Default limits.
const (
	DefaultStepLimit   = 30 * time.Second
	DefaultChangeLimit = 2 * time.Minute
)

// Options of an Executor. Library, Ledger and Node are needed.
type Options struct {
	Library hardware.Library
	Ledger  Ledger
	Node    string // name of this node, as the ledger knows it
	Catalog string // of MIG models, as vga.Options has it; empty: the built-in one

	// Claim is how far a container is of a pod that the ledger shows. Nil: all are Answered.
	Claim func(podUID, container string) Claim
	// Geometry finds a geometry group of a model, which the driver names. Nil: there are no groups.
	Geometry func(model, group string) (config.Geometry, bool)
	// MayEnable is whether Instance and Make may switch MIG on for a GPU on which nothing runs. Nil: never.
	MayEnable func(gpuUUID string) bool
	// Changed is called when the service of a GPU changes. It must return soon and must not call the executor.
	Changed func(gpuUUID string, service Service, reason string)
	// Refresh brings the ledger up to date before a pod is refused because of other pods. Nil: it is not needed.
	Refresh func(ctx context.Context) error
	// Patience is how long a change waits for instances in use to be given back. 0: it is refused at once.
	Patience time.Duration

	StepLimit   time.Duration // for one call of the library; 0: DefaultStepLimit
	ChangeLimit time.Duration // for one change, without its undoing; 0: DefaultChangeLimit
}

// Executor changes the layouts of this node's MIG GPUs. Calls may come from any goroutine.
type Executor struct {
	options    Options
	board      *board
	closeBoard func()

	lock   sync.Mutex
	cards  map[string]*card
	closed bool
	calls  sync.WaitGroup // of the library, also those that nobody waits for any more
}

// card is what the executor knows of one GPU.
type card struct {
	uuid string
	turn chan struct{} // holds a token; who has it may look at the GPU and change it
	// These belong to who has the turn.
	cut    *cut               // nil: not known
	reset  bool               // MIG was switched on, which waits for a reset
	handed map[place]*handing // handed out by this executor

	status Status // under Executor.lock
}

// New makes an executor. Close it in the end.
func New(options Options) (*Executor, error) {
	if options.Library == nil || options.Ledger == nil || options.Node == "" {
		return nil, errors.New("layout: library, ledger and name of the node are needed")
	}
	if options.StepLimit <= 0 {
		options.StepLimit = DefaultStepLimit
	}
	if options.ChangeLimit <= 0 {
		options.ChangeLimit = DefaultChangeLimit
	}
	plans, err := newBoard(options.Catalog)
	if err != nil {
		return nil, fmt.Errorf("layout: %w", err)
	}
	return &Executor{options: options, board: plans, closeBoard: plans.close, cards: map[string]*card{}}, nil
}

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("layout: the executor is closed")

// Close refuses further calls and waits, as long as the context allows, until no call of the library is under way.
func (e *Executor) Close(ctx context.Context) error {
	e.lock.Lock()
	wasClosed := e.closed
	e.closed = true
	e.lock.Unlock()
	if wasClosed {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		e.calls.Wait()
		e.closeBoard()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("layout: calls of the driver are still under way: %w", ctx.Err())
	}
}

// Status is the service of a GPU; one that was never looked at is in service.
func (e *Executor) Status(gpuUUID string) Status {
	e.lock.Lock()
	defer e.lock.Unlock()
	if known := e.cards[gpuUUID]; known != nil {
		return known.status
	}
	return Status{}
}

// ProfileName is what the catalog calls a profile of a model, which the driver names: "3g.20gb". Empty: it has none of that number.
func (e *Executor) ProfileName(model string, profileID uint32) string {
	known, err := e.board.model(model)
	if err != nil {
		return ""
	}
	named, err := e.board.profile(known, strconv.FormatUint(uint64(profileID), 10))
	if err != nil {
		return ""
	}
	return named.Name
}

// take waits for the GPU's turn; the caller gives it back with leave.
func (e *Executor) take(ctx context.Context, gpuUUID string) (*card, error) {
	e.lock.Lock()
	if e.closed {
		e.lock.Unlock()
		return nil, ErrClosed
	}
	target := e.cards[gpuUUID]
	if target == nil {
		target = &card{uuid: gpuUUID, turn: make(chan struct{}, 1), handed: map[place]*handing{}}
		e.cards[gpuUUID] = target
	}
	e.calls.Add(1)
	e.lock.Unlock()
	if ctx.Err() == nil {
		select {
		case target.turn <- struct{}{}:
			return target, nil
		case <-ctx.Done():
		}
	}
	e.calls.Done()
	return nil, fmt.Errorf("GPU %s: another change of its layout is under way: %w", gpuUUID, ctx.Err())
}

// leave gives the turn back. After a call that has not returned, the GPU is withdrawn and the turn is given back when the call
// has, with the hardware read anew.
func (e *Executor) leave(target *card, outcome error) {
	var stuck *stuckError
	if !errors.As(outcome, &stuck) {
		<-target.turn
		e.calls.Done()
		return
	}
	e.setStatus(target, Status{Service: Withdrawn, Reason: stuck.Error()})
	go func() {
		stuck.wait()
		_, err := e.settle(target)
		e.leave(target, err)
	}()
}

// setStatus publishes the service of a GPU: to the ledger, which gives it nothing new meanwhile, and to Changed.
func (e *Executor) setStatus(target *card, status Status) {
	e.lock.Lock()
	isNew := target.status != status
	target.status = status
	e.lock.Unlock()
	if node, err := e.options.Ledger.FindNode(e.options.Node); err == nil {
		orders := [...]vga.Service{vga.InService, vga.Reconfiguring, vga.Draining}
		// A GPU that the ledger does not know has no pods and gets none.
		_ = e.options.Ledger.SetService(node, target.uuid, orders[status.Service])
	}
	if isNew && e.options.Changed != nil {
		e.options.Changed(target.uuid, status.Service, status.Reason)
	}
}

// bounded makes one call of the library within StepLimit. A call that does not return in time keeps the GPU's turn until it does:
// nobody may touch the GPU meanwhile.
func bounded[Value any](e *Executor, target *card, what string, call func() (Value, error)) (Value, error) {
	type outcome struct {
		value Value
		err   error
	}
	answer := make(chan outcome, 1)
	go func() {
		value, err := call()
		answer <- outcome{value, err}
	}()
	timer := time.NewTimer(e.options.StepLimit)
	defer timer.Stop()
	select {
	case result := <-answer:
		return result.value, result.err
	case <-timer.C:
	}
	var none Value
	return none, &stuckError{gpu: target.uuid, what: what, limit: e.options.StepLimit, wait: func() { <-answer }}
}

// stuckError is a call of the driver that has not returned; wait ends when it does.
type stuckError struct {
	gpu, what string
	limit     time.Duration
	wait      func()
}

func (e *stuckError) Error() string {
	return fmt.Sprintf("GPU %s: %s has not returned within %s", e.gpu, e.what, e.limit)
}
