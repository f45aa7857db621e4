package health

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheStateReplacesPlainFilesOnly(t *testing.T) {
	folder, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.WriteFile(folder+"/precious", []byte("precious"), 0o600), os.Symlink(folder+"/precious", link+".new")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, link} {
		for _, kept := range []state{{}, {Cards: map[string]*Card{"GPU-a": {Xid: 79}}}} {
			if err := write(path, kept); err == nil || !strings.Contains(err.Error(), "no plain file") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if text, err := os.ReadFile(folder + "/precious"); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}
