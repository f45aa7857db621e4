package node

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Expectations are what a container's environment is compared with, beside the decision.
type Expectations struct {
	Modes   map[string]string           // of cards by uuid: "hami-core", "mig", "mps"
	GPUs    []Seen                      // what nvidia-smi shows on the node
	Devices map[string]MigDevice        // what the hardware holds, by uuid
	Profile func(Share) (Profile, bool) // of a MIG share: what the configuration has at its place
}

// Profile is a kind of MIG instance.
type Profile struct {
	Name      string // "1g.5gb"
	MemoryMiB int    // that the configuration says it has
}

// memorySlices are how many of a card's eight units of memory a profile takes, on A100, H100 and H200.
var memorySlices = map[string]uint32{"1": 1, "2": 2, "3": 4, "4": 4, "7": 8}

// Compare says how what a container was given differs from what was decided for it.
func (node *Node) Compare(pod *corev1.Pod, container string, shares []Share, given Given, expected Expectations) []string {
	comparison := &comparison{node: node, pod: pod, container: container, shares: shares, Given: given, Expectations: expected}
	for _, text := range given.Errors {
		comparison.wrong("an error in the container: %s", text)
	}
	visible := strings.Split(given.Environment["NVIDIA_VISIBLE_DEVICES"], ",")
	if len(visible) != len(shares) || len(given.Devices) != len(shares) {
		comparison.wrong("NVIDIA_VISIBLE_DEVICES is %q and nvidia-smi shows %d devices, expected %d", given.Environment["NVIDIA_VISIBLE_DEVICES"], len(given.Devices), len(shares))
		return comparison.faults
	}
	modes := map[string]bool{}
	for i, share := range shares {
		mode := expected.Modes[share.Card]
		modes[mode] = true
		if given.Devices[i].UUID != visible[i] {
			comparison.wrong("nvidia-smi shows device %d as %s, expected %s", i, given.Devices[i].UUID, visible[i])
		}
		switch {
		case mode == "mig":
			comparison.mig(i, share, visible[i])
		case visible[i] != share.Card:
			comparison.wrong("device %d is %s, expected %s", i, visible[i], share.Card)
		case mode == "hami-core":
			comparison.hamiCore(i, share)
		case mode == "mps":
			comparison.mps(i, share)
		default:
			comparison.wrong("card %s is not registered", share.Card)
		}
	}
	comparison.library(modes["hami-core"])
	comparison.control(modes["mps"])
	return comparison.faults
}

type comparison struct {
	Given
	Expectations
	node      *Node
	pod       *corev1.Pod
	container string
	shares    []Share
	faults    []string
}

func (c *comparison) wrong(format string, arguments ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, arguments...))
}

// is holds a variable of the environment against what it should be; empty: it is not there.
func (c *comparison) is(name, expected string) {
	if value := c.Environment[name]; value != expected {
		c.wrong("%s is %q, expected %q", name, value, expected)
	}
}

// shows holds the memory of a device by nvidia-smi in the container against what it should be.
func (c *comparison) shows(i, expected int) {
	if memory := c.Given.Devices[i].MemoryMiB; memory != expected {
		c.wrong("nvidia-smi shows %d MiB of device %d, expected %d", memory, i, expected)
	}
}

// whole is how much memory a card has, as nvidia-smi shows it on the node.
func (c *comparison) whole(uuid string) int {
	i := slices.IndexFunc(c.GPUs, func(gpu Seen) bool { return gpu.UUID == uuid })
	if i < 0 {
		return 0
	}
	return c.GPUs[i].MemoryMiB
}

func (c *comparison) hamiCore(i int, share Share) {
	c.is(fmt.Sprintf("CUDA_DEVICE_MEMORY_LIMIT_%d", i), fmt.Sprintf("%dm", share.MemoryMiB))
	cores := strconv.Itoa(share.Cores)
	if value, ok := c.Environment[fmt.Sprintf("CUDA_DEVICE_SM_LIMIT_%d", i)]; ok && value != cores {
		c.wrong("CUDA_DEVICE_SM_LIMIT_%d is %q, expected %q", i, value, cores)
	} else if !ok {
		c.is("CUDA_DEVICE_SM_LIMIT", cores)
	}
	c.shows(i, share.MemoryMiB)
	cache := c.Environment["CUDA_DEVICE_MEMORY_SHARED_CACHE"]
	limits := fmt.Sprintf("device %d: %d MiB, %d %% of its multiprocessors, cache %s", i, share.MemoryMiB, share.Cores, cache)
	for _, line := range []string{limits, "cache written"} {
		if !slices.Contains(c.Library, line) {
			c.wrong("libvgpu.so in the container says %q, expected %q", c.Library, line)
		}
	}
	if half := share.MemoryMiB / 2; i == 0 {
		if expected := fmt.Sprintf("%d MiB: 0, %d MiB more: 2", half, share.MemoryMiB-half+1); c.Cuda != expected {
			c.wrong("a program that takes memory says %q, expected %q", c.Cuda, expected)
		}
	}
}

// mig holds the MIG device against the hardware: it is on the decided card, and as large as the decided place.
func (c *comparison) mig(i int, share Share, uuid string) {
	device, ok := c.Expectations.Devices[uuid]
	if !ok {
		c.wrong("device %d is %s, and the hardware holds no such MIG device", i, uuid)
		return
	}
	if share.Profile != "" && int(device.Instance.Start) != share.Position {
		c.wrong("device %d begins at memory slice %d, expected %d", i, device.Instance.Start, share.Position)
	}
	if device.GPU != share.Card {
		c.wrong("device %d is %s of card %s, expected card %s", i, uuid, device.GPU, share.Card)
	}
	profile, ok := c.Profile(share)
	if !ok {
		c.wrong("device %d: the configuration has no place %s-%d", i, share.Group, share.Position)
		return
	}
	compute, _, _ := strings.Cut(profile.Name, "g.")
	expected := memorySlices[compute]
	if share.Profile != "" {
		expected = uint32(share.Slices)
	}
	if device.Instance.Size != expected || !strings.HasSuffix(device.Name, "MIG "+profile.Name) {
		c.wrong("device %d is %q with %d memory slices, expected %s with %d", i, device.Name, device.Instance.Size, profile.Name, expected)
	}
	c.shows(i, device.MemoryMiB)
	// Names of profiles are rounded up, so the hardware has a little less than a configuration says, and never another's.
	if seen := c.Given.Devices[i].MemoryMiB; seen > profile.MemoryMiB || seen < profile.MemoryMiB*9/10 {
		c.wrong("nvidia-smi shows %d MiB of device %d, expected about %d", seen, i, profile.MemoryMiB)
	}
}

func (c *comparison) mps(i int, share Share) {
	limit := ""
	for _, part := range strings.Split(c.Environment["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], ",") {
		if strings.HasPrefix(part, fmt.Sprintf("%d=", i)) {
			limit = part
		}
	}
	if expected := fmt.Sprintf("%d=%dM", i, share.MemoryMiB); limit != expected {
		c.wrong("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT has %q, expected %q", limit, expected)
	}
	threads := ""
	if share.Cores > 0 {
		threads = strconv.Itoa(share.Cores)
	}
	if len(c.shares) == 1 { // with several the smallest counts
		c.is("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", threads)
	}
	c.shows(i, c.whole(share.Card))
}

// library looks at what makes HAMi-core work, which is there where a card is shared by it and nowhere else.
func (c *comparison) library(wanted bool) {
	for _, mount := range []struct{ target, source string }{
		{"/usr/local/vgpu/libvgpu.so", c.node.path("vgpu/libvgpu.so")}, {"/etc/ld.so.preload", c.node.path("vgpu/ld.so.preload")},
		{"/tmp/vgpu", c.node.path(filepath.Join("vgpu/vgpu/containers", string(c.pod.UID)+"_"+c.container))},
		{"/tmp/vgpulock", c.node.path("tmp/vgpulock")},
	} {
		c.mounted(mount.target, mount.source, wanted)
	}
	if !wanted {
		for name := range c.Environment {
			if strings.HasPrefix(name, "CUDA_DEVICE_") {
				c.wrong("%s is %q, and no card is shared by HAMi-core", name, c.Environment[name])
			}
		}
		if len(c.Library) > 0 || c.Cuda != "not limited by a library" {
			c.wrong("libvgpu.so is loaded, and no card is shared by HAMi-core")
		}
	}
}

// control looks at how MPS is reached.
func (c *comparison) control(wanted bool) {
	pipe := c.Environment["CUDA_MPS_PIPE_DIRECTORY"]
	if (pipe != "") != wanted {
		c.wrong("CUDA_MPS_PIPE_DIRECTORY is %q with cards shared by MPS: %t", pipe, wanted)
		return
	}
	if wanted {
		c.mounted(pipe, c.node.path("run/nvidia/mps/volcano.sh/vgpu-number/pipe"), true)
		c.mounted("/dev/shm", c.node.path("run/nvidia/mps/shm"), true)
	}
}

// mounted looks for a mount of a file or folder of the node, whose file system may itself be mounted from a folder of another.
func (c *comparison) mounted(target, source string, wanted bool) {
	mount, ok := c.Mounts[target]
	switch {
	case ok != wanted:
		c.wrong("a mount at %s: %t, expected %t", target, ok, wanted)
	case wanted && !strings.HasSuffix(source, mount.Root):
		c.wrong("the mount at %s is of %s, expected %s", target, mount.Root, source)
	}
}
