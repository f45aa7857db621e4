package scenario

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/scheduler/e2e/check"
	"vgpualloc.example/adapters/scheduler/e2e/node"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// What real nodes are named, and what is registered of their cards.
const (
	cardModel  = "NVIDIA A100-SXM4-40GB"
	cardBytes  = 40960 << 20
	cardSplits = 10 // of the device configuration
	// Four such cards have more MiB than a kubelet takes lines. Options.Factor has it in the scenarios on such nodes.
	memoryFactor = 4
)

// Rules of real nodes.
const (
	ruleGiven    = "given_differs"    // a container was given something else than was decided
	ruleHardware = "hardware_differs" // the hardware is not as what was given
	ruleRefused  = "refused_by_node"  // the node did not start a pod that was bound to it
	ruleStuck    = "stuck"            // something that should have happened did not
)

// machine has cards of these modes, as a fake NVML holds them before anything is cut.
func machine(name string, modes []string) (state fake.State, nodeFile string) {
	var cards []string
	for i, mode := range modes {
		state.GPUs = append(state.GPUs, fake.GPU{UUID: fmt.Sprintf("GPU-%s-%d", name, i), Name: cardModel, MemoryBytes: cardBytes, Minor: i,
			ComputeCapability: "8.0", PCIBus: fmt.Sprintf("00000000:%02X:00.0", i+1), MigCapable: true, MigEnabled: mode == "mig"})
		cards = append(cards, fmt.Sprintf(`{"index":%d,"operatingmode":%q}`, i, mode))
	}
	return state, fmt.Sprintf(`{"nodeconfig":[{"name":%q,"operatingmode":"hami-core","devices":[%s]}]}`, name, strings.Join(cards, ","))
}

// realNode is one, with what its cards are.
type realNode struct {
	*node.Node
	env   *Env
	modes map[string]string // by uuid
	dialect
}

// dialect is how cards are registered and counted.
type dialect struct {
	arguments []string // of the device plugin
	resource  corev1.ResourceName
	register  string // annotation
	healthy   string // what it has for each healthy card
	phase     string // annotation of pods
}

var (
	ofVolcano = dialect{nil, "volcano.sh/vgpu-number", "volcano.sh/node-vgpu-register", ",true,", "volcano.sh/bind-phase"}
	ofHAMi    = dialect{[]string{"--scheduler=hami"}, "nvidia.com/gpu", "hami.io/node-nvidia-register", `"health":true`, "hami.io/bind-phase"}
)

// startNode begins containerd, a kubelet and the device plugin of a node with cards of these modes, and waits until the node is ready and
// offers its cards.
func (env *Env) startNode(number int, modes []string) *realNode {
	return env.startNodeFor(ofVolcano, number, modes)
}

// startNodeFor is startNode with cards registered for a certain scheduler.
func (env *Env) startNodeFor(dialect dialect, number int, modes []string) *realNode {
	options := *env.Real
	options.Name, options.Number = fmt.Sprintf("real-%d", number), number
	options.Dir = filepath.Join(env.Control.Dir, options.Name)
	options.Kubeconfig, options.PluginKubeconfig = env.Plane.Kubeconfig(), env.pluginAccount()
	options.Machine, options.NodeFile = machine(options.Name, modes)
	real := &realNode{Node: got(node.New(options)), env: env, modes: map[string]string{}, dialect: dialect}
	real.Plugin.Args = append(real.Plugin.Args, dialect.arguments...)
	for i, mode := range modes {
		real.modes[options.Machine.GPUs[i].UUID] = mode
	}
	env.real = append(env.real, real)
	env.Say("starting containerd and the kubelet of %s", options.Name)
	must(real.StartRuntime(env.ctx))
	must(real.StartKubelet(env.ctx))
	if !env.until(time.Minute, real.isReady) {
		must(fmt.Errorf("node %s is not ready in a minute", options.Name))
	}
	env.Say("starting the device plugin of %s", options.Name)
	must(real.Plugin.Start())
	real.awaitCards(len(modes))
	return real
}

func (real *realNode) object() *corev1.Node {
	object, err := real.env.nodes().Get(real.env.ctx, real.Name, metav1.GetOptions{})
	if err != nil {
		return &corev1.Node{}
	}
	return object
}

func (real *realNode) isReady() bool {
	for _, condition := range real.object().Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// offers is how many shares of cards the kubelet says that pods may have.
func (real *realNode) offers() int {
	quantity := real.object().Status.Allocatable[real.resource]
	return int(quantity.Value())
}

// awaitCards waits until the kubelet and the scheduler's annotation have so many healthy cards.
func (real *realNode) awaitCards(healthy int) { real.awaitCardsOr(healthy, healthy) }

// awaitCardsOr is content with another number of them, too, and says which it was.
func (real *realNode) awaitCardsOr(healthy, other int) (registered int) {
	agree := func() bool {
		registered = strings.Count(real.object().Annotations[real.register], real.healthy)
		return (registered == healthy || registered == other) && real.offers() == registered*cardSplits && real.isReady()
	}
	if !real.env.until(time.Minute, agree) {
		if real.Plugin.Pid() == 0 {
			must(fmt.Errorf("the device plugin of %s has ended: %s", real.Name, real.Plugin.Crash()))
		}
		must(fmt.Errorf("node %s offers %d shares and registers %q, expected %d healthy cards", real.Name, real.offers(),
			real.object().Annotations[real.register], healthy))
	}
	return registered
}

// registrations is how often the device plugin has registered each of its resources with the kubelet.
func (real *realNode) registrations() map[string]int {
	result := map[string]int{}
	text, err := real.Metrics(real.env.ctx)
	if err != nil {
		return result // it does not run, or not yet
	}
	for _, match := range registrationFigure.FindAllStringSubmatch(text, -1) {
		count, err := strconv.Atoi(match[2])
		must(err)
		result[match[1]] = count
	}
	return result
}

var registrationFigure = regexp.MustCompile(`(?m)^vgpualloc_plugin_kubelet_registrations_total\{.*resource="([^"]*)".*\} (\d+)$`)

// restart kills programs of the node, begins them again and waits until the kubelet knows all resources of the plugin again: until then
// it refuses pods that ask for them.
func (real *realNode) restart(kubelet, plugin bool) {
	before := real.registrations()
	if kubelet {
		real.Kubelet.Kill()
	}
	if plugin {
		real.Plugin.Kill()
		before = map[string]int{}
		must(real.Plugin.Start())
	}
	if kubelet {
		must(real.StartKubelet(real.env.ctx))
	}
	if !real.env.until(time.Minute, func() bool {
		now := real.registrations()
		again := 0
		for resource, count := range now {
			if count > before[resource] {
				again++
			}
		}
		return again == 3
	}) {
		must(fmt.Errorf("the device plugin of %s has not registered all resources in a minute: %v, before %v", real.Name, real.registrations(), before))
	}
}

// dress has pods run on real nodes: the image, the node's network, and the driver's folder where NVIDIA's runtime would put its library.
func dress(unit Unit) Unit {
	for _, pod := range unit.Pods {
		pod.Spec.HostNetwork = true
		pod.Spec.EnableServiceLinks = new(bool)
		// A kubelet that is killed between creating and starting a container leaves it dead, and the next one starts another.
		pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		pod.Spec.Volumes = []corev1.Volume{{Name: "driver", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: driverFolder}}}}
		for i := range pod.Spec.Containers {
			container := &pod.Spec.Containers[i]
			container.Image, container.ImagePullPolicy = node.ShowImage, corev1.PullNever
			container.VolumeMounts = []corev1.VolumeMount{{Name: "driver", MountPath: "/driver", ReadOnly: true}}
		}
	}
	return unit
}

// driverFolder is where pods find the driver's stand-in on their node, whichever it is.
const driverFolder = "/var/lib/driver"

// realUnit is a unit of one pod on a real node that asks for this.
func (env *Env) realUnit(kind string, change func(*objects.PodSpec)) Unit {
	return dress(env.Unit(got(objects.KindNamed(kind)), 1, change))
}

// vgpu is objects.VGPU with memory in MiB, where memoryFactor holds.
func vgpu(number, memoryMiB, cores int) objects.Limits {
	return objects.VGPU(number, memoryMiB/memoryFactor, cores)
}

// nodeOf is the real node of a pod; nil: it has none.
func (env *Env) nodeOf(pod *corev1.Pod) *realNode {
	for _, real := range env.real {
		if real.Name == pod.Spec.NodeName {
			return real
		}
	}
	return nil
}

// profile is what the device configuration has at the place of a share.
func (env *Env) profile(share node.Share) (node.Profile, bool) {
	if share.Profile != "" {
		return node.Profile{Name: share.Profile, MemoryMiB: share.MemoryMiB}, true
	}
	position := share.Position
	for _, kind := range check.Groups(objects.RealDeviceConfig(env.Factor), cardModel)[share.Group] {
		if position < kind.Count {
			return node.Profile{Name: kind.Name, MemoryMiB: kind.Memory}, true
		}
		position -= kind.Count
	}
	return node.Profile{}, false
}

// observed is what was seen of one container.
type observed struct {
	Pod       string                   `json:"pod"`
	Container string                   `json:"container"`
	Node      string                   `json:"node"`
	Decision  string                   `json:"decision"`
	Shares    []node.Share             `json:"shares"`
	Given     node.Given               `json:"given"`
	Hardware  map[string]string        `json:"hardware,omitempty"` // of MIG devices
	Faults    []string                 `json:"faults"`
	places    map[string]fake.Instance // of MIG devices by uuid
}

// observe reads what the containers of a running pod were given and compares it with the decision and the hardware.
func (env *Env) observe(pod *corev1.Pod) []observed {
	real := env.nodeOf(pod)
	shares, err := node.Decision(pod, env.Factor)
	if err != nil {
		return []observed{{Pod: pod.Name, Node: pod.Spec.NodeName, Faults: []string{err.Error()}}}
	}
	gpus, devices, err := real.Hardware(env.ctx)
	must(err)
	var result []observed
	for _, container := range pod.Spec.Containers {
		if len(shares[container.Name]) == 0 {
			continue
		}
		look := observed{Pod: pod.Name, Container: container.Name, Node: pod.Spec.NodeName, Decision: node.DecisionText(pod),
			Shares: shares[container.Name], Hardware: map[string]string{}, places: map[string]fake.Instance{}}
		if !env.until(20*time.Second, func() bool {
			look.Given, err = real.Given(pod, container.Name)
			return err == nil || !errors.Is(err, node.ErrNotYet)
		}) || err != nil {
			look.Faults = []string{err.Error()}
			result = append(result, look)
			continue
		}
		look.Faults = real.Compare(pod, container.Name, look.Shares, look.Given, node.Expectations{Modes: real.modes, GPUs: gpus, Devices: devices, Profile: env.profile})
		for _, seen := range look.Given.Devices {
			if device, ok := devices[seen.UUID]; ok {
				look.places[seen.UUID] = device.Instance
				look.Hardware[seen.UUID] = fmt.Sprintf("%s, GPU instance %d at memory slice %d of %s", device.Name, device.Instance.GI, device.Instance.Start, device.GPU)
			}
		}
		result = append(result, look)
	}
	return result
}
