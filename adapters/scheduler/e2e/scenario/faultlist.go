package scenario

import (
	"context"
	"fmt"
	"strings"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// A fault of upstream, by its number in docs/compat.md or a word for those that only a real API server shows.
type fault struct {
	id   string
	what string
	// play provokes it and says whether it was there.
	play func(ctx context.Context, stage *stage) (bool, error)
}

func cards(containers ...objects.Limits) objects.PodSpec {
	return objects.PodSpec{Containers: containers}
}

func card(memory int) objects.PodSpec { return cards(memoryOnly(memory)) }

func memoryOnly(memory int) objects.Limits {
	return objects.Limits{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": memory}
}

func annotated(spec objects.PodSpec, pairs ...string) objects.PodSpec {
	spec.Annotations = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		spec.Annotations[pairs[i]] = pairs[i+1]
	}
	return spec
}

func chip(dvpp string, cores ...int) objects.PodSpec {
	spec := objects.PodSpec{Labels: map[string]string{"ring-controller.atlas": "ascend-310P"}}
	if dvpp != "" {
		spec.Labels["vnpu-dvpp"] = dvpp
	}
	for _, count := range cores {
		spec.Containers = append(spec.Containers, objects.Limits{"huawei.com/npu-core": count})
	}
	return spec
}

func npu(count, memory int) objects.Limits {
	limits := objects.Limits{"huawei.com/Ascend310P": count}
	if memory > 0 {
		limits["huawei.com/Ascend310P-memory"] = memory
	}
	return limits
}

// A step posts one pod, a whole group, or deletes pods.
type step struct {
	pods   []string
	specs  []objects.PodSpec
	alone  bool     // each pod of the group may start without the others
	remove []string // names
	change bool     // the node gets another label: stock then counts anew, by the pods' annotations alone
}

// Stock counts a pod twice until its node changes (counted-twice). Faults that this would hide have the node change first.
var nodeChanges = step{change: true}

func one(name string, spec objects.PodSpec) step {
	return step{pods: []string{name}, specs: []objects.PodSpec{spec}}
}

func both(first, second objects.PodSpec) step {
	return step{pods: []string{"a", "b"}, specs: []objects.PodSpec{first, second}}
}

func without(names ...string) step { return step{remove: names} }

// several posts equal pods "a", "b", … that are scheduled in one session and do not need each other.
func several(count int, spec objects.PodSpec) step {
	result := step{alone: true}
	for i := range count {
		result.pods = append(result.pods, string(rune('a'+i)))
		result.specs = append(result.specs, spec)
	}
	return result
}

// script provokes a fault with one node and steps.
func script(node func(name string) objects.NodeWithExtras, wrong func(map[string]seen) bool, steps ...step) func(context.Context, *stage) (bool, error) {
	return func(ctx context.Context, stage *stage) (bool, error) {
		if err := stage.add(ctx, node(stage.prefix)); err != nil {
			return false, err
		}
		if err := stage.play(ctx, steps...); err != nil {
			return false, err
		}
		return wrong(stage.seen), nil
	}
}

// play takes one step after the other.
func (stage *stage) play(ctx context.Context, steps ...step) error {
	for _, each := range steps {
		var err error
		switch {
		case each.change:
			err = stage.change(ctx)
		case len(each.remove) > 0:
			err = stage.remove(ctx, each.remove...)
		default:
			specs := map[string]objects.PodSpec{}
			for i, name := range each.pods {
				specs[name] = each.specs[i]
			}
			needed := len(each.pods)
			if each.alone {
				needed = 1
			}
			err = stage.group(ctx, needed, specs, each.pods...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func vgpuNode(mode string, count int) func(string) objects.NodeWithExtras {
	return func(name string) objects.NodeWithExtras { return objects.Volcano(name, mode, count) }
}

func cardNode(cards ...objects.Card) func(string) objects.NodeWithExtras {
	return func(name string) objects.NodeWithExtras { return objects.VolcanoCards(name, cards) }
}

// twoTypes has a second card that pods of onA100 cannot have: by the sums of the node there is always room, so that what
// is decided is decided by the card.
func twoTypes(name string) objects.NodeWithExtras {
	return objects.VolcanoCards(name, []objects.Card{{UUID: "GPU-" + name + "-a", Mode: "hami-core"},
		{UUID: "GPU-" + name + "-h", Mode: "hami-core", Type: "NVIDIA H100", Memory: 81559}})
}

// uuidsInUUIDs has eight cards whose ids begin with each other's. The last is the only A100.
func uuidsInUUIDs(name string) objects.NodeWithExtras {
	var cards []objects.Card
	for count := 1; count <= 8; count++ {
		cards = append(cards, objects.Card{UUID: "GPU-" + "12345678"[:count], Mode: "hami-core", Type: "NVIDIA H100"})
	}
	cards[len(cards)-1].Type = ""
	return objects.VolcanoCards(name, cards)
}

func onA100(spec objects.PodSpec) objects.PodSpec {
	return annotated(spec, "nvidia.com/use-gputype", "A100")
}

func npuNode(count int) func(string) objects.NodeWithExtras {
	return func(name string) objects.NodeWithExtras { return objects.AscendHAMi(name, count) }
}

// allMemory has a card that is registered with all memory of its chip, and not with the part that the configuration lets
// pods have. Only so do two of the largest template fit by memory, and they need one AI CPU more than there are.
func allMemory(name string) objects.NodeWithExtras { return objects.AscendHAMiOf(name, 1, 24576) }

func chipNode(count int) func(string) objects.NodeWithExtras {
	return func(name string) objects.NodeWithExtras { return objects.MindCluster310P(name, count) }
}

func bound(name string) func(map[string]seen) bool {
	return func(pods map[string]seen) bool { return pods[name].Bound }
}

func waits(name string) func(map[string]seen) bool {
	return func(pods map[string]seen) bool { return !pods[name].Bound }
}

// faults in the order in which they are provoked. Who ends the scheduler comes last.
var faults = []fault{
	{"Q1", "one MIG instance is given to two pods of a session", script(vgpuNode("mig", 1), func(pods map[string]seen) bool {
		return pods["a"].Bound && pods["b"].Bound && instanceOf(pods["a"]) == instanceOf(pods["b"])
	}, both(card(5000), card(5000)))},
	{"Q1a", "a MIG card that is empty again keeps its group", script(vgpuNode("mig", 1), waits("b"), one("a", card(5000)), without("a"), one("b", card(20000)))},
	{"Q1b", "a kind of instance that nobody uses is not considered", script(vgpuNode("mig", 1), func(pods map[string]seen) bool {
		return !strings.Contains(pods["b"].Given, "[group2-3]")
	}, one("a", card(9000)), one("b", card(5000)))},
	{"Q1c", "ids of a group whose name has a dash are not understood", script(cardNode(objects.Card{UUID: "GPU-dash", Type: "NVIDIA H200", Memory: 143771, Mode: "mig"}),
		func(pods map[string]seen) bool {
			return pods["b"].Bound && instanceOf(pods["a"]) == instanceOf(pods["b"])
		},
		one("a", card(5000)), one("b", card(5000)))},
	{"Q1e", "instances of two groups are given on one card", script(vgpuNode("mig", 1), func(pods map[string]seen) bool {
		group := func(look seen) string { return strings.Split(instanceOf(look), "-")[0] }
		return pods["a"].Bound && pods["b"].Bound && group(pods["a"]) != group(pods["b"])
	}, both(card(5000), card(20000)))},
	{"Q3", "what a gang that was given up had been given stays booked", script(twoTypes, waits("c"),
		both(onA100(card(30000)), onA100(card(30000))), without("a", "b"), one("c", onA100(card(30000))))},
	{"Q7", "what was booked for a pod on which it could not be recorded stays booked", script(twoTypes, waits("b"),
		one("a", onA100(card(30000))), without("a"), one("b", onA100(card(30000))))},
	{"Q7b", "a count of 0 books a card", script(twoTypes, waits("b"),
		one("a", onA100(cards(objects.Limits{"volcano.sh/vgpu-number": 0, "volcano.sh/vgpu-memory": 30000}))), one("b", onA100(card(30000))))},
	{"Q7b-ascend", "a pod that asks for 0 Ascend cards gets one", script(npuNode(1), func(pods map[string]seen) bool { return pods["a"].Given != "" },
		one("a", cards(npu(0, 3072))))},
	{"Q8", "whether a pod fits depends on whether somebody has changed the node", changedNode},
	{"Q2", "of two containers on a card one is counted", script(twoTypes, bound("b"), one("a", onA100(cards(memoryOnly(4000), memoryOnly(4000)))), nodeChanges, one("b", onA100(card(36000))))},
	{"Q2b", "of an Ascend pod's second container the first card is not counted", script(npuNode(4), bound("b"), one("a", cards(npu(2, 0), npu(2, 0))), one("b", cards(npu(1, 0))))},
	{"Q4", "a container without devices leaves no place in the annotation", script(vgpuNode("hami-core", 1), func(pods map[string]seen) bool {
		return !strings.HasPrefix(pods["a"].Given, ";")
	}, one("a", cards(objects.Limits{}, memoryOnly(4000))))},
	{"Q5", "an unhealthy card is given out", script(cardNode(objects.Card{UUID: "GPU-sick", Mode: "hami-core", Sick: true}), bound("a"), one("a", card(4000)))},
	{"Q6", "the last card's mode is taken for all", script(cardNode(objects.Card{UUID: "GPU-first", Mode: "mig"}, objects.Card{UUID: "GPU-last", Mode: "hami-core"}),
		waits("a"), one("a", annotated(card(4000), "volcano.sh/vgpu-mode", "mig")))},
	{"Q9", "a pod that ends is not counted while it still runs", func(ctx context.Context, stage *stage) (bool, error) {
		if err := stage.add(ctx, twoTypes(stage.prefix)); err != nil {
			return false, err
		}
		leaving := onA100(card(30000))
		leaving.Grace = 60
		if err := stage.pod(ctx, "a", leaving); err != nil {
			return false, err
		}
		if err := stage.change(ctx); err != nil {
			return false, err
		}
		if err := stage.tellToEnd(ctx, "a"); err != nil {
			return false, err
		}
		err := stage.pod(ctx, "b", onA100(card(30000)))
		return stage.there("a") && stage.seen["b"].Bound, err
	}},
	{"Q11", "an Ascend pod that asks for more than a card gets a full one", script(npuNode(1), bound("b"), one("a", cards(npu(1, 0))), nodeChanges, one("b", cards(npu(1, 30000))))},
	{"Q16", "a 310P pod whose cores make no template is bound without a chip", script(chipNode(1), bound("a"), one("a", chip("", 3)))},
	{"Q17", "a 310P pod that finds no chip is bound without one", script(chipNode(1), bound("b"), one("a", chip("yes", 4)), one("b", chip("yes", 4)))},
	{"Q19", "a 310P pod is cut smaller because of a mark that an earlier pod of its name has left", script(chipNode(1), func(pods map[string]seen) bool {
		return strings.Contains(pods["c"].Given, "_1c")
	}, one("a", high(chip("", 2))), one("b", high(chip("", 2))), one("c", high(chip("", 4))), without("c"), one("c", high(chip("", 2))))},
	{"Q21", "a chip is given again before the annotation of the first pod has come back", script(chipNode(2), func(pods map[string]seen) bool {
		return !pods["b"].Bound || pods["a"].Given == pods["b"].Given
	}, both(chip("", 8), chip("", 8)))},
	{"Q18", "a 310P node takes pods of one template at a time", script(chipNode(2), waits("b"), one("a", chip("", 1)), one("b", chip("", 2)))},
	{"Q22", "a card is found by a part of its uuid (one of eight, by chance)", script(uuidsInUUIDs,
		// Each change has stock look for a's card anew, so that finding the right one by chance does not hide the fault.
		bound("b"), one("a", onA100(card(30000))), nodeChanges, one("b", onA100(card(30000))), nodeChanges, nodeChanges, nodeChanges)},
	{"Q24", "an empty item of a list of types matches every card", script(vgpuNode("hami-core", 1), bound("a"), one("a", annotated(card(4000), "nvidia.com/use-gputype", "H100,")))},
	{"Q26", "a 310P node without baseDeviceInfos is used", script(func(name string) objects.NodeWithExtras {
		node := objects.MindCluster310P(name, 1)
		delete(node.Node.Annotations, "baseDeviceInfos")
		return node
	}, bound("a"), one("a", chip("", 1)))},
	{"Q27", "90 % of the compute is served by a seventh of a card", script(vgpuNode("mig", 1), func(pods map[string]seen) bool {
		return strings.Contains(pods["a"].Given, "[group1-")
	}, one("a", cards(objects.Limits{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 5000, "volcano.sh/vgpu-cores": 90})))},
	{"Q28", "vnpu-dvpp is not looked at for two cores", script(chipNode(1), bound("a"), one("a", chip("yes", 2)))},
	{"Q29", "of a 310P pod's containers the first is placed", script(chipNode(1), func(pods map[string]seen) bool {
		return pods["a"].Bound && !strings.Contains(pods["a"].Given, ";")
	}, one("a", chip("", 2, 2)))},
	{"Q30", "a pod that asks for mps gets no card of that mode", script(vgpuNode("mps", 1), waits("a"), one("a", annotated(card(4000), "volcano.sh/vgpu-mode", "mps")))},
	{"Q31", "containers that fit in another order are refused", script(cardNode(
		objects.Card{UUID: "GPU-small", Mode: "hami-core", Memory: 10000}, objects.Card{UUID: "GPU-large", Mode: "hami-core"}),
		waits("a"), one("a", cards(memoryOnly(3000), memoryOnly(40000))))},
	{"Q32", "Ascend pods get more AI CPUs than a card has", script(allMemory, bound("b"), one("a", cards(npu(1, 12288))), nodeChanges, one("b", cards(npu(1, 12288))))},
	{"left-behind", "a gang that is given up keeps annotations of devices", func(ctx context.Context, stage *stage) (bool, error) {
		if err := stage.add(ctx, objects.Volcano(stage.prefix, "hami-core", 1)); err != nil {
			return false, err
		}
		specs := map[string]objects.PodSpec{"a": card(20000), "b": card(20000), "c": card(20000)}
		err := stage.group(ctx, 3, specs, "a", "b", "c")
		left := false
		for _, look := range stage.seen {
			left = left || !look.Bound && look.Given != ""
		}
		return left, err
	}},
	{"stale", "annotations of an attempt that was broken off stay on a pod that is bound elsewhere", func(ctx context.Context, stage *stage) (bool, error) {
		other := objects.Volcano(stage.prefix+"-other", "hami-core", 1)
		other.Node.Spec.Unschedulable = true
		if err := stage.add(ctx, other); err != nil {
			return false, err
		}
		if err := stage.add(ctx, objects.Volcano(stage.prefix, "hami-core", 1)); err != nil {
			return false, err
		}
		ids := "GPU-" + other.Node.Name + "-0,NVIDIA,4000,0:"
		err := stage.pod(ctx, "a", annotated(card(4000), "volcano.sh/vgpu-ids-new", ids, "volcano.sh/devices-to-allocate", ids,
			"volcano.sh/vgpu-node", other.Node.Name, "volcano.sh/bind-phase", "allocating", "volcano.sh/vgpu-time", "1", "volcano.sh/bind-time", "1"))
		return stage.seen["a"].Bound && stage.seen["a"].Given == ids, err
	}},
	{"counted-twice", "a pod is counted twice until its node changes", script(twoTypes, waits("b"), one("a", onA100(card(15000))), one("b", onA100(card(15000))))},
	{"counted-after", "a pod that has gone is still counted until its node changes", script(twoTypes, waits("b"), one("a", onA100(card(30000))), without("a"), one("b", onA100(card(30000))))},
	{"preempt", "pods are evicted for one that then gets no place", preemptOne},
	{"Q14", "a registration with a hole ends the scheduler", func(ctx context.Context, stage *stage) (bool, error) {
		node := objects.VolcanoCards(stage.prefix, []objects.Card{{UUID: "GPU-0", Mode: "hami-core"}, {UUID: "GPU-1", Mode: "hami-core"}})
		register := node.Node.Annotations["volcano.sh/node-vgpu-register"]
		node.Node.Annotations["volcano.sh/node-vgpu-register"] = strings.Replace(register, ":GPU-1", ":none:GPU-1", 1)
		if err := stage.add(ctx, node); err != nil {
			return false, err
		}
		before := stage.env.Crashes()
		err := stage.pod(ctx, "a", card(4000))
		return stage.env.Crashes() > before, err
	}},
	{"Q1d", "of two groups of one name an instance of the second is given, and read as one of the first", func(ctx context.Context, stage *stage) (bool, error) {
		before := stage.env.Crashes()
		isMisread, err := script(cardNode(objects.Card{UUID: "GPU-twice", Type: "NVIDIA A100-TWICE", Mode: "mig"}), bound("a"), one("a", card(20000)))(ctx, stage)
		return isMisread || stage.env.Crashes() > before, err
	}},
	{"forged", "an annotation that a user has written ends the scheduler", func(ctx context.Context, stage *stage) (bool, error) {
		before := stage.env.Crashes()
		_, err := script(vgpuNode("hami-core", 1), bound("a"), one("a", annotated(card(4000), "volcano.sh/vgpu-ids-new", "GPU,")))(ctx, stage)
		return stage.env.Crashes() > before, err
	}},
}

// instanceOf is what is between the brackets of an id.
func instanceOf(look seen) string {
	_, rest, _ := strings.Cut(look.Given, "[")
	inside, _, _ := strings.Cut(rest, "]")
	return inside
}

func preemptOne(ctx context.Context, stage *stage) (bool, error) {
	if err := stage.add(ctx, objects.Volcano(stage.prefix, "hami-core", 2)); err != nil {
		return false, err
	}
	whole := func(priority string) objects.PodSpec {
		spec := cards(objects.Limits{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 40960, "volcano.sh/vgpu-cores": 100})
		spec.Priority, spec.Preemptable = priority, priority == Low
		return spec
	}
	if err := stage.group(ctx, 1, map[string]objects.PodSpec{"a": whole(Low), "b": whole(Low)}, "a", "b"); err != nil {
		return false, err
	}
	before := stage.env.Evicted()
	if err := stage.pod(ctx, "urgent", whole(High)); err != nil {
		return false, err
	}
	// The place of a pod that was evicted is free only when that pod has ended.
	if err := stage.env.Settle(ctx, stage.env.quiet(), stage.env.Ending*3+stage.env.quiet()*3); err != nil {
		stage.env.Say("preempt: %v", err)
	}
	if err := stage.look(ctx); err != nil {
		return false, err
	}
	evicted := stage.env.Evicted() - before
	look := stage.seen["urgent"]
	look.Message = fmt.Sprintf("%d evicted; %s", evicted, look.Message)
	stage.seen["urgent"] = look
	return evicted != 1 || !look.Bound, nil
}
