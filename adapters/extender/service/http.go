package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/live"
)

// BodyMax is what a question may be long: 1,000 nodes as objects are about 20 MB, 5,000 names 200 kB.
const BodyMax = 64 << 20

// failed is an answer that says why there is none; results of all verbs have a member of this name or none.
type failed struct{ Error string }

// Handler answers kube-scheduler's POST /filter, /prioritize, /preempt and /bind, and GET /metrics, /explain and /healthz.
// A question that makes no sense is answered with status 400, one that cannot be answered as an error in the result;
// both say why in the member Error. `allowed` is asked first about everything but /healthz; it answers itself where it
// is false.
func (s *Service) Handler(allowed func(http.ResponseWriter, *http.Request) bool) http.Handler {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "vgpualloc_extender_request_seconds",
		Help:    "Time to answer kube-scheduler, by verb and whether it got an answer",
		Buckets: prometheus.ExponentialBuckets(1e-4, 2, 18), // 0.1 ms to 13 s
	}, []string{"verb", "answered"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(took, live.NewCollector(s.cluster), live.NewRefusedGauge("devices", s.config.Failure),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	guarded := http.NewServeMux()
	verb(s, guarded, took, "filter", s.Filter)
	verb(s, guarded, took, "prioritize", s.Prioritize)
	verb(s, guarded, took, "preempt", s.Preempt)
	verb(s, guarded, took, "bind", func(ctx context.Context, args *extenderv1.ExtenderBindingArgs) (
		*extenderv1.ExtenderBindingResult, error) {
		return &extenderv1.ExtenderBindingResult{}, s.Bind(ctx, args)
	})
	guarded.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	guarded.HandleFunc("GET /explain", func(to http.ResponseWriter, request *http.Request) {
		live.ServeExplanation(to, request, s.Explain)
	})
	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", s.healthz)
	all.HandleFunc("/", func(to http.ResponseWriter, request *http.Request) {
		if allowed(to, request) {
			guarded.ServeHTTP(to, request)
		}
	})
	return all
}

func (s *Service) healthz(to http.ResponseWriter, _ *http.Request) {
	if why := s.notReady(); why != nil {
		http.Error(to, why.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(to, "ok\n")
}

// verb answers one kind of question.
func verb[Args, Result any](s *Service, mux *http.ServeMux, took *prometheus.HistogramVec, name string,
	ask func(context.Context, *Args) (Result, error)) {
	mux.HandleFunc("POST /"+name, func(to http.ResponseWriter, request *http.Request) {
		began := time.Now()
		answer := func() (any, error) {
			if why := s.notReady(); why != nil {
				return nil, why
			}
			args := new(Args)
			if err := read(to, request, args); err != nil {
				return nil, err
			}
			return ask(request.Context(), args)
		}
		result, err := answer()
		took.WithLabelValues(name, map[bool]string{true: "yes", false: "no"}[err == nil]).Observe(time.Since(began).Seconds())
		status := http.StatusOK
		if err != nil {
			klog.InfoS("A question of kube-scheduler has no answer", "verb", name, "err", err)
			result = failed{err.Error()}
			if name == "prioritize" || name == "preempt" { // whose results have no room for an error
				status = http.StatusInternalServerError
			}
			if bad := (*BadRequest)(nil); errors.As(err, &bad) {
				status = http.StatusBadRequest
			}
		}
		to.Header().Set("Content-Type", "application/json")
		to.WriteHeader(status)
		_ = json.NewEncoder(to).Encode(result)
	})
}

func read(to http.ResponseWriter, request *http.Request, args any) error {
	body, err := io.ReadAll(http.MaxBytesReader(to, request.Body, BodyMax))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return badRequest("the body is longer than %d bytes: expected less", BodyMax)
	}
	if err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	if err := json.Unmarshal(body, args); err != nil {
		return badRequest("the body is not what is expected: %v", err)
	}
	return nil
}
