package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
)

const node = "node-a"

// sources of one configuration.
type sources struct {
	arguments []string
	env       map[string]string
	keys      string // under nvidia
	node      string // config.json; empty: none
	file      string // --config-file; empty: none
}

func (s sources) build() (*config.Config, error) {
	flags, err := config.ReadFlags(append([]string{"--node-name=" + node}, s.arguments...), func(name string) (string, bool) {
		value, has := s.env[name]
		return value, has
	})
	if err != nil {
		return nil, err
	}
	if s.file != "" {
		if flags, err = flags.WithConfigFile([]byte(s.file)); err != nil {
			return nil, err
		}
	}
	var file []byte
	if s.node != "" {
		file = []byte(s.node)
	}
	return config.Build(flags, []byte("nvidia:\n  "+strings.ReplaceAll(s.keys, "\n", "\n  ")+"\n  resourcePriorityName: \"\"\n"), file)
}

func entry(fields string) string { return `{"nodeconfig":[{"name":"node-a",` + fields + `}]}` }

func of(c *config.Config) config.Card { return c.Card(1, "GPU-1") }

// Each key and each flag has an effect: what is read without it differs from what is read with it.
func TestEachKeyHasAnEffect(t *testing.T) {
	applied := "applyAllKeys: true\n"
	for name, one := range map[string]struct {
		with, without sources
		value         func(c *config.Config) any
		is, was       any
	}{
		"resourceCountName":  {sources{keys: "resourceCountName: a.b/n"}, sources{}, func(c *config.Config) any { return c.Resources.Number }, "a.b/n", "volcano.sh/vgpu-number"},
		"resourceMemoryName": {sources{keys: "resourceMemoryName: a.b/m"}, sources{}, func(c *config.Config) any { return c.Resources.Memory }, "a.b/m", "volcano.sh/vgpu-memory"},
		"resourceCoreName":   {sources{keys: "resourceCoreName: a.b/c"}, sources{}, func(c *config.Config) any { return c.Resources.Cores }, "a.b/c", "volcano.sh/vgpu-cores"},
		"deviceSplitCount":   {sources{keys: "deviceSplitCount: 3"}, sources{}, func(c *config.Config) any { return of(c).SplitCount }, 3, 10},
		"gpuMemoryFactor":    {sources{keys: "gpuMemoryFactor: 3"}, sources{}, func(c *config.Config) any { return of(c).MemoryFactor }, 3, 1},
		"deviceCoreScaling":  {sources{keys: "deviceCoreScaling: 1.5"}, sources{}, func(c *config.Config) any { return of(c).CoreScaling }, 1.5, 1.0},
		"deviceMemoryScaling": {sources{keys: applied + "deviceMemoryScaling: 1.5"}, sources{keys: applied},
			func(c *config.Config) any { return of(c).MemoryScaling }, 1.5, 1.0},
		"disableCoreLimit": {sources{keys: applied + "disableCoreLimit: true"}, sources{keys: applied},
			func(c *config.Config) any { return c.Flags.DisableCoreLimit }, true, false},
		"passDeviceSpecs": {sources{keys: applied + "passDeviceSpecs: true"}, sources{keys: applied},
			func(c *config.Config) any { return c.Flags.PassDeviceSpecs }, true, false},
		"applyAllKeys": {sources{keys: applied + "deviceMemoryScaling: 1.5\ndisableCoreLimit: true\npassDeviceSpecs: true"},
			sources{keys: "deviceMemoryScaling: 1.5\ndisableCoreLimit: true\npassDeviceSpecs: true"},
			func(c *config.Config) any {
				return []any{of(c).MemoryScaling, c.Flags.DisableCoreLimit, c.Flags.PassDeviceSpecs}
			}, []any{1.5, true, true}, []any{1.0, false, false}},
		"--apply-all-keys": {sources{keys: "deviceMemoryScaling: 1.5", arguments: []string{"--apply-all-keys"}}, sources{keys: "deviceMemoryScaling: 1.5"},
			func(c *config.Config) any { return of(c).MemoryScaling }, 1.5, 1.0},
		"--scheduler=hami scales": {sources{keys: "deviceMemoryScaling: 1.5", arguments: []string{"--scheduler=hami"}}, sources{keys: "deviceMemoryScaling: 1.5"},
			func(c *config.Config) any { return of(c).MemoryScaling }, 1.5, 1.0},
		"knownMigGeometries": {sources{keys: "knownMigGeometries: [{models: [A30], allowedGeometries: [{group: g, geometries: [{name: 1g.6gb, memory: 6144, count: 4}]}]}]"},
			sources{}, func(c *config.Config) any { return c.GeometriesOf("NVIDIA A30") != nil }, true, false},
		"operatingmode":               {sources{node: entry(`"operatingmode":"mig"`)}, sources{}, func(c *config.Config) any { return of(c).Mode }, config.MIG, config.HAMiCore},
		"devicesplitcount":            {sources{node: entry(`"devicesplitcount":7`)}, sources{}, func(c *config.Config) any { return of(c).SplitCount }, 7, 10},
		"devicecorescaling":           {sources{node: entry(`"devicecorescaling":2`)}, sources{}, func(c *config.Config) any { return of(c).CoreScaling }, 2.0, 1.0},
		"devicememoryscaling":         {sources{keys: applied, node: entry(`"devicememoryscaling":1.8`)}, sources{keys: applied}, func(c *config.Config) any { return of(c).MemoryScaling }, 1.8, 1.0},
		"filterdevices.uuid":          {sources{node: entry(`"filterdevices":{"uuid":["GPU-1"]}`)}, sources{}, func(c *config.Config) any { return of(c).IsFiltered }, true, false},
		"filterdevices.index":         {sources{node: entry(`"filterdevices":{"index":[1]}`)}, sources{}, func(c *config.Config) any { return of(c).IsFiltered }, true, false},
		"devices.uuid":                {sources{node: entry(`"devices":[{"uuid":"GPU-1","operatingmode":"mps"}]`)}, sources{}, func(c *config.Config) any { return of(c).Mode }, config.MPS, config.HAMiCore},
		"devices.index":               {sources{node: entry(`"devices":[{"index":1,"devicesplitcount":5}]`)}, sources{}, func(c *config.Config) any { return of(c).SplitCount }, 5, 10},
		"devices.devicecorescaling":   {sources{node: entry(`"devices":[{"index":1,"devicecorescaling":0.5}]`)}, sources{}, func(c *config.Config) any { return of(c).CoreScaling }, 0.5, 1.0},
		"devices.devicememoryscaling": {sources{keys: applied, node: entry(`"devices":[{"index":1,"devicememoryscaling":2}]`)}, sources{keys: applied}, func(c *config.Config) any { return of(c).MemoryScaling }, 2.0, 1.0},
		"devices.gpumemoryfactor":     {sources{node: entry(`"devices":[{"index":1,"gpumemoryfactor":16}]`)}, sources{}, func(c *config.Config) any { return of(c).MemoryFactor }, 16, 1},
		"--device-split-count":        {sources{arguments: []string{"--device-split-count=6"}}, sources{}, func(c *config.Config) any { return of(c).SplitCount }, 6, 10},
		"--gpu-memory-factor":         {sources{arguments: []string{"--gpu-memory-factor=6"}}, sources{}, func(c *config.Config) any { return of(c).MemoryFactor }, 6, 1},
		"--device-cores-scaling":      {sources{arguments: []string{"--device-cores-scaling=1.2"}}, sources{}, func(c *config.Config) any { return of(c).CoreScaling }, 1.2, 1.0},
		"--mig-strategy":              {sources{arguments: []string{"--mig-strategy=mixed"}}, sources{}, func(c *config.Config) any { return c.Flags.MigStrategy }, "mixed", "none"},
		"MIG_STRATEGY":                {sources{env: map[string]string{"MIG_STRATEGY": "single"}}, sources{}, func(c *config.Config) any { return c.Flags.MigStrategy }, "single", "none"},
		"--device-list-strategy":      {sources{arguments: []string{"--device-list-strategy=envvar,cdi-cri"}}, sources{}, func(c *config.Config) any { return c.Flags.DeviceListStrategies }, []string{"envvar", "cdi-cri"}, []string{"envvar"}},
		"--device-id-strategy":        {sources{arguments: []string{"--device-id-strategy=index"}}, sources{}, func(c *config.Config) any { return c.Flags.DeviceIDStrategy }, "index", "uuid"},
		"--pass-device-specs":         {sources{arguments: []string{"--pass-device-specs"}}, sources{}, func(c *config.Config) any { return c.Flags.PassDeviceSpecs }, true, false},
		"GDS_ENABLED":                 {sources{env: map[string]string{"GDS_ENABLED": "false"}}, sources{}, func(c *config.Config) any { return c.Flags.GDS }, false, true},
		"HOOK_PATH":                   {sources{env: map[string]string{"HOOK_PATH": "/usr//hook/"}}, sources{}, func(c *config.Config) any { return []string{c.Flags.HookPath, c.Flags.StateFile, c.Flags.CacheRoot} }, []string{"/usr/hook", "/usr/hook/vgpualloc/health.json", "/usr/hook/vgpu/containers"}, []string{"/usr/local/vgpu", "/usr/local/vgpu/vgpualloc/health.json", "/usr/local/vgpu/vgpu/containers"}},
		"--kubelet-socket":            {sources{arguments: []string{"--kubelet-socket="}}, sources{}, func(c *config.Config) any { return c.Flags.KubeletSocket }, "", "/var/lib/kubelet/device-plugins/kubelet.sock"},
		"--nvidia-driver-root":        {sources{arguments: []string{"--nvidia-driver-root=/run/nvidia"}}, sources{}, func(c *config.Config) any { return c.Flags.DriverRoot }, "/run/nvidia", "/"},
		"--hami-resource-name":        {sources{arguments: []string{"--scheduler=volcano,hami", "--hami-resource-name=a.b/gpu"}}, sources{}, func(c *config.Config) any { return c.HAMiResource }, "a.b/gpu", ""},
		"DP_DISABLE_HEALTHCHECKS":     {sources{env: map[string]string{"DP_DISABLE_HEALTHCHECKS": "79"}}, sources{}, func(c *config.Config) any { return c.Flags.DisabledXids }, "79", ""},
		"flags of --config-file":      {sources{file: "version: v1\nflags: {plugin: {deviceListStrategy: [cdi-cri], passDeviceSpecs: true}}"}, sources{}, func(c *config.Config) any { return []any{c.Flags.DeviceListStrategies, c.Flags.PassDeviceSpecs} }, []any{[]string{"cdi-cri"}, true}, []any{[]string{"envvar"}, false}},
		"sharing.mps":                 {sources{file: "version: v1\nsharing: {mps: {resources: [{name: a.b/c, replicas: 2}]}}"}, sources{}, func(c *config.Config) any { return c.Flags.SharedByMPS }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, side := range []struct {
				from sources
				want any
			}{{one.with, one.is}, {one.without, one.was}} {
				read, err := side.from.build()
				if err != nil {
					t.Fatal(err)
				}
				if value := one.value(read); !reflect.DeepEqual(value, side.want) {
					t.Errorf("%+v: %v, expected %v", side.from, value, side.want)
				}
			}
		})
	}
}

// Keys of the scheduler, and those that do nothing without applyAllKeys, are named.
func TestKeysWithoutEffectAreNamed(t *testing.T) {
	for _, one := range []sources{{keys: "overwriteEnv: true"}, {keys: "defaultMemory: 5000"}, {keys: "defaultCores: 10"}, {keys: "defaultGPUNum: 1"},
		{keys: "deviceMemoryScaling: 1.8"}, {keys: "disableCoreLimit: true"}, {keys: "passDeviceSpecs: true"}, {keys: "somethingElse: 1"},
		{node: entry(`"migstrategy":"mixed"`)}, {node: "{"}, {node: `{"nodeconfig":{}}`}, {arguments: []string{"--cdi-feature-flags=x"}}} {
		read, err := one.build()
		if err != nil {
			t.Errorf("%+v: %v", one, err)
			continue
		}
		key, _, _ := strings.Cut(one.keys, ":")
		if key == "" {
			key = map[bool]string{true: "cdi-feature-flags", false: "config.json"}[len(one.arguments) > 0]
		}
		if !strings.Contains(strings.Join(read.Warnings, "\n"), key) {
			t.Errorf("%+v: warnings %q, expected one that names %s", one, read.Warnings, key)
		}
	}
}

// group is the text of one, with so many instances.
func group(name string, count int) string {
	return fmt.Sprintf("{group: %s, geometries: [{name: x, memory: 1, count: %d}]}, ", name, count)
}

// Groups of different models may have one name. The second of one model is left out, as schedulers do, and the others are served.
func TestGroupsOfOneName(t *testing.T) {
	read, err := sources{keys: "knownMigGeometries: [{models: [A], allowedGeometries: [" + group("g", 1) + group("h", 1) + "]}, " +
		"{models: [B], allowedGeometries: [" + group("g", 2) + group("g", 1) + "]}]"}.build()
	if err != nil {
		t.Fatal(err)
	}
	if groups := read.GeometriesOf("A").Groups; len(groups) != 2 {
		t.Errorf("groups of A: %v", groups)
	}
	if groups := read.GeometriesOf("B").Groups; len(groups) != 1 || groups[0].Instances[0].Count != 2 {
		t.Errorf("groups of B: %v", groups)
	}
	if text := strings.Join(read.Warnings, "; "); strings.Count(text, "is left out") != 1 ||
		!strings.Contains(text, `knownMigGeometries[1].allowedGeometries[1].group "g" is left out`) {
		t.Errorf("warnings %s", text)
	}
}

// What the core is told: the memory of an instance is for it and for schedulers only.
func TestTheCoreIsToldOfEachKey(t *testing.T) {
	text := func(memory int) string {
		read, err := sources{keys: fmt.Sprintf("resourceCountName: a.b/n\nknownMigGeometries: [{models: [A], allowedGeometries: "+
			"[{group: g, geometries: [{name: x, memory: %d, count: 2}]}]}]", memory)}.build()
		if err != nil {
			t.Fatal(err)
		}
		text, err := read.ForCore(3)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	const want = `"knownMigGeometries":[{"models":["A"],"allowedGeometries":[{"group":"g","geometries":[{"name":"x","memory":5120,"count":2}]}]}]`
	for _, part := range []string{want, `"resourceCountName":"a.b/n"`, `"gpuMemoryFactor":3`} {
		if !strings.Contains(text(5120), part) {
			t.Errorf("%s is not in %s", part, text(5120))
		}
	}
	if text(5120) == text(6144) {
		t.Error("memory has no effect")
	}
}

// Verbosity is the log's.
func TestVerbosity(t *testing.T) {
	for _, line := range []string{"--v=4", "-v=4"} {
		if _, err := config.ReadFlags([]string{line}, func(string) (string, bool) { return "", false }); err != nil {
			t.Fatal(err)
		}
		if !klog.V(4).Enabled() || klog.V(5).Enabled() {
			t.Errorf("%s: the log's verbosity is not 4", line)
		}
		if _, err := config.ReadFlags([]string{"-v=0"}, func(string) (string, bool) { return "", false }); err != nil || klog.V(4).Enabled() {
			t.Errorf("-v=0: %v, or the log's verbosity stays", err)
		}
	}
}

// The command line is over the ConfigMap, the node over both, the card over the node; later entries are over earlier ones.
func TestPrecedence(t *testing.T) {
	one := sources{keys: "deviceSplitCount: 2\ndeviceCoreScaling: 1.1\ngpuMemoryFactor: 2", env: map[string]string{"PASS_DEVICE_SPECS": "true"}}
	one.arguments = []string{"--device-split-count=3", "--device-cores-scaling=1.2", "--gpu-memory-factor=3", "--pass-device-specs=false"}
	one.node = `{"nodeconfig":[{"name":"node-a","devicesplitcount":4,"operatingmode":"mig"},{"name":"other","devicesplitcount":99,"operatingmode":"exclusive"},` +
		`{"name":"node-a","devicesplitcount":5,"devicecorescaling":-2,"devices":[{"uuid":"GPU-1","devicesplitcount":6}]}]}`
	read, err := one.build()
	if err != nil {
		t.Fatal(err)
	}
	want := config.Card{Mode: config.MIG, SplitCount: 6, MemoryFactor: 3, MemoryScaling: 1, CoreScaling: 1.2}
	if card := read.Card(0, "GPU-1"); card != want {
		t.Errorf("%+v, expected %+v", card, want)
	}
	if want.SplitCount = 5; read.Card(1, "GPU-2") != want {
		t.Errorf("%+v, expected %+v", read.Card(1, "GPU-2"), want)
	}
	if read.Flags.PassDeviceSpecs {
		t.Error("the environment is over the command line")
	}
	// what is overridden is not checked, but a negative number is never right
	if _, err := (sources{keys: "gpuMemoryFactor: 0", arguments: []string{"--gpu-memory-factor=3"}}).build(); err != nil {
		t.Error(err)
	}
	if _, err := (sources{keys: "gpuMemoryFactor: -1", arguments: []string{"--gpu-memory-factor=3"}}).build(); err == nil {
		t.Error("a negative number was taken")
	}
}

func TestRefusals(t *testing.T) {
	for words, one := range map[string]sources{
		`nvidia.deviceSplitCount 0: expected 1 to`:                                      {keys: "deviceSplitCount: 0"},
		`nvidia.deviceSplitCount -1: expected 1 to`:                                     {keys: "deviceSplitCount: -1"},
		`nvidia.gpuMemoryFactor 0: expected 1 to`:                                       {keys: "gpuMemoryFactor: 0"},
		`nvidia.deviceCoreScaling 0: expected a number at least 0.01`:                   {keys: "deviceCoreScaling: 0"},
		`nvidia.deviceCoreScaling -1: expected`:                                         {keys: "deviceCoreScaling: -1"},
		`nvidia.deviceMemoryScaling 0: expected a number above 0`:                       {keys: "applyAllKeys: true\ndeviceMemoryScaling: 0"},
		`nvidia.deviceSplitCount "10": expected a whole number`:                         {keys: `deviceSplitCount: "10"`},
		`nvidia.resourceCountName "vgpu": expected a domain`:                            {keys: "resourceCountName: vgpu"},
		`nvidia.resourceMemoryName "a.b/c/d": expected the name of a resource`:          {keys: "resourceMemoryName: a.b/c/d"},
		`nvidia.resourceCoreName "": expected`:                                          {keys: `resourceCoreName: ""`},
		`nvidia.resourceCountName "kubernetes.io/x": expected a domain other`:           {keys: "resourceCountName: kubernetes.io/x"},
		`nvidia.resourceMemoryName "volcano.sh/vgpu-number": expected a name other`:     {keys: "resourceMemoryName: volcano.sh/vgpu-number"},
		`nvidia.deviceSplitcount: no such key, expected deviceSplitCount`:               {keys: "deviceSplitcount: 3"},
		`nvidia.gpuMemoryFactr: no such key, expected gpuMemoryFactor`:                  {keys: "gpuMemoryFactr: 3"},
		`key "deviceSplitCount" already set`:                                            {keys: "deviceSplitCount: 3\ndeviceSplitCount: 4"},
		`knownMigGeometries[0].models`:                                                  {keys: "knownMigGeometries: [{models: []}]"},
		`knownMigGeometries[0].allowedGeometries[0]: group "a b"`:                       {keys: "knownMigGeometries: [{models: [A], allowedGeometries: [{group: a b}]}]"},
		`nvidia.knownMigGeometries[0].allowedGeometris: no such key, expected allowedG`: {keys: "knownMigGeometries: [{models: [A], allowedGeometris: []}]"},
		`knownMigGeometries[0].allowedGeometries is empty: expected at least one group`: {keys: "knownMigGeometries: [{models: [A]}]"},
		`geometries of group "g" are empty: expected at least one profile`:              {keys: "knownMigGeometries: [{models: [A], allowedGeometries: [{group: g}]}]"},
		`allowedGeometries: 65 instances, expected at most 64 over all groups`:          {keys: "knownMigGeometries: [{models: [A], allowedGeometries: [" + group("g", 33) + group("h", 32) + "]}]"},
		`nvidia.knownMigGeometries[0].models[1] 3: expected a text`:                     {keys: "knownMigGeometries: [{models: [A, 3]}]"},
		`allowedGeometries[0].geometries[0].counts: no such key, expected count`:        {keys: "knownMigGeometries: [{models: [A], allowedGeometries: [{group: g, geometries: [{name: x, memory: 1, counts: 1}]}]}]"},
		`nvidia.knownMigGeometries {"models":["A"]}: expected a list`:                   {keys: "knownMigGeometries: {models: [A]}"},
		`nvidia.disableCoreLimit "no": expected true or false`:                          {keys: `disableCoreLimit: "no"`},
		`nvidia.deviceCoreScaling "1": expected a number`:                               {keys: `deviceCoreScaling: "1"`},
		`count 0: expected a profile's name`:                                            {keys: "knownMigGeometries: [{models: [A], allowedGeometries: [{group: g, geometries: [{name: x, memory: 1, count: 0}]}]}]"},
		`nodeconfig[0].operatingmode "exclusive": expected hami-core, mig or mps`:       {node: entry(`"operatingmode":"exclusive"`)},
		`nodeconfig[0].operatingmode "HAMi-core": expected`:                             {node: entry(`"operatingmode":"HAMi-core"`)},
		`nodeconfig[0].devices[0].operatingmode "x": expected`:                          {node: entry(`"devices":[{"index":0,"operatingmode":"x"}]`)},
		`nodeconfig[0].devices[0]: expected uuid or index, and not both`:                {node: entry(`"devices":[{"devicesplitcount":1}]`)},
		`nodeconfig[0].devices[0].split: no such key`:                                   {node: entry(`"devices":[{"index":0,"split":1}]`)},
		`nodeconfig[0].devices[0].gpumemoryfactor 0: expected 1 to`:                     {node: entry(`"devices":[{"index":0,"gpumemoryfactor":0}]`)},
		`--mig-strategy "bogus": expected none, single or mixed`:                        {arguments: []string{"--mig-strategy=bogus"}},
		`--device-list-strategy "bogus": expected`:                                      {arguments: []string{"--device-list-strategy=bogus"}},
		`--device-id-strategy "bogus": expected`:                                        {arguments: []string{"--device-id-strategy=bogus"}},
		`--device-discovery-strategy "tegra": expected auto or nvml`:                    {arguments: []string{"--device-discovery-strategy=tegra"}},
		`--imex-channel-ids "0": expected`:                                              {arguments: []string{"--imex-channel-ids=0"}},
		`--imex-required: expected false`:                                               {env: map[string]string{"IMEX_REQUIRED": "true"}},
		`--scheduler "slurm": expected volcano, hami`:                                   {arguments: []string{"--scheduler=slurm"}},
		`--hook-path (HOOK_PATH) "x": expected an absolute path`:                        {env: map[string]string{"HOOK_PATH": "x"}},
		`environment variable GDS_ENABLED "maybe"`:                                      {env: map[string]string{"GDS_ENABLED": "maybe"}},
		`--gpu-memory-factor 0: expected 1 to`:                                          {arguments: []string{"--gpu-memory-factor=0"}},
		`"stray": expected flags only`:                                                  {arguments: []string{"stray"}},
		`version "v2": expected v1`:                                                     {file: "version: v2"},
		`replicas 1: expected at least 2`:                                               {file: "version: v1\nsharing: {mps: {resources: [{name: a.b/c, replicas: 1}]}}"},
		`sharing names "volcano.sh/vgpu-number", expected none of this plugin's`:        {file: "version: v1\nsharing: {timeSlicing: {resources: [{name: volcano.sh/vgpu-number, replicas: 4}]}}"},
		`flag: no such key, expected flags`:                                             {file: "version: v1\nflag: {}"},
	} {
		if _, err := one.build(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v\nexpected %s", one, err, words)
		}
	}
	for _, text := range []string{"nvidia: [broken", "", "other: {}", "nvidia: 3", "- nvidia"} {
		flags, err := config.ReadFlags([]string{"--node-name=n"}, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := config.Build(flags, []byte(text), nil); err == nil || !strings.Contains(err.Error(), "volcano-vgpu-device-config") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The list that is written for a cluster without one names each model once and is found by NVML's names.
func TestFirstGeometries(t *testing.T) {
	lists := config.New(node, config.Flags{}, config.Resources{}, config.FirstGeometries(), nil)
	for name, instance := range map[string]string{"NVIDIA A30": "1g.6gb", "NVIDIA A100-SXM4-40GB": "1g.5gb", "NVIDIA A100 80GB PCIe": "1g.10gb",
		"NVIDIA H100 80GB HBM3": "1g.10gb", "NVIDIA H100 NVL": "1g.12gb", "NVIDIA H200": "1g.18gb", "NVIDIA B200": "1g.23gb"} {
		found := lists.GeometriesOf(name)
		if found == nil || found.Groups[0].Instances[0].Name != instance {
			t.Errorf("%s: %+v, expected %s first", name, found, instance)
		}
	}
	for _, name := range []string{"NVIDIA GH200 480GB", "NVIDIA GB200", "NVIDIA A10", "Tesla T4"} {
		if found := lists.GeometriesOf(name); found != nil {
			t.Errorf("%s: %+v, expected none", name, found)
		}
	}
	text := "# why\nnvidia:\n  gpuMemoryFactor: 2 # MiB\n  knownMigGeometries: []\nvnpus: []\n"
	written, err := config.WithFirstGeometries([]byte(text))
	if err != nil || config.HasGeometries([]byte(text)) || !config.HasGeometries(written) {
		t.Fatalf("%v\n%s", err, written)
	}
	for _, kept := range []string{"# why", "gpuMemoryFactor: 2 # MiB", "vnpus: []"} {
		if !strings.Contains(string(written), kept) {
			t.Errorf("%q is gone from\n%s", kept, written)
		}
	}
	if _, err := config.WithFirstGeometries(written); err == nil {
		t.Error("a list that is there was written over")
	}
}
