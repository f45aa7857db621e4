package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/livetest"
	"vgpualloc.example/adapters/live/telemetry"
	"vgpualloc.example/adapters/vga"
)

// replay decides what a log says again, from its beginning, and returns how many decisions it has.
func replay(t *testing.T, path, policy string) int {
	t.Helper()
	var core *vga.Cluster
	decisions := 0
	for _, entry := range livetest.Events(t, path) {
		var err error
		switch entry.Event {
		case "start":
			core, err = vga.New(vga.Options{Policy: policy})
		case "tell":
			_, err = core.Upsert(entry.Object)
		case "remove_node":
			err = core.RemoveNode(entry.Node)
		case "remove_pod":
			err = core.RemovePod(entry.UID)
		case "remove_config_map":
			err = core.RemoveConfigMap(entry.Name)
		case "learn":
			var learned bool
			if learned, err = core.LearnWorkload(); !learned {
				t.Error(path, "there is nothing new to learn")
			}
		case "refuse":
			var answers []vga.Answer
			answers, err = core.Evaluate(entry.UID, false, nil)
			for _, answer := range answers {
				if answer.Reason == vga.Fits {
					t.Error(path, "it fits", entry)
				}
			}
		case "decide":
			decisions++
			limit, _ := core.NodesVersion()
			var all []vga.Node
			for number := range limit {
				if _, err := core.NodeName(vga.Node(number)); err == nil {
					all = append(all, vga.Node(number))
				}
			}
			best, fits, _ := core.Choose(entry.UID, all)
			name, _ := core.NodeName(best)
			if !fits || name != entry.Node {
				t.Error(path, "another node", name, entry)
			}
			number, _ := core.FindNode(entry.Node)
			_, err = core.Reserve(entry.UID, number)
			if written, _ := core.Annotations(entry.UID, time.Unix(0, entry.Time)); err == nil {
				if !maps.Equal(written, entry.Annotations) {
					t.Error(path, "others are written", written, entry)
				}
			}
		case "commit":
			err = core.Commit(entry.UID)
		case "rollback":
			err = core.Rollback(entry.UID)
		case "release":
			err = core.Release(entry.UID)
		default:
			t.Error(path, entry)
		}
		if err != nil {
			t.Fatal(path, err, entry)
		}
	}
	return decisions
}

// used is what is used of every device and by whom.
func used(t *testing.T, cluster *live.Cluster) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.NewCollector(cluster))
	families, err := registry.Gather()
	check(t, err)
	var text strings.Builder
	for _, family := range families {
		switch family.GetName() { // others look at the pods that were learned, or at what happened
		case "vgpualloc_decision_seconds", "vgpualloc_fragmentation_ratio", "vgpualloc_node_unusable_devices":
		default:
			fmt.Fprintln(&text, family)
		}
	}
	return text.String()
}

func bound(uid string, memory int, decision *live.Decision) string {
	annotations, _ := json.Marshal(decision.Annotations)
	object := strings.Replace(pod(uid, memory), `"namespace":"ns",`, `"namespace":"ns","annotations":`+string(annotations)+`,`, 1)
	return strings.Replace(object, `"spec":{`, fmt.Sprintf(`"spec":{"nodeName":%q,`, decision.Node), 1)
}

// A scheduler's life with a log that begins anew every few decisions, at moments when pods are bound that do not show it
// yet. Each file replays alone, and nothing is lost or given twice on the way.
func TestEveryFileOfALogReplaysAlone(t *testing.T) {
	for seed := range uint64(4) {
		policy := []string{"fgd", "bid_price"}[seed%2]
		folder := t.TempDir()
		path := filepath.Join(folder, "decisions.jsonl")
		log, err := decisionlog.Open(path, 12000)
		check(t, err)
		c, err := live.New(vga.Options{Policy: policy}, log)
		check(t, err)
		draw := rand.New(rand.NewPCG(seed, 17))
		tell := func(uid, object string) {
			_, err := c.TellPod(uid, []byte(object))
			check(t, err)
		}
		for n := range 6 {
			_, err := c.Tell([]byte(node(fmt.Sprintf("n%d", (n*5)%6), 1+n%3)))
			check(t, err)
		}
		type running struct {
			memory   int
			decision *live.Decision
		}
		early, shown := map[string]running{}, map[string]running{} // by uid: bound; those that are not shown as bound yet
		files, decisions := map[string]bool{}, 0
		for turn := range 400 {
			uid, memory := fmt.Sprintf("p%d", turn), 1000*(3+draw.IntN(20))
			tell(uid, pod(uid, memory))
			answers, err := c.Ask(uid, "ns/"+uid)
			check(t, err)
			if best := answers.Best(); best != "" {
				decision := reserve(t, c, uid, best, nil)
				if draw.IntN(5) == 0 {
					check(t, c.Rollback(uid))
				} else {
					check(t, c.Commit(uid))
					early[uid] = running{memory, decision}
				}
			} else if draw.IntN(2) == 0 {
				check(t, c.RemovePod(uid))
			}
			for uid, of := range early {
				switch draw.IntN(6) {
				case 0: // the watch shows it
					tell(uid, bound(uid, of.memory, of.decision))
					shown[uid] = of
				case 1: // it could not be bound
					check(t, c.Release(uid))
				case 2: // it changes, and does not show it yet
					tell(uid, strings.Replace(pod(uid, of.memory), `"metadata":{`, fmt.Sprintf(`"metadata":{"labels":{"turn":"%d"},`, turn), 1))
					if state, where := c.Pod(uid); state != vga.PodCommitted || where != of.decision.Node {
						t.Fatal("it has lost its devices", uid, state, where)
					}
					continue
				default:
					continue
				}
				delete(early, uid)
			}
			for uid := range shown {
				if draw.IntN(12) == 0 {
					check(t, c.RemovePod(uid))
					delete(shown, uid)
				}
			}
			check(t, c.Learn())
			before := used(t, c)
			check(t, c.RotateLog())
			if after := used(t, c); after != before {
				t.Fatal("turn", turn, "before:\n", before, "after:\n", after)
			}
			if former, err := os.ReadFile(path + ".1"); err == nil && !files[string(former)] {
				files[string(former)] = true
				decisions += replay(t, path+".1", policy)
			}
		}
		warnings, err := c.Warnings()
		if err != nil || len(warnings) != 0 {
			t.Error(warnings, err)
		}
		check(t, c.Close())
		decisions += replay(t, path, policy)
		if len(files) < 5 || decisions < 100 {
			t.Error("files", len(files), "decisions", decisions)
		}
		if left, _ := filepath.Glob(path + ".*"); len(left) != 1 {
			t.Error(left)
		}
	}
}

// What cannot be said by objects is not cut off: a reservation may still be taken back.
func TestALogDoesNotBeginAnewInTheMiddleOfADecision(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	log, err := decisionlog.Open(path, 1)
	check(t, err)
	c, err := live.New(vga.Options{Policy: "binpack"}, log)
	check(t, err)
	for _, object := range []string{node("a", 1), pod("p", 30000), pod("q", 30000)} {
		_, err := c.Tell([]byte(object))
		check(t, err)
	}
	reserve(t, c, "p", "a", nil)
	check(t, c.RotateLog())
	if _, err := os.Stat(path + ".1"); !os.IsNotExist(err) {
		t.Error("a pod is reserved", err)
	}
	check(t, c.Commit("p"))
	if _, err := c.Ask("q", "ns/q"); err != nil {
		t.Fatal(err)
	}
	check(t, c.RotateLog())
	if _, err := os.Stat(path + ".1"); err != nil {
		t.Error(err)
	}
	for range 2 { // the refusal is in the new file, too, once
		if _, err := c.Ask("q", "ns/q"); err != nil {
			t.Fatal(err)
		}
		check(t, c.Suspend("p"))
		check(t, c.RotateLog())
		check(t, c.Resume("p"))
	}
	if events := livetest.Names(closed(t, c, path)); events != "start, tell, tell, tell, learn, refuse q, suspend p, resume p, suspend p, resume p" {
		t.Error(events)
	}
}

// A folder that is full, or not ours: the log goes on.
func TestALogThatCannotBeginAnewGoesOn(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "decisions.jsonl")
	check(t, os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700))
	log, err := decisionlog.Open(path, 2000)
	check(t, err)
	c, err := live.New(vga.Options{}, log)
	check(t, err)
	failures := 0
	for n := range 20 {
		_, err := c.Tell([]byte(node(fmt.Sprintf("n%d", n), 2)))
		check(t, err)
		if err := c.RotateLog(); err != nil {
			failures++
			if !strings.Contains(err.Error(), "goes on beyond") || !strings.Contains(err.Error(), path) {
				t.Error(err)
			}
		}
	}
	if failures < 2 || failures > 10 { // it is tried again, and not each time
		t.Error(failures)
	}
	if events := closed(t, c, path); len(events) != 21 {
		t.Error(livetest.Names(events))
	}
	if _, err := os.Stat(path + ".new"); !os.IsNotExist(err) {
		t.Error(err)
	}
}
