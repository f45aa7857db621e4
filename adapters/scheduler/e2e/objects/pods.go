package objects

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Namespace is where the scenarios' pods are.
const Namespace = "e2e"

// Limits are the extended resources of one container.
type Limits map[string]int

// PodSpec says what is particular to a pod.
type PodSpec struct {
	Name         string
	Group        string // its PodGroup
	Scheduler    string // empty: Volcano's
	Containers   []Limits
	Annotations  map[string]string
	Labels       map[string]string
	NodeSelector map[string]string
	Priority     string // a PriorityClass, or none
	Preemptable  bool   // others may take its place
	Grace        int64  // seconds that it has for ending
}

// Pod makes the object.
func Pod(spec PodSpec) *corev1.Pod {
	annotations := map[string]string{"scheduling.k8s.io/group-name": spec.Group}
	maps.Copy(annotations, spec.Annotations)
	if spec.Preemptable {
		annotations["volcano.sh/preemptable"] = "true"
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: spec.Name, Namespace: Namespace, Annotations: annotations, Labels: spec.Labels},
		Spec: corev1.PodSpec{
			SchedulerName: cmp.Or(spec.Scheduler, "volcano"), AutomountServiceAccountToken: new(bool), NodeSelector: spec.NodeSelector,
			PriorityClassName: spec.Priority, TerminationGracePeriodSeconds: &spec.Grace,
		},
	}
	for i, limits := range spec.Containers {
		amounts := corev1.ResourceList{"cpu": resource.MustParse("10m"), "memory": resource.MustParse("16Mi")}
		for name, amount := range limits {
			amounts[corev1.ResourceName(name)] = resource.MustParse(strconv.Itoa(amount))
		}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "none",
			Resources: corev1.ResourceRequirements{Limits: amounts}})
	}
	return pod
}

// PodGroup makes the group that a pod needs to be looked at by Volcano; there is no controller that would.
func PodGroup(name string, members int, priority string) *schedulingv1beta1.PodGroup {
	return &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace},
		Spec: schedulingv1beta1.PodGroupSpec{MinMember: int32(members), Queue: "default",
			PriorityClassName: priority},
	}
}

// Kind is a way of sharing devices: nodes that offer it and pods that ask for it.
type Kind struct {
	Name string
	Node func(name string, devices int) NodeWithExtras
	// Fill sets the containers and what else says what a pod asks for.
	Fill func(spec *PodSpec, random *rand.Rand)
}

// Kinds are all of them, by name.
var Kinds = []Kind{
	{Name: "hami-core", Node: volcanoNode("hami-core"), Fill: fillHAMiCore},
	{Name: "mig", Node: volcanoNode("mig"), Fill: fillMIG},
	{Name: "mps", Node: volcanoNode("mps"), Fill: fillMPS},
	{Name: "ascend", Node: AscendHAMi, Fill: fillAscend},
	{Name: "310p", Node: MindCluster310P, Fill: fill310P},
	{Name: "cce", Node: CCE, Fill: fillCCE},
	{Name: "gpushare", Node: Gpushare, Fill: fillGpushare},
	{Name: "hami", Node: HAMi, Fill: fillHAMi},
}

// KindNamed finds a kind.
func KindNamed(name string) (Kind, error) {
	var known []string
	for _, kind := range Kinds {
		if kind.Name == name {
			return kind, nil
		}
		known = append(known, kind.Name)
	}
	return Kind{}, fmt.Errorf("kind %q, expected one of %v", name, known)
}

func volcanoNode(mode string) func(string, int) NodeWithExtras {
	return func(name string, devices int) NodeWithExtras { return Volcano(name, mode, devices) }
}

// VGPU asks for so many of Volcano's vGPUs, each with that memory and compute, 0 for what is not named.
func VGPU(number, memory, cores int) Limits {
	limits := Limits{"volcano.sh/vgpu-number": number}
	if memory > 0 {
		limits["volcano.sh/vgpu-memory"] = memory
	}
	if cores > 0 {
		limits["volcano.sh/vgpu-cores"] = cores
	}
	return limits
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.Intn(len(values))] }

// Of ten pods one has two containers, one wants two cards and one a whole card.
func fillHAMiCore(spec *PodSpec, random *rand.Rand) {
	spec.Annotations = map[string]string{"volcano.sh/vgpu-mode": "hami-core"}
	memory, cores := 1024*(1+random.Intn(12)), pick(random, 0, 5, 10, 20, 30)
	switch random.Intn(10) {
	case 0:
		spec.Containers = []Limits{VGPU(1, memory, cores), VGPU(1, 2048, 10)}
	case 1:
		spec.Containers = []Limits{VGPU(2, memory, cores)}
	case 2:
		spec.Containers = []Limits{VGPU(1, 0, 0)}
	default:
		spec.Containers = []Limits{VGPU(1, memory, cores)}
	}
}

func fillMIG(spec *PodSpec, random *rand.Rand) {
	spec.Annotations = map[string]string{"volcano.sh/vgpu-mode": "mig"}
	spec.Containers = []Limits{VGPU(1, pick(random, 2000, 5000, 5120, 9000, 10240, 20000, 20480, 40960), 0)}
}

func fillMPS(spec *PodSpec, random *rand.Rand) {
	spec.Annotations = map[string]string{"volcano.sh/vgpu-mode": "mps"}
	spec.Containers = []Limits{VGPU(1, 1024*(1+random.Intn(10)), pick(random, 0, 10, 25, 50))}
}

func fillAscend(spec *PodSpec, random *rand.Rand) {
	card := "huawei.com/" + ascendWord
	if random.Intn(10) == 0 {
		spec.Containers = []Limits{{card: 2}} // whole cards, the only way to have several
		return
	}
	spec.Containers = []Limits{{card: 1, card + "-memory": pick(random, 1024, 3072, 4096, 6144, 9000, 12288, ascendMemory)}}
}

func fill310P(spec *PodSpec, random *rand.Rand) {
	spec.Labels = map[string]string{"ring-controller.atlas": "ascend-310P", "vnpu-level": pick(random, "low", "high")}
	cores := pick(random, 1, 2, 2, 4, 8)
	if cores == 4 {
		spec.Labels["vnpu-dvpp"] = pick(random, "null", "yes", "no")
	}
	spec.Containers = []Limits{{"huawei.com/npu-core": cores}}
}

func fillCCE(spec *PodSpec, random *rand.Rand) {
	limits := Limits{"volcano.sh/gpu-mem.128Mi": pick(random, 8, 16, 40, 60, 126)}
	if random.Intn(2) == 0 {
		limits["volcano.sh/gpu-core.percentage"] = pick(random, 5, 10, 25, 50, 100)
	}
	spec.Containers = []Limits{limits}
}

func fillGpushare(spec *PodSpec, random *rand.Rand) {
	spec.Containers = []Limits{{"volcano.sh/gpu-memory": 500 * (1 + random.Intn(16))}}
}

func fillHAMi(spec *PodSpec, random *rand.Rand) {
	limits := Limits{"nvidia.com/gpu": pick(random, 1, 1, 1, 2)}
	limits["nvidia.com/gpumem"] = 1024 * (1 + random.Intn(12))
	limits["nvidia.com/gpucores"] = pick(random, 5, 10, 20)
	spec.Containers = []Limits{limits}
}
