package service_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/extender/service"
)

func (s *scene) post(t *testing.T, verb string, body io.Reader) (int, string) {
	t.Helper()
	response, err := http.Post(s.web.URL+"/"+verb, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, response)
}

func (s *scene) get(t *testing.T, path string) (int, string) {
	t.Helper()
	response, err := http.Get(s.web.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, response)
}

func (s *scene) request(t *testing.T, method, path string, body io.Reader) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, s.web.URL+"/"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, response)
}

func read(t *testing.T, response *http.Response) (int, string) {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestQuestionsThatMakeNoSense(t *testing.T) {
	s := open(t, newAPI(node("a", 16384), pod("p", 9000)))
	const known = `{"metadata":{"name":"p","namespace":"ns","uid":"uid-p"}}`
	for _, question := range []struct{ verb, body, words string }{
		{"filter", ``, "the body is empty"},
		{"filter", `nodes`, "the body, byte 2: "},
		{"filter", `{} {}`, "the body, byte 4: "},
		{"filter", `[]`, "got a list, expected an object"},
		{"filter", `{"Pod":[]}`, "Pod: got a list, expected an object"},
		{"filter", strings.Repeat(`{"Pod":`, 20000), "exceeded max depth"},
		{"filter", `null`, "Pod is null"},
		{"filter", `{}`, "Pod is null"},
		{"filter", `{"Pod":null,"NodeNames":["a"]}`, "Pod is null"},
		{"filter", `{"Pod":` + known + `}`, "Nodes and NodeNames are null"},
		{"filter", `{"Pod":{},"NodeNames":["a"]}`, "expected all three"},
		{"filter", `{"Pod":{"metadata":{"name":"q","namespace":"ns","uid":"uid-q"}},"NodeNames":["a"]}`, "not known here"},
		{"filter", `{"Pod":{"metadata":{"name":"p","namespace":"ns","uid":"u"}},"NodeNames":["a"]}`, "another pod of that name"},
		{"prioritize", `{}`, "Pod is null"},
		{"prioritize", `{"Pod":{"metadata":{"name":"q","namespace":"ns","uid":"uid-q"}},"NodeNames":["a"]}`, "not known here"},
		{"preempt", `{}`, "Pod is null"},
		{"preempt", `{"Pod":` + known + `,"NodeNameToMetaVictims":{"a":null}}`, "is null"},
		{"preempt", `{"Pod":` + known + `,"NodeNameToMetaVictims":{"a":{"Pods":[null]}}}`, "is null"},
		{"preempt", `{"Pod":` + known + `,"NodeNameToVictims":{"a":null}}`, "is null"},
		{"preempt", `{"Pod":` + known + `,"NodeNameToVictims":{"a":{"Pods":[null]}}}`, "is null"},
		{"bind", `{}`, "Node is empty"},
		{"bind", `{"Node":"a"}`, "expected all three"},
		{"bind", `{"Node":"a","PodName":"q","PodNamespace":"ns","PodUID":"uid-q"}`, "not known here"},
		{"bind", `{"Node":3}`, "Node: got 3, expected a text"},
	} {
		status, text := s.post(t, question.verb, strings.NewReader(question.body))
		if status != http.StatusBadRequest || !strings.Contains(text, question.words) || !strings.Contains(text, `"Error"`) {
			t.Errorf("%s %.60s: %d %.200s", question.verb, question.body, status, text)
		}
	}
	// Names that nobody has, twice and empty, are nodes that are not known.
	status, text := s.post(t, "filter", strings.NewReader(`{"Pod":`+known+`,"NodeNames":["","a","a","\u0000"]}`))
	if status != http.StatusOK || !strings.Contains(text, "not known") {
		t.Error(status, text)
	}
	if status, _ := s.get(t, "/filter"); status != http.StatusMethodNotAllowed {
		t.Error(status)
	}
	if status, _ := s.get(t, "/elsewhere"); status != http.StatusNotFound {
		t.Error(status)
	}
}

// blanks are as long as one asks for.
type blanks struct{ left int }

func (b *blanks) Read(to []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	count := min(len(to), b.left)
	for i := range count {
		to[i] = ' '
	}
	b.left -= count
	return count, nil
}

func TestABodyThatIsTooLongIsNotRead(t *testing.T) {
	s := open(t, newAPI(node("a", 16384)))
	status, text := s.post(t, "filter", &blanks{service.BodyMax + 1})
	if status != http.StatusBadRequest || !strings.Contains(text, "longer than") {
		t.Error(status, text)
	}
}

func TestFiguresExplanationsAndHealth(t *testing.T) {
	wants := pod("p", 20000)
	s := open(t, newAPI(node("a", 16384), running("runs", "a", 0, 9000, 0), wants))
	s.filter(t, wants, "a")
	if status, text := s.get(t, "/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Error(status, text)
	}
	status, text := s.get(t, "/metrics")
	for _, figure := range []string{`volcano_vgpu_device_allocated_memory{NodeName="a",devID="GPU-a-0"} 9000`,
		`vgpualloc_extender_request_seconds_count{answered="yes",verb="filter"} 1`, `vgpualloc_rejections_total`} {
		if status != http.StatusOK || !strings.Contains(text, figure) {
			t.Error(status, figure, text)
		}
	}
	if status, text := s.get(t, "/explain?pod=ns/p"); status != http.StatusOK || !strings.Contains(text, "20000") {
		t.Error(status, text)
	}
	if status, _ := s.get(t, "/explain?pod=ns/nobody"); status != http.StatusNotFound {
		t.Error(status)
	}
	if status, _ := s.get(t, "/explain?pod=nobody"); status != http.StatusBadRequest {
		t.Error(status)
	}
}

// Who asks here has the pod scheduled here, whatever its scheduler is called: what is decided is explained.
func TestAPodOfADialectThatNamesAnotherSchedulerIsExplained(t *testing.T) {
	cards := node("a")
	cards.Annotations = map[string]string{"vgpualloc.io/cce-node-register": `[{"id":"GPU-a","model":"V100","memory":16160,"health":true}]`}
	offered := amounts("cpu", "64", "memory", "256Gi", "pods", "110", "volcano.sh/gpu-mem.128Mi", "126")
	cards.Status.Allocatable, cards.Status.Capacity = offered, offered
	wants := pod("p", 0)
	limits := amounts("cpu", "1", "volcano.sh/gpu-mem.128Mi", "16")
	wants.Spec.Containers[0].Resources = v1.ResourceRequirements{Limits: limits, Requests: limits}
	s := open(t, newAPI(cards, wants))
	if result := s.filter(t, wants, "a"); !slices.Equal(*result.NodeNames, []string{"a"}) {
		t.Fatal(result.FailedNodes)
	}
	status, text := s.get(t, "/explain?pod=ns/p")
	var explanation struct{ Choice struct{ Node string } }
	if err := json.Unmarshal([]byte(text), &explanation); status != http.StatusOK || err != nil || explanation.Choice.Node != "a" {
		t.Error(status, text)
	}
}

func TestNobodyIsAnsweredBeforeTheClusterIsKnown(t *testing.T) {
	made, err := service.New(newAPI(), service.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = made.Close() }()
	s := &scene{Service: made}
	s.serve(t)
	if status, _ := s.get(t, "/healthz"); status != http.StatusServiceUnavailable {
		t.Error(status)
	}
	if status, text := s.get(t, "/livez"); status != http.StatusOK || text != "ok\n" {
		t.Error("it waits, and is not to be ended for that", status, text)
	}
	if _, text := s.post(t, "filter", strings.NewReader(`{}`)); !strings.Contains(text, "not known yet") {
		t.Error(text)
	}
}

func (s *scene) preempt(t *testing.T, pod *v1.Pod, proposed map[string][]string) map[string][]string {
	t.Helper()
	args := extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for node, uids := range proposed {
		victims := &extenderv1.MetaVictims{NumPDBViolations: 1}
		for _, uid := range uids {
			victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: uid})
		}
		args.NodeNameToMetaVictims[node] = victims
	}
	result := extenderv1.ExtenderPreemptionResult{}
	if status := s.ask(t, "preempt", args, &result); status != http.StatusOK {
		t.Fatal(status)
	}
	answer := map[string][]string{}
	for node, victims := range result.NodeNameToMetaVictims {
		for _, victim := range victims.Pods {
			answer[node] = append(answer[node], victim.UID)
		}
		if victims.NumPDBViolations != 1 {
			t.Error(node, victims.NumPDBViolations)
		}
	}
	return answer
}

func TestPreemptionAddsTheVictimsThatDevicesNeed(t *testing.T) {
	important := int32(1000)
	wants := pod("p", 12000)
	wants.Spec.Priority = &important
	s := open(t, newAPI(
		// "a" has half of each card taken: by sums one pod is enough, whichever.
		node("a", 16384, 16384), running("a-low", "a", 0, 8000, 1), running("a-lower", "a", 1, 8000, 0),
		// "b" has one card with two pods; only one of them may go.
		node("b", 16384), running("b-low", "b", 0, 4000, 1), running("b-high", "b", 0, 8000, 2000),
		// "c" needs both.
		node("c", 16384), running("c-low", "c", 0, 8000, 1), running("c-lower", "c", 0, 8000, 0),
		// "d" has a pod that is no matter of devices.
		node("d", 16384), func() *v1.Pod { plain := pod("d-plain", 0); plain.Spec.NodeName = "d"; return plain }(), wants))
	answer := s.preempt(t, wants, map[string][]string{"a": {"uid-a-low"}, "b": {"uid-b-low"}, "c": {"uid-c-low"},
		"d": {"uid-d-plain"}, "nowhere": {"x"}})
	if len(answer) != 3 || !slices.Equal(answer["a"], []string{"uid-a-low"}) ||
		!slices.Equal(answer["c"], []string{"uid-c-low", "uid-c-lower"}) || !slices.Equal(answer["d"], []string{"uid-d-plain"}) {
		t.Error(answer)
	}
	// A node where nothing was proposed needs victims of ours; one that needs none is no answer.
	answer = s.preempt(t, wants, map[string][]string{"a": {}, "d": {}})
	if len(answer) != 1 || !slices.Equal(answer["a"], []string{"uid-a-lower"}) {
		t.Error("the less important goes", answer)
	}
	plain := pod("plain", 0)
	s.api.create(t, plain)
	if answer := s.preempt(t, plain, map[string][]string{"b": {"uid-b-low"}}); !slices.Equal(answer["b"], []string{"uid-b-low"}) {
		t.Error("pods without devices are no matter of ours", answer)
	}
}

func TestWhatIsWrongWithAQuestionIsSaidInWords(t *testing.T) {
	s := open(t, newAPI())
	for _, wrong := range []struct{ method, path, body, words string }{
		{"POST", "bind", `{"PodName": 7}`, `PodName: got 7, expected a text`},
		{"POST", "bind", `{"PodName": {"a": 1}}`, `PodName: got an object, expected a text`},
		{"POST", "filter", `{"NodeNames": "a"}`, `NodeNames: got "a", expected a list`},
		{"POST", "filter", `{"Pod": true}`, `Pod: got true, expected an object`},
		{"POST", "filter", `{"Pod": {"spec": {"priority": "high"}}}`, `Pod.spec.priority: got "high", expected a whole number`},
		{"POST", "filter", `7`, `the body: got 7, expected an object`},
		{"POST", "filter", ` `, `the body is empty: expected JSON`},
		{"POST", "filter", `{"Pod": nil}`, `the body, byte 10: invalid character`},
		{"GET", "filter", ``, `method GET for /filter: expected POST`},
		{"PUT", "metrics", ``, `method PUT for /metrics: expected GET`},
		{"POST", "healthz", ``, `method POST for /healthz: expected GET`},
		{"POST", "livez", ``, `method POST for /livez: expected GET`},
		{"GET", "nosuch", ``, `path "/nosuch": expected /filter,`},
	} {
		status, text := s.request(t, wrong.method, wrong.path, strings.NewReader(wrong.body))
		result := struct{ Error string }{}
		if err := json.Unmarshal([]byte(text), &result); err != nil || status < 400 || status > 405 || !strings.HasPrefix(result.Error, wrong.words) {
			t.Error(wrong, status, text)
		}
	}
}
