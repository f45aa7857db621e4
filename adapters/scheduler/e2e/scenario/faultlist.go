package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// A fault of upstream, by its number in docs/compat.md or a word for those that only a real API server shows.
type fault struct {
	id   string
	what string
	// play provokes it and says whether it was there.
	play func(*stage) bool
}

func cards(containers ...objects.Limits) objects.PodSpec {
	return objects.PodSpec{Containers: containers}
}

func card(memory int) objects.PodSpec { return cards(objects.VGPU(1, memory, 0)) }

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

// script provokes a fault with one node and steps, after which `wrong` says whether it is there.
func script(node func(name string) objects.NodeWithExtras, wrong func(*stage) bool, steps ...step) func(*stage) bool {
	return func(stage *stage) bool {
		stage.add(node(stage.prefix))
		for _, each := range steps {
			each(stage)
		}
		return wrong(stage)
	}
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

// faults in the order in which they are provoked. Who ends the scheduler comes last.
var faults = []fault{
	{"Q1", "one MIG instance is given to two pods of a session", script(vgpuNode("mig", 1), func(stage *stage) bool {
		return stage.seen["a"].Bound && stage.seen["b"].Bound && instanceOf(stage.seen["a"]) == instanceOf(stage.seen["b"])
	}, both(card(5000), card(5000)))},
	{"Q1a", "a MIG card that is empty again keeps its group", script(vgpuNode("mig", 1), waits("b"), one("a", card(5000)), without("a"), one("b", card(20000)))},
	{"Q1b", "a kind of instance that nobody uses is not considered", script(vgpuNode("mig", 1), func(stage *stage) bool {
		return !strings.Contains(stage.seen["b"].Given, "[group2-3]")
	}, one("a", card(9000)), one("b", card(5000)))},
	{"Q1c", "ids of a group whose name has a dash are not understood", script(cardNode(objects.Card{UUID: "GPU-dash", Type: "NVIDIA H200", Memory: 143771, Mode: "mig"}),
		func(stage *stage) bool {
			return stage.seen["b"].Bound && instanceOf(stage.seen["a"]) == instanceOf(stage.seen["b"])
		},
		one("a", card(5000)), one("b", card(5000)))},
	{"Q1e", "instances of two groups are given on one card", script(vgpuNode("mig", 1), func(stage *stage) bool {
		group := func(look seen) string { return strings.Split(instanceOf(look), "-")[0] }
		return stage.seen["a"].Bound && stage.seen["b"].Bound && group(stage.seen["a"]) != group(stage.seen["b"])
	}, both(card(5000), card(20000)))},
	{"Q3", "what a gang that was given up had been given stays booked", script(twoTypes, waits("c"),
		both(onA100(card(30000)), onA100(card(30000))), without("a", "b"), one("c", onA100(card(30000))))},
	{"Q7", "what was booked for a pod on which it could not be recorded stays booked", script(twoTypes, waits("b"),
		one("a", onA100(card(30000))), without("a"), one("b", onA100(card(30000))))},
	{"Q7b", "a count of 0 books a card", script(twoTypes, waits("b"),
		one("a", onA100(cards(objects.VGPU(0, 30000, 0)))), one("b", onA100(card(30000))))},
	{"Q7b-ascend", "a pod that asks for 0 Ascend cards gets one", script(npuNode(1), func(stage *stage) bool { return stage.seen["a"].Given != "" },
		one("a", cards(npu(0, 3072))))},
	{"Q8", "whether a pod fits depends on whether somebody has changed the node", func(stage *stage) bool {
		script(vgpuNode("mig", 1), bound("b"), one("a", card(5000)), without("a"), one("b", card(20000)))(stage)
		before := stage.seen["b"].Bound
		nodeChanges(stage)
		return stage.seen["b"].Bound != before
	}},
	{"Q2", "of two containers on a card one is counted", script(twoTypes, bound("b"), one("a", onA100(cards(objects.VGPU(1, 4000, 0), objects.VGPU(1, 4000, 0)))), nodeChanges, one("b", onA100(card(36000))))},
	{"Q2b", "of an Ascend pod's second container the first card is not counted", script(npuNode(4), bound("b"), one("a", cards(npu(2, 0), npu(2, 0))), one("b", cards(npu(1, 0))))},
	{"Q4", "a container without devices leaves no place in the annotation", script(vgpuNode("hami-core", 1), func(stage *stage) bool {
		return !strings.HasPrefix(stage.seen["a"].Given, ";")
	}, one("a", cards(objects.Limits{}, objects.VGPU(1, 4000, 0))))},
	{"Q5", "an unhealthy card is given out", script(cardNode(objects.Card{UUID: "GPU-sick", Mode: "hami-core", Sick: true}), bound("a"), one("a", card(4000)))},
	{"Q6", "the last card's mode is taken for all", script(cardNode(objects.Card{UUID: "GPU-first", Mode: "mig"}, objects.Card{UUID: "GPU-last", Mode: "hami-core"}),
		waits("a"), one("a", annotated(card(4000), "volcano.sh/vgpu-mode", "mig")))},
	{"Q9", "a pod that ends is not counted while it still runs", script(twoTypes, func(stage *stage) bool {
		return stage.there("a") && stage.seen["b"].Bound
	}, one("a", leaving(onA100(card(30000)))), nodeChanges, told("a"), one("b", onA100(card(30000))))},
	{"Q11", "an Ascend pod that asks for more than a card gets a full one", script(npuNode(1), bound("b"), one("a", cards(npu(1, 0))), nodeChanges, one("b", cards(npu(1, 30000))))},
	{"Q16", "a 310P pod whose cores make no template is bound without a chip", script(chipNode(1), bound("a"), one("a", chip("", 3)))},
	{"Q17", "a 310P pod that finds no chip is bound without one", script(chipNode(1), bound("b"), one("a", chip("yes", 4)), one("b", chip("yes", 4)))},
	{"Q19", "a 310P pod is cut smaller because of a mark that an earlier pod of its name has left", script(chipNode(1), func(stage *stage) bool {
		return strings.Contains(stage.seen["c"].Given, "_1c")
	}, one("a", high(chip("", 2))), one("b", high(chip("", 2))), one("c", high(chip("", 4))), without("c"), one("c", high(chip("", 2))))},
	{"Q21", "a chip is given again before the annotation of the first pod has come back", script(chipNode(2), func(stage *stage) bool {
		return !stage.seen["b"].Bound || stage.seen["a"].Given == stage.seen["b"].Given
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
	{"Q27", "90 % of the compute is served by a seventh of a card", script(vgpuNode("mig", 1), func(stage *stage) bool {
		return strings.Contains(stage.seen["a"].Given, "[group1-")
	}, one("a", cards(objects.VGPU(1, 5000, 90))))},
	{"Q28", "vnpu-dvpp is not looked at for two cores", script(chipNode(1), bound("a"), one("a", chip("yes", 2)))},
	{"Q29", "of a 310P pod's containers the first is placed", script(chipNode(1), func(stage *stage) bool {
		return stage.seen["a"].Bound && !strings.Contains(stage.seen["a"].Given, ";")
	}, one("a", chip("", 2, 2)))},
	{"Q30", "a pod that asks for mps gets no card of that mode", script(vgpuNode("mps", 1), waits("a"), one("a", annotated(card(4000), "volcano.sh/vgpu-mode", "mps")))},
	{"Q31", "containers that fit in another order are refused", script(cardNode(
		objects.Card{UUID: "GPU-small", Mode: "hami-core", Memory: 10000}, objects.Card{UUID: "GPU-large", Mode: "hami-core"}),
		waits("a"), one("a", cards(objects.VGPU(1, 3000, 0), objects.VGPU(1, 40000, 0))))},
	{"Q32", "Ascend pods get more AI CPUs than a card has", script(allMemory, bound("b"), one("a", cards(npu(1, 12288))), nodeChanges, one("b", cards(npu(1, 12288))))},
	{"left-behind", "a gang that is given up keeps annotations of devices", script(vgpuNode("hami-core", 1), func(stage *stage) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(stage.seen)), func(look seen) bool { return !look.Bound && look.Given != "" })
	}, together(3, []string{"a", "b", "c"}, card(20000), card(20000), card(20000)))},
	{"stale", "annotations of an attempt that was broken off stay on a pod that is bound elsewhere", func(stage *stage) bool {
		other := objects.Volcano(stage.prefix+"-other", "hami-core", 1)
		other.Node.Spec.Unschedulable = true
		stage.add(other)
		ids := "GPU-" + other.Node.Name + "-0,NVIDIA,4000,0:"
		isBound := script(vgpuNode("hami-core", 1), bound("a"), one("a", annotated(card(4000), "volcano.sh/vgpu-ids-new", ids,
			"volcano.sh/devices-to-allocate", ids, "volcano.sh/vgpu-node", other.Node.Name, "volcano.sh/bind-phase", "allocating",
			"volcano.sh/vgpu-time", "1", "volcano.sh/bind-time", "1")))(stage)
		return isBound && stage.seen["a"].Given == ids
	}},
	{"counted-twice", "a pod is counted twice until its node changes", script(twoTypes, waits("b"), one("a", onA100(card(15000))), one("b", onA100(card(15000))))},
	{"counted-after", "a pod that has gone is still counted until its node changes", script(twoTypes, waits("b"), one("a", onA100(card(30000))), without("a"), one("b", onA100(card(30000))))},
	{"preempt", "pods are evicted for one that then gets no place", script(vgpuNode("hami-core", 2), func(stage *stage) bool {
		look := stage.seen["urgent"]
		look.Message = fmt.Sprintf("%d evicted; %s", stage.evicted(), look.Message)
		stage.seen["urgent"] = look
		return stage.evicted() != 1 || !look.Bound
	}, several(2, wholeFor(Low)), one("urgent", wholeFor(High)), placesFree)},
	{"Q14", "a registration with a hole ends the scheduler", script(func(name string) objects.NodeWithExtras {
		node := objects.VolcanoCards(name, []objects.Card{{UUID: "GPU-0", Mode: "hami-core"}, {UUID: "GPU-1", Mode: "hami-core"}})
		register := node.Node.Annotations["volcano.sh/node-vgpu-register"]
		node.Node.Annotations["volcano.sh/node-vgpu-register"] = strings.Replace(register, ":GPU-1", ":none:GPU-1", 1)
		return node
	}, crashed, one("a", card(4000)))},
	{"Q1d", "of two groups of one name an instance of the second is given, and read as one of the first",
		script(cardNode(objects.Card{UUID: "GPU-twice", Type: "NVIDIA A100-TWICE", Mode: "mig"}), func(stage *stage) bool {
			return stage.seen["a"].Bound || crashed(stage)
		}, one("a", card(20000)))},
	{"forged", "an annotation that a user has written ends the scheduler", script(vgpuNode("hami-core", 1), crashed,
		one("a", annotated(card(4000), "volcano.sh/vgpu-ids-new", "GPU,")))},
}

// instanceOf is what is between the brackets of an id.
func instanceOf(look seen) string {
	_, rest, _ := strings.Cut(look.Given, "[")
	inside, _, _ := strings.Cut(rest, "]")
	return inside
}

// wholeFor is a pod of that priority that has a card to itself.
func wholeFor(priority string) objects.PodSpec {
	var spec objects.PodSpec
	wholeCard(&spec, priority)
	return spec
}

// leaving is a pod that takes its time to end.
func leaving(spec objects.PodSpec) objects.PodSpec {
	spec.Grace = 60
	return spec
}

// placesFree waits until the pods that were evicted have ended, before which their places are not free.
func placesFree(stage *stage) {
	env := stage.env
	if err := env.settle(env.quiet(), env.Ending*3+env.quiet()*3); err != nil {
		env.Say("preempt: %v", err)
	}
	stage.look()
}
