package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatMakesNoSenseIsOneLineAndCode2(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := file("empty.conf", "")
	stock := file("stock.conf", "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: deviceshare\n")
	for _, wrong := range []struct{ flags, words string }{
		{"", "--scheduler-conf is empty: expected"},
		{"--scheduler-cnf x", "unknown flag: --scheduler-cnf"},
		{"--schedule-period soon --scheduler-conf x", "schedule-period"},
		{"--scheduler-conf x extra", `"extra": expected flags only`},
		{"--scheduler-conf " + folder + "/none", "--scheduler-conf: open " + folder + "/none: no such file"},
		{"--scheduler-conf " + empty, "--scheduler-conf: " + empty + ": is empty"},
		{"--scheduler-conf " + stock, "--scheduler-conf: " + stock + ":5: plugin deviceshare gives out"},
	} {
		var out, complaints bytes.Buffer
		code := program(strings.Fields(wrong.flags), &out, &complaints)
		text := complaints.String()
		if code != 2 || out.Len() != 0 || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "vgpualloc-scheduler: ") ||
			!strings.Contains(text, wrong.words) {
			t.Error(wrong.flags, code, out.String(), text)
		}
	}
	var out, complaints bytes.Buffer
	if code := program([]string{"--help"}, &out, &complaints); code != 0 || complaints.Len() != 0 || !strings.Contains(out.String(), "--scheduler-conf") {
		t.Error(code, complaints.String())
	}
}

// A large cluster is examined as a whole, and Volcano never works with its built-in configuration.
func TestWhatIsGivenToVolcano(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	if err := os.WriteFile(path, []byte("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags, err := readFlags([]string{"--scheduler-conf=" + path, "--disable_default_scheduler_config=false"}, &bytes.Buffer{})
	if err != nil || flags.PercentageOfNodesToFind != 100 || flags.SchedulerConf != path {
		t.Fatal(flags, err)
	}
	if _, err := checkedConfiguration(flags); err == nil {
		t.Error("it has no plugin vgpualloc")
	}
	if err := os.WriteFile(path, []byte("actions: allocate\ntiers:\n- plugins:\n  - name: vgpualloc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	checked, err := checkedConfiguration(flags)
	if err != nil || flags.SchedulerConf != checked.Path() || !flags.DisableDefaultSchedulerConfig {
		t.Fatal(flags, err)
	}
	if err := checked.Close(); err != nil {
		t.Error(err)
	}
	if flags, err := readFlags([]string{"--scheduler-conf=x", "--percentage-nodes-to-find=7"}, &bytes.Buffer{}); err != nil || flags.PercentageOfNodesToFind != 7 {
		t.Error(flags, err)
	}
}
