// Package assignment reads and writes what schedulers write into a pod's annotations for the node side: which devices each
// container was given.
package assignment

// Entry is one device, or one part of a device, that a container was given.
type Entry struct {
	UUID     string // of the card
	Group    string // of a MIG geometry; empty: the card is not cut for it
	Position int    // of the instance in that geometry
	Type     string // "NVIDIA", "Ascend910B4"
	Memory   int64  // in units of the memory resource
	Cores    int64  // percent
	Text     string // as the annotation has it
}

// Slots are the containers, as far as the scheduler counts them, each with its entries.
type Slots [][]Entry
