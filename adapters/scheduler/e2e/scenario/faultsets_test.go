package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// argumentsOf are those of a plugin in a written configuration.
func argumentsOf(t *testing.T, path, plugin string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Tiers []struct {
			Plugins []struct {
				Name      string
				Arguments map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for _, tier := range document.Tiers {
		for _, entry := range tier.Plugins {
			if entry.Name == plugin {
				return entry.Arguments
			}
		}
	}
	t.Fatalf("%s has no plugin %s", path, plugin)
	return nil
}

func TestASettingReplacesTheArgumentsOfDeviceshareAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf", "scheduler.conf")
	set := setting{arguments: map[string]any{"GPUNumberEnable": true, "ScheduleWeight": 10}}
	for file, plugin := range map[string]string{"ours.conf": "vgpualloc", "stock.conf": "deviceshare"} {
		original, err := os.ReadFile(filepath.Join("..", "conf", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := set.configure(original, path); err != nil {
			t.Fatal(err)
		}
		arguments := argumentsOf(t, path, plugin)
		if arguments["deviceshare.GPUNumberEnable"] != true || arguments["deviceshare.ScheduleWeight"] != float64(10) {
			t.Errorf("%s: arguments %v, expected those of the setting", file, arguments)
		}
		if _, left := arguments["deviceshare.VGPUEnable"]; left {
			t.Errorf("%s: arguments %v, expected none of the file's own for deviceshare", file, arguments)
		}
		if _, kept := arguments["vgpualloc.decision-log"]; kept != (plugin == "vgpualloc") {
			t.Errorf("%s: arguments %v, expected that ours keeps its decision log", file, arguments)
		}
		if err := (setting{}).configure(original, path); err != nil {
			t.Fatal(err)
		}
		if _, kept := argumentsOf(t, path, plugin)["deviceshare.VGPUEnable"]; kept != (plugin == "deviceshare") {
			t.Errorf("%s: a setting without arguments has changed them", file)
		}
	}
	if err := set.configure([]byte("tiers: [{plugins: [{name: gang}]}]"), path); err == nil || !strings.Contains(err.Error(), "deviceshare") {
		t.Errorf("error %v, expected one that names the plugins that are missing", err)
	}
}

func TestASettingSaysWhatIsParticularToIt(t *testing.T) {
	set := setting{arguments: map[string]any{"VGPUEnable": true, "ScheduleWeight": 0}, builtIn: true}
	if text := set.String(); text != "ScheduleWeight: 0, VGPUEnable, no ConfigMap" {
		t.Errorf("%q", text)
	}
	if text := settings[0].String(); text != "" {
		t.Errorf("%q, expected that the first faults are played under the file as it is", text)
	}
}

func TestFaultsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{"start": true}
	for _, set := range settings {
		for _, each := range set.faults {
			if seen[each.id] || each.what == "" || each.play == nil {
				t.Errorf("fault %q: expected a name that no other has, words and a play", each.id)
			}
			seen[each.id] = true
		}
	}
}
