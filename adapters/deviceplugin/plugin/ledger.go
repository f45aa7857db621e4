package plugin

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/allocate"
	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/layout"
	"vgpualloc.example/adapters/deviceplugin/register"
	"vgpualloc.example/adapters/objects"
	"vgpualloc.example/adapters/vga"
)

// ledger is the core's view of this node: its cards as this plugin registers them, and the pods that have something of them.
type ledger struct {
	*vga.Cluster
	pods *pods
	conf *config.Config
}

// newLedger knows the cards. The device configuration is as device-config.yaml.
func newLedger(conf *config.Config, deviceConfig string, cards []register.Card, of *pods) (*ledger, error) {
	cluster, err := vga.New(vga.Options{DeviceConfig: deviceConfig})
	if err != nil {
		return nil, fmt.Errorf("the devices' configuration: %w", err)
	}
	result := &ledger{Cluster: cluster, pods: of, conf: conf}
	counts := v1.ResourceList{}
	add := func(name string, amount int64) {
		total := counts[v1.ResourceName(name)]
		total.Add(*resource.NewQuantity(amount, resource.DecimalSI))
		counts[v1.ResourceName(name)] = total
	}
	for i := range cards {
		for _, names := range []config.Resources{conf.Resources,
			{Number: "volcano.sh/vgpu-number", Memory: "volcano.sh/vgpu-memory", Cores: "volcano.sh/vgpu-cores"}} {
			add(names.Number, int64(cards[i].SplitCount))
			add(names.Memory, cards[i].Units())
			add(names.Cores, int64(cards[i].Cores()))
		}
		for _, name := range []string{conf.HAMiResource, "nvidia.com/gpu"} {
			if conf.HAMiResource != "" {
				add(name, int64(cards[i].SplitCount))
			}
		}
		cards[i].Healthy = true // the layout's own service says which may be used
	}
	annotations := map[string]string{register.VolcanoAnnotation: register.Volcano(cards)}
	if !conf.Schedulers.Volcano { // pods have MIG instances by profile and place then, which cards with Volcano's groups do not have
		text, err := register.HAMi(cards)
		if err != nil {
			cluster.Close()
			return nil, err
		}
		annotations = map[string]string{register.HAMiAnnotation: text}
	}
	text, err := objects.Text(&v1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: conf.Node, Annotations: annotations},
		Status:     v1.NodeStatus{Capacity: counts, Allocatable: counts}})
	if err == nil {
		_, err = cluster.Upsert(text)
	}
	if err != nil {
		cluster.Close()
		return nil, fmt.Errorf("the core cannot be told of the cards: %w", err)
	}
	of.told = result
	return result, nil
}

// tell tells the core of a pod.
func (l *ledger) tell(pod *v1.Pod) {
	text, err := objects.Text(objects.Pod(pod, true))
	if err == nil {
		_, err = l.Upsert(text)
	}
	if err != nil && !errors.Is(err, vga.Closed) {
		klog.ErrorS(err, "The core cannot be told of a pod", "pod", klog.KObj(pod))
	}
}

// tellGone tells the core that a pod has nothing any more.
func (l *ledger) tellGone(pod *v1.Pod) {
	if err := l.RemovePod(string(pod.UID)); err != nil && !errors.Is(err, vga.UnknownPod) && !errors.Is(err, vga.Closed) {
		klog.ErrorS(err, "The core cannot be told that a pod is gone", "pod", klog.KObj(pod))
	}
}

// claim is how far a container is, by its pod's annotations.
func (l *ledger) claim(uid, container string) layout.Claim {
	pod, isGone := l.pods.get(uid)
	switch {
	case isGone: // since the ledger was read
		return layout.Over
	case pod == nil:
		return layout.Answered
	}
	switch allocate.ProgressOf(l.conf, pod, container) {
	case allocate.Failed:
		return layout.Over
	case allocate.Waiting:
		return layout.Waiting
	}
	return layout.Answered
}

// repairedAnnotation of the node names cards, joined by commas, that somebody has repaired.
const repairedAnnotation = "volcano.sh/vgpu-repaired"

func repairedCards(annotations map[string]string) []string {
	list := []string{}
	for _, uuid := range strings.Split(annotations[repairedAnnotation], ",") {
		if uuid = strings.TrimSpace(uuid); uuid != "" {
			list = append(list, uuid)
		}
	}
	return list
}
