package metrics

import (
	"fmt"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// zone is a label that the existing monitor gives each of its metrics.
var zone = prometheus.Labels{"zone": "vGPU"}

func existing(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, zone)
}

func ours(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"NodeName"}, labels...), nil)
}

// What is read of cards. Descriptions of containers are in caches.go and processes.go.
var (
	hostMemory = existing("HostGPUMemoryUsage", "Memory of the card in use, in bytes", "deviceidx", "deviceuuid")
	hostCores  = existing("HostCoreUtilization", "Use of the card's multiprocessors in the last second, in percent", "deviceidx", "deviceuuid")

	deviceInfo    = ours("vgpualloc_plugin_device_info", "1 for each card that pods may get", "deviceidx", "deviceuuid", "devicename", "mode")
	deviceMemory  = ours("vgpualloc_plugin_device_memory_bytes", "Memory of the card", "deviceuuid")
	deviceHealthy = ours("vgpualloc_plugin_device_healthy", "1: pods may be placed on the card; 0: they may not", "deviceuuid")
	migInstance   = ours("vgpualloc_plugin_mig_instance", "1 for each MIG instance that the card has", "deviceuuid", "profile", "start",
		"migUUID", "state")
	mpsDaemon = ours("vgpualloc_plugin_mps_daemon", "1: the control daemon of MPS for this resource answers; 0: it does not, and cards of "+
		"mode mps are not offered", "resource")
	layoutState = ours("vgpualloc_plugin_layout_state", "1 for the state in which a MIG card's layout is", "deviceuuid", "state")
	unreadable  = ours("vgpualloc_plugin_unreadable", "Things that could not be read for this answer", "what")
)

// machine collects what is read when Prometheus asks.
type machine struct{ *Metrics }

// Describe is nothing: which metrics there are depends on the cards.
func (m *machine) Describe(chan<- *prometheus.Desc) {}

// reading is one answer to Prometheus.
type reading struct {
	*Metrics
	to      chan<- prometheus.Metric
	failed  map[string]int // what -> how often
	cards   map[string]*register.Card
	pods    []*v1.Pod
	running *containers
}

// Collect reads the machine. What cannot be read is left out and counted.
func (m *machine) Collect(to chan<- prometheus.Metric) {
	m.reading.Lock()
	defer m.reading.Unlock()
	pods, _ := m.options.Pods()
	r := &reading{Metrics: m.Metrics, to: to, cards: map[string]*register.Card{}, pods: pods, running: newContainers(pods, m.options.Proc),
		failed: map[string]int{"card": 0, "instances": 0, "processes": 0, "cache": 0}}
	cards := m.options.Cards()
	for i := range cards {
		r.cards[cards[i].UUID] = &cards[i]
		r.card(&cards[i])
	}
	for resource, answers := range m.options.MPS() {
		r.gauge(mpsDaemon, truth(answers), m.options.Node, resource)
	}
	r.caches()
	for what, times := range r.failed {
		r.gauge(unreadable, float64(times), m.options.Node, what)
	}
}

func (r *reading) gauge(of *prometheus.Desc, value float64, labels ...string) {
	r.send(prometheus.NewConstMetric(of, prometheus.GaugeValue, value, labels...))
}

func (r *reading) send(metric prometheus.Metric, err error) {
	if err != nil { // a label that is no UTF-8
		klog.V(2).ErrorS(err, "A metric is left out")
		return
	}
	r.to <- metric
}

func (r *reading) fail(what string, err error, keysAndValues ...any) {
	r.failed[what]++
	klog.V(3).ErrorS(err, "Metrics: could not be read", append([]any{"what", what}, keysAndValues...)...)
}

func truth(value bool) float64 {
	if value {
		return 1
	}
	return 0
}

func (r *reading) card(card *register.Card) {
	node, index := r.options.Node, strconv.Itoa(card.Index)
	r.gauge(deviceInfo, 1, node, index, card.UUID, card.Name, string(card.Mode))
	r.gauge(deviceMemory, float64(card.MemoryMiB<<20), node, card.UUID)
	r.gauge(deviceHealthy, truth(card.Healthy), node, card.UUID)
	if use, err := r.options.Library.Use(card.UUID); err != nil {
		r.fail("card", err, "gpu", card.UUID)
	} else {
		r.gauge(hostMemory, float64(use.MemoryBytes), index, card.UUID)
		r.gauge(hostCores, float64(use.SMPercent), index, card.UUID)
	}
	instances := r.instances(card)
	r.processes(card, instances)
}

// instances are those of a card, by the driver's number; the layout's state is that of cards in mode mig.
func (r *reading) instances(card *register.Card) map[uint32]hardware.Instance {
	if state := r.options.Layout(card.UUID); state != "" {
		for _, known := range []string{"in_service", "reconfiguring", "withdrawn"} {
			r.gauge(layoutState, truth(state == known), r.options.Node, card.UUID, known)
		}
	}
	if string(card.Mode) != "mig" {
		return nil
	}
	list, err := r.options.Library.Instances(card.UUID)
	if err != nil {
		r.fail("instances", err, "gpu", card.UUID)
		return nil
	}
	result := map[uint32]hardware.Instance{}
	for _, instance := range list {
		result[instance.GI] = instance
		state := "idle"
		if instance.Busy {
			state = "busy"
		}
		profile := r.options.Profile(card.Name, instance.ProfileID)
		if profile == "" {
			profile = fmt.Sprint(instance.ProfileID)
		}
		r.gauge(migInstance, 1, r.options.Node, card.UUID, profile, fmt.Sprint(instance.Start), instance.UUID, state)
	}
	return result
}
