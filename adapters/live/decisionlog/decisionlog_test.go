package decisionlog_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	if err := os.WriteFile(path, []byte(`{"event":"tell`), 0o600); err != nil { // of a program that was killed
		t.Fatal(err)
	}
	log, err := decisionlog.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	start := decisionlog.Start(vga.Options{Policy: "binpack"})
	written := []decisionlog.Line{start, decisionlog.Tell([]byte(`{"kind":"Node"}`)), decisionlog.RemoveNode("a"),
		{Event: "decide", UID: "p", Node: "a", Annotations: map[string]string{"<&>": "x"}, Only: []string{"a"}}}
	for _, entry := range written {
		log.Add(entry)
	}
	for _, uid := range []string{"u", "v"} {
		log.AddDecision(decisionlog.Line{Event: "decide", UID: uid})
	}
	if log.TakeBackDecision("u") || !log.TakeBackDecision("v") || !log.TakeBackDecision("u") || log.TakeBackDecision("p") {
		t.Error("only the last decision is taken back")
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := decisionlog.Read(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: got ") {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, whole, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if read, err := decisionlog.Read(path); err != nil || !reflect.DeepEqual(read, written) {
		t.Error(read, err)
	}
}

func TestALogThatIsNoneWritesNothing(t *testing.T) {
	var log *decisionlog.Log
	log.Add(decisionlog.RemovePod("p"))
	if !log.TakeBackDecision("p") || log.Rotates() || log.IsFull() || log.File() != 0 || log.Flush() != nil || log.Close() != nil {
		t.Error("it does something")
	}
}
