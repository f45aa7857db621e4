package live_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/livetest"
	"vgpualloc.example/adapters/live/telemetry"
	"vgpualloc.example/adapters/vga"
)

func node(name string, cards int) string {
	register := ""
	for i := range cards {
		register += fmt.Sprintf("GPU-%s-%d,10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:", name, i)
	}
	return fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q,"annotations":{"volcano.sh/node-vgpu-register":%q}},
		"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110","volcano.sh/vgpu-number":"20",
		"volcano.sh/vgpu-memory":"81920","volcano.sh/vgpu-cores":"200"}}}`, name, register)
}

func pod(uid string, memory int) string {
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"namespace":"ns","uid":%q},"spec":{"containers":[
		{"name":"main","resources":{"limits":{"volcano.sh/vgpu-number":"1","volcano.sh/vgpu-memory":"%d"}}}]}}`,
		uid, uid, memory)
}

// told is a cluster with objects, and the path of its decision log.
func told(t *testing.T, objects ...string) (*live.Cluster, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	log, err := decisionlog.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := live.New(vga.Options{Policy: "binpack"}, log)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if _, err := cluster.Tell([]byte(object)); err != nil {
			t.Fatal(err)
		}
	}
	return cluster, path
}

// closed is what the log of a cluster has, which ends.
func closed(t *testing.T, cluster *live.Cluster, path string) []decisionlog.Line {
	t.Helper()
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	return livetest.Events(t, path)
}

func reserve(t *testing.T, cluster *live.Cluster, uid, node string, candidates []string) *live.Decision {
	t.Helper()
	decision, err := cluster.Reserve(uid, "ns/"+uid, node, candidates, time.Unix(1700000000, 5))
	if err != nil {
		t.Fatal(err)
	}
	return decision
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheLogHasWhatStandsInOrder(t *testing.T) {
	c, path := told(t, node("a", 1), node("a", 1), pod("p", 30000), pod("q", 20000))
	decision := reserve(t, c, "p", "a", nil)
	if decision.Annotations["volcano.sh/vgpu-ids-new"] != "GPU-a-0,NVIDIA,30000,0:" ||
		decision.Annotations["volcano.sh/vgpu-time"] != "1700000000" {
		t.Error(decision.Annotations)
	}
	check(t, c.Rollback("p")) // nobody has read of it: it leaves nothing
	reserve(t, c, "p", "a", nil)
	check(t, c.Flush())
	check(t, c.Rollback("p")) // it stands in the file
	reserve(t, c, "p", "a", nil)
	if _, err := c.Ask("q", "ns/q"); err != nil {
		t.Fatal(err)
	}
	check(t, c.Commit("p"))
	check(t, c.Suspend("p"))
	check(t, c.Resume("p"))
	check(t, c.RemovePod("p"))
	if err := c.RemovePod("p"); !errors.Is(err, vga.UnknownPod) { // what fails is not in the log
		t.Error(err)
	}
	check(t, c.RemoveNode("a"))
	events := closed(t, c, path)
	const expected = "start, tell, tell, tell, decide p, rollback p, decide p, refuse q, commit p, suspend p, resume p, " +
		"remove_pod p, remove_node"
	if livetest.Names(events) != expected {
		t.Error(livetest.Names(events))
	}
	if !reflect.DeepEqual(events[7].Reasons, map[string]int{"insufficient_device_memory": 1}) {
		t.Error(events[7])
	}
}

func TestARefusalIsWrittenOnceUntilThePodChanges(t *testing.T) {
	c, path := told(t, node("a", 1), pod("p", 50000))
	for range 3 {
		if answers, err := c.Ask("p", "ns/p"); err != nil || answers.Fitting() != 0 {
			t.Fatal(answers, err)
		}
		if _, err := c.Tell([]byte(node("b"+time.Now().Format("150405.000000000"), 1))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.TellPod("p", []byte(pod("p", 60000))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask("p", "ns/p"); err != nil {
		t.Fatal(err)
	}
	events := closed(t, c, path)
	if strings.Count(livetest.Names(events), "refuse p") != 2 {
		t.Error(livetest.Names(events))
	}
}

func TestALogGoesOnAfterALineThatWasCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	check(t, os.WriteFile(path, []byte(`{"event":"sta`), 0o600))
	log, err := decisionlog.Open(path, 0)
	check(t, err)
	c, err := live.New(vga.Options{}, log)
	check(t, err)
	check(t, c.Close())
	text, err := os.ReadFile(path)
	check(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 || lines[0] != `{"event":"sta` || !strings.HasPrefix(lines[1], `{"event":"start"`) {
		t.Error(lines)
	}
}

func TestCandidatesAreNamedTheShorterWay(t *testing.T) {
	objects := []string{pod("p", 1000), pod("q", 1000), pod("r", 1000), pod("s", 1000)}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		objects = append(objects, node(name, 1))
	}
	c, path := told(t, objects...)
	reserve(t, c, "p", "a", []string{"a", "b", "c", "d", "e"})
	reserve(t, c, "q", "a", []string{"a", "b", "e", "d"})
	reserve(t, c, "r", "a", []string{"a"})
	reserve(t, c, "s", "a", nil)
	var decisions []decisionlog.Line
	for _, one := range closed(t, c, path) {
		if one.Event == "decide" {
			decisions = append(decisions, one)
		}
	}
	if decisions[0].Except != nil || decisions[0].Only != nil || decisions[3].Except != nil || decisions[3].Only != nil ||
		!reflect.DeepEqual(decisions[1].Except, []string{"c"}) || !reflect.DeepEqual(decisions[2].Only, []string{"a"}) {
		t.Error(decisions)
	}
}

// Schedulers try gangs out: what was answered before holds when all is as before, and only then.
func TestAnswersHoldWheneverTheClusterIsInThatState(t *testing.T) {
	c, _ := told(t, node("a", 1), node("b", 2), pod("p", 20000), pod("q", 20000), pod("r", 20000), pod("s", 1000))
	defer func() { check(t, c.Close()) }()
	ask := func(uid string) *live.Answers {
		answers, err := c.Ask(uid, "ns/"+uid)
		check(t, err)
		return answers
	}
	same := func(one, other *live.Answers, what string) {
		t.Helper()
		if one != other {
			t.Error("asked anew though nothing is different:", what)
		}
	}
	first := ask("p")
	reserve(t, c, "p", "a", nil)
	second := ask("q")
	reserve(t, c, "q", "a", nil)
	third := ask("r")
	if third.Fitting() != 1 {
		t.Error(third.Fitting(), "nodes take r, expected b alone")
	}
	check(t, c.Rollback("q"))
	same(second, ask("q"), "q was taken back")
	check(t, c.Rollback("p"))
	same(first, ask("p"), "both were taken back")
	reserve(t, c, "p", "a", nil)
	same(second, ask("q"), "the first booked again")
	reserve(t, c, "q", "b", nil)
	if again := ask("r"); again == third || again.Fitting() != 2 {
		t.Error("the second went elsewhere:", again.Fitting(), "nodes take r")
	}
	check(t, c.Rollback("p")) // not the last
	only, _ := told(t, node("a", 1), node("b", 2), pod("p", 20000), pod("q", 20000), pod("r", 20000))
	defer func() { check(t, only.Close()) }()
	reserve(t, only, "q", "b", nil)
	expected, err := only.Ask("r", "ns/r")
	check(t, err)
	if now := ask("r"); now.Fitting() != 2 || !reflect.DeepEqual(now.Scores(), expected.Scores()) {
		t.Error(now.Scores(), "expected what a cluster says that has q alone:", expected.Scores())
	}
	check(t, c.Rollback("q"))
	before := ask("s")
	if _, err := c.Tell([]byte(node("c", 1))); err != nil {
		t.Fatal(err)
	}
	if after := ask("s"); after == before || !after.Knows("c") {
		t.Error("a node came and has not answered")
	}
}

func TestAnswersSayWhereAndWhyNot(t *testing.T) {
	c, _ := told(t, node("a", 1), node("b", 1), pod("p", 30000), pod("q", 20000), pod("huge", 90000))
	reserve(t, c, "p", "b", nil)
	answers, err := c.Ask("q", "ns/q")
	check(t, err)
	if answers.Fitting() != 1 || answers.Refusal("a") != "" || answers.Knows("nowhere") {
		t.Error(answers)
	}
	if !answers.Before("a", "b") || answers.Before("b", "a") || answers.Before("nowhere", "b") || !answers.Before("a", "nowhere") {
		t.Error("a takes it and b does not")
	}
	if scores := answers.Scores(); !reflect.DeepEqual(scores, map[string]float64{"a": 100}) {
		t.Error(scores)
	}
	if again, _ := c.Ask("q", "ns/q"); again != answers {
		t.Error("nothing has changed, and it was asked again")
	}
	answers, err = c.Ask("huge", "ns/huge")
	check(t, err)
	if why := answers.Refusal("a"); why != answers.Refusal("b") || !strings.Contains(why, "90000 MiB wanted, at most 40960 MiB left") {
		t.Error(why)
	}
	if _, err := c.Reserve("q", "ns/q", "b", nil, time.Now()); err == nil || !strings.Contains(err.Error(), "20000 MiB wanted, at most 10960 MiB left") {
		t.Error(err)
	}
	if _, err := c.Ask("nobody", "ns/nobody"); !errors.Is(err, vga.UnknownPod) {
		t.Error(err)
	}
	check(t, c.Close())
}

func TestVictimsAreThoseThatHaveToGo(t *testing.T) {
	c, _ := told(t, node("a", 2), pod("v1", 30000), pod("v2", 20000), pod("v3", 15000), pod("wants", 25000), pod("huge", 50000))
	for _, uid := range []string{"v1", "v2", "v3"} {
		reserve(t, c, uid, "a", nil)
		check(t, c.Commit(uid))
	}
	// v1 has a card, v2 and v3 share the other. The most important come first.
	for _, each := range []struct{ candidates, victims []string }{
		{[]string{"v1", "v2", "v3"}, []string{"v2"}}, // 25000 fit beside v3
		{[]string{"v2", "v3", "v1"}, []string{"v1"}},
		{[]string{"v3"}, nil},
	} {
		victims, possible := c.Victims("wants", "a", nil, each.candidates)
		if possible != (each.victims != nil) || !reflect.DeepEqual(victims, each.victims) {
			t.Error(each.candidates, victims, possible)
		}
	}
	if victims, possible := c.Victims("huge", "a", nil, []string{"v1", "v2", "v3"}); possible {
		t.Error(victims)
	}
	if c.FitsWithout("wants", "a", nil) || !c.FitsWithout("wants", "a", []string{"v1"}) || c.FitsWithout("wants", "b", nil) {
		t.Error("trials")
	}
	check(t, c.Close())
}

func TestMetricsAreReadFromTheLedger(t *testing.T) {
	c, _ := told(t, node("a", 1), pod("p", 30000), pod("q", 20000))
	reserve(t, c, "p", "a", nil)
	if _, err := c.Ask("q", "ns/q"); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(telemetry.NewCollector(c))
	expected := `
# HELP volcano_vgpu_device_allocated_memory Memory of this device that pods have, in MiB
# TYPE volcano_vgpu_device_allocated_memory gauge
volcano_vgpu_device_allocated_memory{NodeName="a",devID="GPU-a-0"} 30000
# HELP volcano_vgpu_device_memory_limit Memory of this device, in MiB
# TYPE volcano_vgpu_device_memory_limit gauge
volcano_vgpu_device_memory_limit{NodeName="a",devID="GPU-a-0"} 40960
# HELP volcano_vgpu_device_memory_allocation_for_a_certain_pod Memory of this device that this pod has, in MiB
# TYPE volcano_vgpu_device_memory_allocation_for_a_certain_pod gauge
volcano_vgpu_device_memory_allocation_for_a_certain_pod{NodeName="a",devID="GPU-a-0",podName="p",podNamespace="ns"} 30000
# HELP volcano_vgpu_device_shared_number Pods that share this device
# TYPE volcano_vgpu_device_shared_number gauge
volcano_vgpu_device_shared_number{NodeName="a",devID="GPU-a-0"} 1
# HELP vgpualloc_pods Pods by what they have: waiting, reserved or committed
# TYPE vgpualloc_pods gauge
vgpualloc_pods{state="committed"} 0
vgpualloc_pods{state="reserved"} 1
vgpualloc_pods{state="waiting"} 1
# HELP vgpualloc_rejections_total Nodes that refused a pod which fits nowhere, by reason; once for each pod until it changes
# TYPE vgpualloc_rejections_total counter
vgpualloc_rejections_total{reason="insufficient_device_memory"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(expected), "volcano_vgpu_device_allocated_memory",
		"volcano_vgpu_device_memory_limit", "volcano_vgpu_device_memory_allocation_for_a_certain_pod",
		"volcano_vgpu_device_shared_number", "vgpualloc_pods", "vgpualloc_rejections_total"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	check(t, err)
	decisions := uint64(0)
	for _, family := range families {
		if histogram := family.Metric[0].Histogram; family.GetName() == "vgpualloc_decision_seconds" && len(histogram.Bucket) == 16 {
			decisions = histogram.GetSampleCount()
		}
	}
	if decisions != 1 {
		t.Error(decisions, families)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil {
		t.Error(problems, err)
	}
	check(t, c.RemovePod("p")) // a pod that is gone leaves nothing behind
	if count, err := testutil.GatherAndCount(registry, "volcano_vgpu_device_memory_allocation_for_a_certain_pod"); err != nil || count != 0 {
		t.Error(count, err)
	}
	check(t, c.Close())
}

func TestManyGoroutinesAskAndBook(t *testing.T) {
	c, path := told(t, node("a", 4), node("b", 4))
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for turn := range 30 {
				uid := fmt.Sprintf("p%d-%d", worker, turn)
				if _, err := c.TellPod(uid, []byte(pod(uid, 9000))); err != nil {
					t.Error(err)
				}
				answers, err := c.Ask(uid, "ns/"+uid)
				if err != nil {
					t.Error(err)
					return
				}
				where := "a"
				if answers.Before("b", "a") {
					where = "b"
				}
				if answers.Refusal(where) == "" {
					var refused *live.Refused
					if _, err := c.Reserve(uid, "ns/"+uid, where, nil, time.Now()); err == nil {
						if err := c.Commit(uid); err != nil {
							t.Error(err)
						}
					} else if !errors.As(err, &refused) { // another one was quicker
						t.Error(err)
					}
				}
				if turn%3 == 0 {
					if err := c.RemovePod(uid); err != nil {
						t.Error(err)
					}
				}
			}
		}()
	}
	workers.Wait()
	warnings, err := c.Warnings()
	if err != nil || len(warnings) != 0 {
		t.Error(warnings, err)
	}
	closed(t, c, path)
}

// Random attempts, as of gangs: a cluster that remembers what it took back says what one says that never heard of it.
func TestAttemptsLeaveNothing(t *testing.T) {
	objects := []string{node("a", 2), node("b", 2), node("c", 1)}
	const pods = 12
	for n := range pods {
		objects = append(objects, pod(fmt.Sprint("p", n), 4000+n%5*7000))
	}
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		c, path := told(t, objects...)
		var booked []string // uids, in this order
		nodes := map[string]string{}
		for range 120 {
			uid := fmt.Sprint("p", random.IntN(pods))
			state, _ := c.Pod(uid)
			switch choice := random.IntN(10); {
			case nodes[uid] == "" && state != vga.PodWaiting, nodes[uid] != "" && state != vga.PodReserved && state != vga.PodCommitted:
				t.Fatal(seed, uid, "is", state, "and was booked on", nodes[uid])
			case choice < 5 && nodes[uid] == "":
				answers, err := c.Ask(uid, "ns/"+uid)
				check(t, err)
				if best := answers.Best(); best != "" {
					reserve(t, c, uid, best, nil)
					booked, nodes[uid] = append(booked, uid), best
				}
			case choice < 8 && len(booked) > 0: // some of the last, and most often the same again
				count := min(1+random.IntN(3), len(booked))
				taken := slices.Clone(booked[len(booked)-count:])
				for i := len(taken) - 1; i >= 0; i-- {
					if state, _ := c.Pod(taken[i]); state == vga.PodReserved {
						check(t, c.Rollback(taken[i]))
						booked = slices.DeleteFunc(booked, func(other string) bool { return other == taken[i] })
						delete(nodes, taken[i])
					}
				}
				for _, again := range taken {
					if nodes[again] != "" || random.IntN(5) == 0 {
						continue
					}
					answers, err := c.Ask(again, "ns/"+again)
					check(t, err)
					if best := answers.Best(); best != "" {
						reserve(t, c, again, best, nil)
						booked, nodes[again] = append(booked, again), best
					}
				}
			case choice == 8 && state == vga.PodReserved:
				check(t, c.Commit(uid))
			case choice == 9 && state == vga.PodReserved: // from the middle
				check(t, c.Rollback(uid))
				booked = slices.DeleteFunc(booked, func(other string) bool { return other == uid })
				delete(nodes, uid)
			}
		}
		last := map[string]map[string]float64{}
		for n := range pods {
			if uid := fmt.Sprint("p", n); nodes[uid] == "" {
				answers, err := c.Ask(uid, "ns/"+uid)
				check(t, err)
				last[uid] = answers.Scores()
			}
		}
		fresh, _ := told(t, objects...)
		decisions := map[string]string{}
		for _, one := range closed(t, c, path) {
			switch one.Event {
			case "decide":
				if decisions[one.UID] != "" {
					t.Fatal(seed, one.UID, "is decided twice")
				}
				decisions[one.UID] = one.Node
				if got := reserve(t, fresh, one.UID, one.Node, nil).Annotations["volcano.sh/vgpu-ids-new"]; got != one.Annotations["volcano.sh/vgpu-ids-new"] {
					t.Fatal(seed, one.UID, "has", one.Annotations, "expected", got)
				}
			case "rollback":
				delete(decisions, one.UID)
				check(t, fresh.Rollback(one.UID))
			case "commit":
				check(t, fresh.Commit(one.UID))
			}
			if _, err := fresh.Warnings(); err != nil { // the core is asked, so that nothing is put off
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(decisions, nodes) {
			t.Fatal(seed, "log:", decisions, "expected", nodes)
		}
		for uid, scores := range last {
			expected, err := fresh.Ask(uid, "ns/"+uid)
			check(t, err)
			if !reflect.DeepEqual(scores, expected.Scores()) {
				t.Fatal(seed, uid, scores, "expected", expected.Scores())
			}
		}
		check(t, fresh.Close())
	}
}
