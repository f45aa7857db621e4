package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// Finding is what a repair found of one GPU.
type Finding struct {
	GPU    string // uuid
	Status Status // afterwards
	Err    error  // what could not be repaired; nil: nothing
}

// Repair compares every GPU that is cut, or that pods have instances of, with the ledger: at the start, after this program or the
// machine has ended between any two steps, and whenever that may be needed. What is half made is destroyed. Instances that pods were
// answered with and that are gone are made again at the same places. A GPU where that cannot be
// done is withdrawn, until a later repair or change finds that hardware and ledger agree. The error is of the library as a whole.
func (e *Executor) Repair(ctx context.Context) ([]Finding, error) {
	gpus, err := bounded(e, &card{uuid: "all"}, "reading the GPUs", e.options.Library.GPUs)
	if err != nil {
		return nil, fmt.Errorf("layout: the GPUs cannot be read: %w", err)
	}
	var findings []Finding
	for _, gpu := range gpus {
		if gpu.MigCapable {
			findings = append(findings, e.repairOne(ctx, gpu.UUID))
		}
	}
	return findings, nil
}

func (e *Executor) repairOne(ctx context.Context, gpuUUID string) Finding {
	result := Finding{GPU: gpuUUID}
	target, err := e.take(ctx, gpuUUID)
	if err != nil {
		result.Err = err
		result.Status = e.Status(gpuUUID)
		return result
	}
	result.Err = e.repair(ctx, target)
	_, err = e.settle(target)
	e.leave(target, errors.Join(result.Err, err))
	if result.Err == nil {
		result.Err = err
	}
	result.Status = e.Status(gpuUUID)
	return result
}

func (e *Executor) repair(ctx context.Context, target *card) error {
	seen, err := e.look(target)
	if err != nil || !seen.gpu.MigEnabled {
		return err
	}
	groups := map[string]bool{}
	var places []holding
	for _, held := range seen.holdings {
		switch {
		case held.claim != Answered:
		case held.group == "":
			places = append(places, held)
		default:
			groups[held.group] = true
		}
	}
	if len(groups) > 1 {
		return refuse(target.uuid, nil, "pods have instances of several geometry groups: %s", words(groups))
	}
	for name := range groups {
		wanted := e.groupNamed(seen, name)
		if wanted == nil {
			return refuse(target.uuid, nil, "geometry group %q, which pods have: the configuration has none of that name for model %s",
				name, seen.gpu.Name)
		}
		if err := e.bring(ctx, target, seen, wanted); err != nil {
			return err
		}
	}
	for _, held := range places {
		kind, err := e.board.profile(seen.model, held.profile)
		if err != nil {
			return refuse(target.uuid, err, "pod %s", held.pod)
		}
		if err := e.place(ctx, target, seen, kind, place{kind.ID, uint32(held.number)}); err != nil {
			return err
		}
	}
	return e.sweep(ctx, target, seen)
}

// sweep destroys what was left half made.
func (e *Executor) sweep(ctx context.Context, target *card, seen *sight) error {
	used, err := e.usage(target, seen, nil)
	if err != nil {
		return err
	}
	if err := e.note(target, seen, used); err != nil {
		return refuse(target.uuid, err, "it cannot be cut")
	}
	return e.carryOut(ctx, target, seen, used, e.halfSteps(seen, used))
}

func words(names map[string]bool) string {
	var result []string
	for name := range names {
		result = append(result, name)
	}
	slices.Sort(result)
	return strings.Join(result, ", ")
}

// settle reads the GPU, notes its layout and publishes whether it is in service. The error is why it could not be read.
func (e *Executor) settle(target *card) (*sight, error) {
	seen, err := e.look(target)
	if err != nil {
		var refusal *Refusal
		reason := err.Error()
		if errors.As(err, &refusal) {
			reason = refusal.Reason
			if refusal.Cause != nil {
				reason += ": " + refusal.Cause.Error()
			}
		}
		e.setStatus(target, Status{Service: Withdrawn, Reason: reason})
		return nil, err
	}
	if reason := e.disagreement(target, seen); reason != "" {
		e.setStatus(target, Status{Service: Withdrawn, Reason: reason})
		return seen, nil
	}
	e.setStatus(target, Status{})
	return seen, nil
}

// disagreement is where hardware and ledger differ so that the GPU must not be given out; empty: nowhere.
func (e *Executor) disagreement(target *card, seen *sight) string {
	used, err := e.usage(target, seen, nil)
	if err == nil {
		err = e.note(target, seen, used)
	}
	if err != nil {
		return err.Error()
	}
	target.reset = target.reset && !seen.gpu.MigEnabled
	if target.reset {
		return "MIG is switched on, and takes effect when the GPU is reset"
	}
	for _, instance := range seen.instances {
		if isHalf(instance) {
			return "instance " + e.board.name(seen.model, placeOf(instance)) + " is left half made"
		}
	}
	whole := placesOf(seen.instances, isWhole)
	for _, held := range seen.holdings {
		if held.claim != Answered || held.isShare {
			continue
		}
		if !seen.gpu.MigEnabled {
			return "MIG is off, and pod " + held.pod + " has an instance"
		}
		if missing := e.missing(target, seen, held, whole); missing != "" {
			return missing
		}
	}
	return ""
}

// missing is why the instance of a holding is not there; empty: it is.
func (e *Executor) missing(target *card, seen *sight, held holding, whole []place) string {
	known, err := e.board.profile(seen.model, held.profile)
	if err != nil {
		return err.Error()
	}
	if at, isKnown := e.placeOf(target, seen, held, known, whole, nil); isKnown {
		if slices.Contains(whole, at) {
			return ""
		}
		return "instance " + e.board.name(seen.model, at) + " of pod " + held.pod + " is gone"
	}
	return fmt.Sprintf("the instances of geometry group %q, of which pod %s has one, are not all there", held.group, held.pod)
}

// EnableMig switches MIG on for a GPU that is not in use: by processes or, by the ledger, by pods. Nil if it is on. Errors: a Refusal;
// hardware.ErrPending where it takes a reset of the GPU, which is withdrawn then.
func (e *Executor) EnableMig(ctx context.Context, gpuUUID string) (err error) {
	target, err := e.take(ctx, gpuUUID)
	if err != nil {
		return err
	}
	defer func() { e.leave(target, err) }()
	seen, err := e.look(target)
	if err != nil || seen.gpu.MigEnabled {
		return err
	}
	return e.switchMig(ctx, target, seen)
}

// switchMig switches MIG on. Only this GPU is touched.
func (e *Executor) switchMig(ctx context.Context, target *card, seen *sight) error {
	for _, held := range seen.holdings {
		if held.claim == Answered {
			refusal := refuse(target.uuid, hardware.ErrInUse, "MIG cannot be switched on: pod %s has a part of it", held.pod)
			refusal.InUse = true
			return refusal
		}
	}
	processes, err := bounded(e, target, "reading the processes", func() ([]hardware.Process, error) {
		return e.options.Library.Processes(target.uuid)
	})
	if err != nil {
		return refuse(target.uuid, err, "MIG cannot be switched on: its processes cannot be read")
	}
	if len(processes) > 0 {
		refusal := refuse(target.uuid, hardware.ErrInUse, "MIG cannot be switched on: %d processes run, the first is %d", len(processes),
			processes[0].PID)
		refusal.InUse = true
		return refusal
	}
	e.setStatus(target, Status{Service: Reconfiguring, Reason: "MIG is being switched on"})
	_, failure := bounded(e, target, "switching MIG on", func() (struct{}, error) {
		return struct{}{}, e.options.Library.SetMigMode(target.uuid, true)
	})
	target.reset = errors.Is(failure, hardware.ErrPending)
	after, err := e.settle(target)
	switch {
	case failure != nil:
		return refuse(target.uuid, failure, "MIG cannot be switched on")
	case err != nil:
		return err
	case !after.gpu.MigEnabled:
		return refuse(target.uuid, nil, "MIG was switched on, and is off")
	}
	return nil
}
