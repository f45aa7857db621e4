package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// numbered is a cluster with a full log, whose node has number 1; in a core that begins anew it has number 0.
func numbered(t *testing.T) (c *Cluster, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "decisions.jsonl")
	log, err := decisionlog.Open(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = New(vga.Options{}, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, name := range []string{"first", "second"} {
		object := fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q},"status":{"allocatable":{"cpu":"1"}}}`, name)
		if _, err := c.Tell([]byte(object)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.RemoveNode("first"); err != nil {
		t.Fatal(err)
	}
	return c, path
}

// hasBegunAnew checks whether log and core have, or neither has.
func hasBegunAnew(t *testing.T, c *Cluster, path string, expected bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if inLog := !strings.Contains(string(text), "remove_node"); inLog != expected {
		t.Errorf("%s, expected anew: %t", text, expected)
	}
	if number, err := c.core.FindNode("second"); err != nil || (number == 0) != expected {
		t.Error("the core's history is another one than the log's", number, err)
	}
}

// A trial of somebody else keeps the core from being replaced.
func TestNeitherLogNorCoreBeginsAnewWhileATrialIsOpen(t *testing.T) {
	c, path := numbered(t)
	if err := c.core.BeginTrial(); err != nil {
		t.Fatal(err)
	}
	if err := c.RotateLog(); !errors.Is(err, vga.WrongState) || !strings.Contains(err.Error(), "goes on beyond") {
		t.Error(err)
	}
	if err := c.core.EndTrial(false); err != nil {
		t.Fatal(err)
	}
	hasBegunAnew(t, c, path, false)
	if left, _ := filepath.Glob(path + ".*"); len(left) != 0 {
		t.Error(left)
	}
	object := `{"kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"containers":[{"name":"main"}]}}`
	if _, err := c.Tell([]byte(object)); err != nil { // it is tried again when the log is longer
		t.Fatal(err)
	}
	if err := c.RotateLog(); err != nil {
		t.Error(err)
	}
	hasBegunAnew(t, c, path, true)
}

func TestTheCoreStaysWhereTheLogCannotBeReplaced(t *testing.T) {
	c, path := numbered(t)
	if err := os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.RotateLog(); err == nil || !strings.Contains(err.Error(), "goes on beyond") {
		t.Error(err)
	}
	hasBegunAnew(t, c, path, false)
}
