package layout

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// recordedCase is what is read of a recorded case of the existing plugin with the real nvidia-mig-parted.
type recordedCase struct {
	ID    string `json:"id"`
	Input struct {
		GPUs []struct {
			UUID       string `json:"uuid"`
			Name       string `json:"name"`
			MigCapable bool   `json:"mig_capable"`
			MigEnabled bool   `json:"mig_enabled"`
		} `json:"gpus"`
		IndexOrder string `json:"mig_index_order"`
		Instances  []struct {
			GPU       int    `json:"gpu"`
			GI        uint32 `json:"gi"`
			ProfileID uint32 `json:"profile_id"`
			Start     uint32 `json:"start"`
			Size      uint32 `json:"size"`
			Busy      bool   `json:"busy"`
		} `json:"mig_instances"`
		Steps []struct {
			Op  string `json:"op"`
			Pod struct {
				Namespace, Name string
				Annotations     map[string]string
			} `json:"pod"`
		} `json:"steps"`
	} `json:"input"`
	Output struct {
		Steps []struct {
			Mig            [][]any                       `json:"mig"`
			PodAnnotations map[string]map[string]*string `json:"pod_annotations"`
			Responses      []struct {
				Envs map[string]string `json:"envs"`
			} `json:"container_responses"`
		} `json:"steps"`
	} `json:"output"`
}

var recordedEntry = regexp.MustCompile(`([^,:;\[]+)\[([^\],]*)-(\d+)\],[^,]+,-?\d+,-?\d+`)

// TestRecordedAnswers gives every recorded answer's pod to the executor, on the hardware as it was before, and compares the instances:
// equal ones, ones of the same profile at another start, and refusals of what upstream's mistakes N25 and N27 are about.
func TestRecordedAnswers(t *testing.T) {
	evidence := os.Getenv("VGPUALLOC_EVIDENCE")
	if evidence == "" && os.Getenv("CI") == "true" {
		t.Fatal("VGPUALLOC_EVIDENCE is not set")
	}
	if evidence == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	folder := filepath.Join(evidence, "conformance", "node")
	list := recordedGeometries(t, filepath.Join(folder, "configs", "mig.yaml"))
	file, err := os.Open(filepath.Join(folder, "vgpu-mig.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	counts := map[string]int{}
	for lines.Scan() {
		var recorded recordedCase
		if err := json.Unmarshal(lines.Bytes(), &recorded); err != nil {
			t.Fatal(err)
		}
		replay(t, &recorded, list, counts)
	}
	t.Log(counts)
	if counts["equal"] < 150 {
		t.Errorf("%d answers are equal, expected 150 or more", counts["equal"])
	}
}

type recordedList struct {
	Models  []string `json:"models"`
	Allowed []struct {
		Group      string `json:"group"`
		Geometries []struct {
			Name  string `json:"name"`
			Count int    `json:"count"`
		} `json:"geometries"`
	} `json:"allowedGeometries"`
}

func recordedGeometries(t *testing.T, path string) []recordedList {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		NVIDIA struct {
			Known []recordedList `json:"knownMigGeometries"`
		} `json:"nvidia"`
	}
	if err := yaml.Unmarshal(text, &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed.NVIDIA.Known
}

func geometryIn(list []recordedList, model, group string) (config.Geometry, bool) {
	for _, candidate := range list {
		if !slices.ContainsFunc(candidate.Models, func(part string) bool { return strings.Contains(model, part) }) {
			continue
		}
		for _, allowed := range candidate.Allowed {
			if allowed.Group == group {
				result := config.Geometry{Group: group}
				for _, kind := range allowed.Geometries {
					result.Instances = append(result.Instances, config.Profile{Name: kind.Name, Count: kind.Count})
				}
				return result, true
			}
		}
		return config.Geometry{}, false
	}
	return config.Geometry{}, false
}

// recordedPod is a pod of a case; `groups` are those that it was answered with, by GPU.
type recordedPod struct {
	entries [][]string
	groups  map[string]string
}

// replay goes through one case.
func replay(t *testing.T, recorded *recordedCase, list []recordedList, counts map[string]int) {
	t.Helper()
	hold := map[string][]hardware.Instance{} // by GPU
	uuids := map[string]place{}              // of recorded MIG devices
	for _, instance := range recorded.Input.Instances {
		gpu := recorded.Input.GPUs[instance.GPU].UUID
		hold[gpu] = append(hold[gpu], hardware.Instance{GI: instance.GI, ProfileID: instance.ProfileID, Start: instance.Start,
			Size: instance.Size, Busy: instance.Busy, Compute: []uint32{0}, UUID: migUUID(gpu, instance.ProfileID, instance.Start)})
	}
	pods := map[string]*recordedPod{}
	for number, step := range recorded.Input.Steps {
		if number >= len(recorded.Output.Steps) {
			return
		}
		output := recorded.Output.Steps[number]
		for gpu, instances := range instancesOf(recorded, output.Mig, uuids) {
			if step.Op != "allocate" {
				hold[gpu] = instances
			}
		}
		switch step.Op {
		case "put_pod":
			pods[step.Pod.Namespace+"/"+step.Pod.Name] = &recordedPod{
				entries: recordedEntry.FindAllStringSubmatch(step.Pod.Annotations["volcano.sh/vgpu-ids-new"], -1), groups: map[string]string{}}
		case "delete_pod":
			delete(pods, step.Pod.Namespace+"/"+step.Pod.Name)
		case "allocate":
			for key, annotations := range output.PodAnnotations {
				phase := annotations["volcano.sh/bind-phase"]
				if phase == nil || *phase != "success" || pods[key] == nil || len(output.Responses) != 1 {
					continue
				}
				answered := strings.Split(output.Responses[0].Envs["NVIDIA_VISIBLE_DEVICES"], ",")
				after := instancesOf(recorded, output.Mig, uuids)
				if len(output.Mig) == 0 {
					after = hold
				}
				compareAnswer(t, recorded, number, pods, key, answered, hold, after, uuids, list, counts)
			}
			for gpu, instances := range instancesOf(recorded, output.Mig, uuids) {
				hold[gpu] = instances
			}
		}
	}
}

// instancesOf are the rows of a recorded step's "mig", by GPU; none where nothing changed.
func instancesOf(recorded *recordedCase, rows [][]any, uuids map[string]place) map[string][]hardware.Instance {
	result := map[string][]hardware.Instance{}
	if len(rows) > 0 {
		for _, gpu := range recorded.Input.GPUs {
			result[gpu.UUID] = nil
		}
	}
	for _, row := range rows {
		gpu := recorded.Input.GPUs[int(row[0].(float64))].UUID
		number := func(column int) uint32 { return uint32(row[column].(float64)) }
		uuids[row[6].(string)] = place{number(2), number(3)}
		result[gpu] = append(result[gpu], hardware.Instance{GI: number(1), ProfileID: number(2), Start: number(3), Size: number(4),
			Busy: number(5) != 0, Compute: []uint32{0}, UUID: migUUID(gpu, number(2), number(3))})
	}
	return result
}

// compareAnswer lets the executor answer what was answered in a recorded step.
func compareAnswer(t *testing.T, recorded *recordedCase, number int, pods map[string]*recordedPod, key string, answered []string,
	hold, after map[string][]hardware.Instance, uuids map[string]place, list []recordedList, counts map[string]int) {
	t.Helper()
	pod := pods[key]
	if len(pod.entries) != len(answered) || slices.ContainsFunc(answered, func(uuid string) bool { return !strings.HasPrefix(uuid, "MIG-") }) {
		counts["upstream's answer is empty (N24) or no list"]++
		return
	}
	machine := newMemory()
	for index, gpu := range recorded.Input.GPUs {
		instances := slices.Clone(hold[gpu.UUID])
		machine.gpus = append(machine.gpus, hardware.GPU{Index: index, UUID: gpu.UUID, Name: gpu.Name, MigCapable: gpu.MigCapable,
			MigEnabled: gpu.MigEnabled || len(instances) > 0})
		machine.instances[gpu.UUID] = instances
	}
	n := newNode(t, machine, false, func(options *Options) {
		options.MayEnable = func(string) bool { return true }
		options.Geometry = func(model, group string) (config.Geometry, bool) { return geometryIn(list, model, group) }
	})
	mistake := ""
	for name, other := range pods {
		for gpu, group := range other.groups {
			for _, entry := range pod.entries {
				if name != key && entry[1] == gpu && entry[2] != group {
					mistake = "N25: another pod has another group of the GPU"
				}
			}
			n.hand(gpu, group, other)
		}
	}
	groups := map[string]string{}
	for _, entry := range pod.entries {
		if before, is := groups[entry[1]]; is && before != entry[2] {
			mistake = "N27: two groups of one GPU"
		}
		groups[entry[1]] = entry[2]
	}
	outcome := "equal"
	for row, entry := range pod.entries {
		index := slices.IndexFunc(machine.gpus, func(gpu hardware.GPU) bool { return gpu.UUID == entry[1] })
		wanted, is := geometryIn(list, machine.gpus[index].Name, entry[2])
		position, err := strconv.Atoi(entry[3])
		if err != nil {
			t.Fatal(err)
		}
		expected, known := uuids[answered[row]]
		if !is || !known {
			outcome = "not comparable: the recording names no such group or instance"
			break
		}
		uuid, err := n.executor.Instance(background, entry[1], wanted, position)
		if err != nil {
			outcome = "refused: " + mistake
			if mistake == "" {
				t.Errorf("%s step %d: %v", recorded.ID, number, err)
			}
			var refused *Refusal
			if !errors.As(err, &refused) {
				t.Errorf("%s step %d: %v, expected a refusal", recorded.ID, number, err)
			}
			break
		}
		if uuid == migUUID(entry[1], expected.ProfileID, expected.Start) {
			continue
		}
		switch {
		case mistake != "":
			outcome = mistake
		case recorded.Input.IndexOrder == "reverse" || !isLargestFirst(wanted):
			outcome = "N30: upstream takes the position for an index of the driver"
		case !n.complete(entry[1], after[entry[1]], wanted):
			outcome = "N29: upstream has not cut the GPU"
		default:
			outcome = "other instance"
			t.Errorf("%s step %d: position %d of %s is %s, recorded profile %d at %d", recorded.ID, number, position, entry[2], uuid,
				expected.ProfileID, expected.Start)
		}
	}
	counts[outcome]++
	for _, entry := range pod.entries {
		pod.groups[entry[1]] = entry[2]
	}
}

// hand makes the executor know what another pod was answered with, where the hardware has it.
func (n *node) hand(gpuUUID, group string, pod *recordedPod) {
	for _, entry := range pod.entries {
		row := slices.IndexFunc(n.machine.gpus, func(gpu hardware.GPU) bool { return gpu.UUID == gpuUUID })
		geometry, is := n.executor.options.Geometry(n.machine.gpus[row].Name, group)
		position, err := strconv.Atoi(entry[3])
		if entry[1] != gpuUUID || entry[2] != group || !is || err != nil {
			continue
		}
		// Only one that is there already: a refusal is no matter.
		if n.complete(gpuUUID, n.machine.instances[gpuUUID], geometry) {
			_, _ = n.executor.Instance(background, gpuUUID, geometry, position)
		}
	}
}

// complete is whether instances are all of a group.
func (n *node) complete(gpuUUID string, instances []hardware.Instance, geometry config.Geometry) bool {
	row := slices.IndexFunc(n.machine.gpus, func(gpu hardware.GPU) bool { return gpu.UUID == gpuUUID })
	model, err := n.executor.board.model(n.machine.gpus[row].Name)
	if err != nil {
		return false
	}
	wanted, err := n.executor.board.readGroup(model, geometry)
	return err == nil && cutOf(wanted, placesOf(instances, isWhole)) != nil
}

// isLargestFirst is whether the driver's order of instances is that of a group's positions: it numbers larger instances first.
func isLargestFirst(of config.Geometry) bool {
	return slices.IsSortedFunc(of.Instances, func(left, right config.Profile) int { return strings.Compare(right.Name, left.Name) })
}
