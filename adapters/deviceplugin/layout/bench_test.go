package layout

import (
	"fmt"
	"testing"
)

// BenchmarkInstance is what Allocate pays on a node of eight cards with 56 pods when the GPU is cut already.
func BenchmarkInstance(b *testing.B) {
	machine := newMemory(a100, a100, a100, a100, a100, a100, a100, a100)
	n := newNode(b, machine, false)
	for gpu := range 8 {
		machine.put(machine.gpus[gpu].UUID, ones...)
		for position := range 7 {
			n.put(fmt.Sprintf("p-%d-%d", gpu, position), Answered, fmt.Sprintf("GPU-%d[group1-%d]", gpu, position))
		}
	}
	for b.Loop() {
		if _, err := n.instance(3, "group1", 5); err != nil {
			b.Fatal(err)
		}
	}
}
