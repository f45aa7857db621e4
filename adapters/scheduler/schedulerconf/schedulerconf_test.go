package schedulerconf

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"

	"vgpualloc.example/adapters/scheduler/plugin"
)

func TestMain(m *testing.M) {
	framework.RegisterPluginBuilder(plugin.Name, plugin.NewEngine().New)
	os.Exit(m.Run())
}

const good = `actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: vgpualloc
    arguments:
      vgpualloc.policy: fgd
      deviceshare.VGPUEnable: true
  - name: priority
- plugins:
  - name: predicates
`

func TestWhatIsWrongIsToldWithItsLine(t *testing.T) {
	replaced := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatal(old)
		}
		return strings.Replace(good, old, with, 1)
	}
	for _, wrong := range []struct{ text, words string }{
		{"", "^FILE: is empty: expected actions"},
		{"# nothing\n", "^FILE: actions are missing"},
		{replaced("name: vgpualloc", "name: vgpuallok"), `^FILE:4: plugin "vgpuallok" is not known: expected vgpualloc, or one of Volcano's`},
		{replaced("name: vgpualloc", "name: deviceshare"), "^FILE:4: plugin deviceshare gives out the same devices as vgpualloc: expected vgpualloc alone"},
		{replaced("name: predicates", "name: deviceshare"), "^FILE:10: plugin deviceshare"},
		{replaced("name: predicates", "name: vgpualloc"), "^FILE:10: plugin vgpualloc is there twice"},
		{"actions: allocate\ntiers:\n- plugins:\n  - name: gang\n", `^FILE:2: plugin vgpualloc is missing among the plugins \(gang\)`},
		{"actions: allocate\n", "^FILE: plugin vgpualloc is missing"},
		{replaced("allocate,", "alocate,"), `^FILE:1: actions: got "alocate", expected`},
		{replaced("tiers:", "tiers: ["), "^FILE: line "},
		{replaced("- plugins:", "- plugins: 7\n  x:"), "^FILE: unmarshal errors: line 3: cannot unmarshal"},
		{replaced("name: vgpualloc", "name: vgpualloc\n    enablePredicate: no"), "^FILE:5: enablePredicate of plugin vgpualloc is false: expected true"},
		{replaced("policy: fgd", "policy: nosuch"), "^FILE:6: argument vgpualloc.policy of plugin vgpualloc: got 'nosuch', expected one of "},
		{replaced("policy: fgd", "policy:"), "^FILE:6: argument vgpualloc.policy of plugin vgpualloc has no value: expected one"},
		{replaced("policy: fgd", "policy: [fgd]"), `^FILE:6: argument vgpualloc.policy of plugin vgpualloc is \[fgd\]: expected a text`},
		{replaced("vgpualloc.policy", "vgpualloc.polciy"), "^FILE:6: argument vgpualloc.polciy of plugin vgpualloc is not known: expected one of deviceshare's, or vgpualloc.policy"},
		{replaced("vgpualloc.policy: fgd", "vgpualloc.device-policy: random"), "^FILE:6: argument vgpualloc.device-policy of plugin vgpualloc: got 'random', expected a policy that draws nothing$"},
		{replaced("VGPUEnable: true", "VGPUEnable: maybe"), "^FILE:7: argument deviceshare.VGPUEnable of plugin vgpualloc is maybe: expected true or false$"},
		{replaced("VGPUEnable: true", "SchedulePolicy: best"), "^FILE:7: argument deviceshare.SchedulePolicy of plugin vgpualloc: got 'best', expected binpack or spread$"},
		{replaced("VGPUEnable: true", "Nonsense: 1"), "^FILE:7: argument deviceshare.Nonsense of plugin vgpualloc: unknown argument"},
		{replaced("VGPUEnable: true", "GPUExclusiveRules: '[x'"), "^FILE:7: argument deviceshare.GPUExclusiveRules of plugin vgpualloc:1:2: JSON"},
		{replaced("VGPUEnable: true", "VGPUEnable: true\n      deviceshare.GPUSharingEnable: true"), "^FILE:5: arguments of plugin vgpualloc: at most one of GPUSharingEnable"},
		{replaced("vgpualloc.policy: fgd", "vgpualloc.decision-log: /nosuch/folder/log"), "^FILE:6: argument vgpualloc.decision-log of plugin vgpualloc: open /nosuch/folder/log: no such file or directory, expected"},
		{replaced("VGPUEnable: true", "KnownGeometriesCMName: ''"), "^FILE:7: argument deviceshare.KnownGeometriesCMName of plugin vgpualloc is \"\", expected the name of a ConfigMap"},
	} {
		reader := &Reader{Path: "FILE"}
		err := reader.Check([]byte(wrong.text))
		if err == nil || !regexp.MustCompile(wrong.words).MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n%v\nexpected %s", wrong.text, err, wrong.words)
		}
	}
}

func TestWhatVolcanoTakesIsTaken(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "mine.so"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	reader := &Reader{Path: "FILE", PluginsDir: folder}
	chart, err := os.ReadFile("../../delivery/chart/files/volcano-scheduler.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{good, good + "  - name: mine\n", good + "misspelled: 1\n", string(chart),
		strings.Replace(good, "deviceshare.VGPUEnable: true", "deviceshare.GPUExclusiveRules: [{team: a}]", 1),
		good + "configurations:\n- name: init-params\n  arguments: {deep: {grace: 1}}\n"} {
		if err := reader.Check([]byte(text)); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

func TestTheCopyOnlyHasWhatIsGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volcano-scheduler.conf")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader := Reader{Path: path}
	if _, err := reader.Read(); !os.IsNotExist(err) || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	write(strings.Replace(good, "vgpualloc\n", "gang\n", 1))
	if _, err := reader.Read(); err == nil || !strings.Contains(err.Error(), path+":2: plugin vgpualloc is missing") {
		t.Error(err)
	}
	write(good)
	text, err := reader.Read()
	if err != nil {
		t.Fatal(err)
	}
	copied, err := NewCopy(reader, text)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(text, failure string) {
		t.Helper()
		copied.Look()
		if has, err := os.ReadFile(copied.Path()); err != nil || string(has) != text {
			t.Error(string(has), err)
		}
		if why := copied.Failure(); (why == nil) != (failure == "") || why != nil && !strings.Contains(why.Error(), failure) {
			t.Error(why, "expected", failure)
		}
	}
	expect(good, "")
	other := strings.Replace(good, "fgd", "binpack", 1)
	write(strings.Replace(other, "vgpualloc\n", "vgpuallok\n", 1))
	expect(good, `plugin "vgpuallok" is not known`)
	expect(good, `plugin "vgpuallok" is not known`)
	write(other)
	expect(other, "")
	// What could not be copied is tried again, though the text is the same.
	inTheWay := filepath.Join(copied.folder, "fresh")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	write(good)
	expect(other, "is a directory")
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	expect(good, "")
	write(other)
	expect(other, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect(other, "no such file")
	write("")
	expect(other, "is empty")
	write(other)
	expect(other, "")
	if files, err := os.ReadDir(filepath.Dir(copied.Path())); err != nil || len(files) != 1 {
		t.Error("Volcano looks at all that happens beside it", files, err)
	}
	// One of a scheduler that was killed is taken away by the next; one that is in use stays.
	killed := filepath.Join(os.TempDir(), "vgpualloc-scheduler-of-a-test")
	if err := os.MkdirAll(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	later, err := NewCopy(reader, []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Error("it is nobody's", err)
	}
	if _, err := os.Stat(copied.Path()); err != nil {
		t.Error("it is in use", err)
	}
	if err := later.Close(); err != nil {
		t.Error(err)
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(copied.Path())); !os.IsNotExist(err) {
		t.Error(err)
	}
}
