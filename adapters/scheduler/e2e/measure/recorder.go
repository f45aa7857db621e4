// Package measure takes times: of pods from creation to bind, and what a process uses.
package measure

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Recorder hears of pods from an informer. Times are those at which this program sent or heard something.
type Recorder struct {
	mutex   sync.Mutex
	created map[string]time.Time // by name, as a pod has its uid only when the answer has come
	bound   map[types.UID]bool
	removed map[string]bool // pods that somebody was to tell to end
	evicted map[types.UID]bool
	ended   map[types.UID]bool
	came    map[string]int // pods by kind
	boundOf map[string]int
	waits   []time.Duration
	first   time.Time
	last    time.Time
	changed time.Time
}

// NewRecorder is one that has heard nothing yet.
func NewRecorder() *Recorder {
	return &Recorder{created: map[string]time.Time{}, bound: map[types.UID]bool{}, removed: map[string]bool{}, evicted: map[types.UID]bool{}, ended: map[types.UID]bool{},
		came: map[string]int{}, boundOf: map[string]int{}, changed: time.Now()}
}

// KindOf is the kind in the name of a pod, KIND-NUMBER-MEMBER.
func KindOf(name string) string {
	for range 2 {
		name = name[:max(0, strings.LastIndexByte(name, '-'))]
	}
	return name
}

// Creating is called just before a pod is posted.
func (recorder *Recorder) Creating(name string) {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	now := time.Now()
	recorder.created[name] = now
	if recorder.first.IsZero() {
		recorder.first = now
	}
	recorder.came[KindOf(name)]++
}

// Removing is called just before a pod is told to end.
func (recorder *Recorder) Removing(name string) {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	recorder.removed[name] = true
}

// Hear is called with a pod that came or changed.
func (recorder *Recorder) Hear(pod *corev1.Pod) {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	if pod.DeletionTimestamp != nil && !recorder.removed[pod.Name] {
		recorder.evicted[pod.UID] = true
	}
	now := time.Now()
	if (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded) && !recorder.ended[pod.UID] {
		recorder.ended[pod.UID] = true
		recorder.changed = now
	}
	if pod.Spec.NodeName == "" || recorder.bound[pod.UID] {
		return
	}
	recorder.bound[pod.UID] = true
	recorder.changed = now
	if created, ok := recorder.created[pod.Name]; ok {
		recorder.waits = append(recorder.waits, now.Sub(created))
		recorder.last = now
	}
	recorder.boundOf[KindOf(pod.Name)]++
}

// Gone is called with a pod that has gone.
func (recorder *Recorder) Gone(pod *corev1.Pod) {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	delete(recorder.removed, pod.Name)
	recorder.changed = time.Now()
}

// Quiet is how long no pod has been bound, has ended or has gone.
func (recorder *Recorder) Quiet() time.Duration {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	return time.Since(recorder.changed)
}

// Bound counts the pods that were bound.
func (recorder *Recorder) Bound() int {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	return len(recorder.bound)
}

// Evicted counts the pods that somebody else told to end, which in the scenarios can only be the scheduler.
func (recorder *Recorder) Evicted() int {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	return len(recorder.evicted)
}

// Kinds counts the pods of each kind that came and those of them that were bound.
func (recorder *Recorder) Kinds() (came, bound map[string]int) {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	return maps.Clone(recorder.came), maps.Clone(recorder.boundOf)
}

// Waits says how long pods took from creation to bind.
type Waits struct {
	Pods          int     `json:"pods"`
	MeanSeconds   float64 `json:"mean_s"`
	P50Seconds    float64 `json:"p50_s"`
	P90Seconds    float64 `json:"p90_s"`
	P99Seconds    float64 `json:"p99_s"`
	MaxSeconds    float64 `json:"max_s"`
	SpanSeconds   float64 `json:"first_creation_to_last_bind_s"`
	PodsPerSecond float64 `json:"pods_per_s"`
}

// Waits of all pods so far.
func (recorder *Recorder) Waits() Waits {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	if len(recorder.waits) == 0 {
		return Waits{}
	}
	sorted := slices.Clone(recorder.waits)
	slices.Sort(sorted)
	var sum time.Duration
	for _, wait := range sorted {
		sum += wait
	}
	span := recorder.last.Sub(recorder.first).Seconds()
	return Waits{
		Pods: len(sorted), MeanSeconds: sum.Seconds() / float64(len(sorted)), P50Seconds: quantile(sorted, 0.5),
		P90Seconds: quantile(sorted, 0.9), P99Seconds: quantile(sorted, 0.99), MaxSeconds: sorted[len(sorted)-1].Seconds(),
		SpanSeconds: span, PodsPerSecond: float64(len(sorted)) / span,
	}
}

// quantile is the nearest-rank one: the smallest value that at least this share of all do not exceed.
func quantile(sorted []time.Duration, share float64) float64 {
	rank := int(share*float64(len(sorted)) + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1].Seconds()
}
