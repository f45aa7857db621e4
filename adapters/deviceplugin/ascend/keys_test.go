package ascend

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/ascend/fakechips"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// setup is all that the plugin is configured by.
type setup struct {
	arguments []string
	env       map[string]string
	change    []string // of the text of the configuration: what is there and what is there instead
	isSoft    bool
	node      string // fields of node-a's entry
}

// seen is a plugin that has registered once.
type seen struct {
	*stand
	*running
	err error
}

func began(t *testing.T, with setup) *seen {
	t.Helper()
	s := newStand(t, "node-a", nil)
	s.api.Put(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-b"}})
	text := strings.NewReplacer(with.change...).Replace(fmt.Sprintf(testConfig, with.isSoft))
	s.write(t, "/ascend.yaml", text)
	s.write(t, "/half.yaml", strings.Replace(text, `"memoryAllocatable":65536`, `"memoryAllocatable":32768`, 1))
	s.write(t, "/assets/libvnpu.so", "another")
	s.write(t, "/assets/ld.so.preload", "another")
	s.write(t, "/node.yaml", "nodes: [{name: node-a, vDeviceCount: 9}]")
	s.options.Arguments = append(s.options.Arguments, with.arguments...)
	if with.node != "" {
		s.write(t, "/entry.yaml", "nodes: [{"+with.node+"}]")
		s.options.Arguments = append(s.options.Arguments, "--node_config_file=/entry.yaml")
	}
	s.options.Env = func(name string) (string, bool) {
		if value, is := with.env[name]; is {
			return value, true
		}
		return "node-a", name == "NODE_NAME"
	}
	s.options.Library, s.options.Exec = fakechips.New(machine(2)), &fakechips.Programs{}
	r, err := s.plugin().start(context.Background())
	if err == nil {
		err = r.register(context.Background())
	}
	return &seen{s, r, err}
}

// annotation of a node; why the plugin did not start, if it did not.
func annotation(node, name string) func(s *seen) string {
	return func(s *seen) string {
		if s.err != nil {
			return s.err.Error()
		}
		return s.api.Node(node).Annotations[name]
	}
}

func resourceOf(s *seen) string { return s.lists.resource }

// slotsOf are the slots of each chip.
func slotsOf(s *seen) string { return fmt.Sprint(s.lists.last()) }

// withoutEffect are the flags and keys of which the log says that they have none.
func withoutEffect(s *seen) string {
	return strings.Join(append(s.settings.withoutEffect, s.running.config.ofSchedulers...), " ") + " "
}

// folderOf is the folder that a container is given.
func folderOf(s *seen) string {
	s.api.Put(podOf("default", "p", "node-a", map[string]string{modeAnnotation: softMode, toAllocate: "CHIP-0,Ascend910B3,100,10:;",
		forRuntime: `[{"UUID":"CHIP-0","memory":100,"core":10}]`}, "c"))
	answers, err := s.allocate(1)
	if err != nil {
		return err.Error()
	}
	mounts := answers[0].Mounts
	return mounts[len(mounts)-1].HostPath
}

func library(s *seen) string {
	text, err := os.ReadFile(filepath.Join(s.root, softFolder, "libvnpu.so"))
	return fmt.Sprint(string(text), err)
}

// keyCase is a documented key, and parts of what is seen with it and without it.
type keyCase struct {
	key           string
	with, without setup
	look          func(s *seen) string
	is, was       string
}

// keyCases are of the command line, the environment and both files.
func keyCases() []keyCase {
	register := annotation("node-a", registerPrefix+"Ascend910B3")
	handshake := annotation("node-a", handshakePrefix+"Ascend910B3")
	onNodeB := annotation("node-b", registerPrefix+"Ascend910B3")
	soft := annotation("node-a", softAnnotation)
	argument := func(text string) setup { return setup{arguments: []string{text}} }
	variable := func(name, value string, isSoft bool) setup {
		return setup{env: map[string]string{name: value}, isSoft: isSoft}
	}
	changed := func(texts ...string) setup { return setup{change: texts} }
	entry := func(fields string) setup { return setup{node: fields} }
	idle := func(s *seen) string { return s.settings.idleEvery.String() }
	result := []keyCase{
		{"--config_file", argument("--config_file=/half.yaml"), setup{}, register, `"devmem":32768`, `"devmem":65536`},
		{"--node_config_file", argument("--node_config_file=/node.yaml"), setup{}, register, `"count":9`, `"count":4`},
		{"--node_name", argument("--node_name=node-b"), setup{}, onNodeB, "CHIP-0", ""},
		{"NODE_NAME", variable("NODE_NAME", "node-b", false), setup{}, onNodeB, "CHIP-0", ""},
		{"--check_idle_vnpu_interval", argument("--check_idle_vnpu_interval=7"), setup{}, idle, "7s", "1m0s"},
		{"--report_time_offset", argument("--report_time_offset=9"), setup{}, handshake, "22:00:09", "22:00:01"},
		{"--hw_loglevel", argument("--hw_loglevel=1"), setup{}, withoutEffect, "--hw_loglevel", ""},
		{"HOOK_PATH", variable("HOOK_PATH", "/hook", true), setup{isSoft: true}, folderOf, "/hook/containers/uid-p_c", softFolder + "/containers/uid-p_c"},
		{"HAMI_VNPU_ASSETS_PATH", variable("HAMI_VNPU_ASSETS_PATH", "/assets", true), setup{isSoft: true}, library, "another", "content of libvnpu.so"},
		{"hamiVnpuCore", setup{isSoft: true}, setup{}, soft, "true", "false"},
		{"configs", changed(`"configs"`, `"configs":[],"hamiVersion"`), setup{}, register, "no chipName", "CHIP-0"},
		{"chipName", changed(`"chipName":"910B3"`, `"chipName":"910B2"`), setup{}, register, `no chipName "910B3"`, "CHIP-0"},
		{"commonWord", changed(`"commonWord":"Ascend910B3"`, `"commonWord":"Other"`), setup{}, annotation("node-a", registerPrefix+"Other"), "CHIP-0", ""},
		{"resourceName", changed(`"huawei.com/Ascend910B3"`, `"a.b/c"`), setup{}, resourceOf, "a.b/c", testResource},
		{"memoryAllocatable", changed(`"memoryAllocatable":65536`, `"memoryAllocatable":32768`), setup{}, register, `"count":2,"devmem":32768`, `"count":4,"devmem":65536`},
		{"aiCore", changed(`"aiCore":20`, `"aiCore":24`), setup{}, register, `"devcore":24`, `"devcore":20`},
		{"templates", changed(`"templates"`, `"templates":[],"overwriteEnv"`), setup{}, register, `"count":1`, `"count":4`},
		{"memory", changed(`"memory":16384`, `"memory":8192`), setup{}, slotsOf, "CHIP-0:8", "CHIP-0:4"},
		{"name", entry("name: node-a, vDeviceCount: 9"), entry("name: node-b, vDeviceCount: 9"), register, `"count":9`, `"count":4`},
		{"hami-vnpu-core", entry("name: node-a, hami-vnpu-core: true"), entry("name: node-a"), soft, "true", "false"},
		{"vDeviceCount", entry("name: node-a, vDeviceCount: 3"), entry("name: node-a"), slotsOf, "CHIP-0:3", "CHIP-0:4"},
		{"filterDevices", entry("name: node-a, filterDevices: {index: [0]}"), entry("name: node-a"), slotsOf, "map[CHIP-1:4]", "CHIP-0:4"},
		{"uuid", entry("name: node-a, filterDevices: {uuid: [CHIP-1]}"), entry("name: node-a"), slotsOf, "map[CHIP-0:4]", "CHIP-1:4"},
		{"index", entry("name: node-a, filterDevices: {index: [1]}"), entry("name: node-a"), slotsOf, "map[CHIP-0:4]", "CHIP-1:4"},
	}
	for key, value := range map[string]string{"resourceMemoryName": `"x/y"`, "resourceCoreName": `"x/y"`, "memoryFactor": "1", "superPod": "true",
		"runtimeClassName": `"x"`, "overwriteEnv": "true"} {
		result = append(result, keyCase{key, changed(`"aiCPU":7`, `"aiCPU":7,"`+key+`":`+value), setup{}, withoutEffect, key + " ", ""})
	}
	for key, value := range map[string]string{"memoryCapacity": "65536", "aiCPU": "7"} {
		result = append(result, keyCase{key, setup{}, changed(`"`+key+`":`+value, `"`+key+`":0`), withoutEffect, key + " ", ""})
	}
	return append(result, keyCase{"hamiVersion", changed(`"configs"`, `"hamiVersion":"2.10","configs"`), setup{}, withoutEffect, "hamiVersion ", ""})
}

// TestEveryKeyHasAnEffect runs the plugin with each key and without it: what is seen differs.
func TestEveryKeyHasAnEffect(t *testing.T) {
	for _, one := range keyCases() {
		t.Run(one.key, func(t *testing.T) {
			with, without := one.look(began(t, one.with)), one.look(began(t, one.without))
			if !strings.Contains(with, one.is) || !strings.Contains(without, one.was) || with == without {
				t.Errorf("with it: %s\nexpected %s\nwithout it: %s\nexpected %s", with, one.is, without, one.was)
			}
		})
	}
}

// TestEveryDocumentedKeyHasACase: no documented key is without a case, and no case is of a key that is not documented.
func TestEveryDocumentedKeyHasACase(t *testing.T) {
	page, err := testbed.Page("docs/deploy/device-plugin.md")
	if err != nil {
		t.Fatal(err)
	}
	section, err := testbed.Section(page, "## Ascend")
	if err != nil {
		t.Fatal(err)
	}
	covered := []string{"--vendor", "KUBECONFIG", "-v", "--v"} // main_test.go, and TestVerbosity
	for _, one := range keyCases() {
		covered = append(covered, one.key)
	}
	documented := []string{"memory", "uuid", "index"} // inside templates and filterDevices
	for _, title := range []string{"flag", "variable", "key of `vnpus`", "key of an entry of `nodes`"} {
		keys, err := testbed.Keys(section, title, 1)
		if err != nil {
			t.Fatal(err)
		}
		documented = append(documented, keys...)
	}
	for _, key := range documented {
		if !slices.Contains(covered, key) {
			t.Errorf("%s is documented and has no case", key)
		}
		if name, isFlag := strings.CutPrefix(key, "--"); isFlag && Flags().Lookup(name) == nil {
			t.Errorf("%s is documented and no flag", key)
		}
	}
	for _, key := range covered {
		if !slices.Contains(documented, key) {
			t.Errorf("%s has a case and is not documented", key)
		}
	}
}

func TestVerbosity(t *testing.T) {
	for _, line := range []string{"--v=4", "-v=4"} {
		if err := Flags().Parse([]string{line}); err != nil || !klog.V(4).Enabled() || klog.V(5).Enabled() {
			t.Errorf("%s: %v, or the log's verbosity is not 4", line, err)
		}
		if err := Flags().Parse([]string{"-v=0"}); err != nil || klog.V(1).Enabled() {
			t.Errorf("-v=0: %v, or the log's verbosity stays", err)
		}
	}
}
