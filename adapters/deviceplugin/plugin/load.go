package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/firstconfig"
	"vgpualloc.example/adapters/deviceplugin/pause"
)

// sources are what a configuration was read from.
type sources struct {
	flags    config.Flags
	device   *v1.ConfigMap // volcano-vgpu-device-config
	nodeFile []byte        // nil: there is none
}

func (s *sources) build() (*config.Config, error) {
	built, err := config.Build(s.flags, []byte(s.device.Data[config.DeviceConfigKey]), s.nodeFile)
	return built, config.Wrong(err)
}

// load reads all sources. It waits for an API server that cannot be reached; anything else that is wrong is an error.
func (p *Plugin) load(ctx context.Context) (*sources, error) {
	flags, err := p.readFlags()
	if err != nil {
		return nil, err
	}
	read := &sources{flags: flags}
	if read.device, err = p.deviceConfig(ctx); err != nil {
		return nil, err
	}
	read.nodeFile, err = config.ReadFile(p.options.Root + p.flags.NodeFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		read.nodeFile = nil
	case err != nil:
		return nil, config.Wrong(fmt.Errorf("--node-config-file: %w", err))
	case read.nodeFile == nil:
		read.nodeFile = []byte{}
	}
	return read, nil
}

// readFlags are the flags with what --config-file says now.
func (p *Plugin) readFlags() (config.Flags, error) {
	path := p.flags.ConfigFile
	if path == "" {
		return p.flags, nil
	}
	text, err := config.ReadFile(p.options.Root + path)
	if err != nil {
		return config.Flags{}, config.Wrong(fmt.Errorf("--config-file: %w", err))
	}
	flags, err := p.flags.WithConfigFile(text)
	return flags, config.Wrong(err)
}

// deviceConfig finds the ConfigMap in the first namespace that has it.
func (p *Plugin) deviceConfig(ctx context.Context) (*v1.ConfigMap, error) {
	isReported := false
	for {
		source, err := p.lookForDeviceConfig(ctx)
		if source == nil && err == nil && p.flags.CreateDeviceConfig {
			source, err = firstconfig.Create(ctx, p.options.Client)
		}
		if source != nil || ctx.Err() != nil {
			return source, ctx.Err()
		}
		if err != nil && !mayPass(err) {
			return nil, fmt.Errorf("ConfigMap %s cannot be read: %w", config.DeviceConfigName, err)
		}
		if err == nil {
			return nil, config.Wrong(fmt.Errorf("ConfigMap %s with key %s: expected it in namespace %s, it is in none", config.DeviceConfigName,
				config.DeviceConfigKey, strings.Join(config.DeviceConfigNamespaces, " or ")))
		}
		if !isReported {
			klog.ErrorS(err, "The ConfigMap with the devices' configuration cannot be read yet; trying again")
			isReported = true
		}
		pause.For(ctx, p.intervals.API)
	}
}

// lookForDeviceConfig: neither a ConfigMap nor an error says that no namespace has it.
func (p *Plugin) lookForDeviceConfig(ctx context.Context) (*v1.ConfigMap, error) {
	for _, namespace := range config.DeviceConfigNamespaces {
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		source, err := p.options.Client.CoreV1().ConfigMaps(namespace).Get(call, config.DeviceConfigName, metav1.GetOptions{})
		cancel()
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("namespace %s: %w", namespace, err)
		}
		if _, has := source.Data[config.DeviceConfigKey]; !has {
			return nil, fmt.Errorf("namespace %s: there is no key %s, expected one: %w", namespace, config.DeviceConfigKey, errNoKey)
		}
		return source, nil
	}
	return nil, nil
}

var errNoKey = errors.New("the ConfigMap is not one of this plugin")

// mayPass: the API server was not reached, or has trouble of its own.
func mayPass(err error) bool {
	if errors.Is(err, errNoKey) {
		return false
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code >= 500 || code == 429 || code == 409 || code == 401 // tokens of a start may be late
	}
	return true
}
