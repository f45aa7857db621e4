package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"vgpualloc.example/adapters/vga"
)

// Line is one of a decision log: docs/decision-log.md explains its members.
type Line struct {
	Event       string            `json:"event"`
	Log         string            `json:"log,omitempty"`
	Version     int               `json:"version,omitempty"`
	Library     string            `json:"library,omitempty"`
	Options     *Options          `json:"options,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Pod         string            `json:"pod,omitempty"`
	Node        string            `json:"node,omitempty"`
	Name        string            `json:"name,omitempty"`
	Time        int64             `json:"time,omitempty"`
	Except      []string          `json:"except,omitempty"`
	Only        []string          `json:"only,omitempty"`
	Reasons     map[string]int    `json:"reasons,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Object      json.RawMessage   `json:"object,omitempty"`
}

// Options are vga.Options as a log has them.
type Options struct {
	Policy          string `json:"policy"`
	DevicePolicy    string `json:"device_policy"`
	Catalog         string `json:"catalog"`
	DeviceConfig    string `json:"device_config"`
	SchedulerConfig string `json:"scheduler_config"`
}

func optionsOf(options vga.Options) *Options {
	written := Options(options)
	return &written
}

// Start begins a log: a cluster without nodes is made.
func Start(options vga.Options) Line {
	return Line{Event: "start", Log: "vgpualloc-decisions", Version: 1, Library: vga.Version(),
		Time: time.Now().UnixNano(), Options: optionsOf(options)}
}

// Configure gives other options.
func Configure(options vga.Options) Line {
	return Line{Event: "configure", Options: optionsOf(options)}
}

// Tell has the object as the core was told of it.
func Tell(object []byte) Line { return Line{Event: "tell", Object: object} }

// RemoveNode tells that a node is gone.
func RemoveNode(name string) Line { return Line{Event: "remove_node", Node: name} }

// RemovePod tells that a pod is gone.
func RemovePod(uid string) Line { return Line{Event: "remove_pod", UID: uid} }

// RemoveConfigMap tells that a ConfigMap is gone, named as namespace/name.
func RemoveConfigMap(name string) Line { return Line{Event: "remove_config_map", Name: name} }

// Read is what a file has, in its order. Errors name the file and the line.
func Read(path string) ([]Line, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []Line
	for number, written := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(written)) == 0 {
			continue
		}
		var entry Line
		if err := json.Unmarshal(written, &entry); err != nil {
			return nil, fmt.Errorf("%s:%d: got %q, expected a line of a decision log: %w", path, number+1, written, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}
