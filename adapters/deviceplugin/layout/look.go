package layout

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/vga"
)

// sight is a GPU as it is: what its driver says, and what the ledger says pods have.
type sight struct {
	gpu       hardware.GPU
	model     *model
	instances []hardware.Instance // by ascending start; none while MIG is off
	holdings  []holding
}

// look reads a GPU and the ledger. A Refusal where the GPU cannot be cut at all.
func (e *Executor) look(target *card) (*sight, error) {
	gpus, err := bounded(e, target, "reading the GPUs", e.options.Library.GPUs)
	if err != nil {
		return nil, refuse(target.uuid, err, "the GPUs cannot be read")
	}
	row := slices.IndexFunc(gpus, func(gpu hardware.GPU) bool { return gpu.UUID == target.uuid })
	if row < 0 {
		return nil, refuse(target.uuid, hardware.ErrUnknown, "this machine does not have it")
	}
	result := &sight{gpu: gpus[row]}
	if result.gpu.Fault != nil {
		return nil, refuse(target.uuid, result.gpu.Fault, "it cannot be read")
	}
	if !result.gpu.MigCapable {
		return nil, refuse(target.uuid, nil, "model %s has no MIG", result.gpu.Name)
	}
	if result.model, err = e.board.model(result.gpu.Name); err != nil {
		return nil, refuse(target.uuid, err, "it cannot be cut")
	}
	if result.holdings, err = e.holdings(target.uuid, result.gpu.MigEnabled); err != nil {
		return nil, refuse(target.uuid, err, "what pods have of it is not known")
	}
	target.forgetHanded(e, result)
	if result.gpu.MigEnabled {
		if result.instances, err = e.read(target); err != nil {
			return nil, refuse(target.uuid, err, "its instances cannot be read")
		}
	}
	return result, nil
}

// read reads the instances of a GPU, by ascending start.
func (e *Executor) read(target *card) ([]hardware.Instance, error) {
	instances, err := bounded(e, target, "reading the instances", func() ([]hardware.Instance, error) {
		return e.options.Library.Instances(target.uuid)
	})
	slices.SortStableFunc(instances, func(left, right hardware.Instance) int { return int(left.Start) - int(right.Start) })
	return instances, err
}

func placeOf(instance hardware.Instance) place { return place{instance.ProfileID, instance.Start} }

// isWhole is whether an instance can be given out: it has one compute instance.
func isWhole(instance hardware.Instance) bool {
	return len(instance.Compute) == 1 && instance.UUID != ""
}

// isHalf is whether an instance was left half made: it has no compute instance, so nothing can run on it.
func isHalf(instance hardware.Instance) bool { return len(instance.Compute) == 0 && !instance.Busy }

func placesOf(instances []hardware.Instance, which func(hardware.Instance) bool) []place {
	var result []place
	for _, instance := range instances {
		if which(instance) {
			result = append(result, placeOf(instance))
		}
	}
	return result
}

func anyInstance(hardware.Instance) bool { return true }

func find(instances []hardware.Instance, at place) (hardware.Instance, bool) {
	for _, instance := range instances {
		if placeOf(instance) == at {
			return instance, true
		}
	}
	return hardware.Instance{}, false
}

// forgetHanded forgets what was handed out to pods that the ledger has shown and shows no longer.
func (c *card) forgetHanded(e *Executor, seen *sight) {
	for at, handed := range c.handed {
		isHeld := slices.ContainsFunc(seen.holdings, func(held holding) bool {
			known, err := e.board.profile(seen.model, held.profile)
			return err == nil && known.ID == at.ProfileID && held.group == handed.group && held.number == handed.number
		})
		handed.seen = handed.seen || isHeld
		if !isHeld && (handed.seen || time.Since(handed.since) > handedGrace) {
			delete(c.handed, at)
		}
	}
}

// usage is who uses the instances of a GPU.
type usage struct {
	by       map[place][]string // the users of an instance, in words
	existing []place
	// unclear: pods have instances of these profiles, and it is not known which of several.
	unclear map[uint32]bool
	foreign map[place]bool // pods have them that have nothing of the group that is looked at
}

func (u *usage) add(at place, user string, isForeign bool) {
	u.by[at] = append(u.by[at], user)
	u.foreign[at] = u.foreign[at] || isForeign
}

// hasForeign is whether one of these instances is another group's pod's.
func (u *usage) hasForeign(places []place) bool {
	return slices.ContainsFunc(places, func(at place) bool { return u.foreign[at] })
}

// places are those of the instances in use.
func (u *usage) places() []place {
	var result []place
	for _, at := range u.existing {
		if len(u.by[at]) > 0 {
			result = append(result, at)
		}
	}
	return result
}

// usage says which instances are in use. `wanted` is the group that is looked at, nil: none.
func (e *Executor) usage(target *card, seen *sight, wanted *group) (*usage, error) {
	result := &usage{by: map[place][]string{}, existing: placesOf(seen.instances, anyInstance), unclear: map[uint32]bool{},
		foreign: map[place]bool{}}
	for _, instance := range seen.instances {
		switch {
		case instance.Busy:
			result.add(placeOf(instance), "processes", false)
		case len(instance.Compute) > 1:
			result.add(placeOf(instance), "several compute instances", false)
		}
	}
	for at, handed := range target.handed {
		if !handed.seen { // the ledger shows no pod for it yet
			result.add(at, "a container that is being started", wanted != nil && handed.group != wanted.name)
		}
	}
	whole := placesOf(seen.instances, func(instance hardware.Instance) bool { return !isHalf(instance) })
	for _, held := range seen.holdings {
		if held.isShare {
			continue
		}
		known, err := e.board.profile(seen.model, held.profile)
		switch {
		case err != nil && held.claim == Waiting: // no GPU of the model has such an instance; its Allocate is refused
			continue
		case err != nil:
			return nil, refuse(target.uuid, err, "pod %s", held.pod)
		}
		at, isKnown := e.placeOf(target, seen, held, known, whole, wanted)
		// What a pod waits for does not stand in the way of cutting the GPU into the very group that it waits for.
		isFree := held.claim == Waiting && wanted != nil && held.group == wanted.name
		isForeign := wanted != nil && held.group != wanted.name
		switch {
		case isKnown && isFree && target.handed[at] == nil:
		case isKnown:
			result.add(at, "pod "+held.pod, isForeign)
		case !isFree: // one of the instances of its profile
			if !isForeign {
				result.unclear[known.ID] = true
			}
			for _, at := range whole {
				if at.ProfileID == known.ID {
					result.add(at, "perhaps pod "+held.pod, isForeign)
				}
			}
		}
	}
	for _, instance := range seen.instances {
		if isHalf(instance) { // nothing can run there, whoever was promised it
			delete(result.by, placeOf(instance))
		}
	}
	return result, nil
}

// hasAnswered is whether containers that were answered have instances of a group.
func (s *sight) hasAnswered(group string) bool {
	return slices.ContainsFunc(s.holdings, func(held holding) bool { return held.group == group && held.claim == Answered })
}

// placeOf is where the instance of a holding is: false if that is not known.
func (e *Executor) placeOf(target *card, seen *sight, held holding, known profile, whole []place, wanted *group) (place, bool) {
	if held.group == "" {
		return place{known.ID, uint32(held.number)}, true
	}
	of := slot{ProfileID: known.ID, Number: held.number}
	if target.cut != nil && target.cut.group == held.group {
		return target.cut.at(of)
	}
	its := wanted
	if its == nil || its.name != held.group {
		its = e.groupNamed(seen, held.group)
	}
	if its == nil {
		return place{}, false
	}
	if complete := cutOf(its, whole); complete != nil {
		return complete.at(of)
	}
	return place{}, false
}

// groupNamed is a group of the GPU's model; nil if there is none.
func (e *Executor) groupNamed(seen *sight, name string) *group {
	if e.options.Geometry == nil {
		return nil
	}
	geometry, is := e.options.Geometry(seen.gpu.Name, name)
	if !is {
		return nil
	}
	result, err := e.board.readGroup(seen.model, geometry)
	if err != nil {
		return nil
	}
	return result
}

// blocked is the refusal of a layout that instances in use stand in the way of.
func (e *Executor) blocked(target *card, seen *sight, used *usage, what string) error {
	var users []string
	for _, at := range used.places() {
		users = append(users, e.board.name(seen.model, at)+" ("+strings.Join(used.by[at], ", ")+")")
	}
	if len(users) == 0 {
		return refuse(target.uuid, nil, "%s cannot be made", what)
	}
	refusal := refuse(target.uuid, hardware.ErrInUse, "%s cannot be made beside the instances in use: %s", what, strings.Join(users, "; "))
	refusal.InUse = true
	return refusal
}

// note tells the ledger what the GPU holds. An error if the catalog does not allow such a layout. The ledger may not know the GPU,
// or not as one that is cut: nothing was given of it then.
func (e *Executor) note(target *card, seen *sight, used *usage) error {
	existing := placesOf(seen.instances, anyInstance)
	if err := e.board.check(seen.model, existing); err != nil {
		return fmt.Errorf("the driver's instances do not fit the catalog: %w", err)
	}
	node, err := e.options.Ledger.FindNode(e.options.Node)
	if err == nil {
		err = e.options.Ledger.NoteLayout(node, target.uuid, texts(existing), texts(used.places()))
	}
	if err != nil && !errors.Is(err, vga.UnknownNode) && !errors.Is(err, vga.BadInput) {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}
