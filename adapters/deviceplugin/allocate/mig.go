package allocate

import (
	"fmt"
	"regexp"
	"slices"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// place is where on a card a MIG device is.
type place struct {
	geometry config.Geometry
	position int
}

// profileName is what NVML calls the kinds of instances: "3g.20gb", "1g.10gb+me".
var profileName = regexp.MustCompile(`^[1-9][0-9]*g\.[1-9][0-9]*gb(\+[a-z0-9.]+)?$`)

// places checks the MIG devices of a container: each card is there, its model can be cut in that way, the position is one of it, and
// a card is cut in one way only. It touches nothing. Entries of whole cards have no place.
func (a *Allocator) places(parts []part) ([]place, error) {
	result := make([]place, len(parts))
	groups := map[string]string{} // by card
	for i := range parts {
		entry := &parts[i]
		if entry.Group == "" {
			continue
		}
		where, err := a.placeOf(entry)
		if err != nil {
			return nil, fmt.Errorf("MIG device %s[%s-%d]: %w", entry.UUID, entry.Group, entry.Position, err)
		}
		group := entry.Group
		if len(where.geometry.Instances) == 0 {
			group = "" // profiles go side by side
		}
		if before, isSecond := groups[entry.UUID]; isSecond && before != group {
			return nil, fmt.Errorf("card %s: one container is given groups %q and %q of it, expected one", entry.UUID, before, group)
		}
		groups[entry.UUID] = group
		result[i] = where
	}
	return result, nil
}

func (a *Allocator) placeOf(entry *part) (place, error) {
	switch {
	case a.Instances == nil:
		return place{}, fmt.Errorf("this plugin cuts no cards")
	case entry.gpu == nil:
		return place{}, fmt.Errorf("this machine has no such GPU")
	case !entry.gpu.MigCapable:
		return place{}, fmt.Errorf("model %s has no MIG", entry.gpu.Name)
	}
	geometries := a.Config.GeometriesOf(entry.gpu.Name)
	if geometries != nil {
		at := slices.IndexFunc(geometries.Groups, func(g config.Geometry) bool { return g.Group == entry.Group })
		if at >= 0 {
			geometry := geometries.Groups[at]
			count := 0
			for _, profile := range geometry.Instances {
				count += profile.Count
			}
			if entry.Position >= count {
				return place{}, fmt.Errorf("position %d: group %s has %d instances", entry.Position, entry.Group, count)
			}
			return place{geometry: geometry, position: entry.Position}, nil
		}
	}
	if profileName.MatchString(entry.Group) { // cards without configured groups are assigned by profile and start
		return place{geometry: config.Geometry{Group: entry.Group}, position: entry.Position}, nil
	}
	if geometries == nil {
		return place{}, fmt.Errorf("model %s: no list of knownMigGeometries names it", entry.gpu.Name)
	}
	return place{}, fmt.Errorf("group %s: knownMigGeometries has no such group for model %s", entry.Group, entry.gpu.Name)
}
