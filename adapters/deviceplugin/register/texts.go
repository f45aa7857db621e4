// Package register tells schedulers of the cards of this node: it writes annotations of the Node, keeps them fresh, and takes them
// away when the plugin ends.
package register

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// Annotations of the Node.
const (
	VolcanoAnnotation   = "volcano.sh/node-vgpu-register"
	HAMiAnnotation      = "hami.io/node-nvidia-register"
	HandshakeAnnotation = "hami.io/node-handshake"
	// Volcano 1.14 sees no card without it, and takes a node's cards away whose handshake it has answered and that is not
	// written again within a minute. Later ones do not look at it.
	VolcanoHandshakeAnnotation = "volcano.sh/node-vgpu-handshake"
)

// handshakes are the annotations that schedulers write their answers over, by the registration that each belongs to.
var handshakes = map[string]string{VolcanoAnnotation: VolcanoHandshakeAnnotation, HAMiAnnotation: HandshakeAnnotation}

// Card is a card as schedulers see it.
type Card struct {
	UUID      string
	Index     int    // of NVML
	Name      string // as NVML reports it
	NUMA      int    // 0: unknown
	MemoryMiB int64  // of the whole card, not scaled
	Healthy   bool
	Profiles  []Profile // of a MIG card, for HAMi; none: they are not known
	config.Card
}

// Profile is a kind of instances that HAMi's scheduler may reserve on a card, and where.
type Profile struct {
	Name      string  `json:"name"` // "3g.20gb"
	MemoryMiB int64   `json:"memoryMB"`
	Cores     int     `json:"core"` // percent of the card, rounded up
	Slices    int     `json:"sliceCount"`
	Places    []Place `json:"placements"`
	Instances int     `json:"-"` // at most
}

// Place is one at which such an instance may be, in memory slices.
type Place struct {
	Start uint32 `json:"start"`
	Size  uint32 `json:"size"`
}

// ScaledMiB is the memory that pods may be promised in all.
func (c *Card) ScaledMiB() int64 {
	if c.MemoryScaling == 1 {
		return c.MemoryMiB
	}
	return int64(float64(c.MemoryMiB) * c.MemoryScaling)
}

// Units is that memory in units of the memory resource.
func (c *Card) Units() int64 { return c.ScaledMiB() / int64(c.MemoryFactor) }

// Cores is the compute that pods may be promised, in percent of the card.
func (c *Card) Cores() int { return int(100 * c.CoreScaling) }

func (c *Card) model() string { return "NVIDIA-" + c.Name }

// Volcano is the value of VolcanoAnnotation: `uuid,split,memory,type,healthy,mode:` for each card, in the order given.
func Volcano(cards []Card) string {
	text := strings.Builder{}
	for i := range cards {
		card := &cards[i]
		text.WriteString(strings.Join([]string{card.UUID, strconv.Itoa(card.SplitCount), strconv.FormatInt(card.Units(), 10),
			card.model(), strconv.FormatBool(card.Healthy), string(card.Mode)}, ","))
		text.WriteString(":")
	}
	return text.String()
}

// forHAMi are the cards that HAMi's scheduler may give out. Where Volcano's gives out the same cards, a MIG card is cut by its groups, and
// devices at places of HAMi's choice cannot be beside those.
func forHAMi(cards []Card, isAlone bool) []Card {
	if isAlone {
		return cards
	}
	return slices.DeleteFunc(slices.Clone(cards), func(card Card) bool { return card.Mode == config.MIG })
}

// countForHAMi is how many containers HAMi's scheduler may place on a MIG card: as many as there can be instances, and no more than the
// kubelet is offered.
func (c *Card) countForHAMi() int {
	most := 0
	for i := range c.Profiles {
		most = max(most, c.Profiles[i].Instances)
	}
	if most == 0 {
		return c.SplitCount
	}
	return min(most, c.SplitCount)
}

// hamiCard is a record of HAMiAnnotation.
type hamiCard struct {
	ID      string      `json:"id"`
	Index   int         `json:"index"`
	Count   int         `json:"count"`
	Memory  int64       `json:"devmem"`
	Cores   int         `json:"devcore"`
	Type    string      `json:"type"`
	NUMA    int         `json:"numa"`
	Mode    config.Mode `json:"mode"`
	Healthy bool        `json:"health"`
	// Profiles are those of HAMi 2.10 and later.
	Profiles []Profile `json:"migProfiles,omitempty"`
}

// HAMi is the value of HAMiAnnotation, JSON: memory in MiB, compute in percent, which of a MIG card is the card's own.
func HAMi(cards []Card) (string, error) {
	records := make([]hamiCard, 0, len(cards))
	for i := range cards {
		card := &cards[i]
		record := hamiCard{ID: card.UUID, Index: card.Index, Count: card.SplitCount, Memory: card.ScaledMiB(), Cores: card.Cores(),
			Type: card.Name, NUMA: card.NUMA, Mode: card.Mode, Healthy: card.Healthy}
		if !strings.HasPrefix(strings.ToUpper(card.Name), "NVIDIA") {
			record.Type = card.model()
		}
		if card.Mode == config.MIG {
			record.Memory, record.Cores, record.Profiles = card.MemoryMiB, 100, card.Profiles
			record.Count = card.countForHAMi()
		}
		records = append(records, record)
	}
	text, err := json.Marshal(records)
	return string(text), err
}
