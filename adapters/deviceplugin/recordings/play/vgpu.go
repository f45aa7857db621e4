package play

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/hardware/nvidia"
	vgpu "vgpualloc.example/adapters/deviceplugin/plugin"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/recordings/model"
	"vgpualloc.example/adapters/deviceplugin/testbed"
)

// vgpuPlayer plays cases of volcano-vgpu-device-plugin.
type vgpuPlayer struct {
	*rig
	library   string // path of the fake NVML
	machine   *fake.Machine
	events    *eventful
	instances map[string]place // by uuid of the MIG device
	cards     []string
	mig       string // the instances that were last noted
}

// place is a GPU instance by its number.
type place struct {
	gpu int
	gi  uint32
}

// VGPU plays a case of volcano-vgpu-device-plugin over the fake NVML at a path. A process can play one at a time.
func VGPU(c *cases.Case, library string) (cases.Output, error) {
	r, err := newRig(&c.Input, resourcesOf(&c.Input))
	if err != nil {
		return cases.Output{}, err
	}
	defer r.close()
	p := &vgpuPlayer{rig: r, library: library, instances: map[string]place{}}
	if err := p.prepare(); err != nil {
		return cases.Output{}, err
	}
	podFaults := slices.ContainsFunc(c.Input.APIFaults, func(fault testbed.Fault) bool { return fault.Resource == "pods" })
	if podFaults {
		r.api.SetFaults() // our plugin lists pods when it starts, upstream for each call
	}
	r.look()
	return p.play(podFaults)
}

func (p *vgpuPlayer) prepare() error {
	in := p.in
	if in.DeviceConfig != nil {
		key := in.ConfigMapKey
		if key == "" {
			key = "device-config.yaml"
		}
		p.api.Put(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: in.ConfigMapNamespace, Name: "volcano-vgpu-device-config"},
			Data:       map[string]string{key: *in.DeviceConfig},
		})
	}
	for path, text := range map[string]*string{"/config/config.json": in.NodeConfig, "/plugin.yaml": in.PluginConfig} {
		if err := p.write(path, text); err != nil {
			return err
		}
	}
	empty := ""
	for _, node := range in.DevNodes {
		if err := p.write(node, &empty); err != nil {
			return err
		}
	}
	state := fake.State{IndexOrder: in.MigIndexOrder}
	for index, gpu := range in.GPUs {
		table := gpu.MigTable
		if table == "" {
			table = "none"
		}
		p.cards = append(p.cards, gpu.UUID)
		state.GPUs = append(state.GPUs, fake.GPU{
			UUID: gpu.UUID, Name: gpu.Name, MemoryBytes: gpu.MemoryBytes, Minor: gpu.Minor, ComputeCapability: gpu.ComputeCapability,
			PCIBus: gpu.PCIBus, MigCapable: gpu.MigCapable, MigEnabled: gpu.MigEnabled, MigTable: table,
		})
		for _, unit := range migUUIDs(index, &gpu) {
			p.instances[unit.UUID] = place{index, unit.GI}
			state.MigUUIDs = append(state.MigUUIDs, unit)
		}
	}
	for _, unit := range in.MigInstances {
		state.Instances = append(state.Instances, fake.Instance{
			GPU: unit.GPU, GI: unit.GI, ProfileID: unit.ProfileID, Start: unit.Start, Size: unit.Size, Busy: unit.Busy,
		})
	}
	for _, fault := range in.NVMLFaults {
		state.Faults = append(state.Faults, fake.Fault{Call: fault.Call, Return: fault.Return, AfterCalls: fault.AfterCalls})
	}
	var err error
	p.machine, err = fake.New(filepath.Join(p.root, "nvml.json"), state)
	if err != nil {
		return err
	}
	p.mig = p.rows(nil)
	return os.Setenv(fake.Variable, p.machine.Path())
}

// migUUIDs are those of all MIG devices that a card may have.
func migUUIDs(index int, gpu *cases.GPU) []fake.MigUUID {
	var result []fake.MigUUID
	profiles := map[uint32][2]uint32{0: {0, 0}, 5: {1, 2}, 9: {1, 2}, 14: {3, 6}, 15: {3, 6}, 19: {7, 13}, 20: {7, 13}}
	switch gpu.MigTable {
	case "":
		return nil
	case "a30":
		profiles = map[uint32][2]uint32{0: {0, 0}, 5: {1, 2}, 14: {3, 6}}
	}
	for profile, numbers := range profiles {
		for gi := numbers[0]; gi <= numbers[1]; gi++ {
			uuid := fmt.Sprintf("MIG-%08x-%04x-5%03x-8000-%012x", index, gi, profile, 0)
			result = append(result, fake.MigUUID{GPU: gpu.UUID, GI: gi, ProfileID: profile, UUID: uuid})
		}
	}
	return result
}

func (p *vgpuPlayer) start() error {
	register := time.Hour
	if slices.ContainsFunc(p.in.Steps, func(step cases.Step) bool { return step.Op == "wait_registration" }) {
		register = 20 * time.Millisecond
	}
	unit, err := vgpu.New(vgpu.Options{
		Arguments: p.in.Args,
		Env: func(name string) (string, bool) {
			byDefault := map[string]string{"NODE_NAME": p.in.NodeName, "HOOK_PATH": "/usr/local/vgpu"}[name]
			return p.in.Getenv(name, byDefault)
		},
		Root: p.root, Client: p.api.Client(),
		AskMPS: func(context.Context, string) error {
			if p.fails("mps") {
				return errors.New("the case has it fail")
			}
			return nil
		},
		Open: func(_ context.Context, _ config.Flags) (hardware.Library, error) {
			library, err := nvidia.New(nvidia.Options{Path: p.library})
			if err != nil {
				return nil, err
			}
			p.events = newEventful(library, p.in)
			return p.events, nil
		},
		Intervals: vgpu.Intervals{
			Register: register, RegisterRetry: time.Hour, KubeletRetry: 5 * time.Millisecond, KubeletPoll: 20 * time.Millisecond,
			EventWait: 10 * time.Millisecond, Recheck: time.Hour, Quiet: time.Hour, API: time.Hour, Lists: limit, Patience: -1, Repair: time.Hour,
		},
		Observe: p.observe,
	})
	p.since = 0
	if err != nil {
		p.noteEnd(err)
		return nil
	}
	p.run(unit)
	return p.await("the first registration", func() bool { return p.seen("idle") > 0 || p.isServing() })
}

// isServing says whether the kubelet has the lists of all three resources and the node has been handled.
func (p *vgpuPlayer) isServing() bool {
	return p.seen("annotated") > 0 && p.haveLists()
}

func (p *vgpuPlayer) haveLists() bool {
	registered := p.kubelet.Registrations()[p.since:]
	for _, request := range registered {
		if len(p.kubelet.Lists(request.ResourceName)) == 0 {
			return false
		}
	}
	return len(registered) >= 3
}

func (p *vgpuPlayer) startup() string {
	switch {
	case p.dead != nil:
		return "exit"
	case p.seen("idle") > 0:
		return "waiting_no_devices"
	}
	return "serving"
}

func (p *vgpuPlayer) play(podFaults bool) (cases.Output, error) {
	if err := p.start(); err != nil {
		return cases.Output{}, err
	}
	p.look()
	result := cases.Output{Startup: p.startup(), Exit: p.dead, NodeAnnotations: p.node}
	if p.dead == nil {
		result.Registers, result.Devices = p.registers(), p.listsOf(p.cards)
	}
	if len(p.in.Steps) == 0 {
		if result.Startup == "serving" && len(p.in.XidEvents) > 0 {
			result.Unhealthy = p.deliver(model.Upstream(p.in).Output.Unhealthy)
		}
		return result, nil
	}
	if podFaults {
		p.api.SetFaults(p.in.APIFaults...)
	}
	for i := range p.in.Steps {
		out, err := p.step(i)
		if err != nil {
			return result, fmt.Errorf("step %d: %w", i, err)
		}
		result.Steps = append(result.Steps, out)
	}
	result.Trim()
	return result, nil
}

// settle waits, not for long, until the registration is again what it was before a step: while the layout of a card is changed for more
// than half a second schedulers are told so, which depends on how busy this machine is.
func (p *vgpuPlayer) settle() {
	const key = "volcano.sh/node-vgpu-register"
	for range 100 {
		if p.annotations()[key] == p.node[key] {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// deliver delivers the events of the case and collects what the kubelet is told.
func (p *vgpuPlayer) deliver(expected map[string][][]string) map[string][][]string {
	p.events.deliver()
	p.quiet(expectedLists(expected))
	result := map[string][][]string{}
	for _, request := range p.kubelet.Registrations() {
		lists := [][]string{}
		for _, list := range p.kubelet.Lists(request.ResourceName) {
			lists = append(lists, unhealthyOf(list, p.cards))
		}
		result[request.ResourceName] = lists
	}
	return result
}

// quiet waits until the events have been handled and the kubelet has all lists. The number of lists that are to come is waited for
// longer on a machine that is busy; whether these are right, and whether others come, is for the judge.
func (p *vgpuPlayer) quiet(expected int) {
	deadline := time.Now().Add(limit / 2)
	for last, since := -1, time.Now(); ; time.Sleep(2 * time.Millisecond) {
		lists, least := 0, -1
		for _, request := range p.kubelet.Registrations() {
			count := len(p.kubelet.Lists(request.ResourceName))
			lists += count
			if least < 0 || count < least {
				least = count
			}
		}
		if lists != last {
			last, since = lists, time.Now()
		}
		isDone := least >= expected && time.Since(since) > 30*time.Millisecond && (p.events.isOver() || time.Since(since) > 300*time.Millisecond)
		if isDone || time.Now().After(deadline) {
			return
		}
	}
}

// expectedLists is how many lists a resource gets by the model, at the start or in this step.
func expectedLists(unhealthy map[string][][]string) int {
	result := 1
	for _, lists := range unhealthy {
		result = max(result, len(lists))
	}
	return result
}

// unhealthyOf are the cards in a list that have a device that is not healthy.
func unhealthyOf(list []*pluginapi.Device, cards []string) []string {
	result := []string{}
	for _, card := range cards {
		if slices.ContainsFunc(list, func(device *pluginapi.Device) bool {
			return device.Health != pluginapi.Healthy && strings.HasPrefix(device.ID, card+"-")
		}) {
			result = append(result, card)
		}
	}
	sort.Strings(result)
	return result
}

func (p *vgpuPlayer) step(index int) (out cases.StepOutput, err error) {
	step := &p.in.Steps[index]
	switch step.Op {
	case "put_pod":
		p.put(step.Pod)
		time.Sleep(10 * time.Millisecond) // the plugin follows pods
	case "delete_pod":
		p.api.Delete(podOf(step.Pod))
		time.Sleep(10 * time.Millisecond)
	case "api_faults":
		p.api.SetFaults(step.APIFaults...)
	case "set_busy":
		err = p.machine.MarkSlotBusy(step.GPU, step.Slot)
	case "allocate":
		out = p.allocate(step)
		p.settle()
		p.changes(&out)
	case "events":
		out.Unhealthy = p.deliver(model.Upstream(p.in).Output.Steps[index].Unhealthy)
	case "restart":
		p.kill()
		p.look()
		if err = p.kubelet.Restart(); err == nil {
			err = p.start()
		}
		out.Startup, out.Exit = p.startup(), p.dead
	case "wait_registration":
		rounds := p.seen("annotated")
		if p.running != nil {
			err = p.await("a registration", func() bool { return p.seen("annotated") >= rounds+2 })
		}
		p.look()
		out.NodeAnnotations = p.node
	case "rpc":
		out = p.rpc(step)
	case "kubelet_restart", "signal":
		err = p.again(step, &out, p.cards, p.haveLists)
	}
	p.look()
	if step.Op == "signal" {
		out.NodeAnnotations = p.node
	}
	p.noteMig(step.Op, &out)
	return out, err
}

// rows are the instances of the machine as text, and as the recordings have them in out.
func (p *vgpuPlayer) rows(out *cases.StepOutput) string {
	state, err := p.machine.Read()
	if err != nil {
		return err.Error()
	}
	sort.Slice(state.Instances, func(i, j int) bool {
		a, b := state.Instances[i], state.Instances[j]
		return a.GPU < b.GPU || a.GPU == b.GPU && a.GI < b.GI
	})
	var text strings.Builder
	for _, unit := range state.Instances {
		fmt.Fprintf(&text, "%d %d %d %d %v;", unit.GPU, unit.GI, unit.ProfileID, unit.Start, unit.Busy)
		busy := 0.0
		if unit.Busy {
			busy = 1
		}
		if out != nil {
			out.Mig = append(out.Mig, []any{float64(unit.GPU), float64(unit.GI), float64(unit.ProfileID), float64(unit.Start), float64(unit.Size), busy, ""})
		}
	}
	return text.String()
}

// noteMig notes the instances if they have changed or a step made one busy, and says where the MIG devices of answers are.
func (p *vgpuPlayer) noteMig(op string, out *cases.StepOutput) {
	if now := p.rows(nil); now != p.mig || op == "set_busy" {
		out.MigGone = now == "" && p.mig != ""
		p.mig = now
		p.rows(out)
	}
	if len(p.instances) == 0 {
		return
	}
	name := func(text string) string {
		return cases.ReplaceMIG(text, func(uuid string) string { return p.where(uuid) })
	}
	for i := range out.Responses {
		response := &out.Responses[i]
		for key, value := range response.Envs {
			response.Envs[key] = name(value)
		}
		for j := range response.Mounts {
			response.Mounts[j].HostPath, response.Mounts[j].ContainerPath = name(response.Mounts[j].HostPath), name(response.Mounts[j].ContainerPath)
		}
	}
}

// where is the place of a MIG device now.
func (p *vgpuPlayer) where(uuid string) string {
	state, err := p.machine.Read()
	if err != nil {
		return err.Error()
	}
	at, ok := p.instances[uuid]
	for _, unit := range state.Instances {
		if ok && unit.GPU == at.gpu && unit.GI == at.gi {
			return fmt.Sprintf("MIG(gpu %d, profile %d at %d)", unit.GPU, unit.ProfileID, unit.Start)
		}
	}
	return uuid + " (gone)"
}
