// Package testbed is what the device plugin talks to, for tests: a stub of the API server over HTTP and one of the kubelet over
// gRPC, both on this machine alone. Several of each can be in one process.
package testbed

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Fault makes requests fail: Times requests of Verb (LIST, GET, PATCH, PUT, POST, DELETE, WATCH) on Resource ("pods") after the
// first Skip of them answer Code, with the message "injected fault".
type Fault struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	Code     int    `json:"code"`
	Times    int    `json:"times"`
	Skip     int    `json:"skip"`
}

// Request is one that the stub has answered, or begins to answer.
type Request struct {
	Verb        string // LIST, GET, PATCH, PUT, POST, DELETE, WATCH
	Resource    string // "pods"
	Namespace   string
	Name        string // empty: LIST, WATCH
	Subresource string
	Selector    string // of fields
	ContentType string // of Body
	Body        []byte
	Code        int // of HTTP; 0: not answered yet
}

// String is "PATCH pods team-a/pod-0 -> 409": the code is left out where it is a success.
func (r Request) String() string {
	result := r.Verb + " " + r.Resource
	switch {
	case r.Name != "" && r.Namespace != "":
		result += " " + r.Namespace + "/" + r.Name
	case r.Name != "":
		result += " " + r.Name
	case r.Selector != "":
		result += " fieldSelector=" + r.Selector
	}
	if r.Code >= 300 {
		result += fmt.Sprintf(" -> %d", r.Code)
	}
	return result
}

// API is a stub of the API server for pods, nodes, ConfigMaps, events, leases, namespaces and disruption budgets. It answers GET,
// LIST (by namespace and name) and WATCH with field and label selectors, POST, PUT and DELETE, and PATCH as strategic merge and as
// merge patch. It refuses a resourceVersion or uid that is not the object's.
type API struct {
	store  *store
	server *httptest.Server
	ended  chan struct{}

	mu       sync.Mutex
	faults   []Fault
	requests []Request
	hook     func(Request)
}

// NewAPI starts a stub that knows no objects. The caller closes it.
func NewAPI() *API {
	api := &API{store: newStore(), ended: make(chan struct{})}
	api.server = httptest.NewServer(api)
	return api
}

// Close ends all watches and the server.
func (a *API) Close() {
	close(a.ended)
	a.server.CloseClientConnections()
	a.server.Close()
}

// Config is how to reach the stub, without a limit on the rate of requests.
func (a *API) Config() *rest.Config { return configOf(a.server.URL) }

func configOf(url string) *rest.Config { return &rest.Config{Host: url, QPS: -1} }

// Client is a clientset for the stub.
func (a *API) Client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(a.Config()) }

// SetFaults replaces the faults; none: requests succeed.
func (a *API) SetFaults(faults ...Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append([]Fault(nil), faults...)
}

// OnRequest calls hook before each request is answered, from the request's own goroutine: a hook that waits delays it.
func (a *API) OnRequest(hook func(Request)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hook = hook
}

// Requests are those answered so far, in that order.
func (a *API) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Request(nil), a.requests...)
}

// Put creates or replaces an object, without a look at its resourceVersion.
func (a *API) Put(written runtime.Object) {
	of, content := fromTyped(written)
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	a.store.put(of, content)
}

// Delete removes an object of the kind of `like`, by the namespace and name that it has; false: there is none.
func (a *API) Delete(like runtime.Object) bool {
	of, content := fromTyped(like)
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	_, ok := a.store.remove(of, content.key())
	return ok
}

// Pod is a pod as it is now; nil: there is none.
func (a *API) Pod(namespace, name string) *corev1.Pod {
	return get[corev1.Pod](a, "v1", "Pod", namespace, name)
}

// Node is a node as it is now; nil: there is none.
func (a *API) Node(name string) *corev1.Node { return get[corev1.Node](a, "v1", "Node", "", name) }

// Events are those of the core API, by namespace and name.
func (a *API) Events() []corev1.Event { return list[corev1.Event](a, "v1", "Event") }

// Pods are all pods, by namespace and name.
func (a *API) Pods() []corev1.Pod { return list[corev1.Pod](a, "v1", "Pod") }

func get[T any](a *API, apiVersion, kind, namespace, name string) *T {
	match, ok := a.store.get(resourceOfKind(apiVersion, kind), namespace+"/"+name)
	if !ok {
		return nil
	}
	result := new(T)
	toTyped(match.json(), result)
	return result
}

func list[T any](a *API, apiVersion, kind string) []T {
	of := resourceOfKind(apiVersion, kind)
	everything, _ := newSelection(of, "", "", "")
	objects, _ := a.store.list(of, everything)
	result := make([]T, len(objects))
	for i := range objects {
		toTyped(jsonOf(objects[i]), &result[i])
	}
	return result
}

func toTyped(text []byte, to any) {
	if err := json.Unmarshal(text, to); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
}

func fromTyped(from runtime.Object) (*resource, object) {
	kinds, _, err := scheme.Scheme.ObjectKinds(from)
	if err != nil {
		panic(err)
	}
	of := resourceOfKind(kinds[0].GroupVersion().String(), kinds[0].Kind)
	if of == nil {
		panic(fmt.Sprintf("%s is not among the kinds that the stub serves", kinds[0]))
	}
	text, err := json.Marshal(from)
	if err != nil {
		panic(err)
	}
	var content object
	if err := json.Unmarshal(text, &content); err != nil {
		panic(err)
	}
	return of, content
}

// fault is the code that a request has to fail with; 0: none.
func (a *API) fault(request Request) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.faults {
		fault := &a.faults[i]
		if fault.Verb != request.Verb || fault.Resource != request.Resource {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			continue
		}
		if fault.Times > 0 {
			fault.Times--
			return fault.Code
		}
	}
	return 0
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	of, request := parse(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request.Body, request.ContentType = body, r.Header.Get("Content-Type")
	a.mu.Lock()
	hook := a.hook
	a.mu.Unlock()
	if hook != nil {
		hook(request)
	}
	if of == nil {
		a.answer(w, r, request, http.StatusNotFound, failure(http.StatusNotFound, "NotFound", "the stub does not serve "+r.URL.Path))
	} else if code := a.fault(request); code != 0 {
		a.answer(w, r, request, code, failure(code, reasonOf(code), "injected fault"))
	} else if request.Verb == "WATCH" {
		a.watch(w, r, of, request)
	} else {
		code, content := a.serve(of, request, r)
		a.answer(w, r, request, code, content)
	}
}

// parse reads a request's path; the resource is nil where the stub does not serve it.
func parse(r *http.Request) (*resource, Request) {
	request := Request{Verb: r.Method}
	for i := range resources {
		of := &resources[i]
		rest, ok := strings.CutPrefix(r.URL.Path, of.path()+"/")
		if !ok {
			continue
		}
		parts := strings.Split(strings.Trim(rest, "/"), "/")
		if of.namespaced && len(parts) >= 3 && parts[0] == "namespaces" {
			request.Namespace, parts = parts[1], parts[2:]
		}
		if parts[0] != of.plural || len(parts) > 3 {
			request.Namespace = ""
			continue
		}
		request.Resource = of.plural
		if len(parts) > 1 {
			request.Name = parts[1]
		}
		if len(parts) > 2 {
			request.Subresource = parts[2]
		}
		request.Selector = r.URL.Query().Get("fieldSelector")
		if r.Method == http.MethodGet && request.Name == "" {
			request.Verb = "LIST"
			if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
				request.Verb = "WATCH"
			}
		}
		return of, request
	}
	return nil, request
}

// answer writes one answer and notes the request. It notes it first, so that who has the answer sees it in the log. Refusals are JSON
// always.
func (a *API) answer(w http.ResponseWriter, r *http.Request, request Request, code int, content any) {
	request.Code = code
	a.mu.Lock()
	a.requests = append(a.requests, request)
	a.mu.Unlock()
	var text []byte
	contentType := jsonType
	switch single, isObject := content.(*encoded); {
	case isObject && takesProtobuf(r):
		text, contentType = single.protobuf(), protobufType
	case isObject:
		text = single.json()
	default:
		text = jsonOf(content)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

func failure(code int, reason, message string) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: metav1.StatusReason(reason), Message: message,
	}
}

func reasonOf(code int) string {
	switch code {
	case http.StatusNotFound:
		return "NotFound"
	case http.StatusConflict:
		return "Conflict"
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusUnauthorized:
		return "Unauthorized"
	case http.StatusTooManyRequests:
		return "TooManyRequests"
	case http.StatusInternalServerError:
		return "InternalError"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailable"
	case http.StatusGatewayTimeout:
		return "Timeout"
	}
	return ""
}

// watch streams changes until the client or the stub ends.
func (a *API) watch(w http.ResponseWriter, r *http.Request, of *resource, request Request) {
	query := r.URL.Query()
	if query.Get("sendInitialEvents") != "" {
		a.answer(w, r, request, http.StatusUnprocessableEntity, failure(http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is not served here"))
		return
	}
	wanted, err := newSelection(of, request.Namespace, request.Selector, query.Get("labelSelector"))
	if err != nil {
		a.answer(w, r, request, http.StatusBadRequest, failure(http.StatusBadRequest, "BadRequest", err.Error()))
		return
	}
	request.Code = http.StatusOK
	a.mu.Lock()
	a.requests = append(a.requests, request)
	a.mu.Unlock()
	out := eventWriter{w, takesProtobuf(r)}
	w.Header().Set("Content-Type", out.contentType())
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	version := object{"metadata": map[string]any{"resourceVersion": query.Get("resourceVersion")}}.version()
	var over <-chan time.Time
	if limit, err := time.ParseDuration(query.Get("timeoutSeconds") + "s"); err == nil {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	for {
		events, upTo, more, err := a.store.since(of, wanted, version)
		if err != nil {
			_ = out.writeError(failure(http.StatusGone, "Expired", err.Error()))
			return
		}
		version = upTo
		for _, news := range events {
			if out.write(news) != nil {
				return
			}
		}
		if flusher != nil {
			flusher.Flush()
		}
		select {
		case <-more:
		case <-over:
			return
		case <-r.Context().Done():
			return
		case <-a.ended:
			return
		}
	}
}
