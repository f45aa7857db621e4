package allocate

import (
	"encoding/json"
	"fmt"
)

// reservation is one MIG device that HAMi's scheduler has reserved for an entry: a profile at a place of the card.
type reservation struct {
	ContainerIndex int    // slot of the assignment
	DeviceIndex    int    // entry of that slot
	GPUUUID        string `json:"gpuUUID"`
	Profile        string // "3g.20gb"
	Placement      struct{ Start, Size int }
}

// reserve gives the entries of a claimed container the MIG devices that the pod's annotation reserves for them. HAMi writes them
// beside the assignment; Volcano into it.
func (c *claim) reserve(parts []part) error {
	text := c.pod.Annotations[c.dialect.reserved]
	if c.dialect.reserved == "" || text == "" || c.slot < 0 {
		return nil
	}
	var reservations []reservation
	if err := json.Unmarshal([]byte(text), &reservations); err != nil {
		return fmt.Errorf("annotation %s: %w", c.dialect.reserved, err)
	}
	for i, reserved := range reservations {
		if reserved.ContainerIndex != c.slot {
			continue
		}
		wrong := ""
		switch {
		case reserved.DeviceIndex < 0 || reserved.DeviceIndex >= len(parts):
			wrong = fmt.Sprintf("deviceIndex %d: expected 0 to %d", reserved.DeviceIndex, len(parts)-1)
		case reserved.GPUUUID != parts[reserved.DeviceIndex].UUID:
			wrong = fmt.Sprintf("gpuUUID %q: expected %q", reserved.GPUUUID, parts[reserved.DeviceIndex].UUID)
		case !profileName.MatchString(reserved.Profile):
			wrong = fmt.Sprintf("profile %q: expected one like 3g.20gb", reserved.Profile)
		case reserved.Placement.Start < 0:
			wrong = fmt.Sprintf("placement.start %d: expected 0 or more", reserved.Placement.Start)
		case parts[reserved.DeviceIndex].Group != "":
			wrong = fmt.Sprintf("deviceIndex %d: expected each once", reserved.DeviceIndex)
		}
		if wrong != "" {
			return fmt.Errorf("annotation %s, entry %d: %s", c.dialect.reserved, i, wrong)
		}
		parts[reserved.DeviceIndex].Group = reserved.Profile
		parts[reserved.DeviceIndex].Position = reserved.Placement.Start
	}
	return nil
}
