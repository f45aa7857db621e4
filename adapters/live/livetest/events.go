// Package livetest reads decision logs for the tests of those who write them.
package livetest

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// Event is a line of a decision log: docs/decision-log.md explains its members.
type Event struct {
	Event, UID, Pod, Node, Name string
	Time                        int64
	Except, Only                []string
	Reasons                     map[string]int
	Annotations                 map[string]string
	Object                      json.RawMessage
}

// Events are those of a file in their order: all of them, or those of these kinds.
func Events(t testing.TB, path string, kinds ...string) []Event {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var event Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err, string(line))
		}
		if len(kinds) == 0 || slices.Contains(kinds, event.Event) {
			events = append(events, event)
		}
	}
	return events
}

// Names are events in short: "tell, decide p, commit p".
func Names(events []Event) string {
	words := make([]string, len(events))
	for i, event := range events {
		words[i] = strings.TrimSpace(event.Event + " " + event.UID)
	}
	return strings.Join(words, ", ")
}
