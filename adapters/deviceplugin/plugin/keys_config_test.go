package plugin_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// settled is what is seen after some rounds of registration.
func settled(look func(r *run) string) func(r *run) string {
	return func(r *run) string {
		rounds := r.count("annotated")
		r.wait("rounds of registration", func() bool { return r.count("annotated") > rounds+1 })
		return look(r)
	}
}

// registrations is how many of the kubelet's resources were registered.
func registrations(r *run) string { return fmt.Sprint(len(r.kubelet.Registrations())) }

// keysOf are lines of section nvidia.
func keysOf(lines ...string) setup { return setup{keys: strings.Join(lines, "\n")} }

// deviceCases are of device-config.yaml.
func deviceCases() []keyCase {
	const all = "applyAllKeys: true"
	result := []keyCase{
		{"resourceCountName", keysOf("resourceCountName: a.b/n"), setup{}, devices("a.b/n"), "10", "none"},
		{"resourceMemoryName", keysOf("resourceMemoryName: a.b/m"), setup{}, devices("a.b/m"), "640", "none"},
		{"resourceCoreName", keysOf("resourceCoreName: a.b/c"), setup{}, devices("a.b/c"), "100", "none"},
		{"resourceMemoryPercentageName", keysOf("resourceMemoryPercentageName: percent"), setup{}, refusal, "expected a domain", "serves"},
		{"deviceSplitCount", keysOf("deviceSplitCount: 3"), setup{}, devices("volcano.sh/vgpu-number"), "3", "10"},
		{"gpuMemoryFactor", keysOf("gpuMemoryFactor: 80"), setup{}, registration, ",512,", ",640,"},
		{"deviceCoreScaling", keysOf("deviceCoreScaling: 1.5"), setup{}, devices("volcano.sh/vgpu-cores"), "150", "100"},
		{"applyAllKeys", keysOf(all, "deviceMemoryScaling: 2"), keysOf("deviceMemoryScaling: 2"), registration, ",1280,", ",640,"},
		{"deviceMemoryScaling", keysOf(all, "deviceMemoryScaling: 2"), keysOf(all), registration, ",1280,", ",640,"},
		{"disableCoreLimit", keysOf(all, "disableCoreLimit: true"), keysOf(all), answered("POLICY"), "GPU_CORE_UTILIZATION_POLICY=disable", ""},
		{"passDeviceSpecs", keysOf(all, "passDeviceSpecs: true"), keysOf(all), answered("device "), "device /dev/nvidia1", ""},
	}
	for key, value := range map[string]string{"resourcePriorityName": "a.b/p", "overwriteEnv": "true", "defaultMemory": "1",
		"defaultCores": "1", "defaultGPUNum": "1", "migProfileAllowlist": "[]", "libCudaLogLevel": "1", "runtimeClassName": "x",
		"gpuCorePolicy": "force", "memoryFactor": "2", "preConfiguredDeviceMemory": "1"} {
		result = append(result, warned(key, keysOf(key+": "+value), "nvidia."+key+" has no effect on the node"))
	}
	for _, line := range []string{"deviceMemoryScaling: 2", "disableCoreLimit: true", "passDeviceSpecs: true"} {
		key, _, _ := strings.Cut(line, ":")
		result = append(result, warned(key, keysOf(line), key+" has no effect without applyAllKeys"))
	}
	return result
}

// entryOf are fields of the node's entry in config.json.
func entryOf(fields string, lines ...string) setup {
	return setup{node: fields, keys: strings.Join(lines, "\n")}
}

// nodeCases are of config.json.
func nodeCases() []keyCase {
	const all, cores = "applyAllKeys: true", "volcano.sh/vgpu-cores"
	card := func(fields string, lines ...string) setup {
		return entryOf(`"devices":[{"index":0,`+fields+`}]`, lines...)
	}
	named := func(name string) setup {
		return setup{files: map[string]string{"/config/config.json": `{"nodeconfig":[{"name":"` + name + `","devicesplitcount":3}]}`}}
	}
	return []keyCase{
		{"name", named("node-a"), named("node-b"), registration, "GPU-0,3,", "GPU-0,10,"},
		{"operatingmode", entryOf(`"operatingmode":"mig"`), setup{}, registration, "mig:", "hami-core:"},
		{"operatingmode", card(`"operatingmode":"mig"`), setup{}, registration, "mig:", "hami-core:"},
		{"devicesplitcount", entryOf(`"devicesplitcount":3`), setup{}, registration, "GPU-0,3,", "GPU-0,10,"},
		{"devicesplitcount", card(`"devicesplitcount":3`), setup{}, registration, "GPU-0,3,", "GPU-0,10,"},
		{"devicecorescaling", entryOf(`"devicecorescaling":2`), setup{}, devices(cores), "200", "100"},
		{"devicecorescaling", card(`"devicecorescaling":2`), setup{}, devices(cores), "200", "100"},
		{"devicememoryscaling", entryOf(`"devicememoryscaling":2`, all), setup{keys: all}, registration, ",1280,", ",640,"},
		{"devicememoryscaling", card(`"devicememoryscaling":2`, all), setup{keys: all}, registration, ",1280,", ",640,"},
		{"gpumemoryfactor", card(`"gpumemoryfactor":80`), setup{}, registration, ",512,", ",640,"},
		{"filterdevices uuid", entryOf(`"filterdevices":{"uuid":["GPU-0"]}`), setup{}, registration, "", "GPU-0"},
		{"filterdevices index", entryOf(`"filterdevices":{"index":[0]}`), setup{}, registration, "", "GPU-0"},
		{"devices uuid", entryOf(`"devices":[{"uuid":"GPU-0","devicesplitcount":3}]`), entryOf(`"devices":[{"uuid":"GPU-1","devicesplitcount":3}]`),
			registration, "GPU-0,3,", "GPU-0,10,"},
		{"devices index", entryOf(`"devices":[{"index":0,"devicesplitcount":3}]`), entryOf(`"devices":[{"index":1,"devicesplitcount":3}]`),
			registration, "GPU-0,3,", "GPU-0,10,"},
		warned("migstrategy", entryOf(`"migstrategy":"mixed"`), `migstrategy "mixed" has no effect`),
		warned("operatingmode", entryOf(`"operatingmod":"mig"`), "nodeconfig[0].operatingmod: no such key, expected operatingmode"),
	}
}

// cutBy is a node whose card is cut by this list of geometries, with a pod that was promised a position.
func cutBy(list, place string) setup {
	return setup{keys: "knownMigGeometries: " + list, node: `"operatingmode":"mig"`, migOn: true, promise: "GPU-0[" + place + "],NVIDIA,40,0:"}
}

// migCases are of knownMigGeometries.
func migCases() []keyCase {
	const name = "A100-SXM4-40GB"
	list := func(model, group, instances string) string {
		return "[{models: [" + model + "], allowedGeometries: [{group: " + group + ", geometries: [" + instances + "]}]}]"
	}
	const small, large = "{name: 1g.5gb, memory: 5120, count: 2}", "{name: 2g.10gb, memory: 10240, count: 2}"
	look := answered("VISIBLE")
	return []keyCase{
		{"knownMigGeometries", cutBy(list(name, "g", small), "g-0"), cutBy("[]", "g-0"), look, "=MIG-1-slices", "group"},
		{"models", cutBy(list(name, "g", small), "g-0"), cutBy(list("H100", "g", small), "g-0"), look, "=MIG-1-slices", "A100"},
		{"allowedGeometries", cutBy(list(name, "g", small), "g-0"), cutBy("[{models: ["+name+"], allowedGeometries: []}]", "g-0"), look,
			"=MIG-1-slices", "expected at least one group"},
		{"group", cutBy(list(name, "g", small), "g-0"), cutBy(list(name, "h", small), "g-0"), look, "=MIG-1-slices", "group"},
		{"geometries name", cutBy(list(name, "g", large), "g-0"), cutBy(list(name, "g", small), "g-0"), look, "=MIG-2-slices", "=MIG-1-slices"},
		{"count", cutBy(list(name, "g", small), "g-1"), cutBy(list(name, "g", strings.Replace(small, "count: 2", "count: 1", 1)), "g-1"), look,
			"=MIG-1-slices", "position"},
		{"memory", cutBy(list(name, "g", strings.Replace(small, "5120", "0", 1)), "g-0"), setup{}, refusal, "memory 0", "serves"},
	}
}

// unreadableCaches is how many caches of containers the metrics cannot read, with the pod of which one is.
func unreadableCaches(r *run) string {
	r.api.Put(pod("p", "GPU-0,NVIDIA,40,30:"))
	text := ""
	r.wait("metrics that know the pod", func() bool {
		text = r.metrics()
		return strings.Contains(text, "vgpualloc_plugin_device_info") && r.count("annotated") > 4
	})
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "vgpualloc_plugin_unreadable") && strings.Contains(line, `what="cache"`) {
			return line[strings.LastIndexByte(line, ' ')+1:]
		}
	}
	return "0"
}

// metrics are those that the plugin serves.
func (r *run) metrics() string {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + r.served.Addr().String() + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// HAMi-core's file of the container of pod p, and where in it is whether its limit of compute is in force.
const (
	cacheOfPod = "/usr/local/vgpu/vgpu/containers/uid-p_c/x.cache"
	cacheTail  = 1856 + 1024*1960
)

// cacheText is that file, of a container with one card that has just computed and is limited.
func cacheText() string {
	content := make([]byte, cacheTail+64)
	for at, value := range map[int]uint32{0: 19920718, 4: 1, 56: 1, cacheTail + 4: 1, cacheTail + 8: 1 << 20} {
		binary.LittleEndian.PutUint32(content[at:], value)
	}
	copy(content[64:], "GPU-0")
	return string(content)
}

// limitOfCores is whether that container is limited after some rounds.
func limitOfCores(r *run) string {
	r.api.Put(pod("p", "GPU-0,NVIDIA,40,30:"))
	rounds, result := r.count("annotated"), ""
	r.wait("rounds", func() bool {
		content, err := os.ReadFile(r.root + cacheOfPod)
		if err != nil || len(content) < cacheTail+8 {
			return false
		}
		result = "in force"
		if content[cacheTail+4] == 0 {
			result = "lifted"
		}
		return result == "lifted" || r.count("annotated") > rounds+5
	})
	return result
}
