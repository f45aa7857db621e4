package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// nodeFile is config.json of ConfigMap volcano-vgpu-node-config. Unknown keys are no error, as upstream reads it, but a warning.
type nodeFile struct {
	Nodes []nodeEntry `json:"nodeconfig"`
}

type nodeEntry struct {
	Name          string          `json:"name"`
	Mode          string          `json:"operatingmode"`
	MemoryScaling float64         `json:"devicememoryscaling"`
	CoreScaling   float64         `json:"devicecorescaling"`
	SplitCount    uint            `json:"devicesplitcount"`
	MigStrategy   string          `json:"migstrategy"`
	Filter        *filters        `json:"filterdevices"`
	Cards         json.RawMessage `json:"devices"`
}

type filters struct {
	UUIDs   []string `json:"uuid"`
	Indexes []uint   `json:"index"`
}

// cardEntry is what an entry says of one card: this plugin's own.
type cardEntry struct {
	UUID          *string  `json:"uuid"`
	Index         *int     `json:"index"`
	Mode          *Mode    `json:"operatingmode"`
	SplitCount    *int64   `json:"devicesplitcount"`
	CoreScaling   *float64 `json:"devicecorescaling"`
	MemoryScaling *float64 `json:"devicememoryscaling"`
	MemoryFactor  *int64   `json:"gpumemoryfactor"`
}

func (e *cardEntry) isFor(index int, uuid string) bool {
	return e.UUID != nil && *e.UUID == uuid || e.Index != nil && *e.Index == index
}

// nodeValues are what the entries of one node say, later ones over earlier ones.
type nodeValues struct {
	mode          Mode
	memoryScaling float64 // 0: not said
	coreScaling   float64
	splitCount    int
	filter        filters
	cards         []cardEntry
}

func (n *nodeValues) isFiltered(index int, uuid string) bool {
	return slices.Contains(n.filter.UUIDs, uuid) || index >= 0 && slices.Contains(n.filter.Indexes, uint(index))
}

// readNodeFile reads what there is of a node. A text that cannot be read is left out as a whole, as upstream does, and the
// warning says why. Errors are about what an entry of this node says.
func readNodeFile(text []byte, node string) (nodeValues, []string, error) {
	values := nodeValues{mode: HAMiCore}
	if text == nil {
		return values, nil, nil
	}
	file := nodeFile{}
	if err := json.Unmarshal(text, &file); err != nil {
		return values, []string{fmt.Sprintf("config.json: left out as a whole, the mode is hami-core: %v", wordsOf(err, text))}, nil
	}
	unknown, err := Decode("config.json", text, &nodeFile{})
	warnings := NotKnown(unknown)
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	for i := range file.Nodes {
		entry := &file.Nodes[i]
		if entry.Name != node {
			continue
		}
		at := fmt.Sprintf("config.json: nodeconfig[%d]", i)
		if entry.MigStrategy != "" && entry.MigStrategy != "none" {
			warnings = append(warnings, fmt.Sprintf("%s.migstrategy %q has no effect", at, entry.MigStrategy))
		}
		if err := values.take(entry, at); err != nil {
			return values, nil, err
		}
	}
	return values, warnings, nil
}

// wordsOf is what is wrong with the file, in the words of the other files where these know it.
func wordsOf(err error, text []byte) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		if _, other := Decode("", text, &nodeFile{}); other != nil {
			return other
		}
	}
	return err
}

func (n *nodeValues) take(entry *nodeEntry, at string) error {
	if entry.Mode != "" {
		if err := checkMode(at+".operatingmode", Mode(entry.Mode)); err != nil {
			return err
		}
		n.mode = Mode(entry.Mode)
	}
	if entry.MemoryScaling > 0 {
		if err := checkScaling(at+".devicememoryscaling", entry.MemoryScaling, false); err != nil {
			return err
		}
		n.memoryScaling = entry.MemoryScaling
	}
	if entry.CoreScaling > 0 {
		if err := checkScaling(at+".devicecorescaling", entry.CoreScaling, true); err != nil {
			return err
		}
		n.coreScaling = entry.CoreScaling
	}
	if entry.SplitCount > 0 {
		if entry.SplitCount > numberMax {
			return fmt.Errorf("%s.devicesplitcount %d: expected at most %d", at, entry.SplitCount, numberMax)
		}
		n.splitCount = int(entry.SplitCount)
	}
	if entry.Filter != nil && len(entry.Filter.UUIDs)+len(entry.Filter.Indexes) > 0 { // an empty one says nothing, as upstream
		n.filter = *entry.Filter
	}
	if len(entry.Cards) == 0 {
		return nil
	}
	cards := []cardEntry{}
	if err := noSuchKey(Decode(at+".devices", entry.Cards, &cards)); err != nil {
		return err
	}
	for i := range cards {
		if err := cards[i].check(fmt.Sprintf("%s.devices[%d]", at, i)); err != nil {
			return err
		}
	}
	n.cards = append(n.cards, cards...)
	return nil
}

func (e *cardEntry) check(at string) error {
	if (e.UUID == nil) == (e.Index == nil) {
		return fmt.Errorf("%s: expected uuid or index, and not both", at)
	}
	if e.UUID != nil && strings.TrimSpace(*e.UUID) == "" {
		return fmt.Errorf("%s.uuid %q: expected the uuid of a card", at, *e.UUID)
	}
	if e.Index != nil && *e.Index < 0 {
		return fmt.Errorf("%s.index %d: expected at least 0", at, *e.Index)
	}
	if e.Mode != nil {
		if err := checkMode(at+".operatingmode", *e.Mode); err != nil {
			return err
		}
	}
	if e.SplitCount != nil {
		if err := checkNumber(at+".devicesplitcount", *e.SplitCount); err != nil {
			return err
		}
	}
	if e.MemoryFactor != nil {
		if err := checkNumber(at+".gpumemoryfactor", *e.MemoryFactor); err != nil {
			return err
		}
	}
	if e.CoreScaling != nil {
		if err := checkScaling(at+".devicecorescaling", *e.CoreScaling, true); err != nil {
			return err
		}
	}
	if e.MemoryScaling != nil {
		return checkScaling(at+".devicememoryscaling", *e.MemoryScaling, false)
	}
	return nil
}

func checkMode(field string, mode Mode) error {
	if mode != HAMiCore && mode != MIG && mode != MPS {
		return fmt.Errorf("%s %q: expected hami-core, mig or mps", field, string(mode))
	}
	return nil
}

func checkNumber(field string, value int64) error {
	if value < 1 || value > numberMax {
		return fmt.Errorf("%s %d: expected 1 to %d", field, value, numberMax)
	}
	return nil
}
