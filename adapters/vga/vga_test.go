package vga_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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

func pod(name, uid string, memory int, more string) string {
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"namespace":"ns","uid":%q%s},"spec":{"containers":[
		{"name":"main","resources":{"limits":{"volcano.sh/vgpu-number":"1","volcano.sh/vgpu-memory":"%d"}}}]}}`,
		name, uid, more, memory)
}

// clusterOf is a cluster that was told of objects.
func clusterOf(t testing.TB, objects ...string) *vga.Cluster {
	t.Helper()
	cluster, err := vga.New(vga.Options{Policy: "binpack"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	for _, object := range objects {
		if _, err := cluster.Upsert([]byte(object)); err != nil {
			t.Fatal(err)
		}
	}
	return cluster
}

func must[Value any](t testing.TB) func(Value, error) Value {
	return func(value Value, err error) Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestTheLifeOfAPod(t *testing.T) {
	c := clusterOf(t, node("a", 2), node("b", 1), pod("p", "u", 30000, ""), pod("q", "v", 20000, ""))
	a, b := must[vga.Node](t)(c.FindNode("a")), must[vga.Node](t)(c.FindNode("b"))
	if answer := must[vga.Answer](t)(c.Reserve("v", b)); answer.Reason != vga.Fits {
		t.Fatal(answer.Reason)
	}
	answers := must[[]vga.Answer](t)(c.Evaluate("u", true, nil))
	if len(answers) != 2 || answers[a].Reason != vga.Fits {
		t.Fatal(answers)
	}
	refused := &answers[b]
	if refused.Reason.String() != "insufficient_device_memory" || refused.Wanted != 30000 ||
		refused.Available != 20960 || refused.Unit() != "MiB" {
		t.Fatal(refused, refused.Unit())
	}
	where, found, err := c.Choose("u", []vga.Node{a, b})
	if err != nil || !found || where != a {
		t.Fatal(where, found, err)
	}
	if _, found, _ = c.Choose("u", []vga.Node{b}); found {
		t.Fatal("it does not fit there")
	}
	if answer := must[vga.Answer](t)(c.AskWithout("u", b, []string{"v", "nobody"})); answer.Reason != vga.Fits {
		t.Fatal(answer)
	}
	if answer := must[vga.Answer](t)(c.Reserve("u", a)); answer.Reason != vga.Fits {
		t.Fatal(answer)
	}
	if state, where := c.Pod("u"); state != vga.PodReserved || where != a {
		t.Fatal(state, where)
	}
	annotations := must[map[string]string](t)(c.Annotations("u", time.Unix(17, 5)))
	if annotations["volcano.sh/vgpu-ids-new"] != "GPU-a-0,NVIDIA,30000,0:" ||
		annotations["volcano.sh/vgpu-time"] != "17" {
		t.Fatal(annotations)
	}
	for _, step := range []func(string) error{c.Commit, c.Suspend, c.Resume, c.Release, c.RemovePod} {
		if err := step("u"); err != nil {
			t.Fatal(err)
		}
	}
	if state, _ := c.Pod("u"); state != vga.PodUnknown {
		t.Fatal(state)
	}
	if name := must[string](t)(c.NodeName(b)); name != "b" {
		t.Fatal(name)
	}
}

func TestErrorsAreStatusesWithWords(t *testing.T) {
	c := clusterOf(t, node("a", 1), pod("p", "u", 1000, `,"creationTimestamp":"2026-01-02T00:00:00Z"`))
	_, upsertBad := c.Upsert([]byte("{"))
	_, upsertNothing := c.Upsert(nil)
	_, outdated := c.Upsert([]byte(pod("p", "t", 1000, `,"creationTimestamp":"2026-01-01T00:00:00Z"`)))
	_, unknownNode := c.Reserve("u", 7)
	_, random := vga.New(vga.Options{Policy: "random"})
	for _, wanted := range []struct {
		err    error
		status vga.Status
		words  string
	}{
		{upsertBad, vga.BadInput, "object:1"}, {upsertNothing, vga.BadArgument, "NULL"}, {outdated, vga.Outdated, "younger"},
		{unknownNode, vga.UnknownNode, "number"}, {random, vga.BadInput, "a policy that draws nothing"},
		{c.Commit("nobody"), vga.UnknownPod, "nobody"}, {c.Commit("u"), vga.WrongState, "ns/p is not reserved"},
		{c.EndTrial(true), vga.WrongState, "no trial"}, {c.RemoveNode("z"), vga.UnknownNode, "z"},
		{c.Configure(vga.Options{DeviceConfig: "vgpu: ["}), vga.BadInput, "device_config:1"},
	} {
		if !errors.Is(wanted.err, wanted.status) || !strings.Contains(wanted.err.Error(), wanted.words) {
			t.Errorf("%v, wanted %v with %q", wanted.err, wanted.status, wanted.words)
		}
	}
	if vga.OutOfMemory.String() != "VGA_OUT_OF_MEMORY" || vga.Reasons() < 40 {
		t.Error(vga.OutOfMemory, vga.Reasons())
	}
}

func TestTextsOfAnyLength(t *testing.T) {
	objects := []string{pod("p", "u", 1000, "")}
	for i := range 60 {
		objects = append(objects, node(fmt.Sprintf("n%02d", i), 8))
	}
	c := clusterOf(t, objects...)
	for _, text := range []string{must[string](t)(c.Metrics()), must[string](t)(c.Explain("u"))} {
		if len(text) < 10000 || !json.Valid([]byte(text)) || !strings.Contains(text, "GPU-n59-7") {
			t.Errorf("%d bytes: %.100s", len(text), text)
		}
	}
	if warnings := must[string](t)(c.Warnings()); warnings != "[]" {
		t.Error(warnings)
	}
}

func TestAllNamesAtOnce(t *testing.T) {
	c := clusterOf(t)
	expect := func(expected ...string) {
		t.Helper()
		names, version, err := c.NodeNames()
		if err != nil || !slices.Equal(names, expected) {
			t.Error(names, err, "expected", expected)
		}
		if limit, present := c.NodesVersion(); limit != len(expected) || present != version {
			t.Error(limit, present, version)
		}
		for number, name := range expected {
			if alone, err := c.NodeName(vga.Node(number)); alone != name || (name == "") != errors.Is(err, vga.UnknownNode) {
				t.Error(number, alone, err)
			}
		}
	}
	expect()
	var expected []string
	for i := range 300 { // longer than the first buffer
		name := fmt.Sprintf("node-of-a-long-name-%03d", i)
		must[vga.Upserted](t)(c.Upsert([]byte(node(name, 1))))
		expected = append(expected, name)
	}
	expect(expected...)
	for _, gone := range []int{0, 7, 299} {
		if err := c.RemoveNode(expected[gone]); err != nil {
			t.Fatal(err)
		}
		expected[gone] = ""
	}
	expect(expected...)
}

// As on a cluster of random nodes: what each node says without all pods that have something there.
func TestNodesAnswerAsIfNothingWereBooked(t *testing.T) {
	for seed := range uint64(30) {
		draw := rand.New(rand.NewPCG(seed, 5))
		policy := []string{"fgd", "binpack", "spread", "best_fit", "ssp", "dual_price", "bid_price"}[draw.IntN(7)]
		c, err := vga.New(vga.Options{Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		const nodes = 12
		for n := range nodes {
			described := node(fmt.Sprintf("n%d", n), draw.IntN(4))
			if draw.IntN(4) == 0 {
				described = strings.Replace(described, ",true,", ",false,", 1) // a card that is not healthy
			}
			if draw.IntN(4) == 0 {
				described = strings.ReplaceAll(described, "hami-core", "mig")
			}
			if draw.IntN(4) == 0 {
				described = strings.Replace(described, `"status"`, `"spec":{"unschedulable":true},"status"`, 1)
			}
			must[vga.Upserted](t)(c.Upsert([]byte(described)))
		}
		var pods []string
		for p := range 40 {
			uid := fmt.Sprintf("p%d", p)
			must[vga.Upserted](t)(c.Upsert([]byte(pod(uid, uid, 1000*(1+draw.IntN(45)), ""))))
			pods = append(pods, uid)
			answer := must[vga.Answer](t)(c.Reserve(uid, vga.Node(draw.IntN(nodes))))
			if answer.Reason == vga.Fits && draw.IntN(2) == 0 {
				if err := c.Commit(uid); err != nil {
					t.Fatal(err)
				}
			}
		}
		if draw.IntN(2) == 0 { // cards that pods have are no longer named
			must[vga.Upserted](t)(c.Upsert([]byte(node("n0", 1))))
			if err := c.RemoveNode("n1"); err != nil {
				t.Fatal(err)
			}
		}
		plain := `"spec":{"containers"`
		for _, wanted := range []struct {
			memory         int
			metadata, spec string
		}{{1000, "", plain}, {30000, "", plain}, {40000, "", plain}, {50000, "", plain},
			{1000, `,"annotations":{"volcano.sh/vgpu-use-gpuuuid":"GPU-n3-0,GPU-n5-1"}`, plain},
			{1000, "", `"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
				{"matchFields":[{"key":"metadata.name","operator":"In","values":["n4"]}]}]}}},"containers"`}} {
			asks := strings.Replace(pod("w", "w", wanted.memory, wanted.metadata), plain, wanted.spec, 1)
			must[vga.Upserted](t)(c.Upsert([]byte(asks)))
			present := must[[]vga.Answer](t)(c.Evaluate("w", true, nil))
			before := fmt.Sprint(present)
			for number, answer := range must[[]vga.Answer](t)(c.EvaluateEmpty("w", nil)) {
				expected, err := c.AskWithout("w", vga.Node(number), pods)
				if errors.Is(err, vga.UnknownNode) {
					expected.Reason, err = vga.NodeGone, nil
				}
				expected.Rank = present[number].Rank // a node whose cards change with its last pod gets another one then
				if err != nil || answer != expected {
					t.Error(seed, policy, wanted, number, answer, expected, err)
				}
			}
			if after := fmt.Sprint(must[[]vga.Answer](t)(c.Evaluate("w", true, nil))); after != before {
				t.Error("something has happened", before, after)
			}
		}
		c.Close()
	}
}

// A card that is registered with another mode has it when its last pod goes. Two that look alike until then do not answer alike.
func TestNodesThatChangeWithTheirLastPodAreAskedAlone(t *testing.T) {
	c := clusterOf(t, node("cut", 1), node("shared", 1), pod("p", "u", 1000, ""), pod("q", "v", 1000, ""),
		pod("w", "w", 1000, `,"annotations":{"volcano.sh/vgpu-mode":"mig"}`))
	for number, uid := range []string{"u", "v"} {
		if answer := must[vga.Answer](t)(c.Reserve(uid, vga.Node(number))); answer.Reason != vga.Fits {
			t.Fatal(answer)
		}
	}
	must[vga.Upserted](t)(c.Upsert([]byte(strings.ReplaceAll(node("cut", 1), "hami-core", "mig"))))
	must[vga.Upserted](t)(c.Upsert([]byte(strings.ReplaceAll(node("shared", 1), "hami-core", "mps"))))
	answers := must[[]vga.Answer](t)(c.EvaluateEmpty("w", nil))
	for number, answer := range answers {
		expected := must[vga.Answer](t)(c.AskWithout("w", vga.Node(number), []string{"u", "v"}))
		if answer.Reason != expected.Reason || (answer.Reason == vga.Fits) != (number == 0) {
			t.Error(number, answer, expected)
		}
	}
}

func TestATrialIsTakenBack(t *testing.T) {
	c := clusterOf(t, node("a", 1), pod("p", "u", 30000, ""), pod("q", "v", 30000, ""))
	if err := c.BeginTrial(); err != nil {
		t.Fatal(err)
	}
	must[vga.Answer](t)(c.Reserve("u", 0))
	if answer := must[vga.Answer](t)(c.AskNode("v", 0)); answer.Reason == vga.Fits {
		t.Fatal("the device is full")
	}
	if err := c.EndTrial(false); err != nil {
		t.Fatal(err)
	}
	if answer := must[vga.Answer](t)(c.AskNode("v", 0)); answer.Reason != vga.Fits {
		t.Fatal(answer.Reason)
	}
}

// As Volcano's predicates do: many goroutines ask while others book and objects come and go.
func TestManyGoroutines(t *testing.T) {
	objects := []string{pod("p", "waits", 30000, ""), pod("q", "books", 20000, "")}
	for i := range 8 {
		objects = append(objects, node(fmt.Sprintf("n%d", i), 2))
	}
	c := clusterOf(t, objects...)
	var group sync.WaitGroup
	run := func(work func(round int) error) {
		group.Add(1)
		go func() {
			defer group.Done()
			for round := range 200 {
				if err := work(round); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for range 16 {
		var room []vga.Answer
		run(func(round int) (err error) {
			room, err = c.Evaluate("waits", round%2 == 0, room)
			return err
		})
	}
	run(func(round int) error {
		if _, err := c.Reserve("books", vga.Node(round%8)); err != nil {
			return err
		}
		return c.Rollback("books")
	})
	run(func(round int) error {
		if _, err := c.Upsert([]byte(node("flaps", 1))); err != nil {
			return err
		}
		return c.RemoveNode("flaps")
	})
	group.Wait()
}

func BenchmarkPod(b *testing.B) {
	c := clusterOf(b, node("a", 8), pod("p", "0fd6b8a2-4c2f-4f5e-9a3e-6f1f7f0a1b2c", 1000, ""))
	for b.Loop() {
		c.Pod("0fd6b8a2-4c2f-4f5e-9a3e-6f1f7f0a1b2c")
	}
}

func BenchmarkAskNode(b *testing.B) {
	c := clusterOf(b, node("a", 8), pod("p", "0fd6b8a2-4c2f-4f5e-9a3e-6f1f7f0a1b2c", 1000, ""))
	for b.Loop() {
		if _, err := c.AskNode("0fd6b8a2-4c2f-4f5e-9a3e-6f1f7f0a1b2c", 0); err != nil {
			b.Fatal(err)
		}
	}
}

func TestWhatAConfigurationSwitchesOffIsAWarning(t *testing.T) {
	cluster, err := vga.New(vga.Options{DeviceConfig: "nvidia: {knownMigGeometries: []}"})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	if warnings := must[string](t)(cluster.Warnings()); !strings.Contains(warnings, "switches off what is built in") ||
		!strings.Contains(warnings, "volcano.sh/vgpu-number") {
		t.Error(warnings)
	}
}
