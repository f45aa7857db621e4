// Package measure takes times: of pods from creation to bind, and what a process uses.
package measure

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Recorder hears of pods from an informer. Times are those at which this program sent or heard something.
type Recorder struct {
	mutex   sync.Mutex
	created map[string]time.Time // by name, as a pod has its uid only when the answer has come
	bound   map[types.UID]time.Time
	waits   []time.Duration
	first   time.Time
	last    time.Time
	gone    int
	changed time.Time
}

// NewRecorder listens. It has to be called before the informer runs.
func NewRecorder(pods cache.SharedIndexInformer) (*Recorder, error) {
	recorder := &Recorder{}
	recorder.Reset()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { recorder.hear(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { recorder.hear(object.(*corev1.Pod)) },
		DeleteFunc: func(any) {
			recorder.mutex.Lock()
			defer recorder.mutex.Unlock()
			recorder.gone++
			recorder.changed = time.Now()
		},
	})
	return recorder, err
}

// Reset forgets all times, for the next part of a scenario.
func (recorder *Recorder) Reset() {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	recorder.created, recorder.bound = map[string]time.Time{}, map[types.UID]time.Time{}
	recorder.waits, recorder.first, recorder.last, recorder.gone = nil, time.Time{}, time.Time{}, 0
	recorder.changed = time.Now()
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
}

func (recorder *Recorder) hear(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	if _, known := recorder.bound[pod.UID]; known {
		return
	}
	now := time.Now()
	recorder.bound[pod.UID] = now
	recorder.changed = now
	if created, ok := recorder.created[pod.Name]; ok {
		recorder.waits = append(recorder.waits, now.Sub(created))
		recorder.last = now
	}
}

// Quiet is how long no pod has been bound or has gone.
func (recorder *Recorder) Quiet() time.Duration {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	return time.Since(recorder.changed)
}

// Bound counts the pods bound since the last Reset.
func (recorder *Recorder) Bound() int {
	recorder.mutex.Lock()
	defer recorder.mutex.Unlock()
	return len(recorder.bound)
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

// Waits since the last Reset.
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
