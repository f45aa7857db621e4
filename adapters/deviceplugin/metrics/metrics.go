// Package metrics serves what the device plugin knows of its node on GET /metrics: of each card, of MIG instances, of containers, and
// what the plugin itself has done. The metrics that the monitor of volcano-vgpu-device-plugin has keep their names and labels.
// docs/deploy/device-plugin.md lists all of them.
package metrics

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	v1 "k8s.io/api/core/v1"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// Options are what the metrics are read from. Node, Cards and Library are needed.
type Options struct {
	Node    string
	Cards   func() []register.Card // as schedulers are told of them
	Library hardware.Library
	// Layout is how far a card's MIG layout is: in_service, reconfiguring or withdrawn. Empty, or no function: it has none.
	Layout func(uuid string) string
	// Profile is the name of a MIG profile of a model; empty, or no function: its number is shown.
	Profile func(model string, profileID uint32) string
	// MPS says of each resource that needs a control daemon of MPS whether it answers. Nil: there are none.
	MPS func() map[string]bool
	// Pods are those of this node. Known is false as long as not all of them are.
	Pods      func() (pods []*v1.Pod, known bool)
	CacheRoot string // the folder that has one for each container that HAMi-core limits; empty: none is read
	Feedback  bool   // lift and restore limits of compute, and hold low priority back, as the existing monitor does
	// FeedbackEvery is between rounds of that; 0: 5 s, as in the existing monitor, for which HAMi-core counts in such rounds.
	FeedbackEvery time.Duration
	Proc          string           // where the machine's /proc is; empty: /proc
	Now           func() time.Time // nil: time.Now
}

// Metrics counts what it is told, and reads the rest when Prometheus asks. A nil one takes what it is told and does nothing.
type Metrics struct {
	options  Options
	registry *prometheus.Registry
	reading  sync.Mutex // one read of the machine at a time

	allocations   *prometheus.CounterVec
	seconds       prometheus.Histogram
	xids          *prometheus.CounterVec
	registrations *prometheus.CounterVec
	rounds        *prometheus.CounterVec
	lastRound     prometheus.Gauge
	changes       *prometheus.CounterVec
	changeSeconds prometheus.Histogram
}

// New makes metrics that nobody serves yet.
func New(options Options) *Metrics {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Proc == "" {
		options.Proc = "/proc"
	}
	if options.Layout == nil {
		options.Layout = func(string) string { return "" }
	}
	if options.FeedbackEvery <= 0 {
		options.FeedbackEvery = 5 * time.Second
	}
	if options.MPS == nil {
		options.MPS = func() map[string]bool { return nil }
	}
	if options.Profile == nil {
		options.Profile = func(string, uint32) string { return "" }
	}
	if options.Pods == nil {
		options.Pods = func() ([]*v1.Pod, bool) { return nil, false }
	}
	m := &Metrics{options: options, registry: prometheus.NewRegistry()}
	ofNode := prometheus.WrapRegistererWith(prometheus.Labels{"NodeName": options.Node}, m.registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		counters := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		ofNode.MustRegister(counters)
		return counters
	}
	histogram := func(opts prometheus.HistogramOpts) prometheus.Histogram {
		histogram := prometheus.NewHistogram(opts)
		ofNode.MustRegister(histogram)
		return histogram
	}
	m.allocations = counter("vgpualloc_plugin_allocations_total", "Answers to the kubelet's Allocate", "resource", "result")
	m.xids = counter("vgpualloc_plugin_xid_events_total", "Xid errors that the driver has reported", "deviceuuid", "xid")
	m.registrations = counter("vgpualloc_plugin_kubelet_registrations_total", "Registrations that the kubelet has taken", "resource")
	m.rounds = counter("vgpualloc_plugin_annotation_rounds_total", "Writes of the node's annotations", "result")
	m.changes = counter("vgpualloc_plugin_layout_changes_total", "Changes of a card's MIG layout", "result")
	m.seconds = histogram(prometheus.HistogramOpts{Name: "vgpualloc_plugin_allocate_seconds",
		Help: "Time of an answer to Allocate", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)})
	m.changeSeconds = histogram(prometheus.HistogramOpts{Name: "vgpualloc_plugin_layout_change_seconds",
		Help: "Time of a change of a MIG layout", Buckets: prometheus.ExponentialBuckets(0.05, 2, 12)})
	m.lastRound = prometheus.NewGauge(prometheus.GaugeOpts{Name: "vgpualloc_plugin_last_annotation_timestamp_seconds",
		Help: "When the node's annotations were last written, or found to be right"})
	ofNode.MustRegister(m.lastRound)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &machine{m})
	return m
}

// Handler serves GET /metrics, and GET /healthz for as long as somebody serves it.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", func(to http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(to, "ok") })
	return mux
}

func result(err error) string {
	if err != nil {
		return "failed"
	}
	return "done"
}

// Allocated counts an answer to Allocate.
func (m *Metrics) Allocated(resource string, took time.Duration, err error) {
	if m == nil {
		return
	}
	m.allocations.WithLabelValues(resource, result(err)).Inc()
	m.seconds.Observe(took.Seconds())
}

// Xid counts an Xid error of a card; an empty uuid: the driver did not say which.
func (m *Metrics) Xid(uuid string, xid uint64) {
	if m != nil {
		m.xids.WithLabelValues(uuid, fmt.Sprint(xid)).Inc()
	}
}

// Registered counts a registration that the kubelet has taken.
func (m *Metrics) Registered(resource string) {
	if m != nil {
		m.registrations.WithLabelValues(resource).Inc()
	}
}

// Annotated counts a round of the node's annotations.
func (m *Metrics) Annotated(err error) {
	if m == nil {
		return
	}
	m.rounds.WithLabelValues(result(err)).Inc()
	if err == nil {
		m.lastRound.Set(float64(m.options.Now().UnixMilli()) / 1000)
	}
}

// Changed counts a change of a card's MIG layout.
func (m *Metrics) Changed(took time.Duration, err error) {
	if m == nil {
		return
	}
	m.changes.WithLabelValues(result(err)).Inc()
	m.changeSeconds.Observe(took.Seconds())
}
