package service_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"vgpualloc.example/adapters/extender/service"
)

// Under the built-in configuration kube-scheduler would be told that a pod asks for no devices, though it does.
func TestNobodyIsAnsweredBeforeTheDevicesConfigurationIsKnown(t *testing.T) {
	a := newAPI()
	answers := make(chan struct{})
	a.PrependReactor("list", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() == "team" {
			<-answers
		}
		return false, nil, nil
	})
	settings := service.Defaults()
	settings.ConfigNamespace = "team"
	made, err := service.New(a, settings)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	followed := make(chan error, 1)
	go func() { followed <- made.Follow(ctx) }()
	select {
	case err := <-followed:
		t.Fatal("it follows the cluster without its configuration", err)
	case <-time.After(3 * time.Second):
	}
	if made.Ready() {
		t.Error("nothing is known yet")
	}
	close(answers)
	if err := <-followed; err != nil || !made.Ready() {
		t.Error(err, made.Ready())
	}
	cancel()
	if err := made.Close(); err != nil {
		t.Error(err)
	}
}
