package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// ruleChanged: a pod that ran before a switch has another container, other devices or another annotation after it.
const ruleChanged = "changed_by_switch"

// Switch has pods run under stock Volcano with our device plugin, puts our scheduler into its place while they run, and then stock
// Volcano again. Each node is shared in one way, because stock Volcano takes the mode of a node's last card for that of all.
func Switch(ctx context.Context, options Options) error {
	options.Factor = 1 // stock Volcano compares units of memory with the MiB of MIG profiles
	return judged(ctx, options, "switch", func(env *Env, summary *Summary) outcome {
		stage := &switchStage{nodeStage: nodeStage{env: env, summary: &nodeSummary{Summary: summary}}, seen: map[string]running{}}
		stage.cores = env.startNode(1, []string{"hami-core", "hami-core"})
		stage.real = env.startNode(2, []string{"mig"})
		stage.mps = env.startNode(3, []string{"mps"})
		stage.play()
		env.measure(summary)
		return stage.summary
	})
}

// switchStage is a nodeStage on three nodes, of which real has the MIG card.
type switchStage struct {
	nodeStage
	cores, mps *realNode
	seen       map[string]running // pods that ran before a switch
	isStock    bool               // stock Volcano schedules
}

// running is what must stay of a pod that runs.
type running struct {
	containers map[string]string // id and count of restarts by name
	decision   string
}

func (stage *switchStage) play() {
	stage.become("stock Volcano is started", true)
	stage.step("stock Volcano, HAMi-core: one card", func(step *nodeStep) {
		stage.run(step, stage.on(stage.cores, "hami-core", objects.VGPU(1, 8192, 25)))
	})
	stage.step("stock Volcano, HAMi-core: two containers, of which the first has two cards", func(step *nodeStep) {
		stage.run(step, stage.on(stage.cores, "hami-core", objects.VGPU(2, 4096, 10), objects.VGPU(1, 2048, 30)))
	})
	stage.step("stock Volcano, MIG: the card is cut for the first pod", func(step *nodeStep) {
		stage.run(step, stage.on(stage.real, "mig", objects.VGPU(1, 20000, 0)))
		stage.wantsCalls(step, "CreateGpuInstance")
	})
	stage.step("stock Volcano, MIG: and cut otherwise for the next one", func(step *nodeStep) {
		stage.env.delete(stage.podsOn(stage.real))
		stage.awaitNone(stage.real)
		for range 2 { // one by one, as it gives two pods of one session the same instance
			stage.run(step, stage.on(stage.real, "mig", objects.VGPU(1, 5000, 0)))
		}
		stage.wantsCalls(step, "GpuInstanceDestroy", "CreateGpuInstance")
	})
	stage.step("stock Volcano, MPS: a pod that names no mode, as it knows none but HAMi-core and MIG", func(step *nodeStep) {
		stage.run(step, stage.on(stage.mps, "", objects.VGPU(1, 4096, 50)))
	})
	stage.become("our scheduler is put into the place of stock Volcano", false)
	stage.step("our scheduler: a device plugin is stopped, and one comes whose forerunner has left a registration", stage.pluginComesBack)
	stage.step("our scheduler: pods that come get what those that ran before have left", stage.fill)
	stage.become("stock Volcano is put into the place of our scheduler", true)
	stage.step("stock Volcano: pods that come get what those that ran before have left", func(step *nodeStep) {
		stage.env.delete(stage.podsOn(stage.mps))
		stage.awaitNone(stage.mps)
		stage.fill(step)
	})
	stage.empty()
}

// on is a pod of this mode, or of none, which can only go to one node.
func (stage *switchStage) on(real *realNode, mode string, containers ...objects.Limits) Unit {
	kind := mode
	if mode == "" {
		kind = "mps"
	}
	return stage.env.realUnit(kind, func(spec *objects.PodSpec) {
		spec.Containers, spec.Grace = containers, 1
		spec.NodeSelector = map[string]string{corev1.LabelHostname: real.Name}
		if mode == "" {
			spec.Annotations = nil
		}
	})
}

// become stops the scheduler that runs, if one does, and starts stock Volcano or ours. Pods that run stay as they are.
func (stage *switchStage) become(name string, isStock bool) {
	env := stage.env
	for _, pod := range env.list() {
		stage.seen[pod.Name] = see(pod)
	}
	env.stopScheduler()
	if isStock != stage.isStock {
		must(env.Plane.Exchange())
	}
	stage.isStock = isStock
	env.Nudge, env.Ledger, env.Explains = isStock, !isStock, !isStock
	stage.step(name, func(step *nodeStep) {
		must(env.StartScheduler())
		for _, name := range slices.Sorted(maps.Keys(stage.seen)) {
			stage.compare(step, name)
		}
	})
	clear(stage.seen)
}

// see remembers a pod that runs.
func see(pod *corev1.Pod) running {
	result := running{containers: map[string]string{}, decision: pod.Annotations["volcano.sh/vgpu-ids-new"]}
	for _, status := range pod.Status.ContainerStatuses {
		result.containers[status.Name] = fmt.Sprintf("%s, %d restarts", status.ContainerID, status.RestartCount)
	}
	return result
}

// compare holds a pod against what it was before the switch.
func (stage *switchStage) compare(step *nodeStep, name string) {
	pod := got(stage.env.pods().Get(stage.env.ctx, name, metav1.GetOptions{}))
	before, now := stage.seen[name], see(pod)
	if pod.Status.Phase != corev1.PodRunning || !maps.Equal(before.containers, now.containers) || before.decision != now.decision {
		stage.fault(ruleChanged, pod, fmt.Sprintf("phase %s, containers %v, decision %q; before the switch containers %v, decision %q",
			pod.Status.Phase, now.containers, now.decision, before.containers, before.decision))
	}
	stage.look(step, pod)
}

// pluginComesBack stops the device plugin of a node as for a switch of device plugins. While there is none, the node has the registration
// that volcano-vgpu-device-plugin leaves behind, and no pod may come; pods that run stay as they are.
func (stage *switchStage) pluginComesBack(step *nodeStep) {
	env, real := stage.env, stage.cores
	for _, pod := range stage.podsOn(real) {
		stage.seen[pod.Name] = see(pod)
	}
	registration := real.object().Annotations[real.register]
	real.Plugin.Stop(10 * time.Second)
	if !env.until(time.Minute, func() bool { return real.offers() == 0 && real.object().Annotations[real.register] == "" }) {
		must(fmt.Errorf("node %s offers %d shares a minute after its device plugin was stopped", real.Name, real.offers()))
	}
	left := got(json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{real.register: registration}}}))
	must(patch(env.ctx, env.nodes(), real.Name, left))
	unit := stage.on(real, "hami-core", objects.VGPU(1, 1024, 5))
	must(env.Submit([]Unit{unit}, 0))
	must(env.settle(env.quiet(), time.Minute))
	if pod := got(env.pods().Get(env.ctx, unit.Pods[0].Name, metav1.GetOptions{})); pod.Spec.NodeName == "" {
		step.Waited = append(step.Waited, pod.Name+" while its node has no device plugin")
	} else {
		stage.fault(ruleRefused, pod, "bound to a node without a device plugin")
	}
	must(real.Plugin.Start())
	real.awaitCards(len(real.modes))
	if running := stage.await(unit.Pods[0].Name); running != nil {
		stage.look(step, running)
	}
	for _, name := range slices.Sorted(maps.Keys(stage.seen)) {
		stage.compare(step, name)
	}
	clear(stage.seen)
}

// podsOn are the pods of a node.
func (stage *switchStage) podsOn(real *realNode) []*corev1.Pod {
	return slices.DeleteFunc(stage.env.list(), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != real.Name })
}

func (stage *switchStage) awaitNone(real *realNode) {
	if !stage.env.until(time.Minute, func() bool { return len(stage.podsOn(real)) == 0 }) {
		must(fmt.Errorf("pods of node %s are there a minute after they were deleted", real.Name))
	}
}

// fill takes what is left of the emptiest card of each way of sharing. A pod that asks for 1 MiB more has to wait.
func (stage *switchStage) fill(step *nodeStep) {
	for _, shared := range []struct {
		real *realNode
		mode string
	}{{stage.cores, "hami-core"}, {stage.mps, map[bool]string{false: "mps", true: ""}[stage.isStock]}} {
		left := stage.left(shared.real)
		tooLarge := stage.on(shared.real, shared.mode, objects.VGPU(1, left+1, 0))
		must(stage.env.Submit([]Unit{tooLarge}, 0))
		stage.run(step, stage.on(shared.real, shared.mode, objects.VGPU(1, left, 0)))
		stage.wantsWaiting(step, tooLarge, fmt.Sprintf("asks for %d MiB where %d MiB were left", left+1, left))
	}
	for range smallInstances - len(stage.podsOn(stage.real)) {
		stage.run(step, stage.on(stage.real, "mig", objects.VGPU(1, 5000, 0)))
	}
	oneMore := stage.on(stage.real, "mig", objects.VGPU(1, 5000, 0))
	must(stage.env.Submit([]Unit{oneMore}, 0))
	stage.wantsWaiting(step, oneMore, fmt.Sprintf("asks for a MIG instance where all %d are taken", smallInstances))
}

// smallInstances are how many of a card's smallest profile the configuration has.
const smallInstances = 7

// left is how much memory of the emptiest card of a node is left, by the annotations of pods.
func (stage *switchStage) left(real *realNode) int {
	use, most := stage.env.Check(check.Options{}).Use, 0
	for uuid := range real.modes {
		most = max(most, cardBytes>>20-use[check.Place{Node: real.Name, Device: uuid}].MemoryMiB)
	}
	return most
}

// wantsWaiting looks whether a pod waits after the scheduler has had time for it, and deletes it.
func (stage *switchStage) wantsWaiting(step *nodeStep, unit Unit, text string) {
	must(stage.env.settle(stage.env.quiet(), time.Minute))
	pod := got(stage.env.pods().Get(stage.env.ctx, unit.Pods[0].Name, metav1.GetOptions{}))
	if pod.Spec.NodeName == "" {
		step.Waited = append(step.Waited, pod.Name+" "+text)
	} else {
		stage.fault(check.Overcommit, pod, text+", and was bound to "+pod.Spec.NodeName)
	}
	stage.env.delete(unit.Pods)
	if !stage.env.until(time.Minute, func() bool {
		return !slices.ContainsFunc(stage.env.list(), func(other *corev1.Pod) bool { return other.Name == pod.Name })
	}) {
		must(fmt.Errorf("pod %s is there a minute after it was deleted", pod.Name))
	}
}
