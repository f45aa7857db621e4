package plugin

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// inventory is the GPUs of the machine, and of them the cards that are for pods.
type inventory struct {
	root string
	conf *config.Config

	leftOut []string // why GPUs are not for pods that nobody has configured so

	mutex sync.Mutex
	all   []hardware.GPU // that can be named
	cards []card         // for pods, by ascending minor number
}

// card is a GPU with what holds for it, and its devices of each resource.
type card struct {
	gpu  hardware.GPU
	conf config.Card
	numa int
}

// displays are not for computing; NVIDIA's library of device plugins leaves them out too.
var displays = []string{"NVIDIA DGX Display", "DGX Display"}

// newInventory chooses the cards. The error is of a machine that the flags refuse.
func newInventory(root string, conf *config.Config, gpus []hardware.GPU) (*inventory, error) {
	result := &inventory{root: root, conf: conf}
	for _, gpu := range gpus {
		if reason := unnamed(gpu, gpus); reason != "" {
			result.leftOut = append(result.leftOut, fmt.Sprintf("GPU %d is left out: %s", gpu.Index, reason))
			continue
		}
		result.all = append(result.all, gpu)
		if gpu.MigEnabled && conf.Flags.MigStrategy == "single" {
			return nil, fmt.Errorf("--mig-strategy single: card %s has MIG on, expected none or mixed", gpu.UUID)
		}
		held := conf.Card(gpu.Index, gpu.UUID)
		if held.IsFiltered || slices.Contains(displays, gpu.Name) || gpu.MigEnabled && conf.Flags.MigStrategy == "mixed" {
			klog.InfoS("A GPU is not for pods", "gpu", gpu.UUID, "index", gpu.Index, "name", gpu.Name)
			continue
		}
		result.cards = append(result.cards, card{gpu: gpu, conf: held, numa: numaOf(root, gpu.PCIBus)})
	}
	slices.SortStableFunc(result.cards, func(left, right card) int { return left.gpu.Minor - right.gpu.Minor })
	return result, nil
}

// unnamed is why a GPU cannot be named in annotations and in the kubelet's ids; empty: it can.
func unnamed(gpu hardware.GPU, all []hardware.GPU) string {
	const separators = ",:;[]" // of annotations
	switch {
	case gpu.UUID == "" && gpu.Fault != nil:
		return "its uuid cannot be read: " + gpu.Fault.Error()
	case gpu.UUID == "":
		return "its uuid is empty"
	case strings.ContainsAny(gpu.UUID, separators):
		return fmt.Sprintf("uuid %q: expected none of the characters %s", gpu.UUID, separators)
	case strings.ContainsAny(gpu.Name, ",:;"):
		return fmt.Sprintf("name %q: expected none of the characters ,:;", gpu.Name)
	}
	for _, other := range all {
		if other.UUID == gpu.UUID && other.Index != gpu.Index {
			return fmt.Sprintf("uuid %s: GPU %d has it too", gpu.UUID, other.Index)
		}
	}
	return ""
}

// numaOf is the NUMA node of a PCI device; 0: not known.
func numaOf(root, bus string) int {
	if domain, rest, hasDomain := strings.Cut(bus, ":"); hasDomain && len(domain) == 8 { // NVML's has eight digits, Linux' four
		bus = domain[4:] + ":" + rest
	}
	text, err := os.ReadFile(root + "/sys/bus/pci/devices/" + strings.ToLower(bus) + "/numa_node")
	if err != nil || bus == "" {
		return 0
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return max(0, node)
}

// gpus are all of the machine.
func (i *inventory) gpus() ([]hardware.GPU, error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return slices.Clone(i.all), nil
}

// ofPods are those that are for pods.
func (i *inventory) ofPods() []hardware.GPU {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	list := make([]hardware.GPU, 0, len(i.cards))
	for _, card := range i.cards {
		list = append(list, card.gpu)
	}
	return list
}

// replace is what a card that could not be read is now.
func (i *inventory) replace(gpu hardware.GPU) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if reason := unnamed(gpu, nil); reason != "" {
		klog.ErrorS(nil, "A GPU is left out", "index", gpu.Index, "reason", reason)
		i.cards = slices.DeleteFunc(i.cards, func(card card) bool { return card.gpu.UUID == gpu.UUID })
		return
	}
	for j := range i.all {
		if i.all[j].UUID == gpu.UUID {
			i.all[j] = gpu
		}
	}
	for j := range i.cards {
		if i.cards[j].gpu.UUID == gpu.UUID {
			i.cards[j].gpu = gpu
		}
	}
}

// registered are the cards as schedulers see them.
func (i *inventory) registered(isHealthy func(uuid string) bool) []register.Card {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	list := make([]register.Card, 0, len(i.cards))
	for _, card := range i.cards {
		list = append(list, card.registered(isHealthy(card.gpu.UUID)))
	}
	return list
}

func (c *card) registered(isHealthy bool) register.Card {
	return register.Card{UUID: c.gpu.UUID, Index: c.gpu.Index, Name: c.gpu.Name, NUMA: c.numa,
		MemoryMiB: int64(c.gpu.MemoryBytes >> 20), Healthy: isHealthy, Card: c.conf}
}

// kind is what the devices of a resource stand for.
type kind int

const (
	ofCount kind = iota
	ofMemory
	ofCores
)

// prefixes stand between a card's uuid and a device's number.
var prefixes = map[kind]string{ofCount: "-", ofMemory: "-memory-", ofCores: "-core-"}

// devices are the kubelet's devices of a kind.
func (i *inventory) devices(of kind, isHealthy func(uuid string) bool) []*pluginapi.Device {
	list := []*pluginapi.Device{}
	for _, card := range i.registered(isHealthy) {
		health := pluginapi.Healthy
		if !card.Healthy {
			health = pluginapi.Unhealthy
		}
		devices := make([]pluginapi.Device, countOf(&card, of))
		for j := range devices {
			devices[j].ID, devices[j].Health = card.UUID+prefixes[of]+strconv.Itoa(j), health
			list = append(list, &devices[j])
		}
	}
	return list
}

// countOf is how many devices of a kind stand for a card.
func countOf(card *register.Card, of kind) int64 {
	switch of {
	case ofMemory:
		return card.Units()
	case ofCores:
		return int64(card.Cores())
	}
	return int64(card.SplitCount)
}

// advice names the setting that shortens the list.
func advice(of kind, factor int64) string {
	switch of {
	case ofMemory:
		return fmt.Sprintf("set gpuMemoryFactor to at least %d", factor)
	case ofCores:
		return "set a smaller deviceCoreScaling"
	}
	return "set a smaller deviceSplitCount"
}

// What the kubelet receives at most, and from how many devices on upstream warns.
const (
	messageMax = 4 << 20
	devicesMax = 60000
)

// errTooLong: the kubelet would not take the list.
var errTooLong = errors.New("the list of devices is too long for the kubelet")

// checkLength refuses a list that the kubelet would drop, and warns of one that is near it.
func (i *inventory) checkLength(resource string, of kind) error {
	count, factor := int64(0), int64(1)
	for _, card := range i.registered(func(string) bool { return true }) {
		count += min(countOf(&card, of), math.MaxInt32)
		factor = max(factor, int64(card.MemoryFactor))
	}
	if count <= devicesMax {
		return nil
	}
	needed := (factor*count + devicesMax - 1) / devicesMax
	if count > messageMax/8 { // a device is longer: such a list is not even made
		return fmt.Errorf("%s: %d devices are too many for the kubelet, expected at most about %d: %w; %s", resource, count, devicesMax,
			errTooLong, advice(of, needed))
	}
	devices := i.devices(of, func(string) bool { return true })
	size := proto.Size(&pluginapi.ListAndWatchResponse{Devices: devices})
	if size > messageMax {
		return fmt.Errorf("%s: %d devices are a message of %d bytes, expected at most %d: %w; %s", resource, count, size, messageMax,
			errTooLong, advice(of, needed))
	}
	klog.InfoS("A list of devices is nearly too long for the kubelet", "resource", resource, "devices", count,
		"advice", advice(of, needed))
	return nil
}
