package play

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// allocate is the step of that name.
func (r *rig) allocate(step *cases.Step) (out cases.StepOutput) {
	ctx, end := context.WithTimeout(context.Background(), limit)
	defer end()
	if r.kubelet.Client(step.Resource) == nil || r.running == nil {
		out.Error = &cases.RPCError{Code: "NotRegistered"}
		return out
	}
	answer, err := r.kubelet.Allocate(ctx, step.Resource, step.ContainerRequests...)
	if err != nil {
		out.Error = &cases.RPCError{Code: codeOf(err), Message: status.Convert(err).Message()}
		return out
	}
	out.Responses = []cases.Response{}
	for _, response := range answer.ContainerResponses {
		out.Responses = append(out.Responses, r.responseOf(response))
	}
	return out
}

// codeOf is the code of an error: which one it is when a plugin refuses is ours to choose.
func codeOf(err error) string {
	switch code := status.Code(err); code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return code.String()
	}
	return "Unknown"
}

var (
	cacheFile = regexp.MustCompile(`^/tmp/vgpu/[0-9a-f-]{36}\.cache$`)
	cdiKey    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

func (r *rig) responseOf(from *pluginapi.ContainerAllocateResponse) cases.Response {
	result := cases.Response{Envs: map[string]string{}, Annotations: map[string]string{}}
	for key, value := range from.Envs {
		if cacheFile.MatchString(value) {
			value = "/tmp/vgpu/<random-uuid>.cache"
		}
		result.Envs[key] = value
	}
	for key, value := range from.Annotations {
		result.Annotations[cdiKey.ReplaceAllString(key, "<random-uuid>")] = value
	}
	for _, mount := range from.Mounts {
		result.Mounts = append(result.Mounts, cases.Mount{HostPath: mount.HostPath, ContainerPath: mount.ContainerPath, ReadOnly: mount.ReadOnly})
	}
	for _, device := range from.Devices {
		result.Devices = append(result.Devices, device.HostPath+"|"+device.ContainerPath+"|"+device.Permissions)
	}
	for _, device := range from.CdiDevices {
		result.CDIDevices = append(result.CDIDevices, device.Name)
	}
	if slices.Contains(r.in.Args, "--device-id-strategy=index") {
		ids := strings.Split(result.Envs["NVIDIA_VISIBLE_DEVICES"], ",")
		sort.Strings(ids) // as recorded
		if _, ok := result.Envs["NVIDIA_VISIBLE_DEVICES"]; ok {
			result.Envs["NVIDIA_VISIBLE_DEVICES"] = strings.Join(ids, ",")
		}
	}
	return result
}

// registers are the requests since the kubelet's start, by resource.
func (r *rig) registers() []cases.Register {
	result := []cases.Register{}
	for _, request := range r.kubelet.Registrations()[r.since:] {
		result = append(result, cases.Register{
			Resource: request.ResourceName, Endpoint: request.Endpoint, Version: request.Version,
			Preferred: request.Options.GetGetPreferredAllocationAvailable(), PreStart: request.Options.GetPreStartRequired(),
		})
	}
	sort.SliceStable(result, func(i, j int) bool { return result[i].Resource < result[j].Resource })
	return result
}

// listsOf are the first lists of the registered resources. cards are the uuids that may be in them.
func (r *rig) listsOf(cards []string) map[string]cases.DeviceList {
	result := map[string]cases.DeviceList{}
	for _, request := range r.kubelet.Registrations() {
		lists := r.kubelet.Lists(request.ResourceName)
		if len(lists) == 0 {
			continue
		}
		list := listOf(lists[0], cards)
		if status.Code(r.kubelet.ListError(request.ResourceName)) == codes.ResourceExhausted {
			list.Error = "ResourceExhausted"
		}
		result[request.ResourceName] = list
	}
	return result
}

// listOf counts the devices of a list by card, where their ids are of the known form.
func listOf(devices []*pluginapi.Device, cards []string) cases.DeviceList {
	result := cases.DeviceList{PerDevice: []cases.Devices{}, Total: len(devices)}
	type group struct {
		infix, health string
		numbers       []int
	}
	groups := map[string]*group{}
	isKnown := true
	for _, device := range devices {
		card := ""
		for _, uuid := range cards {
			if strings.HasPrefix(device.ID, uuid+"-") {
				card = uuid
			}
		}
		rest := strings.TrimPrefix(device.ID, card)
		at := strings.LastIndexByte(rest, '-')
		number, err := strconv.Atoi(rest[at+1:])
		if card == "" || err != nil {
			isKnown = false
			break
		}
		of := groups[card]
		if of == nil {
			of = &group{infix: rest[:at], health: device.Health}
			groups[card] = of
		}
		isKnown = isKnown && of.infix == rest[:at] && of.health == device.Health && device.Topology == nil
		of.numbers = append(of.numbers, number)
	}
	for card, of := range groups {
		sort.Ints(of.numbers)
		for i, number := range of.numbers {
			isKnown = isKnown && i == number
		}
		format := map[string]string{"": "<uuid>-<i>", "-memory": "<uuid>-memory-<i>", "-core": "<uuid>-core-<i>"}[of.infix]
		isKnown = isKnown && format != "" && (result.IDFormat == "" || result.IDFormat == format)
		result.IDFormat = format
		result.PerDevice = append(result.PerDevice, cases.Devices{UUID: card, Count: len(of.numbers), Health: of.health})
	}
	if !isKnown {
		result = cases.DeviceList{Total: len(devices)}
		for _, device := range devices {
			result.Raw = append(result.Raw, device.ID)
		}
		return result
	}
	sort.Slice(result.PerDevice, func(i, j int) bool { return result.PerDevice[i].UUID < result.PerDevice[j].UUID })
	return result
}

// rpc is the step of that name.
func (r *rig) rpc(step *cases.Step) (out cases.StepOutput) {
	client := r.kubelet.Client(step.Resource)
	if client == nil {
		out.Error = &cases.RPCError{Code: "NotRegistered"}
		return out
	}
	ctx, end := context.WithTimeout(context.Background(), limit)
	defer end()
	options, err := client.GetDevicePluginOptions(ctx, &pluginapi.Empty{})
	out.Options = fmt.Sprintf("%v err=%v", text(options.String()), err)
	request := &pluginapi.PreferredAllocationRequest{}
	for _, ids := range step.ContainerRequests {
		request.ContainerRequests = append(request.ContainerRequests, &pluginapi.ContainerPreferredAllocationRequest{
			AvailableDeviceIDs: ids, AllocationSize: int32(len(ids)),
		})
	}
	preferred, err := client.GetPreferredAllocation(ctx, request)
	out.Preferred = fmt.Sprintf("%v err=%v", text(preferred.String()), err)
	started, err := client.PreStartContainer(ctx, &pluginapi.PreStartContainerRequest{})
	out.PreStart = fmt.Sprintf("%v err=%v", text(started.String()), err)
	return out
}

// text is a message as text; its blanks are random.
func text(message string) string { return strings.ReplaceAll(message, "  ", " ") }

// sockets are those in the kubelet's folder.
func (r *rig) sockets() []string {
	result := []string{}
	entries, _ := os.ReadDir(filepath.Join(r.root, kubeletFolder))
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".sock") {
			result = append(result, entry.Name())
		}
	}
	return result
}
