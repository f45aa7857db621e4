package live_test

import (
	"fmt"
	"testing"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// What it costs that a node comes or goes in a cluster of 5,000: the names of all are read again.
func BenchmarkNumbersAfterANodeHasComeOrGone(b *testing.B) {
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cluster.Close() }()
	tell := func(name string) {
		if _, err := cluster.Tell([]byte(node(name, 1))); err != nil {
			b.Fatal(err)
		}
	}
	for n := range 5000 {
		tell(fmt.Sprintf("node-%04d.example.internal", n))
	}
	comes := true
	for b.Loop() {
		b.StopTimer()
		if comes {
			tell("flaps")
		} else if err := cluster.RemoveNode("flaps"); err != nil {
			b.Fatal(err)
		}
		comes = !comes
		b.StartTimer()
		cluster.Numbers()
	}
}
