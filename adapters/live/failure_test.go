package live_test

import (
	"strings"
	"testing"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

func TestThatALogCannotBeWrittenIsToldOnce(t *testing.T) {
	log, err := decisionlog.Open("/dev/full", 0)
	check(t, err)
	c, err := live.New(vga.Options{}, log)
	check(t, err)
	if err := c.Flush(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
	_, err = c.Tell([]byte(node("a", 1)))
	check(t, err)
	check(t, c.Flush())
	if c.Close() == nil {
		t.Error("the log is not whole")
	}
}
