// Package config reads what the device plugin is told: its command line and environment, the cluster's ConfigMap
// volcano-vgpu-device-config, and what volcano-vgpu-node-config says of this node. docs/deploy/device-plugin.md has every key.
package config

import (
	"encoding/json"
	"slices"
	"strings"
)

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

// Resources are the names under which pods ask, as Kubernetes writes them. An empty one is not offered.
type Resources struct{ Number, Memory, Cores string }

// Schedulers are those that the cards are registered for.
type Schedulers struct{ Volcano, HAMi bool }

// Card is what holds for one card.
type Card struct {
	Mode          Mode
	SplitCount    int     // pods at most, at least 1
	MemoryFactor  int     // MiB of one unit of Resources.Memory, at least 1
	MemoryScaling float64 // more than 1: memory is promised more than once; 1 where scaling is not applied
	CoreScaling   float64
	IsFiltered    bool // it is not for pods
}

// Config is all of it, checked.
type Config struct {
	Node         string    // its name
	Resources    Resources // Volcano's
	HAMiResource string    // the count resource of HAMi; empty unless Schedulers.HAMi
	Schedulers   Schedulers
	Geometries   []Geometries
	Flags        Flags
	// Warnings are what was read and is not as its writer may believe: keys without effect, a node file that was left out.
	Warnings []string
	cards    func(index int, uuid string) Card
}

// New is a configuration for tests of other packages.
func New(node string, flags Flags, resources Resources, geometries []Geometries, cards func(index int, uuid string) Card) *Config {
	flags.Node = node
	return &Config{Node: node, Flags: flags, Resources: resources, Geometries: geometries, Schedulers: Schedulers{Volcano: true},
		cards: cards}
}

// Card is what holds for the card with this index and uuid: the cluster's values, over them the command line's, over them the
// node's and over those the card's own.
func (c *Config) Card(index int, uuid string) Card { return c.cards(index, uuid) }

// GeometriesOf are those of a model, named as NVML does; the first list that has it counts. Nil: none has.
func (c *Config) GeometriesOf(model string) *Geometries {
	position := slices.IndexFunc(c.Geometries, func(list Geometries) bool {
		return slices.ContainsFunc(list.Models, func(part string) bool { return part != "" && strings.Contains(model, part) })
	})
	if position < 0 {
		return nil
	}
	return &c.Geometries[position]
}

// ForCore is the part of the device configuration that the allocation core needs to read what pods were given: names, the memory
// factor of a card, and geometries; JSON, which is YAML. Keys that only the node side reads are left out.
func (c *Config) ForCore(memoryFactor int) (string, error) {
	type instance struct {
		Name   string `json:"name"`
		Memory int64  `json:"memory"`
		Count  int    `json:"count"`
	}
	type group struct {
		Group     string     `json:"group"`
		Instances []instance `json:"geometries"`
	}
	type list struct {
		Models []string `json:"models"`
		Groups []group  `json:"allowedGeometries"`
	}
	lists := []list{}
	for _, from := range c.Geometries {
		to := list{Models: from.Models, Groups: []group{}}
		for _, geometry := range from.Groups {
			one := group{Group: geometry.Group, Instances: []instance{}}
			for _, profile := range geometry.Instances {
				one.Instances = append(one.Instances, instance{profile.Name, profile.MemoryMiB, profile.Count})
			}
			to.Groups = append(to.Groups, one)
		}
		lists = append(lists, to)
	}
	text, err := json.Marshal(map[string]any{"nvidia": map[string]any{"resourceCountName": c.Resources.Number,
		"resourceMemoryName": c.Resources.Memory, "resourceCoreName": c.Resources.Cores, "gpuMemoryFactor": memoryFactor,
		"knownMigGeometries": lists}})
	return string(text), err
}
