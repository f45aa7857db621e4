package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/node"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

type nodeSummary struct {
	*Summary
	Steps []nodeStep `json:"steps"`
}

// nodeStep is one thing that was done, and what was seen of it.
type nodeStep struct {
	Name       string      `json:"name"`
	Containers []observed  `json:"containers"`
	OnNode     []node.Seen `json:"on_node,omitempty"` // by nvidia-smi, outside of containers
	Calls      []string    `json:"calls,omitempty"`   // that changed the hardware
	Waited     []string    `json:"waited,omitempty"`  // pods that had to wait, and why
	Seconds    float64     `json:"seconds"`
}

// Node has pods of every way of sharing run on a real node whose cards are shared in different ways: from the pod that is submitted to
// what its containers see.
func Node(ctx context.Context, options Options) error {
	options.Factor = memoryFactor
	return judged(ctx, options, "node", func(env *Env, summary *Summary) outcome {
		stage := &nodeStage{env: env, summary: &nodeSummary{Summary: summary}}
		stage.real = env.startNode(1, []string{"hami-core", "hami-core", "mig", "mps"})
		must(env.StartScheduler())
		env.Say("ready")
		stage.play()
		env.measure(summary)
		return stage.summary
	})
}

type nodeStage struct {
	env     *Env
	real    *realNode
	summary *nodeSummary
	calls   int // of the hardware so far
}

func (stage *nodeStage) play() {
	stage.step("HAMi-core: one card", func(step *nodeStep) {
		stage.run(step, stage.wants("hami-core", vgpu(1, 8192, 25)))
	})
	stage.step("HAMi-core: two containers, of which the first has two cards", func(step *nodeStep) {
		stage.run(step, stage.wants("hami-core", vgpu(2, 4096, 10), vgpu(1, 2048, 30)))
	})
	stage.empty()
	stage.step("MIG: the card is cut for the first pod", func(step *nodeStep) {
		stage.run(step, stage.wants("mig", vgpu(1, 20000, 0)))
		stage.wantsCalls(step, "CreateGpuInstance")
	})
	stage.empty()
	stage.step("MIG: and cut otherwise for the next one", func(step *nodeStep) {
		stage.run(step, stage.wants("mig", vgpu(1, 5000, 0)))
		stage.wantsCalls(step, "GpuInstanceDestroy", "CreateGpuInstance")
	})
	stage.empty()
	stage.step("MPS: one card", func(step *nodeStep) {
		stage.run(step, stage.wants("mps", vgpu(1, 4096, 50)))
	})
	stage.empty()
	stage.step("all ways at once on one node", func(step *nodeStep) {
		var units []Unit
		for range 3 {
			units = append(units, stage.wants("hami-core", vgpu(1, 3072, 10)), stage.wants("mig", vgpu(1, 10000, 0)),
				stage.wants("mps", vgpu(1, 2048, 20)))
		}
		stage.run(step, units...)
		stage.wantsWhole(step)
	})
	stage.step("the kubelet and the device plugin are killed and come back", stage.kill)
	stage.step("a GPU falls ill", stage.illness)
	stage.empty()
}

// wants is a pod with these containers.
func (stage *nodeStage) wants(mode string, containers ...objects.Limits) Unit {
	return stage.env.realUnit(mode, func(spec *objects.PodSpec) { spec.Containers, spec.Grace = containers, 1 })
}

func (stage *nodeStage) step(name string, do func(*nodeStep)) {
	began := time.Now()
	step := nodeStep{Name: name}
	stage.env.Say("%s", name)
	do(&step)
	step.Seconds = time.Since(began).Seconds()
	calls := got(stage.real.Machine.Calls())
	step.Calls, stage.calls = calls[stage.calls:], len(calls)
	stage.summary.take(stage.env.settleAndCheck())
	stage.summary.Steps = append(stage.summary.Steps, step)
}

// run submits pods, waits until they run and looks at what they were given.
func (stage *nodeStage) run(step *nodeStep, units ...Unit) {
	must(stage.env.Submit(units, 0))
	for _, unit := range units {
		for _, pod := range unit.Pods {
			if running := stage.await(pod.Name); running != nil {
				stage.look(step, running)
			}
		}
	}
}

// await waits until a pod runs; nil: it does not, which is a fault.
func (stage *nodeStage) await(name string) *corev1.Pod {
	var pod *corev1.Pod
	stage.env.until(time.Minute, func() bool {
		pod = got(stage.env.pods().Get(stage.env.ctx, name, metav1.GetOptions{}))
		return pod.Status.Phase != corev1.PodPending
	})
	if pod.Status.Phase == corev1.PodRunning {
		return pod
	}
	rule := ruleRefused
	if pod.Spec.NodeName == "" {
		rule = ruleForgotten
	}
	stage.fault(rule, pod, fmt.Sprintf("phase %s, %s %s; containers %s", pod.Status.Phase, pod.Status.Reason, pod.Status.Message, waitingFor(pod)))
	return nil
}

func waitingFor(pod *corev1.Pod) string {
	var result []string
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Waiting != nil {
			result = append(result, status.Name+": "+status.State.Waiting.Reason+" "+status.State.Waiting.Message)
		}
		if status.State.Terminated != nil {
			result = append(result, fmt.Sprintf("%s: ended with %d %s", status.Name, status.State.Terminated.ExitCode, status.State.Terminated.Message))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status != corev1.ConditionTrue && condition.Message != "" {
			result = append(result, condition.Message)
		}
	}
	return strings.Join(result, "; ")
}

func (stage *nodeStage) fault(rule string, pod *corev1.Pod, text string) {
	violation := check.Violation{Rule: rule, Node: stage.real.Name, Text: text}
	if pod != nil {
		violation.Node, violation.Pods = pod.Spec.NodeName, []string{pod.Name}
	}
	stage.summary.example(violation)
	stage.env.Say("%s", violation)
}

func (stage *nodeStage) look(step *nodeStep, pod *corev1.Pod) {
	for _, look := range stage.env.observe(pod) {
		for _, text := range look.Faults {
			stage.fault(ruleGiven, pod, look.Container+": "+text)
		}
		step.Containers = append(step.Containers, look)
	}
	if phase := pod.Annotations[stage.real.phase]; phase != "success" {
		stage.fault(ruleGiven, pod, fmt.Sprintf("annotation bind-phase is %q of a pod that runs, expected success", phase))
	}
}

// wantsWhole looks at the cards outside of containers: all of each is there, whatever containers have of it.
func (stage *nodeStage) wantsWhole(step *nodeStep) {
	gpus, _, err := stage.real.Hardware(stage.env.ctx)
	must(err)
	step.OnNode = gpus
	for _, gpu := range gpus {
		if gpu.MemoryMiB != cardBytes>>20 {
			stage.fault(ruleHardware, nil, fmt.Sprintf("nvidia-smi on the node shows %d MiB of %s, expected %d", gpu.MemoryMiB, gpu.UUID, cardBytes>>20))
		}
	}
	if len(gpus) != len(stage.real.modes) {
		stage.fault(ruleHardware, nil, fmt.Sprintf("nvidia-smi on the node shows %d cards, expected %d", len(gpus), len(stage.real.modes)))
	}
}

// wantsCalls looks for changes of the hardware since the last step.
func (stage *nodeStage) wantsCalls(step *nodeStep, names ...string) {
	calls := got(stage.real.Machine.Calls())[stage.calls:]
	for _, name := range names {
		if !slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, name+" ") }) {
			stage.fault(ruleHardware, nil, fmt.Sprintf("the hardware was changed by %q, expected %s among it", calls, name))
		}
	}
}

// empty deletes all pods and waits until they have gone.
func (stage *nodeStage) empty() { stage.env.clear(stage.summary.Summary) }

// kill ends the kubelet, then the device plugin, then both at once. Containers go on, and pods that come afterwards get theirs.
func (stage *nodeStage) kill(step *nodeStep) {
	env, real := stage.env, stage.real
	before := map[string]string{}
	for _, pod := range env.list() {
		before[pod.Name] = pod.Annotations["volcano.sh/vgpu-ids-new"]
	}
	for _, victim := range []struct {
		name            string
		kubelet, plugin bool
	}{{"kubelet", true, false}, {"device plugin", false, true}, {"both", true, true}} {
		began := time.Now()
		real.restart(victim.kubelet, victim.plugin)
		real.awaitCards(4)
		env.Say("%s killed: the node offers its cards again after %.1f s", victim.name, time.Since(began).Seconds())
		stage.run(step, stage.wants("hami-core", vgpu(1, 1024, 5)), stage.wants("mps", vgpu(1, 1024, 5)))
	}
	for name, decision := range before {
		pod := got(env.pods().Get(env.ctx, name, metav1.GetOptions{}))
		if pod.Status.Phase != corev1.PodRunning || pod.Annotations["volcano.sh/vgpu-ids-new"] != decision {
			stage.fault(ruleGiven, pod, fmt.Sprintf("phase %s with %q after its node's programs were killed, expected Running with %q", pod.Status.Phase,
				pod.Annotations["volcano.sh/vgpu-ids-new"], decision))
			continue
		}
		stage.look(step, pod)
	}
}

// illness has the driver report an error of the second card. It is withdrawn, and pods that come then are on the first.
func (stage *nodeStage) illness(step *nodeStep) {
	must(stage.real.Machine.AddEvents(fake.Event{GPU: 1, Xid: 79, Type: fake.EventXid}))
	stage.real.awaitCards(3)
	for range 3 {
		stage.run(step, stage.wants("hami-core", vgpu(1, 1024, 5)))
	}
	sick := stage.real.Options.Machine.GPUs[1].UUID
	for _, look := range step.Containers {
		for _, share := range look.Shares {
			if share.Card == sick {
				stage.summary.example(check.Violation{Rule: check.SickDevice, Node: stage.real.Name, Device: sick, Pods: []string{look.Pod}, Text: "given after it fell ill"})
			}
		}
	}
}

func (summary *nodeSummary) print() {
	for _, step := range summary.Steps {
		fmt.Printf("\n%s (%.1f s)\n", step.Name, step.Seconds)
		for _, call := range step.Calls {
			fmt.Printf("  hardware   %s\n", call)
		}
		for _, look := range step.Containers {
			look.print()
		}
		for _, text := range step.Waited {
			fmt.Printf("  waits      %s\n", text)
		}
		for _, seen := range step.OnNode {
			fmt.Printf("  nvidia-smi on the node: %s %d MiB %s\n", seen.UUID, seen.MemoryMiB, seen.Name)
		}
	}
	fmt.Println()
}

// print writes what was decided and what the container says.
func (look observed) print() {
	fmt.Printf("  pod %s, container %s on %s: %s\n", look.Pod, look.Container, look.Node, map[bool]string{true: "as decided", false: "DIFFERS"}[len(look.Faults) == 0])
	for _, share := range look.Shares {
		fmt.Printf("    decided    %s\n", share)
	}
	for _, name := range slices.Sorted(maps.Keys(look.Given.Environment)) {
		if strings.HasPrefix(name, "CUDA_") || strings.HasPrefix(name, "GPU_") || name == "NVIDIA_VISIBLE_DEVICES" {
			fmt.Printf("    in it      %s=%s\n", name, look.Given.Environment[name])
		}
	}
	for _, seen := range look.Given.Devices {
		fmt.Printf("    nvidia-smi %s %d MiB %s\n", seen.UUID, seen.MemoryMiB, seen.Name)
		if text := look.Hardware[seen.UUID]; text != "" {
			fmt.Printf("    hardware   %s\n", text)
		}
	}
	for _, line := range look.Given.Library {
		fmt.Printf("    libvgpu.so %s\n", line)
	}
	for _, text := range look.Faults {
		fmt.Printf("    FAULT      %s\n", text)
	}
}
