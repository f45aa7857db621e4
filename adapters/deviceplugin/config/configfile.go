package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// nvidiaFile is the configuration of NVIDIA's own device plugin, as far as it says something here.
type nvidiaFile struct {
	Version   string          `json:"version"`
	Flags     *nvidiaFlags    `json:"flags"`
	Resources json.RawMessage `json:"resources"`
	Sharing   *nvidiaSharing  `json:"sharing"`
	Imex      json.RawMessage `json:"imex"`
}

type nvidiaFlags struct {
	MigStrategy     *string            `json:"migStrategy"`
	FailOnInitError *bool              `json:"failOnInitError"`
	DriverRoot      *string            `json:"nvidiaDriverRoot"`
	DevRoot         *string            `json:"nvidiaDevRoot"`
	MPSRoot         *string            `json:"mpsRoot"`
	GDRCopy         *bool              `json:"gdrcopyEnabled"`
	GDS             *bool              `json:"gdsEnabled"`
	MOFED           *bool              `json:"mofedEnabled"`
	Plugin          *nvidiaPluginFlags `json:"plugin"`
	Strategy        *string            `json:"deviceDiscoveryStrategy"`
	NodeFeatures    json.RawMessage    `json:"useNodeFeatureAPI"` // of another program, as the next one
	Discovery       json.RawMessage    `json:"gfd"`
}

type nvidiaPluginFlags struct {
	PassDeviceSpecs  *bool           `json:"passDeviceSpecs"`
	ListStrategy     json.RawMessage `json:"deviceListStrategy"` // a text or a list of them
	IDStrategy       *string         `json:"deviceIDStrategy"`
	CDIPrefix        *string         `json:"cdiAnnotationPrefix"`
	CTKPath          json.RawMessage `json:"nvidiaCTKPath"` // without effect, as the next two
	DriverRootInside json.RawMessage `json:"containerDriverRoot"`
	SharedPolicy     json.RawMessage `json:"sharedDevicesAllocationPolicy"`
}

type nvidiaSharing struct {
	TimeSlicing *nvidiaReplicas `json:"timeSlicing"`
	MPS         *nvidiaReplicas `json:"mps"`
}

type nvidiaReplicas struct {
	RenameByDefault            bool `json:"renameByDefault"`
	FailRequestsGreaterThanOne bool `json:"failRequestsGreaterThanOne"`
	Resources                  []struct {
		Name     string          `json:"name"`
		Rename   string          `json:"rename"`
		Devices  json.RawMessage `json:"devices"`
		Replicas int             `json:"replicas"`
	} `json:"resources"`
}

// WithConfigFile are the flags with what --config-file says where neither the command line nor the environment does.
func (f Flags) WithConfigFile(text []byte) (Flags, error) {
	fail := func(why string, values ...any) (Flags, error) {
		return Flags{}, fmt.Errorf("--config-file %q: %s", f.ConfigFile, fmt.Sprintf(why, values...))
	}
	file := nvidiaFile{}
	if err := noSuchKey(Read(text, &file)); err != nil {
		return fail("%v", err)
	}
	if file.Version != "v1" {
		return fail("version %q: expected v1", file.Version)
	}
	if len(file.Imex) > 0 {
		return fail("imex: not supported, expected no such key")
	}
	if len(file.Resources) > 0 {
		f.warn("--config-file: resources has no effect, names come from ConfigMap volcano-vgpu-device-config")
	}
	if flags := file.Flags; flags != nil {
		if err := f.takeFlags(flags); err != nil {
			return fail("%v", err)
		}
	}
	if sharing := file.Sharing; sharing != nil {
		for _, kind := range []struct {
			name     string
			replicas *nvidiaReplicas
		}{{"timeSlicing", sharing.TimeSlicing}, {"mps", sharing.MPS}} {
			if kind.replicas == nil {
				continue
			}
			if kind.replicas == sharing.TimeSlicing {
				f.warn("--config-file: sharing.timeSlicing has no effect, cards are shared as operatingmode says")
			}
			if kind.replicas.RenameByDefault {
				f.warn("--config-file: sharing.%s.renameByDefault has no effect", kind.name)
			}
			if kind.replicas.FailRequestsGreaterThanOne {
				f.warn("--config-file: sharing.%s.failRequestsGreaterThanOne has no effect", kind.name)
			}
			for i, resource := range kind.replicas.Resources {
				if resource.Replicas < 2 {
					return fail("sharing.%s.resources[%d].replicas %d: expected at least 2", kind.name, i, resource.Replicas)
				}
				if resource.Name == "" {
					return fail("sharing.%s.resources[%d].name is empty: expected the name of a resource", kind.name, i)
				}
				f.shared = append(slices.Clone(f.shared), resource.Name)
				f.SharedByMPS = f.SharedByMPS || kind.name == "mps"
			}
		}
	}
	return f, f.check()
}

func (f *Flags) warn(format string, values ...any) {
	f.warnings = append(slices.Clone(f.warnings), fmt.Sprintf(format, values...))
}

func (f *Flags) takeFlags(flags *nvidiaFlags) error {
	plugin := flags.Plugin
	if plugin == nil {
		plugin = &nvidiaPluginFlags{}
	}
	take(f, "mig-strategy", &f.MigStrategy, flags.MigStrategy)
	take(f, "fail-on-init-error", &f.FailOnInitError, flags.FailOnInitError)
	take(f, "driver-root", &f.DriverRoot, flags.DriverRoot)
	take(f, "dev-root", &f.DevRoot, flags.DevRoot)
	take(f, "mps-root", &f.MPSRoot, flags.MPSRoot)
	take(f, "gdrcopy-enabled", &f.GDRCopy, flags.GDRCopy)
	take(f, "gds-enabled", &f.GDS, flags.GDS)
	take(f, "mofed-enabled", &f.MOFED, flags.MOFED)
	take(f, "pass-device-specs", &f.PassDeviceSpecs, plugin.PassDeviceSpecs)
	take(f, "device-id-strategy", &f.DeviceIDStrategy, plugin.IDStrategy)
	take(f, "cdi-annotation-prefix", &f.CDIAnnotationPrefix, plugin.CDIPrefix)
	take(f, "device-discovery-strategy", &f.discovery, flags.Strategy)
	for _, key := range []struct {
		name  string
		value json.RawMessage
	}{{"plugin.nvidiaCTKPath", plugin.CTKPath}, {"plugin.containerDriverRoot", plugin.DriverRootInside},
		{"plugin.sharedDevicesAllocationPolicy", plugin.SharedPolicy}, {"useNodeFeatureAPI", flags.NodeFeatures}, {"gfd", flags.Discovery}} {
		if len(key.value) > 0 {
			f.warn("--config-file: flags.%s has no effect", key.name)
		}
	}
	if len(plugin.ListStrategy) == 0 {
		return nil
	}
	list, text := []string{}, ""
	if json.Unmarshal(plugin.ListStrategy, &text) == nil {
		list = strings.Split(text, ",")
	} else if err := json.Unmarshal(plugin.ListStrategy, &list); err != nil {
		return fmt.Errorf("flags.plugin.deviceListStrategy %s: expected a text or a list of texts", plugin.ListStrategy)
	}
	take(f, "device-list-strategy", &f.DeviceListStrategies, &list)
	return nil
}

// take is a value of the file, unless the flag was said.
func take[value any](f *Flags, flag string, where, what *value) {
	if what != nil && !f.said[flag] {
		*where = *what
	}
}
