package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

// ErrNotYet: a container has not written all that it was given.
var ErrNotYet = errors.New("the container has not said everything yet")

// Mount is one that a container has.
type Mount struct {
	Root     string // what is there, in the file system that it is taken from
	ReadOnly bool
}

// Seen is a GPU or MIG device as nvidia-smi shows it.
type Seen struct {
	UUID      string
	MemoryMiB int
	Name      string
}

// Given is what a container says that it was given.
type Given struct {
	Environment map[string]string
	Mounts      map[string]Mount // by where they are
	Devices     []Seen           // by nvidia-smi in the container
	Library     []string         // what libvgpu.so says
	Cuda        string           // what came of taking memory
	Errors      []string
}

// Given reads the log of a container of a pod of this node, as the kubelet keeps it.
func (node *Node) Given(pod *corev1.Pod, container string) (Given, error) {
	folder := filepath.Join(node.path("var-log/pods"), fmt.Sprintf("%s_%s_%s", pod.Namespace, pod.Name, pod.UID), container)
	// A number for each start: a kubelet that is killed while it starts a container begins anew.
	logs, err := filepath.Glob(filepath.Join(folder, "[0-9].log"))
	if err != nil || len(logs) == 0 {
		return Given{}, errors.Join(ErrNotYet, err)
	}
	text, err := os.ReadFile(slices.Max(logs))
	if err != nil {
		return Given{}, err
	}
	return readGiven(string(text))
}

// readGiven reads lines like "2026-11-28T22:00:00.1Z stdout F env A=b".
func readGiven(text string) (Given, error) {
	result := Given{Environment: map[string]string{}, Mounts: map[string]Mount{}}
	for _, line := range strings.Split(text, "\n") {
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 4 {
			continue
		}
		kind, rest, _ := strings.Cut(fields[3], " ")
		switch kind {
		case "env":
			name, value, _ := strings.Cut(rest, "=")
			result.Environment[name] = value
		case "mount":
			if words := strings.Fields(rest); len(words) == 3 {
				result.Mounts[words[0]] = Mount{Root: words[1], ReadOnly: words[2] == "ro"}
			}
		case "nvidia-smi":
			seen, err := readSeen(rest)
			if err != nil {
				return result, err
			}
			result.Devices = append(result.Devices, seen)
		case "libvgpu":
			result.Library = append(result.Library, rest)
		case "cuda":
			result.Cuda = rest
		case "error":
			result.Errors = append(result.Errors, rest)
		case "end":
			return result, nil
		}
	}
	return result, ErrNotYet
}

// readSeen reads "UUID NUMBER MiB NAME".
func readSeen(text string) (Seen, error) {
	words := strings.SplitN(text, " ", 4)
	if len(words) < 4 || words[2] != "MiB" {
		return Seen{}, fmt.Errorf("%q: expected UUID, a number, MiB and a name", text)
	}
	memory, err := strconv.Atoi(words[1])
	return Seen{UUID: words[0], MemoryMiB: memory, Name: words[3]}, err
}

// MigDevice is one that the hardware holds.
type MigDevice struct {
	Seen
	GPU      string // uuid
	Instance fake.Instance
}

// Hardware is what nvidia-smi shows on the node, outside of containers, and what the fake NVML holds.
func (node *Node) Hardware(ctx context.Context) (gpus []Seen, devices map[string]MigDevice, err error) {
	command := exec.CommandContext(ctx, filepath.Join(node.Programs, "nvidia-smi"), node.Machine.Path())
	command.Env = []string{"LD_LIBRARY_PATH=" + node.path("var-lib/driver/lib")}
	output, err := command.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("nvidia-smi on node %s: %w: %s", node.Name, err, output)
	}
	state, err := node.Machine.Read()
	if err != nil {
		return nil, nil, err
	}
	devices = map[string]MigDevice{}
	for _, line := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		number := ""
		if kind == "instance" {
			number, rest, _ = strings.Cut(rest, " ")
		}
		seen, err := readSeen(rest)
		if err != nil {
			return nil, nil, fmt.Errorf("nvidia-smi on node %s: %w", node.Name, err)
		}
		if kind != "instance" {
			gpus = append(gpus, seen)
			continue
		}
		device := MigDevice{Seen: seen, GPU: gpus[len(gpus)-1].UUID}
		for _, instance := range state.Instances {
			if strconv.Itoa(int(instance.GI)) == number && state.GPUs[instance.GPU].UUID == device.GPU {
				device.Instance = instance
			}
		}
		devices[seen.UUID] = device
	}
	return gpus, devices, nil
}
