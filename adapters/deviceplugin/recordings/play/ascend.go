package play

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"vgpualloc.example/adapters/deviceplugin/ascend"
	"vgpualloc.example/adapters/deviceplugin/ascend/fakechips"
	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// ascendPlayer plays cases of ascend-device-plugin.
type ascendPlayer struct {
	*rig
	chips    *fakechips.Library
	programs *fakechips.Programs
	cards    []string
}

// Ascend plays a case of ascend-device-plugin.
func Ascend(c *cases.Case) (cases.Output, error) {
	var machine fakechips.Machine
	if err := json.Unmarshal(c.Input.NPU, &machine); err != nil {
		return cases.Output{}, fmt.Errorf("case %s: input.npu: %w", c.ID, err)
	}
	r, err := newRig(&c.Input, config.Resources{})
	if err != nil {
		return cases.Output{}, err
	}
	defer r.close()
	p := &ascendPlayer{rig: r, chips: fakechips.New(machine), programs: &fakechips.Programs{Fails: r.fails("npu-smi")}}
	for _, chip := range machine.NPUs {
		p.cards = append(p.cards, chip.VDie)
	}
	for path, text := range map[string]*string{"/ascend.yaml": c.Input.AscendConfig, "/ascend-node.yaml": c.Input.AscendNodeConfig} {
		if err := r.write(path, text); err != nil {
			return cases.Output{}, err
		}
	}
	if !c.Input.AssetsMissing {
		content := "as upstream's image has it"
		for _, name := range []string{"libvnpu.so", "ld.so.preload"} {
			if err := r.write("/usr/local/hami-vnpu-core-assets/"+name, &content); err != nil {
				return cases.Output{}, err
			}
		}
	}
	r.look()
	return p.play()
}

func (p *ascendPlayer) start() error {
	register := time.Hour
	if slices.ContainsFunc(p.in.Steps, func(step cases.Step) bool { return step.Op == "wait_registration" }) {
		register = 20 * time.Millisecond
	}
	p.run(ascend.New(ascend.Options{
		Arguments: append([]string{"--config_file=/ascend.yaml", "-v=5"}, p.in.Args...),
		Env: func(name string) (string, bool) {
			byDefault := ""
			if name == "NODE_NAME" {
				byDefault = p.in.NodeName
			}
			return p.in.Getenv(name, byDefault)
		},
		Root: p.root, Client: p.api.Client(), Library: p.chips, Exec: p.programs,
		Register: register, FirstAfter: -1, RetryAfter: time.Hour, IdleEvery: time.Hour, ReleaseWait: time.Millisecond,
		KubeletRetry: 5 * time.Millisecond, KubeletPoll: 20 * time.Millisecond, Observe: p.observe,
	}))
	return p.await("the first registration", p.isServing)
}

// isServing says whether the kubelet has a list and the node has been handled.
func (p *ascendPlayer) isServing() bool {
	registered := p.kubelet.Registrations()[p.since:]
	if len(registered) == 0 || p.seen("annotated") == 0 {
		return false
	}
	return p.fails("listandwatch") || len(p.kubelet.Lists(registered[0].ResourceName)) > 0
}

func (p *ascendPlayer) play() (cases.Output, error) {
	if err := p.start(); err != nil {
		return cases.Output{}, err
	}
	result := cases.Output{Startup: "serving", Registers: p.registers(), Devices: p.listsOf(p.cards)}
	if p.fails("listandwatch") {
		result.Startup = "partial"
	}
	var changed cases.StepOutput
	p.changes(&changed)
	result.Dirs, result.NodeAnnotations = changed.Dirs, p.node
	if p.dead != nil {
		result = cases.Output{Startup: "exit", Exit: p.dead, NodeAnnotations: p.node}
	}
	result.OfAscend()
	result.VendorCalls = p.chips.Calls()
	for _, ran := range p.programs.Ran() {
		result.Exec = append(result.Exec, cases.Exec{Argv: ran.Argv, Code: ran.Code, Stdin: ran.Stdin, Stdout: ran.Stdout})
	}
	for i := range p.in.Steps {
		out, err := p.step(&p.in.Steps[i])
		if err != nil {
			return result, fmt.Errorf("step %d: %w", i, err)
		}
		result.Steps = append(result.Steps, out)
	}
	if len(p.in.Steps) > 0 {
		result.Trim()
	}
	return result, nil
}

func (p *ascendPlayer) step(step *cases.Step) (out cases.StepOutput, err error) {
	switch step.Op {
	case "put_pod":
		p.put(step.Pod)
	case "delete_pod":
		p.api.Delete(podOf(step.Pod))
	case "api_faults":
		p.api.SetFaults(step.APIFaults...)
	case "npu_health":
		p.chips.SetHealth(step.GPU, uint32(step.Slot))
		p.look()
		return out, nil
	case "allocate":
		out = p.allocate(step)
		p.changes(&out)
		for key := range out.NodeAnnotations {
			if key == "hami-vnpu-core" || strings.HasPrefix(key, "hami.io/node-") {
				delete(out.NodeAnnotations, key)
			}
		}
		return out, nil
	case "wait_registration":
		rounds := p.seen("annotated")
		if p.running != nil {
			err = p.await("a registration", func() bool { return p.seen("annotated") >= rounds+2 })
		}
		p.look()
		out.NodeAnnotations = p.node
		return out, err
	case "rpc":
		out = p.rpc(step)
	case "kubelet_restart", "signal":
		err = p.again(step, &out, p.cards, p.isServing)
		p.look()
		if step.Op == "signal" {
			out.NodeAnnotations = p.node
		}
		return out, err
	}
	p.look()
	return out, err
}
