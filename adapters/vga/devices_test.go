package vga_test

import (
	"errors"
	"strings"
	"testing"

	"vgpualloc.example/adapters/vga"
)

const gpu = "GPU-m"

// cutNode has one GPU that is shared as mig.
var cutNode = strings.ReplaceAll(node("m", 1), "GPU-m-0,10,40960,NVIDIA A100-SXM4-40GB,true,hami-core:",
	gpu+",7,40960,NVIDIA A100-SXM4-40GB,true,mig:")

func TestAGPUIsCutStepByStep(t *testing.T) {
	c := clusterOf(t, cutNode)
	where := must[vga.Node](t)(c.FindNode("m"))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.SetService(where, gpu, vga.Reconfiguring))
	if service := must[vga.Service](t)(c.ServiceOf(where, gpu)); service != vga.Reconfiguring {
		t.Errorf("it is %d", service)
	}
	check(c.NoteLayout(where, gpu, []string{"1g.5gb@0", "2g.10gb@4"}, []string{"1g.5gb@0"}))
	steps, found, err := c.PlanLayout(where, gpu, vga.LayoutRequest{Want: "3g.20gb"})
	check(err)
	if !found || len(steps) != 2 || steps[0].Kind != vga.DestroyInstance || steps[1].Profile != "3g.20gb" ||
		steps[1].ProfileID != 9 || steps[1].Start != 4 || steps[1].Size != 4 {
		t.Fatalf("found %v: %+v", found, steps)
	}
	for _, step := range steps {
		check(c.NoteStep(where, gpu, step, true))
	}
	if layout := must[string](t)(c.Layout(where, gpu)); !strings.Contains(layout, `"profile":"3g.20gb"`) {
		t.Error(layout)
	}
	_, found, err = c.PlanLayout(where, gpu, vga.LayoutRequest{Group: "1g.5gb=7"})
	check(err)
	if found {
		t.Error("a group changes while an instance is in use")
	}
	check(c.NoteStep(where, gpu, vga.LayoutStep{Kind: vga.DestroyInstance, Profile: "3g.20gb", Start: 4}, false))
	if _, err := c.Layout(where, gpu); !errors.Is(err, vga.WrongState) {
		t.Error("after a step has failed:", err)
	}
	check(c.SetService(where, gpu, vga.InService))
	if err := c.SetService(where, "GPU-none", vga.Draining); !errors.Is(err, vga.BadInput) {
		t.Error(err)
	}
}

func TestRoomIsPlanned(t *testing.T) {
	running := func(name, card string) string {
		object := pod(name, name, 15000, `,"annotations":{"volcano.sh/vgpu-ids-new":"`+card+`,NVIDIA,15000,0:"},
			"ownerReferences":[{"kind":"ReplicaSet","name":"r","controller":true}]`)
		object = strings.Replace(object, `"spec":{`, `"spec":{"nodeName":"a",`, 1)
		return strings.TrimSuffix(object, "}") + `,"status":{"phase":"Running"}}`
	}
	c := clusterOf(t, node("a", 2), running("p", "GPU-a-0"), running("q", "GPU-a-1"), pod("r", "u", 30000, ""))
	if room := must[string](t)(c.PlanRoom("u", 3)); !strings.Contains(room, `"found":true`) {
		t.Error(room)
	}
	if room := must[string](t)(c.PlanRoom("u", 0)); !strings.Contains(room, `"found":false`) {
		t.Error(room)
	}
	if _, err := c.PlanRoom("p", 3); !errors.Is(err, vga.WrongState) {
		t.Error(err)
	}
}
