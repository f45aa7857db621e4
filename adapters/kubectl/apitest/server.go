// Package apitest is an API server for tests, which lists the objects of a file.
package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Object is a Kubernetes object.
type Object = map[string]any

// Server lists objects. What it does otherwise than a server that allows everything is set before it is used.
type Server struct {
	*httptest.Server
	PageMax int            // objects on a page at most, whatever the limit; 0: the limit alone
	Status  map[string]int // the status with which a path is answered; "*": every path
	Expire  string         // the path whose first second page has expired

	objects []Object
	mutex   sync.Mutex
	refused int      // of every path, if it is not 0
	seen    []string // "GET /api/v1/nodes?limit=500"
}

// resources are the lists of the kinds, and the groups that this server has.
var resources = map[string]string{
	"Node": "/api/v1/nodes", "Pod": "/api/v1/pods", "ResourceQuota": "/api/v1/resourcequotas", "Job": "/apis/batch/v1/jobs",
	"PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses", "ConfigMap": "/api/v1/namespaces/kube-system/configmaps",
	"PodGroup": "/apis/scheduling.volcano.sh/v1beta1/podgroups",
}

// Items are the objects of a List in a file below the folder of the checkout.
func Items(t *testing.T, path string) []Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		text, err = os.ReadFile(filepath.Join("..", "..", "..", path))
	}
	var list struct{ Items []Object }
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("%s: %v, expected a List", path, err)
	}
	return list.Items
}

// Exported are objects as `kubectl get nodes,pods,resourcequotas,jobs -A -o json` prints them.
func Exported(t *testing.T, objects []Object) []byte {
	t.Helper()
	text, err := json.MarshalIndent(Object{"apiVersion": "v1", "kind": "List", "metadata": Object{"resourceVersion": ""}, "items": objects}, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// Serve begins a server, which ends with the test.
func Serve(t *testing.T, objects []Object) *Server {
	server := &Server{objects: objects, Status: map[string]int{}}
	server.Server = httptest.NewServer(server)
	t.Cleanup(server.Close)
	return server
}

// Replace makes these the objects that there are, while clients ask.
func (s *Server) Replace(objects []Object) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects = objects
}

// Refuse answers every path with this status while clients ask; 0: no longer.
func (s *Server) Refuse(status int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.refused = status
}

// Kubeconfig writes a file by which clients reach the server, in namespace team-a.
func (s *Server) Kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: u, namespace: team-a}}]\ncurrent-context: c\n", s.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Requests are those that came so far.
func (s *Server) Requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.seen)
}

// Forget makes Requests those that come from now on.
func (s *Server) Forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.seen = nil
}

// ServeHTTP answers as an API server does.
func (s *Server) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	s.mutex.Lock()
	s.seen = append(s.seen, request.Method+" "+request.URL.String())
	expires := s.Expire == request.URL.Path && request.URL.Query().Get("continue") != ""
	if expires {
		s.Expire = ""
	}
	objects, refused := s.objects, s.refused
	s.mutex.Unlock()
	to.Header().Set("Content-Type", "application/json")
	status := max(s.Status[request.URL.Path], s.Status["*"], refused)
	switch {
	case request.Method != http.MethodGet:
		status = http.StatusMethodNotAllowed
	case expires:
		status = http.StatusGone
	}
	if status != 0 {
		refuse(to, status)
		return
	}
	if request.URL.Path == "/apis" {
		s.groups(to)
		return
	}
	s.list(to, request, objects)
}

func refuse(to http.ResponseWriter, status int) {
	reason := map[int]string{403: "Forbidden", 401: "Unauthorized", 404: "NotFound", 410: "Expired"}[status]
	to.WriteHeader(status)
	write(to, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status, "message": "refused: " + reason})
}

func (s *Server) groups(to http.ResponseWriter) {
	groups := []Object{}
	for _, name := range []string{"batch/v1", "policy/v1", "scheduling.k8s.io/v1"} {
		group, version, _ := strings.Cut(name, "/")
		groups = append(groups, Object{"name": group, "preferredVersion": Object{"groupVersion": name, "version": version}})
	}
	write(to, Object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

// list answers with one page, whose items have no kind and are said to be managed by somebody.
func (s *Server) list(to http.ResponseWriter, request *http.Request, objects []Object) {
	kind := ""
	items := []Object{}
	for name, path := range resources {
		if path == request.URL.Path {
			kind = name
		}
	}
	version := "v1"
	for _, object := range objects {
		if object["kind"] == kind {
			version = object["apiVersion"].(string)
			items = append(items, asListed(object))
		}
	}
	start, _ := strconv.Atoi(request.URL.Query().Get("continue"))
	limit, err := strconv.Atoi(request.URL.Query().Get("limit"))
	if err != nil {
		limit = len(items)
	}
	if s.PageMax > 0 && err == nil {
		limit = min(limit, s.PageMax)
	}
	end := min(start+limit, len(items))
	metadata := Object{"resourceVersion": "7"}
	if end < len(items) {
		metadata["continue"] = strconv.Itoa(end)
	}
	write(to, Object{"kind": kind + "List", "apiVersion": version, "metadata": metadata, "items": items[start:end]})
}

func asListed(object Object) Object {
	result := Object{}
	for key, value := range object {
		if key != "kind" && key != "apiVersion" {
			result[key] = value
		}
	}
	metadata := Object{"managedFields": []any{Object{"manager": "kubelet"}}}
	for key, value := range object["metadata"].(Object) {
		metadata[key] = value
	}
	result["metadata"] = metadata
	return result
}

func write(to http.ResponseWriter, object Object) { _ = json.NewEncoder(to).Encode(object) }
