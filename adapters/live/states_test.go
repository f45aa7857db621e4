package live

import (
	"testing"
	"time"

	"vgpualloc.example/adapters/vga"
)

func TestWhatIsTakenBackIsTakenBackInTheCoreAtOnce(t *testing.T) {
	cluster, err := New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []string{
		`{"kind": "Node", "metadata": {"name": "a", "annotations":
			{"volcano.sh/node-vgpu-register": "GPU-0,10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:"}},
			"status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110",
			"volcano.sh/vgpu-number": "10", "volcano.sh/vgpu-memory": "40960", "volcano.sh/vgpu-cores": "100"}}}`,
		`{"kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "p"}, "spec": {"containers": [
			{"name": "main", "resources": {"limits": {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "1000"}}}]}}`,
	} {
		if _, err := cluster.Tell([]byte(object)); err != nil {
			t.Fatal(err)
		}
	}
	reserveAndTakeBack := func() {
		if _, err := cluster.Reserve("p", "ns/p", "a", nil, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Rollback("p"); err != nil {
			t.Fatal(err)
		}
	}
	expectWaiting := func(when string) {
		if state, _ := cluster.core.Pod("p"); state != vga.PodWaiting {
			t.Errorf("state %v in the core %s, expected waiting", state, when)
		}
	}
	for _, when := range []string{"after one attempt", "after another"} {
		reserveAndTakeBack()
		expectWaiting(when)
	}
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
}
