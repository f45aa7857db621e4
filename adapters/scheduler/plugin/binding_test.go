package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// bound is an engine that has handed a pod over to be bound to node a, and what Volcano's cache keeps of that.
func bound(t *testing.T, client *kubefake.Clientset) (*binder, *cache.BindContext) {
	t.Helper()
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Close() })
	engine := NewEngine()
	engine.cluster = cluster
	waits := pod("p", "pg", 3000)
	follow(&engine.mirror, cluster, []*v1.Node{node("a", 16384)}, []*v1.Pod{waits})
	uid := string(waits.UID)
	decision, err := cluster.Reserve(uid, "ns/p", "a", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Commit(uid); err != nil {
		t.Fatal(err)
	}
	engine.decisions.Store(uid, decision)
	task := api.NewTaskInfo(waits)
	task.NodeName = "a"
	return &binder{engine: engine, client: client, lockNodes: true},
		&cache.BindContext{TaskInfo: task, Extensions: map[string]cache.BindContextExtension{Name: decision}}
}

func TestAPodKeepsItsDevicesWhereNobodyMayLookWhetherItIsBound(t *testing.T) {
	patience := forbiddenPatience
	forbiddenPatience = 100 * time.Millisecond
	t.Cleanup(func() { forbiddenPatience = patience })
	client := kubefake.NewClientset()
	looks := 0
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		looks++
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("no role"))
	})
	binder, bind := bound(t, client)
	if _, err := binder.look(context.Background(), bind.TaskInfo.Pod); err == nil ||
		!strings.Contains(err.Error(), "lacks the verb get of pods") || !apierrors.IsForbidden(err) || looks < 2 {
		t.Error(err, looks)
	}
	binder.PreBindRollBack(context.Background(), bind)
	uid := string(bind.TaskInfo.Pod.UID)
	if state, node := binder.engine.cluster.Pod(uid); state != vga.PodCommitted || node != "a" {
		t.Error(state, node)
	}
	if _, decided := binder.engine.decisions.Load(uid); !decided {
		t.Error("a session that has it waiting takes it back")
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" || action.GetResource().Resource != "pods" {
			t.Error("nothing is written of a pod that may run", action)
		}
	}
	binder.engine.takeBack(uid) // as a session that has it waiting
	if state, _ := binder.engine.cluster.Pod(uid); state != vga.PodWaiting {
		t.Error(state)
	}
}

// An API server that has just started does not know all roles yet.
func TestARightThatComesLateIsUsed(t *testing.T) {
	client := kubefake.NewClientset()
	looks := 0
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		looks++
		if looks <= 2 {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("no role yet"))
		}
		return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	})
	binder, bind := bound(t, client)
	binder.lockNodes = false
	binder.PreBindRollBack(context.Background(), bind)
	if state, _ := binder.engine.cluster.Pod(string(bind.TaskInfo.Pod.UID)); looks != 3 || state != vga.PodWaiting {
		t.Error(looks, state)
	}
}

func TestASchedulerThatEndsGivesNothingBack(t *testing.T) {
	client := kubefake.NewClientset()
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, context.Canceled
	})
	binder, bind := bound(t, client)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	binder.PreBindRollBack(ended, bind)
	if state, _ := binder.engine.cluster.Pod(string(bind.TaskInfo.Pod.UID)); state != vga.PodCommitted {
		t.Error(state)
	}
}
