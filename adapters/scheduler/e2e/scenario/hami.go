package scenario

import (
	"context"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// HAMi has pods in HAMi's spelling run on a real node that is registered as HAMi's device plugin does it. They are placed by a
// kube-scheduler that asks our extender, which writes its decisions as HAMi's scheduler does.
func HAMi(ctx context.Context, options Options) error {
	options.Factor = 1 // the kubelet counts cards alone
	return judged(ctx, options, "hami", func(env *Env, summary *Summary) outcome {
		stage := &nodeStage{env: env, summary: &nodeSummary{Summary: summary}}
		stage.real = env.startNodeFor(ofHAMi, 1, []string{"hami-core", "hami-core", "mig"})
		must(env.StartScheduler())
		stage.playHAMi()
		env.measure(summary)
		return stage.summary
	})
}

func (stage *nodeStage) playHAMi() {
	stage.step("HAMi, HAMi-core: one card", func(step *nodeStep) {
		stage.run(step, stage.ofHAMi("hami-core", gpus(1, 8192, 25)))
	})
	stage.step("HAMi, HAMi-core: three containers, of which the first has two cards and the second none", func(step *nodeStep) {
		stage.run(step, stage.ofHAMi("hami-core", gpus(2, 4096, 10), nil, gpus(1, 2048, 30)))
	})
	stage.step("HAMi, MIG: the card is cut for the first pod", func(step *nodeStep) {
		stage.run(step, stage.ofHAMi("mig", gpus(1, 18000, 0)))
		stage.wantsCalls(step, "CreateGpuInstance")
	})
	stage.step("HAMi, MIG: and beside it for the next ones", func(step *nodeStep) {
		stage.run(step, stage.ofHAMi("mig", gpus(1, 4000, 0)), stage.ofHAMi("mig", gpus(1, 9000, 0)))
		stage.wantsCalls(step, "CreateGpuInstance")
		stage.wantsWhole(step)
	})
	stage.empty()
	stage.step("HAMi, MIG: the empty card is cut otherwise", func(step *nodeStep) {
		stage.run(step, stage.ofHAMi("mig", gpus(1, 38000, 0)))
		stage.wantsCalls(step, "GpuInstanceDestroy", "CreateGpuInstance")
	})
	stage.empty()
}

// ofHAMi is a pod with these containers in HAMi's spelling.
func (stage *nodeStage) ofHAMi(mode string, containers ...objects.Limits) Unit {
	return stage.env.realUnit("hami", func(spec *objects.PodSpec) {
		spec.Containers, spec.Grace = containers, 1
		spec.Annotations = map[string]string{"nvidia.com/vgpu-mode": mode}
	})
}

// gpus asks for so many cards of HAMi's, each with that memory in MiB and compute.
func gpus(number, memory, cores int) objects.Limits {
	limits := objects.Limits{"nvidia.com/gpu": number, "nvidia.com/gpumem": memory}
	if cores > 0 {
		limits["nvidia.com/gpucores"] = cores
	}
	return limits
}
