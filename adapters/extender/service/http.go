package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/live/telemetry"
	"vgpualloc.example/adapters/live/web"
)

// BodyMax is what a question may be long: 1,000 nodes as objects are about 20 MB, 5,000 names 200 kB.
const BodyMax = 64 << 20

// failed is an answer that says why there is none; results of all verbs have a member of this name or none.
type failed struct{ Error string }

// Handler answers kube-scheduler's POST /filter, /prioritize, /preempt and /bind, and GET /metrics, /explain, /healthz and
// /livez. A question that makes no sense is answered with status 400, one that cannot be answered as an error in the
// result; both say why in the member Error. `allowed` is asked first about everything but /healthz and /livez; it answers
// itself where it is false.
func (s *Service) Handler(allowed func(http.ResponseWriter, *http.Request) bool) http.Handler {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "vgpualloc_extender_request_seconds",
		Help:    "Time to answer kube-scheduler, by verb and whether it got an answer",
		Buckets: prometheus.ExponentialBuckets(1e-4, 2, 18), // 0.1 ms to 13 s
	}, []string{"verb", "answered"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(took, telemetry.NewCollector(s.Cluster()), telemetry.NewRefusedGauge("devices", s.config.Failure),
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
		web.ServeExplanation(to, request, s.Explain)
	})
	guarded.HandleFunc("/", elsewhere)
	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", s.healthz)
	all.HandleFunc("GET /livez", livez)
	all.HandleFunc("/", func(to http.ResponseWriter, request *http.Request) {
		if allowed(to, request) {
			guarded.ServeHTTP(to, request)
		}
	})
	return all
}

// methods are those of the paths that are answered.
var methods = map[string]string{"/filter": http.MethodPost, "/prioritize": http.MethodPost, "/preempt": http.MethodPost,
	"/bind": http.MethodPost, "/metrics": http.MethodGet, "/explain": http.MethodGet, "/healthz": http.MethodGet,
	"/livez": http.MethodGet}

// elsewhere answers what no other handler does.
func elsewhere(to http.ResponseWriter, request *http.Request) {
	method, known := methods[request.URL.Path]
	if !known {
		Fail(to, http.StatusNotFound, fmt.Errorf("path %q: expected /filter, /prioritize, /preempt, /bind, /explain, /metrics, /healthz "+
			"or /livez", request.URL.Path))
		return
	}
	to.Header().Set("Allow", method)
	Fail(to, http.StatusMethodNotAllowed, fmt.Errorf("method %s for %s: expected %s", request.Method, request.URL.Path, method))
}

// Fail answers with a status and why.
func Fail(to http.ResponseWriter, status int, why error) { answer(to, status, failed{why.Error()}) }

func answer(to http.ResponseWriter, status int, result any) {
	to.Header().Set("Content-Type", "application/json")
	to.WriteHeader(status)
	_ = json.NewEncoder(to).Encode(result)
}

func (s *Service) healthz(to http.ResponseWriter, _ *http.Request) {
	if why := s.notReady(); why != nil {
		Fail(to, http.StatusServiceUnavailable, why)
		return
	}
	_, _ = io.WriteString(to, "ok\n")
}

// livez is good as soon as anything is answered: a new process would wait for the same objects and the same
// configuration as this one, so nobody should end it for that.
func livez(to http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(to, "ok\n")
}

// verb answers one kind of question.
func verb[Args, Result any](s *Service, mux *http.ServeMux, took *prometheus.HistogramVec, name string,
	ask func(context.Context, *Args) (Result, error)) {
	mux.HandleFunc("POST /"+name, func(to http.ResponseWriter, request *http.Request) {
		began := time.Now()
		decide := func() (any, error) {
			if why := s.notReady(); why != nil {
				return nil, why
			}
			args := new(Args)
			if err := read(to, request, args); err != nil {
				return nil, err
			}
			return ask(request.Context(), args)
		}
		result, err := decide()
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
		answer(to, status, result)
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
	if len(bytes.TrimSpace(body)) == 0 {
		return badRequest("the body is empty: expected JSON")
	}
	if err := json.Unmarshal(body, args); err != nil {
		return badBody(body, err)
	}
	return nil
}

// scalar is a value of JSON at the end of a text.
var scalar = regexp.MustCompile(`("([^"\\]|\\.)*"|[-+.0-9eE]+|true|false)$`)

// What values of Go are in JSON.
var inWords = map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false", reflect.Slice: "a list",
	reflect.Map: "an object", reflect.Struct: "an object", reflect.Pointer: "an object"}

// badBody says in the words of JSON what is wrong with a body.
func badBody(body []byte, err error) error {
	const valueMax = 60
	if failure := (*json.UnmarshalTypeError)(nil); errors.As(err, &failure) {
		value := map[string]string{"array": "a list", "object": "an object"}[failure.Value]
		if value == "" {
			value = "a " + failure.Value
		}
		if written := scalar.Find(body[:min(int(failure.Offset), len(body))]); written != nil && len(written) <= valueMax {
			value = string(written)
		}
		field, expected := failure.Field, inWords[failure.Type.Kind()]
		if field == "" {
			field = "the body"
		}
		if expected == "" {
			expected = "a whole number"
		}
		return badRequest("%s: got %s, expected %s", field, value, expected)
	}
	if failure := (*json.SyntaxError)(nil); errors.As(err, &failure) {
		return badRequest("the body, byte %d: %v, expected JSON", failure.Offset, failure)
	}
	return badRequest("the body: %v", err)
}
