// Package config reads what the device plugin is told: its command line and environment, the cluster's ConfigMap
// volcano-vgpu-device-config, and what volcano-vgpu-node-config says of this node. docs/deploy/device-plugin.md has every key.
package config

// Mode is how a card is shared.
type Mode string

// Those that a node file may name.
const (
	HAMiCore Mode = "hami-core"
	MIG      Mode = "mig"
	MPS      Mode = "mps"
)

// Geometry is one way in which a MIG card may be cut: a group of knownMigGeometries.
type Geometry struct {
	Group     string
	Instances []Profile // in the order of the file, which positions count
}

// Profile is so many instances of one kind.
type Profile struct {
	Name      string // "1g.5gb"
	MemoryMiB int64
	Count     int
}

// Geometries are those of the models whose names contain one of Models.
type Geometries struct {
	Models []string
	Groups []Geometry
}

// Resources are the names under which pods ask, as Kubernetes writes them.
type Resources struct{ Number, Memory, Cores string }

// Card is what holds for one card.
type Card struct {
	Mode          Mode
	SplitCount    int     // pods at most, at least 1
	MemoryFactor  int     // MiB of one unit of Resources.Memory, at least 1
	MemoryScaling float64 // more than 1: memory is promised more than once
	CoreScaling   float64
	IsFiltered    bool // it is not for pods
}

// Config is all of it, checked.
type Config struct {
	Node       string // its name
	Resources  Resources
	Geometries []Geometries
	Flags      Flags
	cards      func(index int, uuid string) Card
}

// Card is what holds for the card with this index and uuid: the cluster's values, over them the command line's, over them the
// node's and over those the card's own.
func (c *Config) Card(index int, uuid string) Card { return c.cards(index, uuid) }

// GeometriesOf are those of a model, named as NVML does; the first list that has it counts. Nil: none has.
func (c *Config) GeometriesOf(model string) *Geometries {
	panic("not written yet")
}
