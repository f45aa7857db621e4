package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/live/telemetry"
	"vgpualloc.example/adapters/vga"
)

// busy is a cluster of 1,000 nodes of 8 cards with 4,000 pods that have their devices, and one that waits.
func busy(b *testing.B, log *decisionlog.Log) *live.Cluster {
	b.Helper()
	const nodes, pods = 1000, 4000
	cluster, err := live.New(vga.Options{Policy: "fgd"}, log)
	if err != nil {
		b.Fatal(err)
	}
	tell := func(object string) {
		if _, err := cluster.Tell([]byte(object)); err != nil {
			b.Fatal(err)
		}
	}
	for n := range nodes {
		tell(node(fmt.Sprintf("n%04d", n), 8))
	}
	for p := range pods {
		uid, where := fmt.Sprintf("p%04d", p), fmt.Sprintf("n%04d", p%nodes)
		tell(pod(uid, 10000+1000*(p%7)))
		if _, err := cluster.Reserve(uid, "ns/"+uid, where, []string{where}, time.Now()); err != nil {
			b.Fatal(err)
		}
		if err := cluster.Commit(uid); err != nil {
			b.Fatal(err)
		}
	}
	tell(pod("waits", 12000))
	if err := cluster.Learn(); err != nil {
		b.Fatal(err)
	}
	return cluster
}

// For how long a session waits when the decision log of such a cluster begins anew.
func BenchmarkLogBeginsAnew(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		path := filepath.Join(b.TempDir(), "decisions.jsonl")
		log, err := decisionlog.Open(path, 1)
		if err != nil {
			b.Fatal(err)
		}
		cluster := busy(b, log)
		b.StartTimer()
		if err := cluster.RotateLog(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if file, err := os.Stat(path + ".1"); err != nil || file.Size() == 0 {
			b.Fatal(err)
		}
		if err := cluster.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// What a scheduler waits for that decides while somebody reads figures or an explanation of a cluster of 1,000 nodes.
func BenchmarkDecisionsBesideReaders(b *testing.B) {
	for _, reader := range []struct {
		name string
		read func(*live.Cluster) error
	}{
		{"nobody", func(*live.Cluster) error { time.Sleep(10 * time.Millisecond); return nil }},
		{"metrics", func(cluster *live.Cluster) error {
			registry := prometheus.NewRegistry()
			if err := registry.Register(telemetry.NewCollector(cluster)); err != nil {
				return err
			}
			_, err := registry.Gather()
			return err
		}},
		{"explain", func(cluster *live.Cluster) error { _, err := cluster.Explain("waits"); return err }},
	} {
		b.Run(reader.name, func(b *testing.B) {
			cluster := busy(b, nil)
			var ended atomic.Bool
			decided := make(chan time.Duration)
			go func() {
				longest := time.Duration(0)
				for !ended.Load() {
					began := time.Now()
					if _, err := cluster.Reserve("waits", "ns/waits", "n0001", nil, began); err != nil {
						b.Error(err)
					}
					if err := cluster.Rollback("waits"); err != nil {
						b.Error(err)
					}
					longest = max(longest, time.Since(began))
					time.Sleep(time.Millisecond)
				}
				decided <- longest
			}()
			for b.Loop() {
				if err := reader.read(cluster); err != nil {
					b.Fatal(err)
				}
			}
			ended.Store(true)
			b.ReportMetric((<-decided).Seconds()*1000, "ms-longest-decision")
			if err := cluster.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
