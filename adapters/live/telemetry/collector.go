// Package telemetry shows Prometheus the figures of clusters that schedulers follow.
package telemetry

import (
	"encoding/json"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"vgpualloc.example/adapters/live"
)

// metricsOfCluster are those that live.Cluster.Metrics tells: docs/embedding.md has the members.
type metricsOfCluster struct {
	Nodes []struct {
		Name          string            `json:"name"`
		UnusableMilli float64           `json:"unusable_milli"`
		Devices       []metricsOfDevice `json:"devices"`
	} `json:"nodes"`
	StrandedSlices []struct {
		Profile string `json:"profile"`
		Slices  int64  `json:"slices"`
	} `json:"stranded_slices"`
	PodsWaiting   int64 `json:"pods_waiting"`
	PodsReserved  int64 `json:"pods_reserved"`
	PodsCommitted int64 `json:"pods_committed"`
}

type metricsOfDevice struct {
	UUID          string `json:"uuid"`
	Model         string `json:"model"`
	Mode          string `json:"mode"`
	Dialect       string `json:"dialect"`
	Healthy       bool   `json:"healthy"`
	Overcommitted bool   `json:"overcommitted"`
	MemoryMiB     int64  `json:"memory_mib"`
	MemoryUsedMiB int64  `json:"memory_used_mib"`
	CoresUsed     int64  `json:"cores_used"`
	UsedMilli     int64  `json:"used_milli"`
	Shares        []struct {
		UID       string `json:"uid"`
		Namespace string `json:"namespace"`
		Pod       string `json:"pod"`
		MemoryMiB int64  `json:"memory_mib"`
		Cores     int64  `json:"cores"`
	} `json:"shares"`
}

// Collector gives the figures of a cluster to Prometheus: those of Volcano's plugin deviceshare under their names, read
// from the ledger instead of counted along, and those of the core.
type Collector struct {
	cluster *live.Cluster

	shared, memoryUsed, coresUsed, memory, podMemory, podCores *prometheus.Desc // as deviceshare has them
	device, overcommitted, healthy                             *prometheus.Desc
	unusable, fragmentation, stranded, pods                    *prometheus.Desc
	decisions, rejections                                      *prometheus.Desc // counted as things happen
}

// NewCollector is to be registered once for each cluster.
func NewCollector(cluster *live.Cluster) *Collector {
	perDevice := []string{"devID", "NodeName"}
	perPod := []string{"devID", "NodeName", "podName", "podNamespace"}
	describe := func(name, help string, labels []string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &Collector{
		cluster: cluster,
		shared:  describe("volcano_vgpu_device_shared_number", "Pods that share this device", perDevice),
		memoryUsed: describe("volcano_vgpu_device_allocated_memory",
			"Memory of this device that pods have, in MiB", perDevice),
		coresUsed: describe("volcano_vgpu_device_allocated_cores",
			"Compute of this device that pods have, in percent, or AI cores of NPUs", perDevice),
		memory: describe("volcano_vgpu_device_memory_limit", "Memory of this device, in MiB", perDevice),
		podMemory: describe("volcano_vgpu_device_memory_allocation_for_a_certain_pod",
			"Memory of this device that this pod has, in MiB", perPod),
		podCores: describe("volcano_vgpu_device_core_allocation_for_a_certain_pod",
			"Compute of this device that this pod has, in percent, or AI cores of NPUs", perPod),
		device: describe("vgpualloc_device_info", "1 for each device",
			[]string{"devID", "NodeName", "model", "mode", "dialect"}),
		overcommitted: describe("vgpualloc_device_overcommitted",
			"1 if pods were given more of this device than there is", perDevice),
		healthy: describe("vgpualloc_device_healthy", "1 if the node reports the device as healthy", perDevice),
		unusable: describe("vgpualloc_node_unusable_devices",
			"Idle devices of this node that the present pods could not use, as fragmentation counts them",
			[]string{"NodeName"}),
		fragmentation: describe("vgpualloc_fragmentation_ratio",
			"Idle devices that the present pods could not use, of all idle ones; 0 to 1", nil),
		stranded: describe("vgpualloc_stranded_slices",
			"Free memory slices of MIG devices that this profile cannot use", []string{"profile"}),
		pods: describe("vgpualloc_pods", "Pods by what they have: waiting, reserved or committed", []string{"state"}),
		decisions: describe("vgpualloc_decision_seconds",
			"Time that the core took to ask all nodes about a pod and to book it", nil),
		rejections: describe("vgpualloc_rejections_total",
			"Nodes that refused a pod which fits nowhere, by reason; once for each pod until it changes", []string{"reason"}),
	}
}

// Describe is of prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{c.shared, c.memoryUsed, c.coresUsed, c.memory, c.podMemory, c.podCores,
		c.device, c.overcommitted, c.healthy, c.unusable, c.fragmentation, c.stranded, c.pods,
		c.decisions, c.rejections} {
		to <- description
	}
}

// Collect is of prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	c.collectCounts(to)
	var metrics metricsOfCluster
	text, err := c.cluster.Metrics()
	if err == nil {
		err = json.Unmarshal([]byte(text), &metrics)
	}
	if err != nil {
		to <- prometheus.NewInvalidMetric(c.device, fmt.Errorf("figures of the cluster: %w", err))
		return
	}
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	var idle, unusable float64
	for _, node := range metrics.Nodes {
		gauge(c.unusable, node.UnusableMilli/1000, node.Name)
		unusable += node.UnusableMilli
		for i := range node.Devices {
			c.collectDevice(gauge, node.Name, &node.Devices[i])
			idle += float64(max(1000-node.Devices[i].UsedMilli, 0))
		}
	}
	ratio := 0.0
	if idle > 0 {
		ratio = unusable / idle
	}
	gauge(c.fragmentation, ratio)
	for _, stranded := range metrics.StrandedSlices {
		gauge(c.stranded, float64(stranded.Slices), stranded.Profile)
	}
	gauge(c.pods, float64(metrics.PodsWaiting), "waiting")
	gauge(c.pods, float64(metrics.PodsReserved), "reserved")
	gauge(c.pods, float64(metrics.PodsCommitted), "committed")
}

func (c *Collector) collectCounts(to chan<- prometheus.Metric) {
	counts := c.cluster.Counts()
	within := make(map[float64]uint64, len(counts.Within))
	for index, count := range counts.Within {
		within[live.DecisionBound(index).Seconds()] = count
	}
	to <- prometheus.MustNewConstHistogram(c.decisions, counts.Decisions, counts.Took.Seconds(), within)
	for reason, nodes := range counts.Rejections {
		to <- prometheus.MustNewConstMetric(c.rejections, prometheus.CounterValue, float64(nodes), reason)
	}
}

func (c *Collector) collectDevice(gauge func(*prometheus.Desc, float64, ...string), node string, d *metricsOfDevice) {
	type share struct {
		namespace, pod string
		memory, cores  int64
	}
	pods := map[string]*share{} // by uid: a pod may have several parts of a device
	for _, part := range d.Shares {
		if pods[part.UID] == nil {
			pods[part.UID] = &share{namespace: part.Namespace, pod: part.Pod}
		}
		pods[part.UID].memory += part.MemoryMiB
		pods[part.UID].cores += part.Cores
	}
	gauge(c.shared, float64(len(pods)), d.UUID, node)
	gauge(c.memoryUsed, float64(d.MemoryUsedMiB), d.UUID, node)
	gauge(c.coresUsed, float64(d.CoresUsed), d.UUID, node)
	gauge(c.memory, float64(d.MemoryMiB), d.UUID, node)
	gauge(c.device, 1, d.UUID, node, d.Model, d.Mode, d.Dialect)
	gauge(c.overcommitted, numberOf(d.Overcommitted), d.UUID, node)
	gauge(c.healthy, numberOf(d.Healthy), d.UUID, node)
	for _, pod := range pods {
		gauge(c.podMemory, float64(pod.memory), d.UUID, node, pod.pod, pod.namespace)
		gauge(c.podCores, float64(pod.cores), d.UUID, node, pod.pod, pod.namespace)
	}
}

func numberOf(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}
