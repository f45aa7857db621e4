package plugin

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/livetest"
	"vgpualloc.example/adapters/vga"
)

// namesTold is the names of the objects of a kind in the order in which a log has the core told of them.
func namesTold(t *testing.T, log, kind string) []string {
	t.Helper()
	var names []string
	for _, event := range livetest.Events(t, log, "tell") {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := json.Unmarshal(event.Object, &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == kind {
			names = append(names, object.Metadata.Name)
		}
	}
	return names
}

// Of equal nodes the first that the core was told of is taken. A start of the scheduler must not decide which that is.
func TestObjectsAreToldInTheOrderOfTheirNames(t *testing.T) {
	log := filepath.Join(t.TempDir(), "decisions.jsonl")
	opened, err := decisionlog.Open(log, 0)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := live.New(vga.Options{Policy: "binpack"}, opened)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*v1.Node
	var wait []*v1.Pod
	runs := map[string][]*v1.Pod{}
	for i := range 20 {
		name := fmt.Sprintf("n%02d", i)
		nodes = append(nodes, node(name, 16384, 16384))
		runs[name] = append(runs[name], running("a-"+name, "pg", name, "GPU-"+name+"-0", 16384))
		wait = append(wait, pod(fmt.Sprintf("w%02d", i), "pg", 10000))
	}
	seen := newMirror()
	seen.follow(sessionOf(nodes[:10], runs, wait[:10]), cluster)
	seen.follow(sessionOf(nodes, runs, wait), cluster)
	if decision, err := cluster.Reserve("ns-w00", "ns/w00", "n00", nil, time.Unix(0, 0)); err != nil || decision.Node != "n00" {
		t.Error(decision, err)
	}
	if answers, err := cluster.Ask("ns-w01", "ns/w01"); err != nil || answers.Best() != "n01" {
		t.Error(answers.Best(), err)
	}
	seen.follow(sessionOf(nil, runs, nil), cluster)
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	if told := namesTold(t, log, "Node"); len(told) != 20 || !slices.IsSorted(told) {
		t.Error(told)
	}
	// In each session first the pods that run, then those that wait.
	told := namesTold(t, log, "Pod")
	if len(told) != 40 {
		t.Fatal(told)
	}
	for begin := 0; begin < len(told); begin += 10 {
		if !slices.IsSorted(told[begin : begin+10]) {
			t.Error(told[begin : begin+10])
		}
	}
	var nodesGone, podsGone []string
	for _, event := range livetest.Events(t, log, "remove_node", "remove_pod") {
		if event.Event == "remove_node" {
			nodesGone = append(nodesGone, event.Node)
		} else {
			podsGone = append(podsGone, event.UID)
		}
	}
	if len(nodesGone) != 20 || !slices.IsSorted(nodesGone) || len(podsGone) != 40 || !slices.IsSorted(podsGone) {
		t.Error(nodesGone, podsGone)
	}
}
