// Package check looks at the objects of a cluster and says what is wrong with what its pods were given. It reads the
// annotations itself, by their published form, and shares nothing with the scheduler or the core that wrote them.
package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Cluster is what the API server tells.
type Cluster struct {
	Nodes      []*corev1.Node
	Pods       []*corev1.Pod
	ConfigMaps []*corev1.ConfigMap
	Groups     []*schedulingv1beta1.PodGroup
}

// Options say what more is expected than that nothing was given twice.
type Options struct {
	// Settled: nothing is under way. Gangs are then whole, and no pod without a node carries a device annotation.
	Settled bool
	// Health: no pod is on a device that is registered as unhealthy. Only where devices do not change under the pods.
	Health bool
}

// The rules that can be broken.
const (
	Overcommit      = "overcommit"       // more given than a device has
	InstanceTwice   = "instance_twice"   // one MIG instance given to two, or two that overlap
	GroupsMixed     = "groups_mixed"     // instances of two ways of cutting on one card
	NotShared       = "not_shared"       // devices shared that should not be
	NoAnnotation    = "no_annotation"    // bound without being told which device
	BadAnnotation   = "bad_annotation"   // cannot be read, or contradicts another annotation
	UnknownDevice   = "unknown_device"   // not one of the node's
	SickDevice      = "sick_device"      // registered as unhealthy
	AmountDiffers   = "amount_differs"   // not what the pod asks for
	GangBroken      = "gang_broken"      // some members run, fewer than the group's minimum
	LedgerDiffers   = "ledger_differs"   // the scheduler counts something else than the annotations say
	LeftBehind      = "left_behind"      // an annotation on a pod that has no node
	BadRegistration = "bad_registration" // a node that cannot be read
)

// Violation is one thing that is wrong.
type Violation struct {
	Rule   string   `json:"rule"`
	Node   string   `json:"node,omitempty"`
	Device string   `json:"device,omitempty"`
	Pods   []string `json:"pods,omitempty"`
	Text   string   `json:"text"`
}

func (violation Violation) String() string {
	text := violation.Rule + ": "
	if violation.Node != "" {
		text += "node " + violation.Node + ": "
	}
	if violation.Device != "" {
		text += "device " + violation.Device + ": "
	}
	text += violation.Text
	if len(violation.Pods) > 0 {
		text += " (pods " + strings.Join(violation.Pods, ", ") + ")"
	}
	return text
}

// Report is what a check found.
type Report struct {
	Violations []Violation    `json:"violations"`
	Pods       int            `json:"pods"`
	Bound      int            `json:"bound"`
	Pending    int            `json:"pending"`
	ByDialect  map[string]int `json:"bound_by_dialect"`
	Devices    int            `json:"devices_in_use"`
	Gangs      int            `json:"gangs_running"`
	// Use is what pods have of each device that is in use, by node and the name that the scheduler's figures have for it, as a
	// scheduler should have counted it.
	Use map[Place]DeviceUse `json:"-"`
	// Waiting has, for each pod without a node, what its name begins with and what the scheduler says of it.
	Waiting []string `json:"waiting"`
}

// ByRule counts the violations.
func (report Report) ByRule() map[string]int {
	result := map[string]int{}
	for _, violation := range report.Violations {
		result[violation.Rule]++
	}
	return result
}

// A device as its node registers it. What it has is counted by name: memory, cores, slots and what else a kind has.
type device struct {
	id   string
	sick bool
	has  map[string]int
	mode string
	// groups are the instances of a MIG card: group, then the memory of each position. Nil for others.
	groups map[string][]int
}

// A use is what one container has of one device.
type use struct {
	pod    *corev1.Pod
	device string
	part   string // the MIG instance or template
	takes  map[string]int
}

// A wish is what one container asks for. Amounts that depend on the device are checked by the dialect.
type wish struct {
	devices int
	amounts map[string]int
}

// A dialect reads one way of spelling.
type dialect struct {
	name string
	// annotation is what a pod that was given devices has to carry, and nodeAnnotation, if the dialect has one, names its node.
	annotation, nodeAnnotation string
	// wishes has one entry for each regular container that asks, nil if the pod asks for nothing of this dialect.
	wishes func(pod *corev1.Pod) []wish
	// devices are those of a node, none where the node does not speak the dialect.
	devices func(node *corev1.Node) ([]device, error)
	// uses are read from the pod's annotations, one list for each container that asks.
	uses func(pod *corev1.Pod, wishes []wish) ([][]use, error)
	// amounts says what is wrong with what a container got, "" if nothing. Nil: it has to be what was asked for.
	amounts func(wanted wish, on device, given use) string
	// sharing says what is wrong with who is on a device, beside the sums. Nil: nothing can be.
	sharing func(on device, uses []use) []Violation
	// consistent says what else of the pod's annotations is wrong, "" if nothing. Nil: nothing can be.
	consistent func(pod *corev1.Pod) string
	// booked is what a scheduler counts of a device's memory and compute for a use, `unknown` where annotations do not tell. Nil:
	// what is written.
	booked func(on device, given use) (memoryMiB, cores int)
	// figure is how the scheduler's figures name a device of a node. Nil: as the annotations do.
	figure func(node, device string) string
}

const unknown = -1

func asWritten(_ device, given use) (memoryMiB, cores int) {
	return given.takes["memory"], given.takes["cores"]
}

// asAsked says which amount is not the one that was asked for.
func asAsked(wanted wish, _ device, given use) string {
	for _, name := range slices.Sorted(maps.Keys(wanted.amounts)) {
		if given.takes[name] != wanted.amounts[name] {
			return fmt.Sprintf("%s: %d written, expected %d", name, given.takes[name], wanted.amounts[name])
		}
	}
	return ""
}

// Check looks at everything.
func Check(cluster Cluster, options Options) Report {
	checker := &checker{Cluster: cluster, Options: options, report: Report{ByDialect: map[string]int{}, Use: map[Place]DeviceUse{}}}
	config, err := readConfig(cluster.ConfigMaps)
	if err != nil {
		checker.add(Violation{Rule: BadRegistration, Text: err.Error()})
		return checker.report
	}
	dialects := []dialect{volcano(config), gpushare, ascend(config), hami, mindcluster(cluster.ConfigMaps), cce}
	for _, pod := range cluster.Pods {
		checker.count(pod)
	}
	for _, spoken := range dialects {
		if spoken.amounts == nil {
			spoken.amounts = asAsked
		}
		if spoken.booked == nil {
			spoken.booked = asWritten
		}
		checker.dialect(spoken)
	}
	if options.Settled {
		checker.gangs()
	}
	return checker.report
}

type checker struct {
	Cluster
	Options
	report Report
}

func (checker *checker) add(violation Violation) {
	checker.report.Violations = append(checker.report.Violations, violation)
}

func (checker *checker) count(pod *corev1.Pod) {
	checker.report.Pods++
	switch {
	case holds(pod):
		checker.report.Bound++
	case pod.Spec.NodeName == "":
		checker.report.Pending++
		kind, _, _ := strings.Cut(pod.Name, "-0")
		message := "nothing said"
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				message = condition.Message
			}
		}
		checker.report.Waiting = append(checker.report.Waiting, kind+": "+message)
	}
}

// holds says whether a pod has its devices: from the bind until its containers have ended, however it is told to end.
func holds(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Place is a device of a node.
type Place struct{ Node, Device string }

// DeviceUse is what pods have of a device.
type DeviceUse struct {
	Pods int
	// MemoryMiB is known where annotations or registrations tell it: not of the chips of a 310P, nor of MIG instances where no
	// geometry is configured.
	MemoryMiB   int
	MemoryKnown bool
	// Cores, in percent or AI cores, are known but of MIG instances.
	Cores      int
	CoresKnown bool
}

func (checker *checker) dialect(spoken dialect) {
	registered := map[Place]device{}
	for _, node := range checker.Nodes {
		list, err := spoken.devices(node)
		if err != nil {
			checker.add(Violation{Rule: BadRegistration, Node: node.Name, Text: spoken.name + ": " + err.Error()})
		}
		for _, card := range list {
			registered[Place{node.Name, card.id}] = card
		}
	}
	used := map[Place][]use{}
	for _, pod := range checker.Pods {
		wishes := spoken.wishes(pod)
		switch written := pod.Annotations[spoken.annotation]; {
		case len(wishes) == 0:
		case holds(pod):
			checker.report.ByDialect[spoken.name]++
			for _, given := range checker.pod(spoken, pod, wishes, registered) {
				at := Place{pod.Spec.NodeName, given.device}
				used[at] = append(used[at], given)
			}
		case checker.Settled && pod.Spec.NodeName == "" && written != "":
			checker.add(Violation{Rule: LeftBehind, Pods: []string{key(pod)},
				Text: fmt.Sprintf("%s: annotation %s = %q on a pod without a node", spoken.name, spoken.annotation, written)})
		}
	}
	checker.report.Devices += len(used)
	places := slices.SortedFunc(maps.Keys(used), func(a, b Place) int {
		return strings.Compare(a.Node+" "+a.Device, b.Node+" "+b.Device)
	})
	for _, at := range places {
		checker.device(spoken, at, registered[at], used[at])
	}
}

// pod checks what one pod was given and returns what of it is on devices that the node has.
func (checker *checker) pod(spoken dialect, pod *corev1.Pod, wishes []wish, registered map[Place]device) []use {
	wrong := func(rule, text string) {
		checker.add(Violation{Rule: rule, Node: pod.Spec.NodeName, Pods: []string{key(pod)}, Text: spoken.name + ": " + text})
	}
	if pod.Annotations[spoken.annotation] == "" {
		wrong(NoAnnotation, "annotation "+spoken.annotation+" is missing or empty")
		return nil
	}
	if node := pod.Annotations[spoken.nodeAnnotation]; spoken.nodeAnnotation != "" && node != pod.Spec.NodeName {
		wrong(BadAnnotation, fmt.Sprintf("annotation %s is %q, expected the pod's node %q", spoken.nodeAnnotation, node, pod.Spec.NodeName))
	}
	if spoken.consistent != nil {
		if text := spoken.consistent(pod); text != "" {
			wrong(BadAnnotation, text)
		}
	}
	parts, err := spoken.uses(pod, wishes)
	if err != nil {
		wrong(BadAnnotation, err.Error())
		return nil
	}
	if len(parts) != len(wishes) {
		wrong(AmountDiffers, fmt.Sprintf("devices for %d containers, expected %d", len(parts), len(wishes)))
	}
	var result []use
	for i, part := range parts[:min(len(parts), len(wishes))] {
		if len(part) != wishes[i].devices {
			wrong(AmountDiffers, fmt.Sprintf("asking container %d got %d devices, expected %d", i, len(part), wishes[i].devices))
		}
		once := map[string]bool{}
		for _, given := range part {
			card, known := registered[Place{pod.Spec.NodeName, given.device}]
			if !known {
				wrong(UnknownDevice, fmt.Sprintf("%q is no device of the node", given.device))
				continue
			}
			if once[given.device] {
				wrong(AmountDiffers, fmt.Sprintf("asking container %d got device %s twice", i, given.device))
			}
			once[given.device] = true
			if card.sick && checker.Health {
				wrong(SickDevice, given.device+" is registered as unhealthy")
			}
			if text := spoken.amounts(wishes[i], card, given); text != "" {
				wrong(AmountDiffers, fmt.Sprintf("asking container %d on %s: %s", i, given.device, text))
			}
			given.pod = pod
			result = append(result, given)
		}
	}
	return result
}

func (checker *checker) device(spoken dialect, at Place, card device, uses []use) {
	sums := map[string]int{}
	for _, given := range uses {
		for name, amount := range given.takes {
			sums[name] += amount
		}
	}
	counted := at
	if spoken.figure != nil {
		counted.Device = spoken.figure(at.Node, at.Device)
	}
	checker.report.Use[counted] = spoken.use(card, uses)
	for _, name := range slices.Sorted(maps.Keys(card.has)) {
		if sums[name] > card.has[name] {
			checker.add(Violation{Rule: Overcommit, Node: at.Node, Device: at.Device, Pods: keys(uses),
				Text: fmt.Sprintf("%s: %s %d given of %d", spoken.name, name, sums[name], card.has[name])})
		}
	}
	if spoken.sharing == nil {
		return
	}
	for _, violation := range spoken.sharing(card, uses) {
		violation.Node, violation.Device = at.Node, at.Device
		checker.add(violation)
	}
}

// use is what a scheduler should have counted of a device.
func (spoken dialect) use(card device, uses []use) DeviceUse {
	total := DeviceUse{Pods: len(keys(uses)), MemoryKnown: true, CoresKnown: true}
	for _, given := range uses {
		memory, cores := spoken.booked(card, given)
		total.MemoryKnown = total.MemoryKnown && memory != unknown
		total.CoresKnown = total.CoresKnown && cores != unknown
		total.MemoryMiB += max(memory, 0)
		total.Cores += max(cores, 0)
	}
	return total
}

// gangs checks that of every group the pods that have a node are none or enough.
func (checker *checker) gangs() {
	running := map[string][]string{}
	for _, pod := range checker.Pods {
		if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodFailed {
			group := pod.Namespace + "/" + pod.Annotations["scheduling.k8s.io/group-name"]
			running[group] = append(running[group], key(pod))
		}
	}
	for _, group := range checker.Groups {
		members := running[group.Namespace+"/"+group.Name]
		if group.Spec.MinMember < 2 || len(members) == 0 {
			continue
		}
		checker.report.Gangs++
		if len(members) < int(group.Spec.MinMember) {
			checker.add(Violation{Rule: GangBroken, Pods: members,
				Text: fmt.Sprintf("group %s: %d members have a node, expected 0 or at least %d", group.Name, len(members), group.Spec.MinMember)})
		}
	}
}

func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func keys(uses []use) []string {
	var result []string
	for _, given := range uses {
		if name := key(given.pod); !slices.Contains(result, name) {
			result = append(result, name)
		}
	}
	return result
}
