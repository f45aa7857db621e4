package export

import (
	"bytes"
	"encoding/json"
	"slices"
)

// largeSize is the size of objects above which they are written without spaces, and without what the library does not read: it
// takes at most 256 MiB of text. A variable for tests.
var largeSize = 32 << 20

func (r *reader) isLarge() bool { return r.size > largeSize }

// readStatus are the members of an object's status that the library reads, and readCondition those of a condition.
var (
	readStatus    = []string{"allocatable", "capacity", "conditions", "hard", "phase", "startTime", "used"}
	readCondition = []string{"status", "type"}
)

// leaveOutUnread takes out of the status what the library passes over (docs/formats.md).
func leaveOutUnread(object map[string]any) {
	status, _ := object["status"].(map[string]any)
	keep(status, readStatus)
	conditions, _ := status["conditions"].([]any)
	for _, condition := range conditions {
		members, _ := condition.(map[string]any)
		keep(members, readCondition)
	}
}

func keep(members map[string]any, names []string) {
	for name := range members {
		if !slices.Contains(names, name) {
			delete(members, name)
		}
	}
}

// listText is a List of the objects: as kubectl prints it, or, if it is large, with each on a line of its own.
func listText(items [][]byte, isLarge bool) []byte {
	var text bytes.Buffer
	if isLarge {
		text.Grow(lengthOf(items))
	}
	text.WriteString("{\n    \"apiVersion\": \"v1\",\n    \"items\": [")
	for i, item := range items {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString("\n        ")
		if isLarge {
			text.Write(item)
		} else {
			_ = json.Indent(&text, item, "        ", "    ") // what Marshal wrote is JSON
		}
		items[i] = nil
	}
	if len(items) > 0 {
		text.WriteString("\n    ")
	}
	text.WriteString("],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n")
	return text.Bytes()
}

// lengthOf is how long the text of a large list is at most.
func lengthOf(items [][]byte) int {
	const aroundItem, aroundList = len(",\n        "), 256
	result := aroundList
	for _, item := range items {
		result += len(item) + aroundItem
	}
	return result
}
