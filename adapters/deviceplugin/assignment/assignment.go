// Package assignment reads and writes what schedulers write into a pod's annotations for the node side: which devices each
// container was given.
//
// Volcano writes `UUID,TYPE,memory,cores:` for each device and joins containers by `;`. HAMi ends each container with `;`. Both are
// read strictly: what cannot be read is an *Error, never a number that stands for something else.
package assignment

import (
	"fmt"
	"slices"
	"strings"
)

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

// Error is a part of an assignment that cannot be read.
type Error struct {
	Slot, Entry int    // counted from 0; entries without those that are empty
	Field       string // "uuid", "type", "memory", "cores", "entry"
	Value       string // as the annotation has it
	Expected    string
}

// Error is one line that names the place, the value and what was expected.
func (e *Error) Error() string {
	return fmt.Sprintf("slot %d, entry %d: invalid %s field: %q, expected %s", e.Slot, e.Entry, e.Field, e.Value, e.Expected)
}

// Next is the first slot with an entry of a type; an empty type stands for any. It is -1 where there is none.
func (s Slots) Next(kind string) int {
	return slices.IndexFunc(s, func(entries []Entry) bool { return Count(entries, kind) > 0 })
}

// Count is how many entries are of a type; an empty type stands for any.
func Count(entries []Entry, kind string) int {
	if kind == "" {
		return len(entries)
	}
	result := 0
	for i := range entries {
		if entries[i].Type == kind {
			result++
		}
	}
	return result
}

// Erased is a copy in which a slot has no entries any more.
func (s Slots) Erased(slot int) Slots {
	result := slices.Clone(s)
	result[slot] = nil
	return result
}

// Volcano is the text of an annotation volcano.sh/devices-to-allocate. Slots are joined by `;`, so a text that was read and
// written has as many slots as before.
func (s Slots) Volcano() string {
	texts := make([]string, len(s))
	for i, entries := range s {
		texts[i] = textOf(entries)
	}
	return strings.Join(texts, ";")
}

// HAMi is the text of an annotation hami.io/…-devices-to-allocate. Each slot ends with `;`, so a text that was read and written has
// as many slots as before.
func (s Slots) HAMi() string {
	var result strings.Builder
	for _, entries := range s {
		result.WriteString(textOf(entries))
		result.WriteByte(';')
	}
	return result.String()
}

func textOf(entries []Entry) string {
	var result strings.Builder
	for i := range entries {
		text := entries[i].Text
		if text == "" {
			text = entries[i].format()
		}
		result.WriteString(text)
		result.WriteByte(':')
	}
	return result.String()
}

// format is the text of an entry that was not read from one.
func (e *Entry) format() string {
	id := e.UUID
	if e.Group != "" {
		id = fmt.Sprintf("%s[%s-%d]", e.UUID, e.Group, e.Position)
	}
	return fmt.Sprintf("%s,%s,%d,%d", id, e.Type, e.Memory, e.Cores)
}
