package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

type churnSummary struct {
	*Summary
	Rounds     int            `json:"rounds"`
	Submitted  map[string]int `json:"submitted"` // by mode
	Ran        int            `json:"ran"`       // pods of which what they were given was looked at
	Looks      int            `json:"looks"`
	Again      int            `json:"looked_again"`        // as the kubelet had not said yet what it offers
	Containers int            `json:"containers_compared"` // at all looks together
	Refused    map[string]int `json:"refused_by_nodes"`    // with a program of the node killed, or a card fallen ill
	Killed     map[string]int `json:"killed"`
	Xids       int            `json:"xids"`
	Created    int            `json:"instances_created"`
	Destroyed  int            `json:"instances_destroyed"`
}

// churn is the scenario's state.
type churn struct {
	env     *Env
	nodes   []*realNode
	summary *churnSummary
	busy    map[string][]mark // by pod, of those that were seen to run
	sick    map[string]int    // cards that are ill, by node
	shaken  map[string]bool   // nodes to which something was done in this round
}

// mark is a MIG instance that something runs on.
type mark struct {
	real *realNode
	gpu  int
	gi   uint32
}

// Churn has pods of all modes come and go on two real nodes, while MIG cards are cut for them, GPUs report errors, and kubelets, device
// plugins and the scheduler are killed. At every look what containers were given, annotations, hardware and ledger have to agree.
func Churn(ctx context.Context, options Options) error {
	options.Factor = memoryFactor
	return judged(ctx, options, "churn", func(env *Env, common *Summary) outcome {
		summary := &churnSummary{Summary: common, Submitted: map[string]int{}, Refused: map[string]int{}, Killed: map[string]int{}}
		churn := &churn{env: env, summary: summary, busy: map[string][]mark{}, sick: map[string]int{}}
		churn.nodes = []*realNode{env.startNode(1, []string{"hami-core", "hami-core", "mig", "mps"}),
			env.startNode(2, []string{"hami-core", "mig", "mig", "mps"})}
		must(env.StartScheduler())
		for range options.Rounds {
			churn.round()
		}
		churn.end()
		env.measure(common)
		return summary
	})
}

// alive is about how many pods there are.
const alive = 14

func (churn *churn) round() {
	env, summary := churn.env, churn.summary
	summary.Rounds++
	churn.shaken = map[string]bool{}
	must(env.Submit(churn.pods(2+env.Random.Intn(5)), 0))
	pods := env.list()
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	// Now and then all of a node leave that have a part of a MIG card, so that it may be cut otherwise.
	emptied := ""
	if env.Random.Intn(3) == 0 {
		emptied = churn.nodes[env.Random.Intn(len(churn.nodes))].Name
	}
	var leaving []*corev1.Pod
	for _, pod := range pods {
		isEmptied := pod.Spec.NodeName == emptied && pod.Annotations["volcano.sh/vgpu-mode"] == "mig"
		if pod.Status.Phase == corev1.PodFailed || isEmptied || env.Random.Intn(2*alive) < len(pods)-alive/2 {
			leaving = append(leaving, pod)
		}
	}
	// Something runs on an instance until its container has ended; nobody knows when exactly, so it counts as idle a little too early.
	for _, pod := range leaving {
		churn.idle(pod.Name)
	}
	env.delete(leaving)
	churn.shake()
	churn.look()
	if summary.Rounds%10 == 0 {
		env.Say("%d rounds: %d pods ran, %d containers compared, %d killed, %d violations", summary.Rounds, summary.Ran, summary.Containers,
			sum(summary.Killed), sum(summary.Violations))
	}
}

func sum(counts map[string]int) int {
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}

// pods are as many as that, of random modes.
func (churn *churn) pods(count int) []Unit {
	random := churn.env.Random
	var result []Unit
	for range count {
		mode := []string{"hami-core", "hami-core", "mig", "mig", "mps"}[random.Intn(5)]
		churn.summary.Submitted[mode]++
		result = append(result, churn.env.realUnit(mode, func(spec *objects.PodSpec) {
			spec.Grace = 1
			switch memory, cores := 1024*(1+random.Intn(8)), []int{0, 5, 10, 20}[random.Intn(4)]; mode {
			case "mig":
				spec.Containers = []objects.Limits{vgpu(1, []int{4800, 5120, 9000, 10240, 20000, 20480, 40960}[random.Intn(7)], 0)}
			case "mps":
				spec.Containers = []objects.Limits{vgpu(1, memory, cores)}
			default:
				spec.Containers = []objects.Limits{vgpu(1, memory, cores)}
				switch random.Intn(5) {
				case 0:
					spec.Containers = append(spec.Containers, vgpu(1, 2048, 10))
				case 1:
					spec.Containers = []objects.Limits{vgpu(2, memory, cores)}
				}
			}
		}))
	}
	return result
}

// shake kills a program or lets a GPU report an error, in half of the rounds.
func (churn *churn) shake() {
	env := churn.env
	real := churn.nodes[env.Random.Intn(len(churn.nodes))]
	must(pause(env.ctx, time.Duration(env.Random.Intn(1500))*time.Millisecond)) // while pods are on their way
	kill := func(what string) { churn.summary.Killed[what]++; churn.shaken[real.Name] = true }
	switch env.Random.Intn(12) {
	case 0:
		kill("kubelet")
		real.restart(true, false)
	case 1, 2:
		kill("device plugin")
		real.restart(false, true)
	case 3:
		kill("kubelet")
		kill("device plugin")
		real.restart(true, true)
	case 4:
		churn.summary.Killed["scheduler"]++
		env.watched.Store(false)
		env.Plane.Scheduler.Kill()
		must(env.StartScheduler())
	case 5: // an error of a program, which says nothing of the card
		churn.summary.Xids++
		must(real.Machine.AddEvents(fake.Event{GPU: env.Random.Intn(4), Xid: 31, Type: fake.EventXid}))
	case 6: // one of the card; of each node one may be ill
		if churn.sick[real.Name] == 0 {
			churn.summary.Xids++
			churn.shaken[real.Name] = true
			churn.sick[real.Name] = 1
			must(real.Machine.AddEvents(fake.Event{GPU: 0, Xid: 79, Type: fake.EventXid}))
			real.awaitCards(3)
		}
	}
}

// look waits until all is quiet and compares everything with everything.
func (churn *churn) look() {
	env, summary := churn.env, churn.summary
	for _, real := range churn.nodes {
		if real.awaitCardsOr(4-churn.sick[real.Name], 4) == 4 { // a card that has been quiet for long is well again
			churn.sick[real.Name] = 0
		}
	}
	must(env.settle(env.quiet(), 3*time.Minute))
	report := env.Check(check.Options{Settled: true})
	// A kubelet whose device plugin was away may still post that it offers nothing, and then the scheduler counts no cards there. It
	// says otherwise within a second or two.
	for try := 0; try < 3 && report.ByRule()[check.LedgerDiffers] > 0; try++ {
		summary.Again++
		must(pause(env.ctx, 2*time.Second))
		must(env.settle(env.quiet(), 3*time.Minute))
		report = env.Check(check.Options{Settled: true})
	}
	if env.Explains {
		report.Violations = append(report.Violations, env.forgotten()...)
	}
	for _, violation := range report.Violations {
		if !summary.seen[violation.String()] {
			env.Say("%s", violation)
		}
	}
	summary.take(report)
	summary.Looks++
	holders := map[string]string{}
	for _, pod := range env.list() {
		switch pod.Status.Phase {
		case corev1.PodFailed:
			churn.refused(pod)
		case corev1.PodRunning:
			if pod.DeletionTimestamp == nil {
				churn.compare(pod, holders)
			}
		}
	}
	churn.layouts()
}

func (churn *churn) fault(rule string, pod *corev1.Pod, text string) {
	violation := check.Violation{Rule: rule, Node: pod.Spec.NodeName, Pods: []string{pod.Name}, Text: text}
	churn.summary.example(violation)
	churn.env.Say("%s", violation)
}

// refused counts a pod that its node did not start, which has a reason where something was done to the node.
func (churn *churn) refused(pod *corev1.Pod) {
	reason := pod.Status.Reason + ": " + pod.Status.Message
	if !churn.shaken[pod.Spec.NodeName] {
		churn.fault(ruleRefused, pod, reason)
		return
	}
	if length := 160; len(reason) > length {
		reason = reason[:length]
	}
	churn.summary.Refused[reason]++
}

// compare looks at a pod that runs. What runs on an instance of a MIG card makes it busy.
func (churn *churn) compare(pod *corev1.Pod, holders map[string]string) {
	_, known := churn.busy[pod.Name]
	if !known {
		churn.summary.Ran++
	}
	var marks []mark
	for _, look := range churn.env.observe(pod) {
		churn.summary.Containers++
		for _, text := range look.Faults {
			churn.fault(ruleGiven, pod, look.Container+": "+text)
		}
		for uuid, place := range look.places {
			if other, taken := holders[uuid]; taken {
				churn.fault(check.InstanceTwice, pod, fmt.Sprintf("%s is in pod %s too", uuid, other))
			}
			holders[uuid] = pod.Name
			marks = append(marks, mark{churn.env.nodeOf(pod), place.GPU, place.GI})
		}
	}
	churn.busy[pod.Name] = marks
	if !known {
		for _, instance := range marks {
			must(instance.real.Machine.MarkBusy(instance.gpu, instance.gi, true))
		}
	}
}

func (churn *churn) idle(name string) {
	for _, instance := range churn.busy[name] {
		if err := instance.real.Machine.MarkBusy(instance.gpu, instance.gi, false); err != nil {
			churn.env.Say("pod %s: its instance has gone before it: %v", name, err)
			churn.summary.example(check.Violation{Rule: ruleHardware, Node: instance.real.Name, Pods: []string{name}, Text: err.Error()})
		}
	}
	delete(churn.busy, name)
}

// layouts counts what was done to the hardware. Nothing that is in use may even be tried to be destroyed.
func (churn *churn) layouts() {
	created, destroyed := 0, 0
	for _, real := range churn.nodes {
		for _, call := range got(real.Machine.Calls()) {
			switch {
			case strings.Contains(call, "In use"):
				churn.summary.seenOnce(check.Violation{Rule: ruleHardware, Node: real.Name, Text: "tried to destroy what is in use: " + call})
			case strings.HasPrefix(call, "CreateGpuInstance "):
				created++
			case strings.HasPrefix(call, "GpuInstanceDestroy "):
				destroyed++
			}
		}
	}
	churn.summary.Created, churn.summary.Destroyed = created, destroyed
}

// seenOnce is example for what every look finds again.
func (summary *Summary) seenOnce(violation check.Violation) {
	if text := violation.String(); !summary.seen[text] {
		summary.seen[text] = true
		summary.example(violation)
	}
}

// end lets all pods go.
func (churn *churn) end() {
	for _, name := range slices.Sorted(maps.Keys(churn.busy)) {
		churn.idle(name)
	}
	churn.env.clear(churn.summary.Summary)
	must(churn.env.settle(churn.env.quiet(), time.Minute))
	churn.summary.take(churn.env.Check(check.Options{Settled: true}))
}

func (summary *churnSummary) print() {
	fmt.Printf("%d rounds on two nodes: submitted %v; %d pods ran, what %d containers were given was compared with decision and hardware at %d looks, %d times a second time\n",
		summary.Rounds, summary.Submitted, summary.Ran, summary.Containers, summary.Looks, summary.Again)
	fmt.Printf("killed %v; %d errors of GPUs; MIG instances: %d made, %d destroyed\n", summary.Killed, summary.Xids, summary.Created, summary.Destroyed)
	for _, reason := range slices.Sorted(maps.Keys(summary.Refused)) {
		fmt.Printf("  refused by a node to which something was done, %d times: %s\n", summary.Refused[reason], reason)
	}
}
