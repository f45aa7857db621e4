package allocate

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// recordedCase is what this test reads of a recorded case; package recordings runs all of them through the whole plugin.
type recordedCase struct {
	ID    string
	Input struct {
		Plugin           string
		Args             []string
		Env              map[string]string
		DevNodes         []string `json:"dev_nodes"`
		DeviceConfigYAML string   `json:"device_config_yaml"`
		NodeConfigJSON   string   `json:"node_config_json"`
		GPUs             []struct {
			UUID, Name string
			Minor      int
		}
		Pods []struct {
			Namespace, Name, UID, Phase string
			NodeName                    string `json:"node_name"`
			Annotations                 map[string]string
			Containers                  []recordedContainer
			InitContainers              []recordedContainer `json:"init_containers"`
		}
		Steps []struct {
			Op, Resource      string
			ContainerRequests [][]string `json:"container_requests"`
		}
	}
	Output struct {
		Steps []struct {
			ContainerResponses []recordedResponse `json:"container_responses"`
			Error              *struct{ Message string }
			PodAnnotations     map[string]map[string]*string `json:"pod_annotations"`
		}
	}
}

type recordedContainer struct {
	Name string
	Env  map[string]string
}

type recordedResponse struct {
	Envs   map[string]string `json:"envs"`
	Mounts []struct {
		HostPath      string `json:"host_path"`
		ContainerPath string `json:"container_path"`
		ReadOnly      bool   `json:"read_only"`
	} `json:"mounts"`
	Devices     []string          `json:"devices"`
	Annotations map[string]string `json:"annotations"`
	CDIDevices  []string          `json:"cdi_devices"`
}

// TestRecordedAnswers compares the first call of some recorded cases, none of which has to do with a mistake of the recorded plugin.
func TestRecordedAnswers(t *testing.T) {
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	wanted := map[string]bool{
		"vgpu-allocate-p0002": true, // a card that the machine does not have
		"vgpu-allocate-p0006": true, // an empty slot first; HOOK_PATH
		"vgpu-allocate-p0047": true, // envvar,volume-mounts
		"vgpu-allocate-p0054": true, // --pass-device-specs --driver-root
		"vgpu-allocate-p0067": true, // device number not matched
		"vgpu-allocate-p0103": true, // an empty slot last
		"vgpu-allocate-p0111": true, // scaled cores, volume-mounts, a fifth field
		"vgpu-allocate-p0127": true, // device request not found
		"vgpu-allocate-p0164": true, // a resource shared by MPS
		"directed-p0011":      true, // cdi-annotations
		"directed-p0012":      true, // cdi-cri
		"directed-p0013":      true, // envvar,cdi-cri
		"directed-p0014":      true, // another prefix
	}
	seen, equal := 0, 0
	for _, name := range []string{"vgpu-allocate.jsonl", "directed.jsonl"} {
		for _, recorded := range readCases(t, filepath.Join(folder, "conformance", "node", name)) {
			if len(recorded.Output.Steps) == 0 || len(recorded.Input.Steps) == 0 || recorded.Input.Steps[0].Op != "allocate" || !wanted[recorded.ID] {
				continue
			}
			seen++
			if difference := recorded.run(t); difference == "" {
				equal++
			} else {
				t.Errorf("%s: %s", recorded.ID, difference)
			}
		}
	}
	t.Logf("%d of %d first calls are equal", equal, seen)
	if seen < len(wanted) {
		t.Errorf("%d cases were found, expected %d", seen, len(wanted))
	}
}

func readCases(t *testing.T, file string) []*recordedCase {
	t.Helper()
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	var result []*recordedCase
	lines := bufio.NewScanner(opened)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		next := &recordedCase{}
		if err := json.Unmarshal(lines.Bytes(), next); err == nil && next.Input.Plugin == "vgpu" {
			result = append(result, next)
		}
	}
	return result
}

// settings are those of the case, as far as the answers of Allocate depend on them.
func (r *recordedCase) settings(t *testing.T) *config.Config {
	t.Helper()
	var cluster struct {
		NVIDIA struct {
			GPUMemoryFactor   int
			DeviceCoreScaling float64
		}
	}
	if err := yaml.Unmarshal([]byte(r.Input.DeviceConfigYAML), &cluster); err != nil {
		t.Fatal(err)
	}
	card := config.Card{Mode: config.HAMiCore, MemoryFactor: cluster.NVIDIA.GPUMemoryFactor, CoreScaling: cluster.NVIDIA.DeviceCoreScaling}
	var nodes struct {
		NodeConfig []struct {
			DeviceCoreScaling float64
		}
	}
	if r.Input.NodeConfigJSON != "" {
		if err := yaml.Unmarshal([]byte(r.Input.NodeConfigJSON), &nodes); err != nil {
			t.Fatal(err)
		}
		if scaling := nodes.NodeConfig[0].DeviceCoreScaling; scaling > 0 {
			card.CoreScaling = scaling
		}
	}
	flags := config.Flags{GDRCopy: true, GDS: true, MOFED: true, CDIAnnotationPrefix: "cdi.k8s.io/", HookPath: "/usr/local/vgpu", DriverRoot: "/"}
	for _, argument := range r.Input.Args {
		name, value, _ := strings.Cut(argument, "=")
		switch name {
		case "--device-list-strategy":
			flags.DeviceListStrategies = strings.Split(value, ",")
		case "--device-id-strategy":
			flags.DeviceIDStrategy = value
		case "--pass-device-specs":
			flags.PassDeviceSpecs = true
		case "--driver-root":
			flags.DriverRoot = value
		case "--gdrcopy-enabled":
			flags.GDRCopy = value != "false"
		case "--gds-enabled":
			flags.GDS = value != "false"
		case "--mofed-enabled":
			flags.MOFED = value != "false"
		case "--cdi-annotation-prefix":
			flags.CDIAnnotationPrefix = value
		case "--mps-root":
			flags.MPSRoot, flags.SharedByMPS = value, true
		}
	}
	if hook := r.Input.Env["HOOK_PATH"]; hook != "" {
		flags.HookPath = strings.Replace(hook, "<unset>", "", 1)
	}
	return config.New("node-a", flags, config.Resources{Number: number}, nil, func(int, string) config.Card { return card })
}

var randomUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// run makes the first call of the case and says how its answer differs; empty: it is the recorded one.
func (r *recordedCase) run(t *testing.T) string {
	t.Helper()
	api := testbed.NewAPI()
	defer api.Close()
	api.Put(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}})
	before := map[string]map[string]string{}
	for _, p := range r.Input.Pods {
		waiting := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID), Annotations: p.Annotations},
			Spec:   v1.PodSpec{NodeName: p.NodeName, Containers: containersFrom(p.Containers), InitContainers: containersFrom(p.InitContainers)},
			Status: v1.PodStatus{Phase: v1.PodPhase(p.Phase)}}
		before[p.Namespace+"/"+p.Name] = p.Annotations
		api.Put(waiting)
	}
	var gpus []hardware.GPU
	for i, gpu := range r.Input.GPUs {
		gpus = append(gpus, hardware.GPU{Index: i, UUID: gpu.UUID, Name: gpu.Name, Minor: gpu.Minor})
	}
	root := t.TempDir()
	for _, node := range r.Input.DevNodes {
		if err := os.MkdirAll(filepath.Join(root, node), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	allocator := New(Options{Config: r.settings(t), GPUs: func() ([]hardware.GPU, error) { return gpus, nil }, Client: api.Client(), Root: root})
	call, expected := r.Input.Steps[0], r.Output.Steps[0]
	if len(call.ContainerRequests) != 1 {
		return ""
	}
	response, err := allocator.Allocate(context.Background(), call.Resource, call.ContainerRequests[0])
	switch {
	case err != nil && expected.Error != nil && err.Error() == expected.Error.Message:
	case err != nil || expected.Error != nil:
		return fmt.Sprintf("error %v, recorded %+v", err, expected.Error)
	case len(expected.ContainerResponses) == 1:
		if answer := asRecorded(response); !reflect.DeepEqual(answer, expected.ContainerResponses[0]) {
			return fmt.Sprintf("answer\n%+v, recorded\n%+v", answer, expected.ContainerResponses[0])
		}
	}
	after := map[string]map[string]string{}
	for _, found := range api.Pods() {
		after[found.Namespace+"/"+found.Name] = found.Annotations
	}
	for name, changes := range expected.PodAnnotations {
		for key, value := range changes {
			before[name][key] = *value
		}
	}
	for name := range after {
		if len(after[name])+len(before[name]) > 0 && !reflect.DeepEqual(after[name], before[name]) {
			return fmt.Sprintf("annotations of %s\n%v, recorded\n%v", name, after[name], before[name])
		}
	}
	return ""
}

func containersFrom(recorded []recordedContainer) []v1.Container {
	result := make([]v1.Container, len(recorded))
	for i, c := range recorded {
		result[i].Name = c.Name
		for name, value := range c.Env {
			result[i].Env = append(result[i].Env, v1.EnvVar{Name: name, Value: value})
		}
	}
	return result
}

// asRecorded writes an answer as the recordings have it, with the random names replaced.
func asRecorded(response *pluginapi.ContainerAllocateResponse) recordedResponse {
	result := recordedResponse{}
	if len(response.Envs) > 0 {
		result.Envs = map[string]string{}
	}
	for name, value := range response.Envs {
		if name == "CUDA_DEVICE_MEMORY_SHARED_CACHE" {
			value = randomUUID.ReplaceAllString(value, "<random-uuid>")
		}
		result.Envs[name] = value
	}
	for _, mount := range response.Mounts {
		result.Mounts = append(result.Mounts, struct {
			HostPath      string `json:"host_path"`
			ContainerPath string `json:"container_path"`
			ReadOnly      bool   `json:"read_only"`
		}{mount.HostPath, mount.ContainerPath, mount.ReadOnly})
	}
	for _, device := range response.Devices {
		result.Devices = append(result.Devices, device.HostPath+"|"+device.ContainerPath+"|"+device.Permissions)
	}
	slices.Sort(result.Devices)
	for name, value := range response.Annotations {
		result.Annotations = map[string]string{randomUUID.ReplaceAllString(name, "<random-uuid>"): value}
	}
	for _, device := range response.CdiDevices {
		result.CDIDevices = append(result.CDIDevices, device.Name)
	}
	return result
}
