package plugin

import (
	"errors"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/layout"
)

func TestWordsOfAFinding(t *testing.T) {
	withdrawn := layout.Finding{GPU: "GPU-1", Status: layout.Status{Service: layout.Withdrawn, Reason: "lost"}}
	if text := wordsOf(withdrawn); text != "GPU-1 is withdrawn: lost" {
		t.Errorf("%q", text)
	}
	withdrawn.Err = errors.New("no driver")
	if text := wordsOf(withdrawn); text != "GPU-1 is withdrawn: lost: no driver" {
		t.Errorf("%q", text)
	}
}
