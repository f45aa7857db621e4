package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
)

// Flags are the command line and the environment.
type Flags struct {
	Node        string // this node's name: --node-name, else NODE_NAME
	Kubeconfig  string
	MigStrategy string // "none", "single" or "mixed"
	ConfigFile  string // --config-file: NVIDIA's own file
	NodeFile    string // --node-config-file: where config.json is

	DeviceListStrategies []string // of "envvar", "volume-mounts", "cdi-annotations", "cdi-cri"
	DeviceIDStrategy     string   // "uuid" or "index"
	PassDeviceSpecs      bool     // after Build: also the ConfigMap's passDeviceSpecs, where that is applied
	DriverRoot, DevRoot  string
	GDRCopy, GDS, MOFED  bool
	CDIAnnotationPrefix  string
	MPSRoot              string
	HookPath             string // HOOK_PATH, cleaned: where HAMi-core's library is on the host
	SharedByMPS          bool   // sharing.mps of the file names a resource
	DisableCoreLimit     bool   // after Build: the ConfigMap's disableCoreLimit, where that is applied
	FailOnInitError      bool
	KubeletSocket        string // empty: never register

	Schedulers         Schedulers
	HAMiResource       string // --hami-resource-name
	MetricsListen      string // empty: no metrics
	LivenessAnnotation string // empty: none
	ApplyAllKeys       bool   // --apply-all-keys
	CoreFeedback       bool   // --core-feedback
	StateFile          string // where health is kept over restarts
	DisabledXids       string // DP_DISABLE_HEALTHCHECKS
	EnabledXids        string // DP_ENABLE_HEALTHCHECKS
	CacheRoot          string // --container-cache-root: where HAMi-core's caches of containers are on the host
	CreateDeviceConfig bool   // --create-device-config
	ShowVersion        bool

	said         map[string]bool // flags that the command line or the environment has
	shared       []string        // resources that sharing of the file names
	splitCount   *int            // nil: not said
	memoryFactor *int
	coreScaling  *float64
	discovery    string
	warnings     []string
}

// ErrHelp: help was asked for and printed.
var ErrHelp = pflag.ErrHelp

// flagName is a flag with the variables of the environment that may say it.
type flagName struct {
	name      string
	variables []string
}

// variablesOf are upstream's, of the flags that have one; the first that is set counts.
var variablesOf = []flagName{
	{"mig-strategy", []string{"MIG_STRATEGY"}}, {"fail-on-init-error", []string{"FAIL_ON_INIT_ERROR"}},
	{"driver-root", []string{"NVIDIA_DRIVER_ROOT"}}, {"dev-root", []string{"NVIDIA_DEV_ROOT"}},
	{"pass-device-specs", []string{"PASS_DEVICE_SPECS"}}, {"device-list-strategy", []string{"DEVICE_LIST_STRATEGY"}},
	{"device-id-strategy", []string{"DEVICE_ID_STRATEGY"}}, {"gdrcopy-enabled", []string{"GDRCOPY_ENABLED"}},
	{"gds-enabled", []string{"GDS_ENABLED"}}, {"mofed-enabled", []string{"MOFED_ENABLED"}},
	{"cdi-annotation-prefix", []string{"CDI_ANNOTATION_PREFIX"}},
	{"nvidia-cdi-hook-path", []string{"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"}},
	{"driver-root-ctr-path", []string{"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"}}, {"mps-root", []string{"MPS_ROOT"}},
	{"device-discovery-strategy", []string{"DEVICE_DISCOVERY_STRATEGY"}}, {"imex-channel-ids", []string{"IMEX_CHANNEL_IDS"}},
	{"imex-required", []string{"IMEX_REQUIRED"}}, {"kubelet-socket", []string{"KUBELET_SOCKET"}},
	{"config-file", []string{"CONFIG_FILE"}}, {"cdi-feature-flags", []string{"CDI_FEATURE_FLAGS"}},
	{"node-name", []string{"NODE_NAME"}}, {"hook-path", []string{"HOOK_PATH"}},
}

// aliases are other names of flags, upstream's.
var aliases = map[string]string{"nvidia-driver-root": "driver-root", "nvidia-dev-root": "dev-root",
	"nvidia-ctk-path": "nvidia-cdi-hook-path", "node_name": "node-name"}

// Names are those of all flags, with their dashes, and of the variables that this package reads.
func Names() []string {
	names := []string{"DP_DISABLE_HEALTHCHECKS", "DP_ENABLE_HEALTHCHECKS"}
	FlagSet().VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
	for alias := range aliases {
		names = append(names, "--"+alias)
	}
	for _, known := range variablesOf {
		names = append(names, known.variables...)
	}
	return names
}

type reader struct {
	flags                    Flags
	set                      *pflag.FlagSet
	vendor                   string
	schedulers, imex         string
	splitCount, memoryFactor int
	coreScaling              float64
	imexRequired             bool
	lists                    []string
}

func (r *reader) define() {
	set := pflag.NewFlagSet("vgpualloc-device-plugin", pflag.ContinueOnError)
	set.SortFlags = false
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if other := aliases[name]; other != "" {
			name = other
		}
		return pflag.NormalizedName(name)
	})
	f := &r.flags
	set.StringVar(&f.MigStrategy, "mig-strategy", "none",
		"cards with MIG on: none takes them as the others, single refuses to start with one, mixed leaves them out")
	set.BoolVar(&f.FailOnInitError, "fail-on-init-error", true, "end when NVML cannot be initialised; false: try again for ever")
	set.StringVar(&f.DriverRoot, "driver-root", "/", "the driver's root on the host")
	set.StringVar(&f.DevRoot, "dev-root", "", "where the host's device nodes are; by default the driver's root")
	set.BoolVar(&f.PassDeviceSpecs, "pass-device-specs", false, "name device nodes in answers to the kubelet")
	set.StringSliceVar(&r.lists, "device-list-strategy", []string{"envvar"},
		"how a container is told of its devices: envvar, volume-mounts, cdi-annotations, cdi-cri; several joined by commas")
	set.StringVar(&f.DeviceIDStrategy, "device-id-strategy", "uuid", "uuid or index")
	set.BoolVar(&f.GDRCopy, "gdrcopy-enabled", true, "set NVIDIA_GDRCOPY=enabled in containers")
	set.BoolVar(&f.GDS, "gds-enabled", true, "set NVIDIA_GDS=enabled in containers")
	set.BoolVar(&f.MOFED, "mofed-enabled", true, "set NVIDIA_MOFED=enabled in containers")
	set.StringVar(&f.CDIAnnotationPrefix, "cdi-annotation-prefix", "cdi.k8s.io/", "how keys of CDI annotations begin")
	set.String("nvidia-cdi-hook-path", "/usr/bin/nvidia-ctk", "read and without effect")
	set.String("driver-root-ctr-path", "/driver-root", "read and without effect")
	set.StringVar(&f.MPSRoot, "mps-root", "", "where MPS keeps its pipes on the host")
	set.StringVar(&f.discovery, "device-discovery-strategy", "auto", "auto or nvml")
	set.StringVar(&r.imex, "imex-channel-ids", "", "not supported: expected to be empty")
	set.BoolVar(&r.imexRequired, "imex-required", false, "not supported: expected to be false")
	set.StringVar(&f.KubeletSocket, "kubelet-socket", "/var/lib/kubelet/device-plugins/kubelet.sock",
		"where the kubelet takes registrations; empty: never register")
	set.StringVar(&f.ConfigFile, "config-file", "", "a configuration of NVIDIA's own device plugin")
	set.String("cdi-feature-flags", "", "read and without effect")
	set.IntVar(&r.splitCount, "device-split-count", 2, "pods that may share a card; without it, the ConfigMap's")
	set.IntVar(&r.memoryFactor, "gpu-memory-factor", 1, "MiB of one unit of memory; without it, the ConfigMap's")
	set.Float64Var(&r.coreScaling, "device-cores-scaling", 1, "how often a card's compute is promised; without it, the ConfigMap's")
	set.StringVar(&f.Node, "node-name", "", "this node's name")
	set.StringVar(&f.HookPath, "hook-path", DefaultHookPath, "where HAMi-core's library is on the host")
	set.StringVar(&r.schedulers, "scheduler", "volcano", "whom cards are registered for: volcano, hami or both, joined by a comma")
	set.StringVar(&f.HAMiResource, "hami-resource-name", "nvidia.com/gpu", "HAMi's count resource, with --scheduler=hami")
	set.StringVar(&f.MetricsListen, "metrics-listen", ":9394", "address of GET /metrics; empty: none")
	set.StringVar(&f.Kubeconfig, "kubeconfig", "", "how to reach the API server; by default as a pod of the cluster, or $KUBECONFIG")
	set.StringVar(&f.NodeFile, "node-config-file", "/config/config.json", "what ConfigMap volcano-vgpu-node-config says of nodes")
	set.StringVar(&f.LivenessAnnotation, "liveness-annotation", DefaultLivenessAnnotation,
		"annotation of the node with the time of the last registration, RFC 3339; empty: none")
	set.BoolVar(&f.ApplyAllKeys, "apply-all-keys", false,
		"as key applyAllKeys: deviceMemoryScaling, disableCoreLimit and passDeviceSpecs of the ConfigMap take effect")
	set.StringVar(&f.StateFile, "state-file", "", "where health is kept over restarts; by default vgpualloc/health.json at the hook path")
	set.BoolVar(&f.CoreFeedback, "core-feedback", false,
		"let a container that computes alone on its card do so without its limit, and hold low priority back")
	set.StringVar(&f.CacheRoot, "container-cache-root", "",
		"where the caches of containers are, for metrics; by default vgpu/containers at the hook path")
	set.BoolVar(&f.CreateDeviceConfig, "create-device-config", false,
		"make ConfigMap volcano-vgpu-device-config in kube-system when no namespace has one")
	set.StringVar(&r.vendor, "vendor", "nvidia", "whose devices are served: nvidia, or ascend, which has flags of its own")
	set.BoolVar(&f.ShowVersion, "version", false, "print the version and end")
	verbosity := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(verbosity)
	set.AddGoFlag(verbosity.Lookup("v"))
	r.set = set
}

// DefaultHookPath is where HAMi-core's library is on the host if nothing says otherwise.
const DefaultHookPath = "/usr/local/vgpu"

// DefaultLivenessAnnotation has the time of the node's last registration.
const DefaultLivenessAnnotation = "volcano.sh/node-vgpu-reported"

// FlagSet has all flags; nothing is kept of what it parses.
func FlagSet() *pflag.FlagSet {
	r := &reader{}
	r.define()
	return r.set
}

// Usage is the text of --help.
func Usage() string { return "usage: vgpualloc-device-plugin [flags]\n\n" + FlagSet().FlagUsages() }

// ReadFlags reads the command line (without the program's name) and the environment. A flag that the command line does not have
// is as its variable of the environment says, else as --config-file does. It touches no file: ReadConfigFile does.
func ReadFlags(arguments []string, env func(string) (string, bool)) (Flags, error) {
	r := &reader{}
	r.define()
	if err := r.set.Parse(arguments); err != nil {
		return Flags{}, err
	}
	if r.set.NArg() > 0 {
		return Flags{}, fmt.Errorf("%q: expected flags only", r.set.Arg(0))
	}
	if err := r.readEnvironment(env); err != nil {
		return Flags{}, err
	}
	r.flags.DisabledXids, _ = env("DP_DISABLE_HEALTHCHECKS")
	r.flags.EnabledXids, _ = env("DP_ENABLE_HEALTHCHECKS")
	return r.finish()
}

func (r *reader) readEnvironment(env func(string) (string, bool)) error {
	for _, known := range variablesOf {
		if r.set.Changed(known.name) {
			continue
		}
		for _, variable := range known.variables {
			value, isSet := env(variable)
			if !isSet || value == "" {
				continue
			}
			if err := r.set.Set(known.name, value); err != nil {
				return fmt.Errorf("environment variable %s %q: %w", variable, value, err)
			}
			break
		}
	}
	return nil
}

// finish checks what was read.
func (r *reader) finish() (Flags, error) {
	f := &r.flags
	f.said = map[string]bool{}
	r.set.Visit(func(flag *pflag.Flag) { f.said[flag.Name] = true })
	if r.set.Changed("device-split-count") {
		f.splitCount = &r.splitCount
	}
	if r.set.Changed("gpu-memory-factor") {
		f.memoryFactor = &r.memoryFactor
	}
	if r.set.Changed("device-cores-scaling") {
		f.coreScaling = &r.coreScaling
	}
	f.DeviceListStrategies = nil
	for _, strategy := range r.lists {
		f.DeviceListStrategies = append(f.DeviceListStrategies, strings.TrimSpace(strategy))
	}
	if r.vendor != "nvidia" {
		return Flags{}, fmt.Errorf("--vendor %q: expected nvidia or ascend", r.vendor)
	}
	if r.imex != "" {
		return Flags{}, fmt.Errorf("--imex-channel-ids %q: expected it to be empty, IMEX channels are not supported", r.imex)
	}
	if r.imexRequired {
		return Flags{}, errors.New("--imex-required: expected false, IMEX channels are not supported")
	}
	for _, name := range []string{"nvidia-cdi-hook-path", "driver-root-ctr-path", "cdi-feature-flags"} {
		if value := r.set.Lookup(name).Value.String(); r.set.Changed(name) && value != "" {
			f.warn("--%s %q has no effect: this plugin writes no CDI specification", name, value)
		}
	}
	for _, name := range strings.Split(r.schedulers, ",") {
		switch strings.TrimSpace(name) {
		case "volcano":
			f.Schedulers.Volcano = true
		case "hami":
			f.Schedulers.HAMi = true
		default:
			return Flags{}, fmt.Errorf("--scheduler %q: expected volcano, hami, or both joined by a comma", r.schedulers)
		}
	}
	if wrong := validation.IsDNS1123Subdomain(f.Node); f.Node != "" && len(wrong) > 0 {
		return Flags{}, fmt.Errorf("--node-name (NODE_NAME) %q: expected the name of a node: %s", f.Node, wrong[0])
	}
	if err := checkListen(f.MetricsListen); err != nil {
		return Flags{}, err
	}
	if f.Schedulers.HAMi {
		if err := checkResource("--hami-resource-name", f.HAMiResource); err != nil {
			return Flags{}, err
		}
	}
	if f.LivenessAnnotation != "" {
		if err := checkAnnotation("--liveness-annotation", f.LivenessAnnotation); err != nil {
			return Flags{}, err
		}
	}
	return *f, f.check()
}

// check is what holds whether a value came from the command line, the environment or --config-file.
func (f *Flags) check() error {
	if !slices.Contains([]string{"none", "single", "mixed"}, f.MigStrategy) {
		return fmt.Errorf("--mig-strategy %q: expected none, single or mixed", f.MigStrategy)
	}
	if len(f.DeviceListStrategies) == 0 {
		return errors.New("--device-list-strategy is empty: expected envvar, volume-mounts, cdi-annotations or cdi-cri")
	}
	for _, strategy := range f.DeviceListStrategies {
		if !slices.Contains([]string{"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"}, strategy) {
			return fmt.Errorf("--device-list-strategy %q: expected envvar, volume-mounts, cdi-annotations or cdi-cri", strategy)
		}
	}
	if f.discovery != "auto" && f.discovery != "nvml" {
		return fmt.Errorf("--device-discovery-strategy %q: expected auto or nvml", f.discovery)
	}
	if f.DeviceIDStrategy != "uuid" && f.DeviceIDStrategy != "index" {
		return fmt.Errorf("--device-id-strategy %q: expected uuid or index", f.DeviceIDStrategy)
	}
	for _, path := range []struct {
		name  string
		value *string
	}{{"--hook-path (HOOK_PATH)", &f.HookPath}, {"--driver-root", &f.DriverRoot}, {"--mps-root", &f.MPSRoot}, {"--dev-root", &f.DevRoot},
		{"--kubelet-socket", &f.KubeletSocket}, {"--state-file", &f.StateFile}, {"--container-cache-root", &f.CacheRoot}} {
		if err := cleanPath(path.name, path.value); err != nil {
			return err
		}
	}
	if f.StateFile == "" {
		f.StateFile = strings.TrimSuffix(f.HookPath, "/") + "/vgpualloc/health.json"
	}
	if f.CacheRoot == "" {
		f.CacheRoot = strings.TrimSuffix(f.HookPath, "/") + "/vgpu/containers"
	}
	for _, number := range []struct {
		name  string
		value *int
	}{{"--device-split-count", f.splitCount}, {"--gpu-memory-factor", f.memoryFactor}} {
		if number.value != nil && (*number.value < 1 || *number.value > numberMax) {
			return fmt.Errorf("%s %d: expected 1 to %d", number.name, *number.value, numberMax)
		}
	}
	if f.coreScaling != nil {
		return checkScaling("--device-cores-scaling", *f.coreScaling, true)
	}
	return nil
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }
