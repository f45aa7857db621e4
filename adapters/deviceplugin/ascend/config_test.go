package ascend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
	"vgpualloc.example/adapters/deviceplugin/ascend/fakechips"
	files "vgpualloc.example/adapters/deviceplugin/config"
)

func TestWhatCannotBeConfigured(t *testing.T) {
	chip := func(change ...string) string {
		text := fmt.Sprintf(testConfig, false)
		return strings.NewReplacer(change...).Replace(text)
	}
	for _, one := range []struct{ config, model, want string }{
		{"", "910B3", "config_file: open /ascend.yaml"},
		{"vnpus: [broken", "910B3", "config_file /ascend.yaml"},
		{`{"vnpus":[{"chipName":"910B3"}]}`, "910B3", `vnpus [{"chipName":"910B3"}]: expected a mapping`},
		{`{"npus":{}}`, "910B3", "expected section vnpus, there is none"},
		{chip(`"aiCore":20`, `"aiCores":20`), "910B3", "vnpus.configs[0].aiCores: no such key, expected aiCore"},
		{chip(`"memoryAllocatable":65536`, `"memoryAllocatable":"64Gi"`), "910B3", `vnpus.configs[0].memoryAllocatable "64Gi": expected a whole number`},
		{chip(`"hamiVnpuCore":false`, `"hamiVnpuCore":0`), "910B3", "vnpus.hamiVnpuCore 0: expected true or false"},
		{"vnpus: {configs: []}\nvnpus: {configs: []}", "910B3", `key "vnpus" already set`},
		{chip(), "910b3", `no chipName "910b3"`},
		{chip(`"huawei.com/Ascend910B3"`, `"Ascend910B3"`), "910B3", "configs[0].resourceName"},
		{chip(`"commonWord":"Ascend910B3"`, `"commonWord":""`), "910B3", "configs[0].commonWord"},
		{chip(`"memory":16384`, `"memory":0`), "910B3", "configs[0].templates[1].memory: 0"},
		{chip(`"memoryAllocatable":65536`, `"memoryAllocatable":-1`), "910B3", "configs[0].memoryAllocatable: -1"},
	} {
		s := newStand(t, "node-a", nil)
		if one.config != "" {
			s.write(t, "/ascend.yaml", one.config)
		}
		_, err := readConfig(s.root, settings{configFile: "/ascend.yaml", node: "node-a"}, chips.Model{Type: "Ascend", Name: one.model}, nil)
		if err == nil || !strings.Contains(err.Error(), one.want) || strings.Contains(err.Error(), s.root) {
			t.Errorf("%v, expected %q and no path of the test", err, one.want)
		}
	}
	if _, err := readConfig("", settings{}, chips.Model{Type: "Other"}, nil); err == nil || !strings.Contains(err.Error(), `"Other"`) {
		t.Errorf("type of the chips: %v", err)
	}
}

// What is no plain file, or too large, is refused as the plugin of GPUs does; so is every other mistake: nothing but another
// configuration mends it, which is exit code 2.
func TestFilesThatAreNotRead(t *testing.T) {
	s := newStand(t, "node-a", nil)
	s.options.Library, s.options.Exec = fakechips.New(machine(1)), &fakechips.Programs{}
	path := filepath.Join(s.root, "ascend.yaml")
	for words, prepare := range map[string]func() error{
		"no plain file":    func() error { return syscall.Mkfifo(path, 0o600) },
		"expected at most": func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 5<<20)) },
		"no such file":     func() error { return nil },
		"expected section": func() error { return os.WriteFile(path, []byte("nvidia: {}"), 0o600) },
	} {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.plugin().start(context.Background()); !errors.Is(err, files.ErrWrong) || !strings.Contains(err.Error(), words) ||
			strings.Contains(err.Error(), s.root) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, expected %q", err, words)
		}
		_ = os.Remove(path)
	}
	s.options.Arguments = nil
	if _, err := s.plugin().start(context.Background()); !errors.Is(err, files.ErrWrong) {
		t.Errorf("without --config_file: %v", err)
	}
}

// Keys that are not known are reported and the others hold; schedulers' own are known.
func TestKeysWithoutEffect(t *testing.T) {
	s := newStand(t, "node-a", nil)
	s.write(t, "/ascend.yaml", strings.Replace(fmt.Sprintf(testConfig, false), `"aiCPU":7`,
		`"aiCPU":7,"superPod":true,"memoryFactor":1,"runtimeClassName":"x","overwriteEnv":true,"something":1`, 1))
	s.write(t, "/node.yaml", `nodes: [{name: node-a, vDeviceCounts: 3, somethingElse: 1}, {name: node-b, other: 1}]`)
	reports := []string{}
	result, err := readConfig(s.root, settings{configFile: "/ascend.yaml", nodeConfigFile: "/node.yaml", node: "node-a"},
		chips.Model{Type: "Ascend", Name: "910B3"}, func(err error) { reports = append(reports, err.Error()) })
	if err != nil || result.slots != 4 {
		t.Fatalf("%+v, %v", result, err)
	}
	want := []string{"config_file /ascend.yaml: vnpus.configs[0].something is not known and has no effect",
		"node_config_file /node.yaml: nodes[0].vDeviceCounts: no such key, expected vDeviceCount; nodes[0].somethingElse is not known and has no effect"}
	if strings.Join(reports, "\n") != strings.Join(want, "\n") {
		t.Errorf("reports\n%s\nexpected\n%s", strings.Join(reports, "\n"), strings.Join(want, "\n"))
	}
	s.write(t, "/node.yaml", `nodes: [{name: node-a, vDeviceCount: three}]`)
	reports = nil
	if _, err := readConfig(s.root, settings{configFile: "/ascend.yaml", nodeConfigFile: "/node.yaml", node: "node-a"},
		chips.Model{Type: "Ascend", Name: "910B3"}, func(err error) { reports = append(reports, err.Error()) }); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(reports, "\n"); !strings.Contains(text, `left out: /node.yaml: nodes[0].vDeviceCount "three": expected a whole number`) {
		t.Errorf("reports %s", text)
	}
}

func TestWhatHoldsForThisNode(t *testing.T) {
	for _, one := range []struct {
		nodes  string
		isSoft bool
		slots  int
		has    int // of 3 chips
	}{
		{"", true, 4, 3},
		{"nodes: {", true, 4, 3}, // left out
		{`nodes: [{name: node-b, vDeviceCount: 9}]`, true, 4, 3},
		{`nodes: [{name: node-a}]`, false, 4, 3},
		{`nodes: [{name: node-a, vDeviceCount: 9}]`, false, 9, 3},
		{`nodes: [{name: node-a, vDeviceCount: -1, hami-vnpu-core: true}]`, true, 4, 3},
		{`nodes: [{name: node-a, filterDevices: {index: [1], uuid: [CHIP-2]}}, {name: node-a, vDeviceCount: 5}]`, false, 4, 1},
		{`nodes: [{name: node-a, filterDevices: {uuid: [chip-2]}}]`, false, 4, 3}, // capitals count
	} {
		s := newStand(t, "node-a", nil)
		s.write(t, "/ascend.yaml", fmt.Sprintf(testConfig, true))
		s.write(t, "/node.yaml", one.nodes)
		s.options.Arguments = append(s.options.Arguments, "--node_config_file=/node.yaml")
		s.options.Library, s.options.Exec = fakechips.New(machine(3)), &fakechips.Programs{}
		r, err := s.plugin().start(context.Background())
		if err != nil {
			t.Errorf("%q: %v", one.nodes, err)
			continue
		}
		if r.config.isSoft != one.isSoft || r.config.slots != one.slots || len(r.chips.states()) != one.has {
			t.Errorf("%q: soft %t, %d slots, %d chips; expected %t, %d, %d", one.nodes, r.config.isSoft, r.config.slots, len(r.chips.states()),
				one.isSoft, one.slots, one.has)
		}
	}
}

func TestSettings(t *testing.T) {
	env := func(values map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { value, is := values[name]; return value, is }
	}
	for _, one := range []struct {
		arguments string
		values    map[string]string
		want      string
	}{
		{"--config_file=/c", nil, "node_name: empty"},
		{"--node_name=n", nil, "config_file: empty"},
		{"--node_name=n --config_file=/c --check_idle_vnpu_interval=0", nil, "check_idle_vnpu_interval: 0"},
		{"--node_name=n --config_file=/c --what", nil, "unknown flag"},
	} {
		if _, err := readSettings(strings.Fields(one.arguments), env(one.values)); err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: %v, expected %q", one.arguments, err, one.want)
		}
	}
	of, err := readSettings(strings.Fields("--config_file=/c --report_time_offset=5"), env(map[string]string{"NODE_NAME": "n", "HOOK_PATH": "/hook/",
		"HAMI_VNPU_ASSETS_PATH": "/assets"}))
	if err != nil || of.node != "n" || of.hookPath != "/hook/" || of.assets != "/assets" || of.reportOffset.Seconds() != 5 || of.idleEvery.Seconds() != 60 {
		t.Errorf("settings %+v: %v", of, err)
	}
}

func TestWhatLimitsInSoftwareIsMadeReady(t *testing.T) {
	s := newStand(t, "node-a", nil)
	s.write(t, "/ascend.yaml", fmt.Sprintf(testConfig, true))
	s.write(t, softFolder+"/libvnpu.so", "an older one")
	programs := &fakechips.Programs{}
	with := machine(2)
	with.NPUs[1].CardID, with.NPUs[1].DeviceID = 0, 1
	s.options.Library, s.options.Exec = fakechips.New(with), programs
	if _, err := s.plugin().start(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, name := range softFiles {
		content, err := os.ReadFile(filepath.Join(s.root, softFolder, name))
		if err != nil || string(content) != "content of "+name {
			t.Errorf("%s: %q (%v)", name, content, err)
		}
	}
	if got := text(programs.Ran()); got != `[{"argv":["npu-smi","set","-t","device-share","-i","0","-c","0","-d","1"],"code":0,"stdin":"Y\n"},`+
		`{"argv":["npu-smi","set","-t","device-share","-i","0","-c","1","-d","1"],"code":0,"stdin":"Y\n"}]` {
		t.Errorf("programs %s", got)
	}
	programs.Fails = true
	if _, err := s.plugin().start(context.Background()); err == nil || !strings.Contains(err.Error(), "exit status 1: Failed to set device-share") {
		t.Errorf("a refused switch: %v", err)
	}
	programs.Fails = false
	if err := os.RemoveAll(filepath.Join(s.root, softAssets)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.plugin().start(context.Background()); err == nil || !strings.Contains(err.Error(), "libvnpu.so") {
		t.Errorf("without the files: %v", err)
	}
	s.write(t, "/ascend.yaml", fmt.Sprintf(testConfig, false))
	if _, err := s.plugin().start(context.Background()); err != nil { // N44
		t.Errorf("a node with templates, without the files: %v", err)
	}
}

func TestChipsThatCannotBeAsked(t *testing.T) {
	library := fakechips.New(machine(2))
	v := &inventory{library: library, filter: func(chips.Chip) bool { return false }}
	ctx := context.Background()
	if changed, err := v.read(ctx); err != nil || !changed {
		t.Fatalf("changed %t: %v", changed, err)
	}
	library.Edit(func(now *fakechips.Machine) { now.Faults = map[string]string{fakechips.Health: "no answer"} })
	if _, err := v.read(ctx); err == nil || len(v.states()) != 2 || !v.states()[0].isHealthy {
		t.Errorf("states %+v (%v), expected those of before", v.states(), err)
	}
	library.Edit(func(now *fakechips.Machine) { now.Faults, now.NPUs = nil, now.NPUs[1:] })
	if changed, err := v.read(ctx); err != nil || !changed || len(v.states()) != 2 || v.states()[0].isHealthy || !v.states()[1].isHealthy {
		t.Errorf("states %+v (%v), expected a chip that is gone to be there and not healthy", v.states(), err)
	}
	library.Edit(func(now *fakechips.Machine) { now.NPUs[0].VDie = "" })
	if _, err := v.read(ctx); err == nil {
		t.Error("a chip without vdie is read")
	}
}

func TestRegistrationText(t *testing.T) {
	of := &config{chip: chipConfig{CommonWord: "Ascend910B3", MemoryAllocatable: 65536, AICore: 20}, slots: 4}
	var states []chipState
	for i, vdie := range []string{"A", "B", "C", "D", "E"} {
		states = append(states, chipState{Chip: chips.Chip{VDie: vdie}, isHealthy: i != 1})
	}
	got, err := registrationText(of, states[:2])
	want := `[{"id":"A","count":4,"devmem":65536,"devcore":20,"type":"Ascend910B3","health":true,"custominfo":{"NetworkID":0},"devicepairscore":{}},` +
		`{"id":"B","index":1,"count":4,"devmem":65536,"devcore":20,"type":"Ascend910B3","custominfo":{"NetworkID":0},"devicepairscore":{}}]`
	if err != nil || got != want {
		t.Errorf("%s (%v), expected %s", got, err, want)
	}
	for word, networks := range map[string]int{"Ascend910B3": 1, "Ascend910C": 0, "Ascend310P": 0} {
		of.chip.CommonWord = word
		if got, _ = registrationText(of, states); strings.Count(got, `"NetworkID":1`) != networks {
			t.Errorf("%s: %s, expected %d chips in the second network", word, got, networks)
		}
	}
	if got, _ = registrationText(of, nil); got != "[]" {
		t.Errorf("no chips are %q", got)
	}
}
