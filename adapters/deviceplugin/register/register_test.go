package register_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/register"
)

func cards() []register.Card {
	return []register.Card{
		{UUID: "GPU-a", Index: 1, Name: "NVIDIA A100-SXM4-40GB", MemoryMiB: 40960, Healthy: true,
			Card: config.Card{Mode: config.HAMiCore, SplitCount: 10, MemoryFactor: 3, MemoryScaling: 1.5, CoreScaling: 1.29}},
		{UUID: "GPU-b", Name: "Tesla T4", MemoryMiB: 15360, NUMA: 1,
			Card: config.Card{Mode: config.MIG, SplitCount: 7, MemoryFactor: 1, MemoryScaling: 1, CoreScaling: 2}},
	}
}

func TestTexts(t *testing.T) {
	const volcano = "GPU-a,10,20480,NVIDIA-NVIDIA A100-SXM4-40GB,true,hami-core:GPU-b,7,15360,NVIDIA-Tesla T4,false,mig:"
	if text := register.Volcano(cards()); text != volcano {
		t.Errorf("%s\nexpected %s", text, volcano)
	}
	const hami = `[{"id":"GPU-a","index":1,"count":10,"devmem":61440,"devcore":129,"type":"NVIDIA A100-SXM4-40GB","numa":0,"mode":"hami-core","health":true},` +
		`{"id":"GPU-b","index":0,"count":7,"devmem":15360,"devcore":100,"type":"NVIDIA-Tesla T4","numa":1,"mode":"mig","health":false}]`
	if text, err := register.HAMi(cards()); err != nil || text != hami {
		t.Errorf("%v %s\nexpected %s", err, text, hami)
	}
}

// stand is a writer over a node; rounds are awaited.
type stand struct {
	client *fake.Clientset
	writer *register.Writer
	rounds chan error
	cards  []register.Card
	end    func()
}

func newStand(t *testing.T, schedulers config.Schedulers, liveness string, annotations map[string]string) *stand {
	t.Helper()
	made := &stand{client: fake.NewClientset(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: annotations}}),
		rounds: make(chan error), cards: cards()}
	made.writer = register.New(register.Options{Client: made.client, Node: "n", Schedulers: schedulers, Liveness: liveness,
		Cards: func() []register.Card { return made.cards }, Interval: time.Hour, Retry: time.Millisecond,
		Now:     func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)) },
		Rounded: func(err error) { made.rounds <- err }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	return made.start(t, ctx, cancel, ended)
}

func (s *stand) start(t *testing.T, ctx context.Context, cancel func(), ended chan struct{}) *stand {
	s.end = func() { cancel(); <-ended }
	t.Cleanup(s.end)
	go func() {
		defer close(ended)
		s.writer.Run(ctx)
	}()
	return s
}

func (s *stand) annotations(t *testing.T) map[string]string {
	t.Helper()
	node, err := s.client.CoreV1().Nodes().Get(context.Background(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node.Annotations
}

func (s *stand) patches() (bodies []string) {
	for _, action := range s.client.Actions() {
		if patch, isPatch := action.(ktesting.PatchAction); isPatch {
			bodies = append(bodies, string(patch.GetPatchType())+" "+string(patch.GetPatch()))
		}
	}
	return bodies
}

func TestWritesOnlyChangesAndWithdraws(t *testing.T) {
	s := newStand(t, config.Schedulers{Volcano: true}, "", map[string]string{"example.com/other": "keep"})
	if err := <-s.rounds; err != nil {
		t.Fatal(err)
	}
	text := register.Volcano(cards())
	if now := s.annotations(t); now[register.VolcanoAnnotation] != text || now["example.com/other"] != "keep" || len(now) != 3 {
		t.Errorf("annotations %v", now)
	}
	s.writer.Kick()
	<-s.rounds
	want := `application/strategic-merge-patch+json {"metadata":{"annotations":{"volcano.sh/node-vgpu-handshake":"Reported_2026.01.02 02:04:05","volcano.sh/node-vgpu-register":"` + text + `"}}}`
	if bodies := s.patches(); len(bodies) != 1 || bodies[0] != want {
		t.Errorf("patches %v, expected one", bodies)
	}
	s.cards[0].Healthy = false
	s.writer.Kick()
	<-s.rounds
	if now := s.annotations(t)[register.VolcanoAnnotation]; !strings.HasPrefix(now, "GPU-a,10,20480,NVIDIA-NVIDIA A100-SXM4-40GB,false,") {
		t.Errorf("after the health changed: %s", now)
	}
	s.end()
	if err := s.writer.Withdraw(context.Background()); err != nil {
		t.Fatal(err)
	}
	if now := s.annotations(t); len(now) != 1 {
		t.Errorf("withdrawn: %v", now)
	}
}

func TestNoCardsTakeAnOldTextAway(t *testing.T) {
	for _, old := range []string{"", "GPU-old,10,1000,NVIDIA-Old,true,hami-core:"} {
		s := newStand(t, config.Schedulers{Volcano: true}, "", map[string]string{register.VolcanoAnnotation: old})
		<-s.rounds // with cards
		s.cards = nil
		s.writer.Kick()
		if err := <-s.rounds; err != nil || len(s.annotations(t)) != 0 {
			t.Errorf("%v %v", err, s.annotations(t))
		}
	}
}

func TestLivenessAndHAMi(t *testing.T) {
	s := newStand(t, config.Schedulers{Volcano: true, HAMi: true}, config.DefaultLivenessAnnotation, nil)
	<-s.rounds
	now := s.annotations(t)
	hami, _ := register.HAMi(cards()[:1]) // the MIG card is Volcano's alone
	for key, value := range map[string]string{register.VolcanoAnnotation: register.Volcano(cards()), register.HAMiAnnotation: hami,
		register.HandshakeAnnotation: "Reported_2026.01.02 02:04:05", register.VolcanoHandshakeAnnotation: "Reported_2026.01.02 02:04:05",
		config.DefaultLivenessAnnotation: "2026-01-02T02:04:05Z"} {
		if now[key] != value {
			t.Errorf("%s: %s, expected %s", key, now[key], value)
		}
	}
	s.end()
	if err := s.writer.Withdraw(context.Background()); err != nil || len(s.annotations(t)) != 0 {
		t.Errorf("withdrawn: %v %v", err, s.annotations(t))
	}
}

// Volcano 1.14 and HAMi write over the handshake, and take the cards away if it is not written again. It goes with the registration.
func TestHandshakesAreAnsweredAndWithdrawn(t *testing.T) {
	s := newStand(t, config.Schedulers{Volcano: true, HAMi: true}, "", nil)
	<-s.rounds
	request := func() {
		node, err := s.client.CoreV1().Nodes().Get(context.Background(), "n", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{register.VolcanoHandshakeAnnotation, register.HandshakeAnnotation} {
			node.Annotations[key] = "Requesting_2026.01.02 03:04:05"
		}
		if _, err := s.client.CoreV1().Nodes().Update(context.Background(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	request()
	s.writer.Kick()
	<-s.rounds
	for _, key := range []string{register.VolcanoHandshakeAnnotation, register.HandshakeAnnotation} {
		if now := s.annotations(t)[key]; now != "Reported_2026.01.02 02:04:05" {
			t.Errorf("%s after a request: %q", key, now)
		}
	}
	request()
	s.end()
	if err := s.writer.Withdraw(context.Background()); err != nil || len(s.annotations(t)) != 0 {
		t.Errorf("withdrawn: %v %v", err, s.annotations(t))
	}
}

// A text of another plugin that has taken the node over stays.
func TestWithdrawLeavesOthers(t *testing.T) {
	s := newStand(t, config.Schedulers{Volcano: true}, "", nil)
	<-s.rounds
	s.end()
	_, err := s.client.CoreV1().Nodes().Update(context.Background(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n",
		Annotations: map[string]string{register.VolcanoAnnotation: "GPU-a,2,1,NVIDIA-x,true,mig:"}}}, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writer.Withdraw(context.Background()); err != nil || len(s.annotations(t)) != 1 {
		t.Errorf("withdrawn: %v %v", err, s.annotations(t))
	}
}

func TestRetries(t *testing.T) {
	failures := 2
	s := &stand{client: fake.NewClientset(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), rounds: make(chan error), cards: cards()}
	s.client.PrependReactor("patch", "nodes", func(ktesting.Action) (bool, runtime.Object, error) {
		failures--
		return failures >= 0, nil, errors.New("injected")
	})
	s.writer = register.New(register.Options{Client: s.client, Node: "n", Schedulers: config.Schedulers{Volcano: true},
		Cards: func() []register.Card { return s.cards }, Interval: time.Hour, Retry: time.Millisecond, Rounded: func(err error) { s.rounds <- err }})
	ctx, cancel := context.WithCancel(context.Background())
	s.start(t, ctx, cancel, make(chan struct{}))
	for i, fails := range []bool{true, true, false} {
		if err := <-s.rounds; (err != nil) != fails {
			t.Errorf("round %d: %v", i, err)
		}
	}
}

// Texts equal the recorded ones of volcano-vgpu-device-plugin.
func TestRecorded(t *testing.T) {
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	file, err := os.Open(filepath.Join(folder, "conformance", "node", "vgpu-register.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines, compared := bufio.NewScanner(file), 0
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		compared += compare(t, lines.Bytes())
	}
	if lines.Err() != nil || compared < 100 {
		t.Errorf("%d texts compared, %v; expected 100 or more", compared, lines.Err())
	}
	t.Logf("%d texts are equal", compared)
}

type recorded struct {
	ID    string
	Input struct {
		Node   string   `json:"node_name"`
		Device string   `json:"device_config_yaml"`
		File   *string  `json:"node_config_json"`
		Args   []string `json:"args"`
		Plugin string   `json:"plugin_config_yaml"`
		Faults any      `json:"nvml_faults"`
		GPUs   []struct {
			UUID, Name string
			Memory     int64 `json:"memory_bytes"`
			Minor      int
			MigEnabled bool `json:"mig_enabled"`
		}
	}
	Output struct {
		Startup     string
		Annotations map[string]string `json:"node_annotations"`
	}
}

func compare(t *testing.T, line []byte) int {
	one := recorded{}
	if err := json.Unmarshal(line, &one); err != nil {
		t.Fatal(err)
	}
	in := one.Input
	want := one.Output.Annotations[register.VolcanoAnnotation]
	isEmpty := want == ""                       // nothing was written: an API fault, or resources of other names (N3)
	hasNoSplit := strings.Contains(want, ",0,") // N2: deviceSplitCount is absent, or a card has no memory left
	if one.Output.Startup != "serving" || in.Faults != nil || isEmpty || hasNoSplit {
		return 0
	}
	flags, err := config.ReadFlags(append(in.Args, "--node-name="+in.Node), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Errorf("%s: %v", one.ID, err)
		return 0
	}
	var file []byte
	if in.File != nil {
		file = []byte(*in.File)
	}
	read, err := config.Build(flags, []byte(in.Device), file)
	if err != nil { // refused: N2, N3 and N7 name the reasons
		t.Logf("%s is refused: %v", one.ID, err)
		return 0
	}
	list := []register.Card{}
	for minor := range 64 {
		for i, gpu := range in.GPUs {
			card := read.Card(i, gpu.UUID)
			isLeftOut := card.IsFiltered || flags.MigStrategy == "mixed" && gpu.MigEnabled || strings.HasSuffix(gpu.Name, "DGX Display")
			if gpu.Minor == minor && !isLeftOut {
				list = append(list, register.Card{UUID: gpu.UUID, Index: i, Name: gpu.Name, MemoryMiB: gpu.Memory >> 20, Healthy: true, Card: card})
			}
		}
	}
	if text := register.Volcano(list); text != want {
		t.Errorf("%s: %s\nrecorded %s", one.ID, text, want)
		return 0
	}
	return 1
}
