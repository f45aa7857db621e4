package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/kubectl/apitest"
)

func connect(t *testing.T, server *apitest.Server) *rest.RESTClient {
	t.Helper()
	client, namespace, err := Connect(Access{Kubeconfig: server.Kubeconfig(t)})
	if err != nil || namespace != "team-a" {
		t.Fatal(namespace, err)
	}
	return client
}

// read is the cluster that the server has, for a user in namespace team-a.
func read(t *testing.T, server *apitest.Server) (Cluster, error) {
	t.Helper()
	return Read(context.Background(), connect(t, server), "team-a")
}

func TestTextIsKubectlsInPagesOfEverySize(t *testing.T) {
	for _, path := range []string{"scenarios/clusters/atlas.json", "scenarios/clusters/harbor.json"} {
		items := apitest.Items(t, path)
		expected := apitest.Exported(t, items)
		for _, pageMax := range []int{0, 1, 7} {
			server := apitest.Serve(t, items)
			server.PageMax = pageMax
			cluster, err := read(t, server)
			if err != nil || !bytes.Equal(cluster.Text, expected) || len(cluster.Unlisted) != 0 {
				t.Errorf("%s in pages of %d: %v, not read %q, text\n%.300s", path, pageMax, err, cluster.Unlisted, cluster.Text)
			}
			for _, request := range server.Requests() {
				if !strings.HasPrefix(request, "GET ") || !strings.HasSuffix(request, "/apis") && !strings.Contains(request, "limit=500") {
					t.Errorf("request %q, expected GET with limit=500", request)
				}
			}
			if pods := (len(items) + 6) / 7; pageMax == 7 && len(server.Requests()) < pods {
				t.Errorf("%d requests, expected at least %d pages", len(server.Requests()), pods)
			}
		}
	}
}

func TestLargeClustersAreALineForEachObjectWithoutWhatIsNotRead(t *testing.T) {
	defer func(size int) { largeSize = size }(largeSize)
	largeSize = 0
	items := apitest.Items(t, "scenarios/clusters/atlas.json")
	for _, object := range items {
		object["status"].(apitest.Object)["images"] = []any{"not read"}
	}
	node := items[1]["status"].(apitest.Object)
	node["conditions"].([]any)[0].(apitest.Object)["message"] = "not read"
	server := apitest.Serve(t, items)
	cluster, err := read(t, server)
	lines := strings.Count(string(cluster.Text), "\n")
	if err != nil || lines != len(items)+9 {
		t.Fatalf("%v, %d lines, expected %d", err, lines, len(items)+9)
	}
	if strings.Count(string(cluster.Text), "not read") != 1 { // of the first object, after which the cluster is large
		t.Errorf("%.2000s", cluster.Text)
	}
	delete(node["conditions"].([]any)[0].(apitest.Object), "message")
	for _, object := range items[1:] {
		delete(object["status"].(apitest.Object), "images")
	}
	var compact, expected bytes.Buffer
	if json.Compact(&compact, cluster.Text) != nil || json.Compact(&expected, apitest.Exported(t, items)) != nil || compact.String() != expected.String() {
		t.Errorf("%.2000s\nexpected\n%.2000s", compact.String(), expected.String())
	}
}

func TestListThatExpiredIsReadAgain(t *testing.T) {
	items := apitest.Items(t, "scenarios/clusters/atlas.json")
	server := apitest.Serve(t, items)
	server.PageMax, server.Expire = 7, "/api/v1/pods"
	cluster, err := read(t, server)
	if err != nil || !bytes.Equal(cluster.Text, apitest.Exported(t, items)) {
		t.Errorf("%v\n%.300s", err, cluster.Text)
	}
	if !slices.Contains(server.Requests(), "GET /api/v1/pods") {
		t.Errorf("%q, expected pods without a limit", server.Requests())
	}
}

func TestKindsThatAreNotThereOrNotAllowedArePassedOver(t *testing.T) {
	server := apitest.Serve(t, apitest.Items(t, "scenarios/clusters/atlas.json"))
	server.Status["/apis/batch/v1/jobs"] = http.StatusForbidden
	server.Status["/api/v1/resourcequotas"] = http.StatusForbidden
	server.Status["/api/v1/limitranges"] = http.StatusNotFound
	cluster, err := read(t, server)
	if err != nil || !slices.Equal(cluster.Unlisted, []string{"resourcequotas", "jobs.batch"}) {
		t.Errorf("%v, not read %q", err, cluster.Unlisted)
	}
	items := apitest.Items(t, "scenarios/clusters/atlas.json")
	if !bytes.Equal(cluster.Text, apitest.Exported(t, items[:len(items)-2])) { // without the quota and the Job
		t.Errorf("%.300s", cluster.Text)
	}
	for _, request := range server.Requests() {
		if strings.Contains(request, "volcano") || strings.Contains(request, "configmaps") {
			t.Errorf("request %q: the server has no such group, and no node has chips", request)
		}
	}
}

func TestGroupsThatAreNotToldAreTried(t *testing.T) {
	items := apitest.Items(t, "scenarios/clusters/atlas.json")
	server := apitest.Serve(t, items)
	server.Status["/apis"] = http.StatusForbidden
	server.Status["/apis/scheduling.volcano.sh/v1beta1/podgroups"] = http.StatusNotFound
	cluster, err := read(t, server)
	if err != nil || !bytes.Equal(cluster.Text, apitest.Exported(t, items)) || len(cluster.Unlisted) != 0 {
		t.Errorf("%v, not read %q", err, cluster.Unlisted)
	}
}

func TestChipsOfNodesAreRead(t *testing.T) {
	node := apitest.Object{"apiVersion": "v1", "kind": "Node", "metadata": apitest.Object{"name": "npu-1"},
		"status": apitest.Object{"allocatable": apitest.Object{"huawei.com/Ascend310P": "4"}}}
	chips := apitest.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": apitest.Object{"name": "mindx-dl-deviceinfo-npu-1", "namespace": "kube-system"}}
	server := apitest.Serve(t, []apitest.Object{node, chips})
	server.Status["/api/v1/namespaces/mindx-dl/configmaps"] = http.StatusForbidden
	cluster, err := read(t, server)
	if err != nil || !bytes.Equal(cluster.Text, apitest.Exported(t, []apitest.Object{node, chips})) ||
		!slices.Equal(cluster.Unlisted, []string{"configmaps in mindx-dl"}) {
		t.Errorf("%v, not read %q, text\n%s", err, cluster.Unlisted, cluster.Text)
	}
}

func TestWhatEveryAnswerNeedsIsAnErrorWithTheRole(t *testing.T) {
	for _, example := range []struct {
		refused  []string
		expected string
	}{
		{[]string{"/api/v1/nodes"}, "free cannot be known: you may not list nodes; the role vgpu-view (get, list) allows it"},
		{[]string{"/api/v1/pods"}, "free cannot be known: you may list pods in team-a, not in all namespaces; the role vgpu-view (get, list) allows it"},
		{[]string{"/api/v1/pods", "/api/v1/namespaces/team-a/pods"},
			"free cannot be known: you may not list pods of all namespaces; the role vgpu-view (get, list) allows it"},
	} {
		server := apitest.Serve(t, apitest.Items(t, "scenarios/clusters/atlas.json"))
		for _, path := range example.refused {
			server.Status[path] = http.StatusForbidden
		}
		if _, err := read(t, server); !errors.Is(err, ErrNotAllowed) || err.Error() != example.expected {
			t.Errorf("%q: %v, expected %s", example.refused, err, example.expected)
		}
	}
	server := apitest.Serve(t, apitest.Items(t, "scenarios/clusters/atlas.json"))
	server.Status["*"] = http.StatusInternalServerError
	if _, err := read(t, server); err == nil || errors.Is(err, ErrNotAllowed) {
		t.Errorf("%v, expected an error of the server", err)
	}
}

func TestEveryVerbButGetIsRefusedBeforeItIsSent(t *testing.T) {
	server := apitest.Serve(t, apitest.Items(t, "scenarios/clusters/atlas.json"))
	client := connect(t, server)
	for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT"} {
		err := client.Verb(verb).AbsPath("/api/v1/namespaces/train/pods/llm-0").Body([]byte("{}")).Do(context.Background()).Error()
		if err == nil || !strings.Contains(err.Error(), "kubectl vgpu only reads") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if requests := server.Requests(); len(requests) != 0 {
		t.Errorf("%q was sent", requests)
	}
	if err := client.Get().AbsPath("/api/v1/nodes").Do(context.Background()).Error(); err != nil || len(server.Requests()) != 1 {
		t.Errorf("GET: %v", err)
	}
}

func TestRoleAllowsWhatIsReadAndNoMore(t *testing.T) {
	text, err := os.ReadFile("../rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var allowed, expected []string
	for _, document := range strings.Split(string(text), "\n---\n") {
		var role rbacv1.Role // whose rules a ClusterRole has too
		if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil || role.Name != "vgpu-view" {
			t.Fatal(role.Name, err)
		}
		for _, rule := range role.Rules {
			if !slices.Equal(rule.Verbs, []string{"get", "list"}) || len(rule.APIGroups) != 1 || len(rule.ResourceNames) != 0 {
				t.Errorf("%v, expected get and list of one group", rule)
			}
			for _, resource := range rule.Resources {
				allowed = append(allowed, kind{group: rule.APIGroups[0], resource: resource, namespace: role.Namespace}.name())
			}
		}
	}
	for _, resource := range append(slices.Clone(kinds), chipKinds[0]) {
		expected = append(expected, resource.name())
	}
	slices.Sort(allowed)
	slices.Sort(expected)
	if !slices.Equal(allowed, expected) {
		t.Errorf("the role allows %q, read is %q", allowed, expected)
	}
}
