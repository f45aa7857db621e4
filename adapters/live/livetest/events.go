// Package livetest reads decision logs for the tests of those who write them.
package livetest

import (
	"slices"
	"strings"
	"testing"

	"vgpualloc.example/adapters/live/decisionlog"
)

// Events are those of a file in their order: all of them, or those of these kinds.
func Events(t testing.TB, path string, kinds ...string) []decisionlog.Line {
	t.Helper()
	entries, err := decisionlog.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(kinds) == 0 {
		return entries
	}
	return slices.DeleteFunc(entries, func(entry decisionlog.Line) bool { return !slices.Contains(kinds, entry.Event) })
}

// Names are events in short: "tell, decide p, commit p".
func Names(events []decisionlog.Line) string {
	words := make([]string, len(events))
	for i, event := range events {
		words[i] = strings.TrimSpace(event.Event + " " + event.UID)
	}
	return strings.Join(words, ", ")
}
