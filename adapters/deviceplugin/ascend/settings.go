package ascend

import (
	"flag"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// settings are what the command line and the environment say.
type settings struct {
	configFile, nodeConfigFile string
	node                       string
	idleEvery                  time.Duration
	reportOffset               time.Duration
	folder                     string // of what limits in software, and of containers' folders without hookPath
	hookPath                   string // whose folder `containers` has one for each container
	assets                     string // where what limits in software is copied from
	withoutEffect              []string
}

// Flags are those of the command line, with ascend-device-plugin's names. What they say is kept in the returned set.
func Flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("ascend", pflag.ContinueOnError)
	flags.String("config_file", "", "file with the section vnpus of the ConfigMap hami-scheduler-device")
	flags.String("node_config_file", "", "file with what holds for single nodes (ConfigMap hami-device-node-config); empty: none is read")
	flags.String("node_name", "", "name of this node; empty: environment variable NODE_NAME")
	flags.Int("check_idle_vnpu_interval", 60, "seconds from one look for idle vNPUs to the next")
	flags.Int("report_time_offset", 1, "seconds added to the time in hami.io/node-handshake-…")
	flags.Int("hw_loglevel", 0, "accepted for ascend-device-plugin's manifests; npu-smi has no log level")
	flags.String("vendor", "ascend", "whose devices are served")
	verbosity := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(verbosity)
	flags.AddGoFlag(verbosity.Lookup("v"))
	return flags
}

const (
	softFolder   = "/usr/local/hami-vnpu-core"
	softAssets   = "/usr/local/hami-vnpu-core-assets"
	sharedRegion = "/usr/local/hami-shared-region"
	socketFolder = "/var/lib/kubelet/device-plugins"
)

// readSettings reads the command line and the environment.
func readSettings(arguments []string, env func(string) (string, bool)) (settings, error) {
	flags := Flags()
	if err := flags.Parse(arguments); err != nil {
		return settings{}, err
	}
	text := func(name string) string { value, _ := flags.GetString(name); return value }
	seconds := func(name string) (time.Duration, int) {
		value, _ := flags.GetInt(name)
		return time.Duration(value) * time.Second, value
	}
	result := settings{configFile: text("config_file"), nodeConfigFile: text("node_config_file"), node: text("node_name"),
		folder: softFolder, hookPath: softFolder, assets: softAssets}
	variable := func(name string, to *string) {
		if value, is := env(name); is && value != "" {
			*to = value
		}
	}
	if result.node == "" {
		variable("NODE_NAME", &result.node)
	}
	variable("HOOK_PATH", &result.hookPath)
	variable("HAMI_VNPU_ASSETS_PATH", &result.assets)
	if result.node == "" {
		return settings{}, fmt.Errorf("node_name: empty, expected this node's name there or in the environment variable NODE_NAME")
	}
	if result.configFile == "" {
		return settings{}, fmt.Errorf("config_file: empty, expected the path of the devices' configuration")
	}
	var interval int
	if result.idleEvery, interval = seconds("check_idle_vnpu_interval"); interval < 1 {
		return settings{}, fmt.Errorf("check_idle_vnpu_interval: %d, expected at least 1", interval)
	}
	result.reportOffset, _ = seconds("report_time_offset")
	if flags.Changed("hw_loglevel") {
		result.withoutEffect = append(result.withoutEffect, "--hw_loglevel")
	}
	return result, nil
}
