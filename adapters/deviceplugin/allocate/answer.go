package allocate

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/assignment"
	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// Names of the container runtimes' contracts.
const (
	visibleDevices  = "NVIDIA_VISIBLE_DEVICES"
	devicesFolder   = "/var/run/nvidia-container-devices"
	cdiKind         = "k8s.device-plugin.nvidia.com/gpu="
	cdiAnnotation   = "nvidia-device-plugin_"
	strategyEnv     = "envvar"
	strategyMounts  = "volume-mounts"
	strategyCDI     = "cdi-annotations"
	strategyCRI     = "cdi-cri"
	idsAreIndexes   = "index"
	hookPathDefault = "/usr/local/vgpu"
)

// part is one entry of an assignment with the card that it is of.
type part struct {
	assignment.Entry
	card config.Card
	gpu  *hardware.GPU // nil: the machine has no such card
	id   string        // of the device that the container sees
}

// answer is what a claimed container gets. It makes MIG devices and folders on the machine.
func (a *Allocator) answer(ctx context.Context, claim *claim, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	if claim.problem != nil {
		return nil, claim.problem
	}
	if unknown := strings.Contains(ids[0], "MIG"); unknown {
		return nil, fmt.Errorf("invalid allocation request for '%s': unknown device: %s", claim.resource, ids[0])
	}
	switch assignment.Count(claim.entries, vendor) {
	case len(ids):
	case 0:
		return nil, ErrNoDevices
	default:
		return nil, ErrNotEqual
	}
	if claim.container == nil {
		return nil, fmt.Errorf("annotation %s, slot %d: no container of the pod belongs to it", claim.dialect.devices, claim.slot)
	}
	parts, err := a.parts(ctx, claim)
	if err != nil {
		return nil, err
	}
	response := &pluginapi.ContainerAllocateResponse{Envs: map[string]string{}}
	if err := a.addDevices(response, claim.resource, parts); err != nil {
		return nil, err
	}
	if err := a.addLimits(response, claim, parts); err != nil {
		return nil, err
	}
	return response, nil
}

// parts finds the card of each entry and the device that it becomes. All entries are checked before the first MIG device is made.
func (a *Allocator) parts(ctx context.Context, claim *claim) ([]part, error) {
	gpus, err := a.GPUs()
	if err != nil {
		return nil, fmt.Errorf("the GPUs of this machine: %w", err)
	}
	result := make([]part, len(claim.entries))
	for i, entry := range claim.entries {
		result[i] = part{Entry: entry, id: entry.UUID}
		index := -1
		if at := slices.IndexFunc(gpus, func(gpu hardware.GPU) bool { return gpu.UUID == entry.UUID }); at >= 0 {
			result[i].gpu, index = &gpus[at], gpus[at].Index
		}
		result[i].card = a.Config.Card(index, entry.UUID)
	}
	if err := claim.reserve(result); err != nil {
		return nil, err
	}
	places, err := a.places(result)
	if err != nil {
		return nil, err
	}
	for i := range result {
		switch isIndex := a.Config.Flags.DeviceIDStrategy == idsAreIndexes; {
		case result[i].Group != "":
			result[i].id, err = a.Instances.Instance(ctx, result[i].UUID, places[i].geometry, places[i].position)
			if err == nil && result[i].id == "" {
				err = fmt.Errorf("the library has no uuid for the MIG device")
			}
			if err != nil {
				return nil, fmt.Errorf("MIG device %s[%s-%d]: %w", result[i].UUID, result[i].Group, result[i].Position, err)
			}
		case isIndex && result[i].gpu == nil:
			return nil, fmt.Errorf("card %s: this machine has no such GPU, so it has no index", result[i].UUID)
		case isIndex:
			result[i].id = fmt.Sprint(result[i].gpu.Index)
		}
	}
	return result, nil
}

// addDevices adds what makes the devices visible in the container, in the ways that are configured.
func (a *Allocator) addDevices(response *pluginapi.ContainerAllocateResponse, resource string, parts []part) error {
	flags := &a.Config.Flags
	var ids []string
	for i := range parts {
		if !slices.Contains(ids, parts[i].id) {
			ids = append(ids, parts[i].id)
		}
	}
	strategies := flags.DeviceListStrategies
	if len(strategies) == 0 {
		strategies = []string{strategyEnv}
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = cdiKind + id
	}
	if slices.Contains(strategies, strategyCDI) {
		unique, err := a.randomUUID()
		if err != nil {
			return err
		}
		response.Annotations = map[string]string{flags.CDIAnnotationPrefix + cdiAnnotation + unique: strings.Join(names, ",")}
	}
	if slices.Contains(strategies, strategyCRI) {
		for _, name := range names {
			response.CdiDevices = append(response.CdiDevices, &pluginapi.CDIDevice{Name: name})
		}
	}
	if slices.Contains(strategies, strategyEnv) {
		response.Envs[visibleDevices] = strings.Join(ids, ",")
	}
	a.addMPS(response, resource, parts)
	if slices.Contains(strategies, strategyMounts) {
		response.Envs[visibleDevices] = devicesFolder
		for _, id := range ids {
			response.Mounts = append(response.Mounts, &pluginapi.Mount{HostPath: "/dev/null", ContainerPath: path.Join(devicesFolder, id)})
		}
	}
	if flags.PassDeviceSpecs {
		a.addDeviceFiles(response, parts)
	}
	for name, enabled := range map[string]bool{"NVIDIA_GDRCOPY": flags.GDRCopy, "NVIDIA_GDS": flags.GDS, "NVIDIA_MOFED": flags.MOFED} {
		if enabled {
			response.Envs[name] = "enabled"
		}
	}
	return nil
}

// addDeviceFiles adds the driver's control files, where they are there, and those of the cards that are given out whole.
func (a *Allocator) addDeviceFiles(response *pluginapi.ContainerAllocateResponse, parts []part) {
	root := a.Config.Flags.DevRoot
	if root == "" {
		root = a.Config.Flags.DriverRoot
	}
	add := func(file string) {
		response.Devices = append(response.Devices, &pluginapi.DeviceSpec{
			HostPath: path.Join("/", root, file), ContainerPath: file, Permissions: "rw"})
	}
	for _, file := range []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"} {
		if a.isThere(file) {
			add(file)
		}
	}
	var added []string
	for i := range parts {
		if gpu := parts[i].gpu; gpu != nil && gpu.Minor >= 0 && parts[i].Group == "" && !slices.Contains(added, gpu.UUID) {
			added = append(added, gpu.UUID)
			add(fmt.Sprintf("/dev/nvidia%d", gpu.Minor))
		}
	}
}

// randomUUID is a random uuid of version 4.
func (a *Allocator) randomUUID() (string, error) {
	var value [16]byte
	if _, err := io.ReadFull(a.Random, value[:]); err != nil {
		return "", fmt.Errorf("a random name: %w", err)
	}
	value[6], value[8] = value[6]&0x0f|0x40, value[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", value[:4], value[4:6], value[6:8], value[8:10], value[10:]), nil
}
