package layout

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/vga"
)

// Instance is the uuid ("MIG-…") of the instance at a position of a geometry group. The GPU is cut into the group first if it is not.
// The position counts the group's instances in the geometry's order; it means the k-th instance of its profile by ascending start,
// whatever index or number the driver gives it. A geometry without instances stands for GPUs without groups: its name is a profile and
// the position a start, as Make has them. A Refusal says why that cannot be, and nothing was touched then; a ChangeError says
// that a step failed, and what the GPU holds now.
func (e *Executor) Instance(ctx context.Context, gpuUUID string, geometry config.Geometry, position int) (migUUID string, err error) {
	if len(geometry.Instances) == 0 && geometry.Group != "" {
		if position < 0 || position >= startsMax {
			return "", refuse(gpuUUID, nil, "profile %s: got start %d, expected 0 to %d", geometry.Group, position, startsMax-1)
		}
		return e.Make(ctx, gpuUUID, geometry.Group, uint32(position))
	}
	target, err := e.take(ctx, gpuUUID)
	if err != nil {
		return "", err
	}
	defer func() { e.leave(target, err) }()
	err = e.patiently(ctx, func() (failure error) {
		migUUID, failure = e.instance(ctx, target, geometry, position)
		return failure
	})
	return migUUID, err
}

func (e *Executor) instance(ctx context.Context, target *card, geometry config.Geometry, position int) (string, error) {
	seen, err := e.look(target)
	if err != nil {
		return "", err
	}
	wanted, err := e.board.readGroup(seen.model, geometry)
	if err != nil {
		return "", refuse(target.uuid, err, "it cannot be cut")
	}
	if position < 0 || position >= len(wanted.positions) {
		return "", refuse(target.uuid, nil, "geometry group %q: got position %d, expected 0 to %d", wanted.name, position,
			len(wanted.positions)-1)
	}
	if seen, err = e.enabled(ctx, target, seen); err != nil {
		return "", err
	}
	if err := e.bring(ctx, target, seen, wanted); err != nil {
		return "", err
	}
	of := wanted.positions[position]
	at, _ := target.cut.at(of)
	instance, is := find(seen.instances, at)
	if !is || !isWhole(instance) {
		return "", refuse(target.uuid, nil, "instance %s is not whole", e.board.name(seen.model, at))
	}
	e.hand(target, seen, at, wanted.name, of.Number)
	return instance.UUID, nil
}

// hand notes that an instance is handed out. Mostly the ledger shows its pod already, which may have gone when the GPU is looked at again.
func (e *Executor) hand(target *card, seen *sight, at place, group string, number int) {
	target.handed[at] = &handing{since: time.Now(), group: group, number: number}
	target.forgetHanded(e, seen)
}

// bring cuts a GPU into a group, so that card.cut is of the group and all its instances are there.
func (e *Executor) bring(ctx context.Context, target *card, seen *sight, wanted *group) error {
	used, err := e.usage(target, seen, wanted)
	if err != nil {
		return err
	}
	if err := e.note(target, seen, used); err != nil {
		return refuse(target.uuid, err, "it cannot be cut")
	}
	if target.cut.isOf(wanted) && target.cut.isThere(placesOf(seen.instances, isWhole)) && !used.hasForeign(target.cut.all()) {
		return nil
	}
	way, err := e.groupWay(target, seen, used, wanted)
	if err != nil {
		return err
	}
	after := target.cut
	if !target.cut.isOf(wanted) || !target.cut.isThere(way.after) {
		after = cutOf(wanted, way.after)
	}
	if after == nil || used.hasForeign(after.all()) {
		return e.blocked(target, seen, used, fmt.Sprintf("geometry group %q", wanted.name))
	}
	if err := e.carryOut(ctx, target, seen, used, way.steps); err != nil {
		return err
	}
	target.cut = after
	return nil
}

// groupWay plans the way to a group.
func (e *Executor) groupWay(target *card, seen *sight, used *usage, wanted *group) (*plan, error) {
	what := fmt.Sprintf("geometry group %q", wanted.name)
	half, existing := e.withoutHalf(seen, used)
	inUse := used.places()
	var way *plan
	var err error
	isMember := func(at place) bool { return wanted.countOf(at.ProfileID) > 0 }
	members, _ := split(existing, isMember)
	switch {
	case target.cut.isOf(wanted) && (len(inUse) > 0 || seen.hasAnswered(wanted.name)): // the same places, whatever is gone
		missing, remaining := split(target.cut.all(), func(at place) bool { return !slices.Contains(existing, at) })
		way, err = e.board.placesPlan(seen.model, existing, union(inUse, remaining), missing)
	case len(inUse) > 0 && cutOf(wanted, existing) != nil: // others may be beside it
		way = &plan{after: existing}
	case len(used.unclear) > 0: // which of the missing instances pods have is known only if there is one way to complete the group
		ways := e.board.completions(seen.model, union(inUse, members), wanted.counts, 2)
		if len(ways) != 1 {
			return nil, refuse(target.uuid, nil,
				"%s: pods have instances of it of which some are gone, and which ones these are cannot be told", what)
		}
		way, err = e.board.placesPlan(seen.model, existing, union(inUse, members), ways[0])
	case len(inUse) == 0:
		way, err = e.board.groupPlan(seen.model, existing, wanted.counts)
	default:
		way, err = e.board.countsPlan(seen.model, existing, inUse, wanted.counts)
	}
	if err != nil {
		return nil, refuse(target.uuid, err, "%s", what)
	}
	if way == nil {
		return nil, e.blocked(target, seen, used, what)
	}
	way.steps = append(half, way.steps...)
	return way, nil
}

// withoutHalf are the steps that destroy what was left half made, and the places of the other instances.
func (e *Executor) withoutHalf(seen *sight, used *usage) (steps []vga.LayoutStep, others []place) {
	steps = e.halfSteps(seen, used)
	others = slices.DeleteFunc(placesOf(seen.instances, anyInstance), func(at place) bool {
		return slices.ContainsFunc(steps, func(step vga.LayoutStep) bool { return at == place{step.ProfileID, step.Start} })
	})
	return steps, others
}

func split(places []place, isFirst func(place) bool) (first, second []place) {
	for _, at := range places {
		if isFirst(at) {
			first = append(first, at)
		} else {
			second = append(second, at)
		}
	}
	return first, second
}

func union(left, right []place) []place {
	result := slices.Clone(left)
	for _, at := range right {
		if !slices.Contains(result, at) {
			result = append(result, at)
		}
	}
	return result
}

// carryOut takes the GPU through steps and publishes afterwards how it is.
func (e *Executor) carryOut(ctx context.Context, target *card, seen *sight, used *usage, steps []vga.LayoutStep) error {
	if len(steps) == 0 {
		return nil
	}
	failure := e.apply(ctx, target, seen, used, steps)
	_, err := e.settle(target)
	if failure != nil {
		return failure
	}
	return err
}

// Make is the uuid of the instance of a profile at a start, in memory slices, as the core gave it to a pod of a GPU without geometry
// groups. It is made first if it is not there. Errors: as of Instance.
func (e *Executor) Make(ctx context.Context, gpuUUID, profileName string, start uint32) (migUUID string, err error) {
	target, err := e.take(ctx, gpuUUID)
	if err != nil {
		return "", err
	}
	defer func() { e.leave(target, err) }()
	err = e.patiently(ctx, func() (failure error) {
		migUUID, failure = e.instanceAt(ctx, target, profileName, start)
		return failure
	})
	return migUUID, err
}

func (e *Executor) instanceAt(ctx context.Context, target *card, profileName string, start uint32) (string, error) {
	seen, err := e.look(target)
	if err != nil {
		return "", err
	}
	kind, err := e.board.profile(seen.model, profileName)
	if err != nil {
		return "", refuse(target.uuid, err, "it cannot be cut")
	}
	at := place{kind.ID, start}
	if err := e.board.check(seen.model, []place{at}); err != nil {
		return "", refuse(target.uuid, err, "it cannot be cut")
	}
	if seen, err = e.enabled(ctx, target, seen); err != nil {
		return "", err
	}
	if err := e.place(ctx, target, seen, kind, at); err != nil {
		return "", err
	}
	instance, is := find(seen.instances, at)
	if !is || !isWhole(instance) {
		return "", refuse(target.uuid, nil, "instance %s is not whole", e.board.name(seen.model, at))
	}
	e.hand(target, seen, at, "", int(start))
	return instance.UUID, nil
}

// place makes an instance at a place, unless it is there.
func (e *Executor) place(ctx context.Context, target *card, seen *sight, kind profile, at place) error {
	used, err := e.usage(target, seen, nil)
	if err != nil {
		return err
	}
	if err := e.note(target, seen, used); err != nil {
		return refuse(target.uuid, err, "it cannot be cut")
	}
	if instance, is := find(seen.instances, at); is && isWhole(instance) {
		return nil
	}
	what := "instance " + kind.Name + "@" + strconv.FormatUint(uint64(at.Start), 10)
	half, existing := e.withoutHalf(seen, used)
	way, err := e.board.placesPlan(seen.model, existing, used.places(), []place{at})
	if err != nil {
		return refuse(target.uuid, err, "%s", what)
	}
	if way == nil {
		return e.blocked(target, seen, used, what)
	}
	return e.carryOut(ctx, target, seen, used, append(half, way.steps...))
}

// enabled is the GPU with MIG on: switched on here if it is off, that is allowed, and nothing runs.
func (e *Executor) enabled(ctx context.Context, target *card, seen *sight) (*sight, error) {
	if seen.gpu.MigEnabled {
		return seen, nil
	}
	if e.options.MayEnable == nil || !e.options.MayEnable(target.uuid) {
		return nil, refuse(target.uuid, hardware.ErrUnsupported, "MIG is off, and its configured mode is not mig")
	}
	if err := e.switchMig(ctx, target, seen); err != nil {
		return nil, err
	}
	return e.look(target)
}
