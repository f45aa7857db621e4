package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/vga"
)

// change is one change of a GPU under way. Its owner has the GPU's turn.
type change struct {
	executor *Executor
	target   *card
	seen     *sight // its instances are those of the last reading
	used     *usage
	done     []vga.LayoutStep
}

// apply takes a GPU through steps. After a failure the hardware was read, the steps done were undone where possible, and the error
// is a ChangeError. The caller publishes the GPU's service afterwards.
func (e *Executor) apply(ctx context.Context, target *card, seen *sight, used *usage, steps []vga.LayoutStep) error {
	if len(steps) == 0 {
		return nil
	}
	e.setStatus(target, Status{Service: Reconfiguring, Reason: "its instances are being changed"})
	limited, cancel := context.WithTimeout(ctx, e.options.ChangeLimit)
	defer cancel()
	under := &change{executor: e, target: target, seen: seen, used: used}
	for _, step := range steps {
		if err := under.step(limited, step); err != nil {
			return under.fail(ctx, step, err)
		}
	}
	return nil
}

// step carries out one step, reads the hardware and notes what became of it.
func (c *change) step(ctx context.Context, step vga.LayoutStep) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped before it: %w", err)
	}
	at := place{step.ProfileID, step.Start}
	before := c.seen.instances
	var err error
	if step.Kind == vga.DestroyInstance {
		err = c.destroy(at)
	} else {
		err = c.create(step)
	}
	if err != nil {
		return err
	}
	after, err := c.executor.read(c.target)
	if err != nil {
		return fmt.Errorf("the instances cannot be read after it: %w", err)
	}
	if err := verify(before, after, step); err != nil {
		return err
	}
	c.seen.instances = after
	c.done = append(c.done, step)
	c.executor.noteStep(c.target, step, true)
	return nil
}

func (c *change) destroy(at place) error {
	instance, is := find(c.seen.instances, at)
	if !is {
		return fmt.Errorf("%w: no such instance", hardware.ErrUnknown)
	}
	if users := c.used.by[at]; instance.Busy || len(users) > 0 {
		return fmt.Errorf("%w: %v", hardware.ErrInUse, users)
	}
	_, err := bounded(c.executor, c.target, "destroying an instance", func() (struct{}, error) {
		return struct{}{}, c.executor.options.Library.DestroyInstance(c.target.uuid, instance.GI)
	})
	return err
}

func (c *change) create(step vga.LayoutStep) error {
	_, err := bounded(c.executor, c.target, "creating an instance", func() (hardware.Instance, error) {
		return c.executor.options.Library.CreateInstance(c.target.uuid, step.ProfileID, step.Start, step.Size)
	})
	return err
}

// verify compares two readings: only what the step says has changed.
func verify(before, after []hardware.Instance, step vga.LayoutStep) error {
	at := place{step.ProfileID, step.Start}
	isSame := func(list []hardware.Instance, wanted hardware.Instance) bool {
		return slices.ContainsFunc(list, func(other hardware.Instance) bool {
			return other.GI == wanted.GI && placeOf(other) == placeOf(wanted)
		})
	}
	for _, instance := range before {
		isGone := step.Kind == vga.DestroyInstance && placeOf(instance) == at
		if isSame(after, instance) == isGone {
			return fmt.Errorf("after it instance %s (GI %d) is there: %v, expected the opposite", placeOf(instance).text(), instance.GI, isGone)
		}
	}
	isMade := false
	for _, instance := range after {
		if isSame(before, instance) {
			continue
		}
		if step.Kind != vga.CreateInstance || placeOf(instance) != at || instance.Size != step.Size || !isWhole(instance) {
			return fmt.Errorf("after it there is instance %s of size %d (GI %d, %d compute instances), which was not to be made",
				placeOf(instance).text(), instance.Size, instance.GI, len(instance.Compute))
		}
		isMade = true
	}
	if step.Kind == vga.CreateInstance && !isMade {
		return errors.New("the driver reports success, but the instance is not there")
	}
	return nil
}

// fail ends a change after a failed step: reads the hardware, undoes what was done, and says what the GPU holds now. A call that
// has not returned, and a GPU that is lost, are left alone.
func (c *change) fail(ctx context.Context, step vga.LayoutStep, cause error) error {
	e := c.executor
	failure := &ChangeError{GPU: c.target.uuid, Step: stepName(step), Cause: cause}
	e.noteStep(c.target, step, false)
	var stuck *stuckError
	if errors.As(cause, &stuck) || errors.Is(cause, hardware.ErrLost) {
		return failure
	}
	if ctx.Err() == nil { // whoever has stopped the change has no time for more
		undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.options.ChangeLimit)
		defer cancel()
		err := c.undo(undoing)
		if errors.As(err, &stuck) {
			failure.Cause = errors.Join(cause, err)
			return failure
		}
		failure.RolledBack = err == nil
	}
	instances, err := e.read(c.target)
	if err != nil {
		failure.Cause = errors.Join(cause, err)
		return failure
	}
	c.seen.instances = instances
	failure.Reached = e.board.names(c.seen.model, placesOf(instances, anyInstance))
	if failure.Reached == nil {
		failure.Reached = []string{}
	}
	return failure
}

// undo takes the steps done back, the last one first.
func (c *change) undo(ctx context.Context) error {
	instances, err := c.executor.read(c.target)
	if err != nil {
		return err
	}
	c.seen.instances = instances
	undone := slices.Clone(c.done)
	slices.Reverse(undone)
	for _, step := range undone {
		step.Kind = vga.DestroyInstance + vga.CreateInstance - step.Kind
		if err := c.step(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func stepName(step vga.LayoutStep) string {
	verb := "create"
	if step.Kind == vga.DestroyInstance {
		verb = "destroy"
	}
	return fmt.Sprintf("%s %s@%d", verb, step.Profile, step.Start)
}

// noteStep tells the ledger what became of a step. A ledger that cannot follow is told the whole layout by settle, which ends
// every change.
func (e *Executor) noteStep(target *card, step vga.LayoutStep, done bool) {
	if node, err := e.options.Ledger.FindNode(e.options.Node); err == nil {
		_ = e.options.Ledger.NoteStep(node, target.uuid, step, done)
	}
}

// halfSteps destroy what was left half made.
func (e *Executor) halfSteps(seen *sight, used *usage) []vga.LayoutStep {
	var result []vga.LayoutStep
	for _, instance := range seen.instances {
		if at := placeOf(instance); isHalf(instance) && len(used.by[at]) == 0 {
			result = append(result, vga.LayoutStep{Kind: vga.DestroyInstance, ProfileID: at.ProfileID, Start: at.Start,
				Size: instance.Size, Profile: e.profileName(seen.model, at)})
		}
	}
	return result
}

func (e *Executor) profileName(of *model, at place) string {
	known, err := e.board.profile(of, fmt.Sprint(at.ProfileID))
	if err != nil {
		return fmt.Sprint(at.ProfileID)
	}
	return known.Name
}

// poll is how often a change that waits for instances in use looks again.
const poll = 100 * time.Millisecond

// patiently tries until it is not refused because of instances in use, or patience ends.
func (e *Executor) patiently(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(e.options.Patience)
	for {
		err := try()
		if !isInUse(err) {
			return err
		}
		if e.options.Refresh != nil {
			if failure := e.options.Refresh(ctx); failure != nil {
				return errors.Join(err, fmt.Errorf("the ledger could not be brought up to date: %w", failure))
			}
			if err = try(); !isInUse(err) {
				return err
			}
		}
		if time.Now().After(deadline) || e.options.Patience <= 0 {
			return err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return err
		}
	}
}
