package plugin

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// readProfiles tells HAMi's scheduler what its MIG cards can be cut into, which the driver says once MIG is on. So MIG is switched on for
// a card that is not in use, as HAMi's own plugin does. Where Volcano's scheduler gives the cards out, too, HAMi's gets none of them. What
// was reported before is not reported again.
func (s *session) readProfiles(ctx context.Context, reported map[string]string) {
	profiler, knows := s.plugin.library.(hardware.Profiler)
	if !knows || !s.conf.Schedulers.HAMi || s.conf.Schedulers.Volcano {
		return
	}
	isNew := false
	for _, card := range s.inventory.registered(func(string) bool { return true }) {
		s.mutex.Lock()
		isKnown := len(s.profiles[card.UUID]) > 0
		s.mutex.Unlock()
		if isKnown || card.Mode != config.MIG || ctx.Err() != nil {
			continue
		}
		err := s.executor.EnableMig(ctx, card.UUID)
		var profiles []hardware.Profile
		if err == nil {
			profiles, err = profiler.Profiles(card.UUID)
		}
		list := profilesForHAMi(profiles, func(id uint32) string { return s.executor.ProfileName(card.Name, id) })
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("model %q: expected one whose MIG profiles are known", card.Name)
		}
		if key := card.UUID + " profiles"; err != nil {
			if text := err.Error(); reported[key] != text && ctx.Err() == nil {
				reported[key] = text
				klog.ErrorS(err, "HAMi's scheduler cannot be told what a MIG card can be cut into", "gpu", card.UUID)
				s.plugin.event(v1.EventTypeWarning, "MIGProfiles", card.UUID+": "+text)
			}
			continue
		}
		isNew = true
		s.mutex.Lock()
		if s.profiles == nil {
			s.profiles = map[string][]register.Profile{}
		}
		s.profiles[card.UUID] = list
		s.mutex.Unlock()
	}
	if isNew {
		s.writer.Kick()
	}
}

// plainProfile is one without engines of its own.
var plainProfile = regexp.MustCompile(`^[1-9][0-9]*g\.[1-9][0-9]*gb$`)

// profilesForHAMi are those of HAMi's own list migProfileAllowlist: of each number of compute slices the one with the least memory, and
// none with four of seven.
func profilesForHAMi(profiles []hardware.Profile, nameOf func(id uint32) string) []register.Profile {
	slicesMax, processorsMax := 0, 0
	for _, profile := range profiles {
		slicesMax, processorsMax = max(slicesMax, profile.Slices), max(processorsMax, profile.Multiprocessors)
	}
	bySlices := map[int]register.Profile{}
	for _, profile := range profiles {
		name := nameOf(profile.ID)
		before, isSecond := bySlices[profile.Slices]
		if !plainProfile.MatchString(name) || profile.Slices == 4 && slicesMax == 7 || len(profile.Places) == 0 ||
			isSecond && before.MemoryMiB <= profile.MemoryMiB {
			continue
		}
		offered := register.Profile{Name: name, MemoryMiB: profile.MemoryMiB, Slices: profile.Slices, Instances: profile.Instances}
		if processorsMax > 0 {
			offered.Cores = (100*profile.Multiprocessors + processorsMax - 1) / processorsMax
		}
		for _, place := range profile.Places {
			offered.Places = append(offered.Places, register.Place(place))
		}
		bySlices[profile.Slices] = offered
	}
	result := []register.Profile{}
	for _, profile := range bySlices {
		result = append(result, profile)
	}
	slices.SortFunc(result, func(left, right register.Profile) int { return left.Slices - right.Slices })
	return result
}
