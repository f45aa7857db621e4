package plugin_test

// warned is a key without effect, of which an event says so.
func warned(keys string, with setup, is string) keyCase {
	return keyCase{keys: keys, with: with, look: warnings, is: is}
}

func flagsOf(flags ...string) setup { return setup{arguments: flags} }

func variable(name, value string, flags ...string) setup {
	return setup{env: map[string]string{name: value}, arguments: flags}
}

func pluginFile(text string, flags ...string) setup {
	return setup{arguments: append([]string{"--config-file=/plugin.yaml"}, flags...),
		files: map[string]string{"/plugin.yaml": "version: v1\n" + text}}
}

// both are the cases of a flag and of a variable that says the same.
func both(flagName, variableName, value, base string, look func(r *run) string, is, was string) []keyCase {
	without := setup{}
	if base != "" {
		without = flagsOf(base)
	}
	with := setup{arguments: append(without.arguments[:len(without.arguments):len(without.arguments)], flagName+"="+value)}
	return []keyCase{{flagName, with, without, look, is, was},
		{variableName, variable(variableName, value, without.arguments...), without, look, is, was}}
}

// flagCases are of the command line and the environment.
func flagCases() []keyCase {
	scaled := setup{keys: "deviceMemoryScaling: 2"}
	applied := setup{keys: scaled.keys, arguments: []string{"--apply-all-keys"}}
	hami := "--scheduler=volcano,hami"
	limited := map[string]string{cacheOfPod: cacheText()}
	cached := map[string]string{"/caches/uid-p_c/x.cache": "junk"}
	metricsAt := func(r *run) string { return r.address }
	onNodeB := annotation("node-b", "volcano.sh/node-vgpu-register")
	result := []keyCase{
		{"--node-name", flagsOf("--node-name=node-b"), setup{}, onNodeB, "GPU-0", ""},
		{"--node_name", flagsOf("--node_name=node-b"), setup{}, onNodeB, "GPU-0", ""},
		{"NODE_NAME", setup{bare: true, env: map[string]string{"NODE_NAME": "node-b"}}, setup{bare: true},
			func(r *run) string { return onNodeB(r) + r.refusal }, "GPU-0", "NODE_NAME"},
		{"--scheduler", flagsOf(hami), setup{}, annotation("node-a", "hami.io/node-nvidia-register"), `"id":"GPU-0"`, ""},
		{"--hami-resource-name", flagsOf(hami, "--hami-resource-name=a.b/gpu"), flagsOf(hami), devices("a.b/gpu"), "10", "none"},
		{"--device-split-count", flagsOf("--device-split-count=6"), setup{}, registration, "GPU-0,6,", "GPU-0,10,"},
		{"--gpu-memory-factor", flagsOf("--gpu-memory-factor=80"), setup{}, registration, ",512,", ",640,"},
		{"--device-cores-scaling", flagsOf("--device-cores-scaling=1.2"), setup{}, devices("volcano.sh/vgpu-cores"), "120", "100"},
		{"--apply-all-keys", applied, scaled, registration, ",1280,", ",640,"},
		{"--create-device-config", setup{noDevice: true, arguments: []string{"--create-device-config", "--gpu-memory-factor=64"}},
			setup{noDevice: true, arguments: []string{"--gpu-memory-factor=64"}}, refusal, "serves", "expected it in namespace"},
		{"--node-config-file", setup{arguments: []string{"--node-config-file=/n.json"},
			files: map[string]string{"/n.json": `{"nodeconfig":[{"name":"node-a","devicesplitcount":3}]}`}}, setup{}, registration, "GPU-0,3,", "GPU-0,10,"},
		{"--config-file", pluginFile("flags: {plugin: {deviceIDStrategy: index}}"), setup{}, answered("VISIBLE"), "=0", "=GPU-0"},
		{"CONFIG_FILE", setup{env: map[string]string{"CONFIG_FILE": "/c"}, files: map[string]string{"/c": "version: v1\nflags: {plugin: {deviceIDStrategy: index}}"}},
			setup{}, answered("VISIBLE"), "=0", "=GPU-0"},
		{"--container-cache-root", setup{arguments: []string{"--container-cache-root=/caches"}, files: cached}, setup{files: cached}, unreadableCaches, "1", "0"},
		{"--core-feedback", setup{arguments: []string{"--core-feedback"}, files: limited}, setup{files: limited}, limitOfCores, "lifted", "in force"},
		{"--state-file", setup{arguments: []string{"--state-file=/s/h.json"}, xids: []uint64{79}}, setup{xids: []uint64{79}}, file("/s/h.json"), "true", "false"},
		{"--metrics-listen", flagsOf("--metrics-listen=:1234"), setup{}, metricsAt, ":1234", ":9394"},
		{"--liveness-annotation", flagsOf("--liveness-annotation=a.b/c"), setup{}, annotation("node-a", "a.b/c"), "20", ""},
		warned("--driver-root-ctr-path", flagsOf("--driver-root-ctr-path=/d"), `--driver-root-ctr-path "/d" has no effect`),
		warned("DRIVER_ROOT_CTR_PATH", variable("DRIVER_ROOT_CTR_PATH", "/d"), `--driver-root-ctr-path "/d" has no effect`),
		warned("CONTAINER_DRIVER_ROOT", variable("CONTAINER_DRIVER_ROOT", "/d"), `--driver-root-ctr-path "/d" has no effect`),
		warned("--nvidia-cdi-hook-path", flagsOf("--nvidia-cdi-hook-path=/c"), `--nvidia-cdi-hook-path "/c" has no effect`),
		warned("--nvidia-ctk-path", flagsOf("--nvidia-ctk-path=/c"), `--nvidia-cdi-hook-path "/c" has no effect`),
		warned("NVIDIA_CDI_HOOK_PATH", variable("NVIDIA_CDI_HOOK_PATH", "/c"), `--nvidia-cdi-hook-path "/c" has no effect`),
		warned("NVIDIA_CTK_PATH", variable("NVIDIA_CTK_PATH", "/c"), `--nvidia-cdi-hook-path "/c" has no effect`),
		warned("--cdi-feature-flags", flagsOf("--cdi-feature-flags=x"), `--cdi-feature-flags "x" has no effect`),
		warned("CDI_FEATURE_FLAGS", variable("CDI_FEATURE_FLAGS", "x"), `--cdi-feature-flags "x" has no effect`),
		{"--imex-required", flagsOf("--imex-required"), setup{}, refusal, "IMEX channels are not supported", "serves"},
		{"IMEX_REQUIRED", variable("IMEX_REQUIRED", "true"), setup{}, refusal, "IMEX channels are not supported", "serves"},
		{"--kubelet-socket", setup{arguments: []string{"--kubelet-socket="}, quiet: true}, setup{}, registrations, "0", "3"},
		{"KUBELET_SOCKET", setup{env: map[string]string{"KUBELET_SOCKET": "/other/kubelet.sock"}, quiet: true}, setup{}, registrations, "0", "3"},
		{"DP_DISABLE_HEALTHCHECKS", setup{env: map[string]string{"DP_DISABLE_HEALTHCHECKS": "79"}, xids: []uint64{79}}, setup{xids: []uint64{79}},
			settled(registration), ",true,", ",false,"},
		{"DP_ENABLE_HEALTHCHECKS", setup{env: map[string]string{"DP_ENABLE_HEALTHCHECKS": "13"}, xids: []uint64{13}}, setup{xids: []uint64{13}},
			settled(registration), ",false,", ",true,"},
		warned("DP_DISABLE_HEALTHCHECKS", variable("DP_DISABLE_HEALTHCHECKS", "79,abc"), `DP_DISABLE_HEALTHCHECKS: ["abc"] left out`),
		warned("DP_ENABLE_HEALTHCHECKS", variable("DP_ENABLE_HEALTHCHECKS", "7;9"), `DP_ENABLE_HEALTHCHECKS: ["7;9"] left out`),
	}
	failing := setup{failures: 2}
	patient := setup{failures: 2, arguments: []string{"--fail-on-init-error=false"}}
	byVariable := setup{failures: 2, env: map[string]string{"FAIL_ON_INIT_ERROR": "false"}}
	result = append(result, keyCase{"--fail-on-init-error", patient, failing, refusal, "serves", "failed to initialize NVML: Driver Not Loaded"},
		keyCase{"FAIL_ON_INIT_ERROR", byVariable, failing, refusal, "serves", "failed to initialize NVML: Driver Not Loaded"})
	on := setup{migOn: true}
	mixed, mixedByVariable := on, on
	mixed.arguments, mixedByVariable.env = []string{"--mig-strategy=mixed"}, map[string]string{"MIG_STRATEGY": "mixed"}
	result = append(result, keyCase{"--mig-strategy", mixed, on, registration, "", "GPU-0"}, keyCase{"MIG_STRATEGY", mixedByVariable, on, registration, "", "GPU-0"})
	result = append(result, both("--hook-path", "HOOK_PATH", "/hook", "", answered("libvgpu.so"), "/hook/libvgpu.so", "/usr/local/vgpu/libvgpu.so")...)
	result = append(result, both("--device-list-strategy", "DEVICE_LIST_STRATEGY", "cdi-cri", "", answered("cdi "), "gpu=GPU-0", "")...)
	result = append(result, both("--device-id-strategy", "DEVICE_ID_STRATEGY", "index", "", answered("VISIBLE"), "=0", "=GPU-0")...)
	result = append(result, both("--pass-device-specs", "PASS_DEVICE_SPECS", "true", "", answered("device "), "device /dev/nvidia1", "")...)
	specs := "--pass-device-specs"
	for _, name := range []string{"--driver-root", "--nvidia-driver-root"} {
		result = append(result, both(name, "NVIDIA_DRIVER_ROOT", "/drv", specs, answered("/nvidia1"), "device /drv/dev/nvidia1", "device /dev/nvidia1")...)
	}
	for _, name := range []string{"--dev-root", "--nvidia-dev-root"} {
		result = append(result, both(name, "NVIDIA_DEV_ROOT", "/d", specs, answered("/nvidia1"), "device /d/dev/nvidia1", "device /dev/nvidia1")...)
	}
	result = append(result, both("--cdi-annotation-prefix", "CDI_ANNOTATION_PREFIX", "a.b/", "--device-list-strategy=cdi-annotations",
		answered("annotation "), "annotation a.b/nvidia-device-plugin_RANDOM=", "annotation cdi.k8s.io/")...)
	for _, name := range []string{"GDRCOPY", "GDS", "MOFED"} {
		flagName := map[string]string{"GDRCOPY": "--gdrcopy-enabled", "GDS": "--gds-enabled", "MOFED": "--mofed-enabled"}[name]
		result = append(result, both(flagName, name+"_ENABLED", "false", "", answered("NVIDIA_"+name), "", "NVIDIA_"+name+"=enabled")...)
	}
	shared := pluginFile("sharing: {mps: {resources: [{name: a.b/c, replicas: 2}]}}")
	pipes, pipesByVariable := shared, shared
	pipes.arguments = append([]string{"--mps-root=/m"}, shared.arguments...)
	pipesByVariable.env = map[string]string{"MPS_ROOT": "/m"}
	result = append(result, keyCase{"--mps-root", pipes, shared, answered("/pipe"), "mount /m/volcano", "mount /run/nvidia/mps/volcano"},
		keyCase{"MPS_ROOT", pipesByVariable, shared, answered("/pipe"), "mount /m/volcano", "mount /run/nvidia/mps/volcano"})
	result = append(result, both("--device-discovery-strategy", "DEVICE_DISCOVERY_STRATEGY", "tegra", "", refusal, "expected auto or nvml", "serves")...)
	result = append(result, both("--imex-channel-ids", "IMEX_CHANNEL_IDS", "0", "", refusal, "IMEX channels are not supported", "serves")...)
	return append(result, fileCases()...)
}

// fileCases are of --config-file.
func fileCases() []keyCase {
	specs := pluginFile("", "--pass-device-specs")
	list := func(text string, flags ...string) setup { return pluginFile("flags: {"+text+"}", flags...) }
	patient := list("failOnInitError: false")
	patient.failures = 2
	failing := pluginFile("")
	failing.failures = 2
	on, mixed := pluginFile(""), list("migStrategy: mixed")
	on.migOn, mixed.migOn = true, true
	return []keyCase{
		{"version", setup{arguments: []string{"--config-file=/p"}, files: map[string]string{"/p": "version: v2"}}, pluginFile(""), refusal, `version "v2": expected v1`, "serves"},
		{"flags.migStrategy", mixed, on, registration, "", "GPU-0"},
		{"flags.failOnInitError", patient, failing, refusal, "serves", "failed to initialize NVML"},
		{"flags.nvidiaDriverRoot", list("nvidiaDriverRoot: /drv", "--pass-device-specs"), specs, answered("/nvidia1"), "device /drv/dev/nvidia1", "device /dev/nvidia1"},
		{"flags.nvidiaDevRoot", list("nvidiaDevRoot: /d", "--pass-device-specs"), specs, answered("/nvidia1"), "device /d/dev/nvidia1", "device /dev/nvidia1"},
		{"flags.mpsRoot", pluginFile("flags: {mpsRoot: /m}\nsharing: {mps: {resources: [{name: a.b/c, replicas: 2}]}}"),
			pluginFile("sharing: {mps: {resources: [{name: a.b/c, replicas: 2}]}}"), answered("/pipe"), "mount /m/volcano", "mount /run/nvidia/mps"},
		{"flags.gdrcopyEnabled", list("gdrcopyEnabled: false"), pluginFile(""), answered("NVIDIA_GDRCOPY"), "", "=enabled"},
		{"flags.gdsEnabled", list("gdsEnabled: false"), pluginFile(""), answered("NVIDIA_GDS"), "", "=enabled"},
		{"flags.mofedEnabled", list("mofedEnabled: false"), pluginFile(""), answered("NVIDIA_MOFED"), "", "=enabled"},
		{"flags.deviceDiscoveryStrategy", list("deviceDiscoveryStrategy: tegra"), pluginFile(""), refusal, "expected auto or nvml", "serves"},
		{"flags.plugin.passDeviceSpecs", list("plugin: {passDeviceSpecs: true}"), pluginFile(""), answered("device "), "/dev/nvidia1", ""},
		{"flags.plugin.deviceListStrategy", list("plugin: {deviceListStrategy: [cdi-cri]}"), pluginFile(""), answered("cdi "), "gpu=GPU-0", ""},
		{"flags.plugin.deviceIDStrategy", list("plugin: {deviceIDStrategy: index}"), pluginFile(""), answered("VISIBLE"), "=0", "=GPU-0"},
		{"flags.plugin.cdiAnnotationPrefix", list("plugin: {cdiAnnotationPrefix: a.b/}", "--device-list-strategy=cdi-annotations"),
			pluginFile("", "--device-list-strategy=cdi-annotations"), answered("annotation "), "annotation a.b/", "annotation cdi.k8s.io/"},
		{"sharing.mps", pluginFile("sharing: {mps: {resources: [{name: a.b/c, replicas: 2}]}}"), pluginFile(""), answered("CUDA_MPS_PIPE"), "/pipe", ""},
		warned("flags.plugin.nvidiaCTKPath", list("plugin: {nvidiaCTKPath: /c}"), "flags.plugin.nvidiaCTKPath has no effect"),
		warned("flags.plugin.containerDriverRoot", list("plugin: {containerDriverRoot: /c}"), "flags.plugin.containerDriverRoot has no effect"),
		warned("flags.plugin.sharedDevicesAllocationPolicy", list("plugin: {sharedDevicesAllocationPolicy: packed}"),
			"flags.plugin.sharedDevicesAllocationPolicy has no effect"),
		warned("sharing.timeSlicing", pluginFile("sharing: {timeSlicing: {resources: [{name: a.b/c, replicas: 2}]}}"), "sharing.timeSlicing has no effect"),
		warned("renameByDefault", pluginFile("sharing: {mps: {renameByDefault: true, resources: [{name: a.b/c, replicas: 2}]}}"),
			"sharing.mps.renameByDefault has no effect"),
		warned("failRequestsGreaterThanOne", pluginFile("sharing: {mps: {failRequestsGreaterThanOne: true, resources: [{name: a.b/c, replicas: 2}]}}"),
			"sharing.mps.failRequestsGreaterThanOne has no effect"),
		warned("resources", pluginFile("resources: {gpus: []}"), "resources has no effect"),
		warned("flags.gfd", list("gfd: {oneshot: true}"), "flags.gfd has no effect"),
		warned("flags.useNodeFeatureAPI", list("useNodeFeatureAPI: true"), "flags.useNodeFeatureAPI has no effect"),
		{"imex", pluginFile("imex: {}"), pluginFile(""), refusal, "imex: not supported", "serves"},
	}
}
