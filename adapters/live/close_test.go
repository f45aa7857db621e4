package live_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/telemetry"
	"vgpualloc.example/adapters/vga"
)

// A scheduler that ends closes its cluster while somebody reads its metrics, asks for an explanation or books.
func TestClosingWhileOthersCall(t *testing.T) {
	log, err := decisionlog.Open(filepath.Join(t.TempDir(), "decisions.jsonl"), 1)
	check(t, err)
	cluster, err := live.New(vga.Options{}, log)
	check(t, err)
	for _, object := range []string{node("a", 1), pod("p", 1000)} {
		_, err := cluster.Tell([]byte(object))
		check(t, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(telemetry.NewCollector(cluster))
	var group sync.WaitGroup
	repeat := func(name string, call func() error) {
		group.Add(1)
		go func() {
			defer group.Done()
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
				if err := call(); errors.Is(err, vga.Closed) {
					return
				}
			}
			t.Error(name, "does not say that the cluster is closed")
		}()
	}
	repeat("Explain", func() error { _, err := cluster.Explain("p"); return err })
	repeat("Warnings", func() error { _, err := cluster.Warnings(); return err })
	repeat("Annotations", func() error { _, err := cluster.Annotations("p", time.Now()); return err })
	repeat("Ask", func() error { _, err := cluster.Ask("p", "ns/p"); return err })
	repeat("Learn", cluster.Learn)
	repeat("RotateLog", cluster.RotateLog)
	repeat("Reserve", func() error {
		_, err := cluster.Reserve("p", "ns/p", "a", nil, time.Now())
		return errors.Join(err, cluster.Rollback("p"))
	})
	repeat("Tell", func() error {
		_, err := cluster.Tell([]byte(node("b", 1)))
		return errors.Join(err, cluster.RemoveNode("b"))
	})
	repeat("metrics", func() error {
		if _, err := registry.Gather(); err != nil {
			return vga.Closed // in other words
		}
		cluster.WantsDevices("p")
		cluster.ReadsResource("volcano.sh/vgpu-memory")
		cluster.ReadingVersion()
		return nil
	})
	time.Sleep(20 * time.Millisecond)
	check(t, cluster.Close())
	group.Wait()
	check(t, cluster.Close())
	if state, where := cluster.Pod("p"); state != vga.PodUnknown || where != "" {
		t.Error(state, where)
	}
	if err := cluster.Flush(); !errors.Is(err, vga.Closed) {
		t.Error(err)
	}
}
