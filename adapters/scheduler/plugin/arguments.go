package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// settings are what the plugin's arguments in volcano-scheduler.conf say.
type settings struct {
	policy       string
	devicePolicy string
	deviceshare  string  // the arguments of deviceshare as a configuration of the scheduler that the core reads; or empty
	weight       float64 // of our score beside those of other plugins; 0: the node is settled here
	decisionLog  string  // a path, or empty
	logLimit     int64   // bytes from which on it begins anew; 0: never
	lockNodes    bool    // one pod at a time starts on a node
	mindCluster  bool    // what MindCluster's ConfigMaps say is of interest

	configNamespace, configName string // of the ConfigMap with the devices' configuration
}

// The arguments' names. Those of deviceshare are accepted under its own.
const (
	policyArgument       = "vgpualloc.policy"
	devicePolicyArgument = "vgpualloc.device-policy"
	weightArgument       = "vgpualloc.weight"
	logArgument          = "vgpualloc.decision-log"
	logLimitArgument     = "vgpualloc.decision-log-max-mib"

	deviceshare             = "deviceshare."
	schedulePolicyArgument  = deviceshare + "SchedulePolicy"
	scheduleWeightArgument  = deviceshare + "ScheduleWeight"
	nodeLockArgument        = deviceshare + "NodeLockEnable"
	configNameArgument      = deviceshare + "KnownGeometriesCMName"
	configNamespaceArgument = deviceshare + "KnownGeometriesCMNamespace"
	exclusiveRulesArgument  = deviceshare + "GPUExclusiveRules"
)

// enablingArguments of deviceshare; if none of them is true, all are served.
var enablingArguments = []string{deviceshare + "GPUSharingEnable", deviceshare + "GPUNumberEnable", deviceshare + "VGPUEnable",
	deviceshare + "AscendHAMiVNPUEnable", mindClusterArgument}

const mindClusterArgument = deviceshare + "AscendMindClusterVNPUEnable"

// initParams is the configuration beside the plugins' that MindCluster's settings are in.
const initParams = "init-params"

func readArguments(arguments framework.Arguments, configurations []conf.Configuration) (settings, error) {
	result := settings{configNamespace: "kube-system", configName: "volcano-vgpu-device-config",
		logLimit: decisionlog.LimitMiB << 20}
	ours := map[string]*string{policyArgument: &result.policy, devicePolicyArgument: &result.devicePolicy,
		logArgument: &result.decisionLog}
	passedOn := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(arguments)) { // of several that are wrong the same one is always named
		value := arguments[name]
		if value == nil {
			return result, refuseArgument(name, " has no value: expected one, or the argument to be left out")
		}
		text := fmt.Sprint(value)
		switch value.(type) {
		case string, bool, int, int64, uint64, float64:
		default:
			if name != exclusiveRulesArgument {
				return result, refuseArgument(name, " is %v: expected a text, a number, true or false", value)
			}
		}
		switch {
		case ours[name] != nil:
			*ours[name] = text
		case name == configNameArgument:
			result.configName = text
			if wrong := validation.IsDNS1123Subdomain(text); len(wrong) > 0 {
				return result, refuseArgument(name, " is %q, expected the name of a ConfigMap: %s", text, wrong[0])
			}
		case name == configNamespaceArgument:
			result.configNamespace = text
			if wrong := validation.IsDNS1123Label(text); len(wrong) > 0 {
				return result, refuseArgument(name, " is %q, expected the namespace of a ConfigMap: %s", text, wrong[0])
			}
		case name == weightArgument || name == scheduleWeightArgument:
			// Read below: of both, ours counts.
		case name == logLimitArgument:
			limit, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return result, refuseArgument(name, " is %v: expected a number of MiB, 0 for no limit", value)
			}
			result.logLimit = int64(limit) << 20
		case strings.HasPrefix(name, deviceshare):
			passedOn[name] = withTextKeys(value)
		default:
			return result, refuseArgument(name, " is not known: expected one of deviceshare's, or %s, %s, %s, %s, %s",
				policyArgument, devicePolicyArgument, weightArgument, logArgument, logLimitArgument)
		}
	}
	for _, name := range []string{scheduleWeightArgument, weightArgument} {
		if value, given := arguments[name]; given {
			var err error
			result.weight, err = strconv.ParseFloat(fmt.Sprint(value), 64)
			if err != nil || !(result.weight >= 0) || math.IsInf(result.weight, 0) {
				return result, refuseArgument(name, " is %v: expected a number that is not below 0", value)
			}
		}
	}
	flags := map[string]bool{}
	for _, name := range append([]string{nodeLockArgument}, enablingArguments...) {
		value, given := arguments[name]
		if !given {
			continue
		}
		flag, err := strconv.ParseBool(fmt.Sprint(value))
		if err != nil {
			return result, refuseArgument(name, " is %v: expected true or false", value)
		}
		flags[name], passedOn[name] = flag, flag
	}
	result.lockNodes = flags[nodeLockArgument]
	result.mindCluster = true
	for _, name := range enablingArguments {
		result.mindCluster = result.mindCluster && !flags[name]
	}
	result.mindCluster = result.mindCluster || flags[mindClusterArgument]
	// Upstream's two policies, where no other is asked for, are ours of the same names.
	if policy := fmt.Sprint(passedOn[schedulePolicyArgument]); result.policy == "" && (policy == "binpack" || policy == "spread") {
		result.policy = policy
	}
	return result, result.passOn(passedOn, configurations)
}

// passOn writes deviceshare's arguments and MindCluster's settings as the core reads them: in a configuration of the
// scheduler. Without any argument that enables something everything is enabled, as clusters may be mixed.
func (s *settings) passOn(arguments map[string]any, configurations []conf.Configuration) error {
	type named struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	}
	type tier struct {
		Plugins []named `json:"plugins"`
	}
	var others []named
	for _, configuration := range configurations {
		if configuration.Name == initParams {
			others = append(others, named{initParams, withTextKeys(configuration.Arguments).(map[string]any)})
		}
	}
	if len(arguments) == 0 && len(others) == 0 {
		return nil
	}
	text, err := json.Marshal(map[string]any{
		"actions":        "allocate",
		"tiers":          []tier{{[]named{{"deviceshare", arguments}}}},
		"configurations": others,
	})
	s.deviceshare = string(text)
	return err
}

// withTextKeys is a value as Volcano's reader of YAML has it, with maps as JSON can have them.
func withTextKeys(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for key, member := range value {
			result[key] = withTextKeys(member)
		}
		return result
	case map[any]any:
		result := make(map[string]any, len(value))
		for key, member := range value {
			result[fmt.Sprint(key)] = withTextKeys(member)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, member := range value {
			result[i] = withTextKeys(member)
		}
		return result
	}
	return value
}

func (s *settings) options(catalog, deviceConfig string) vga.Options {
	return vga.Options{Policy: s.policy, DevicePolicy: s.devicePolicy, SchedulerConfig: s.deviceshare,
		Catalog: catalog, DeviceConfig: deviceConfig}
}
