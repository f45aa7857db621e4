package layout

import (
	"fmt"
	"slices"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// profileCount is so many instances of a profile.
type profileCount struct {
	profile
	Count int
}

// group is a geometry of a model, read.
type group struct {
	name      string
	counts    []profileCount // each profile once, in the order of the geometry
	positions []slot         // of the geometry's positions
}

// slot is one of the instances of a profile in a group: the Number-th from 0, in ascending start.
type slot struct {
	ProfileID uint32
	Number    int
}

// positionsMax bounds the positions of a geometry: no GPU has as many instances.
const positionsMax = 64

// readGroup reads a geometry for a model: an error if the model cannot be cut so, in words for the pod.
func (b *board) readGroup(of *model, geometry config.Geometry) (*group, error) {
	if geometry.Group == "" {
		return nil, fmt.Errorf("geometry group: got '', expected a name")
	}
	result := &group{name: geometry.Group}
	for _, kind := range geometry.Instances {
		if kind.Count < 1 || len(result.positions)+kind.Count > positionsMax {
			return nil, fmt.Errorf("geometry group %q, profile %s: got count %d, expected 1 or more and at most %d instances in all",
				geometry.Group, kind.Name, kind.Count, positionsMax)
		}
		known, err := b.profile(of, kind.Name)
		if err != nil {
			return nil, fmt.Errorf("geometry group %q: %w", geometry.Group, err)
		}
		counted := result.count(known)
		for range kind.Count {
			result.positions = append(result.positions, slot{ProfileID: known.ID, Number: counted.Count})
			counted.Count++
		}
	}
	if len(result.positions) == 0 {
		return nil, fmt.Errorf("geometry group %q: got no instance, expected 1 or more", geometry.Group)
	}
	if _, err := b.groupPlan(of, nil, result.counts); err != nil {
		return nil, fmt.Errorf("geometry group %q: %w", geometry.Group, err)
	}
	return result, nil
}

// count is the count of a profile, a new one of 0 if there was none.
func (g *group) count(of profile) *profileCount {
	for row := range g.counts {
		if g.counts[row].ID == of.ID {
			return &g.counts[row]
		}
	}
	g.counts = append(g.counts, profileCount{profile: of})
	return &g.counts[len(g.counts)-1]
}

func (g *group) countOf(profileID uint32) int {
	for _, kind := range g.counts {
		if kind.ID == profileID {
			return kind.Count
		}
	}
	return 0
}

// cut is what a GPU was cut into for a group: the places of each profile's instances by ascending start, so that a position means
// the same instance as long as pods have it.
type cut struct {
	group  string
	places map[uint32][]place // by profile
}

func (c *cut) at(of slot) (place, bool) {
	places := c.places[of.ProfileID]
	if of.Number < 0 || of.Number >= len(places) {
		return place{}, false
	}
	return places[of.Number], true
}

// all are its places, by ascending start; none of no cut.
func (c *cut) all() []place {
	var result []place
	if c == nil {
		return nil
	}
	for _, places := range c.places {
		result = append(result, places...)
	}
	slices.SortFunc(result, func(left, right place) int { return int(left.Start) - int(right.Start) })
	return result
}

// isThere is whether all its instances are among these.
func (c *cut) isThere(places []place) bool {
	return c != nil && !slices.ContainsFunc(c.all(), func(at place) bool { return !slices.Contains(places, at) })
}

// isOf is whether it is a cut for this group, also when the configuration has changed meanwhile.
func (c *cut) isOf(wanted *group) bool {
	if c == nil || c.group != wanted.name || len(c.places) != len(wanted.counts) {
		return false
	}
	for _, kind := range wanted.counts {
		if len(c.places[kind.ID]) != kind.Count {
			return false
		}
	}
	return true
}

// cutOf is the cut that a GPU has when each profile of the group is there exactly as often as the group has it.
func cutOf(wanted *group, existing []place) *cut {
	result := &cut{group: wanted.name, places: map[uint32][]place{}}
	for _, at := range existing { // by ascending start
		if wanted.countOf(at.ProfileID) > 0 {
			result.places[at.ProfileID] = append(result.places[at.ProfileID], at)
		}
	}
	if !result.isOf(wanted) {
		return nil
	}
	return result
}
