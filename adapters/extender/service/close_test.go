package service_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"vgpualloc.example/adapters/extender/service"
	"vgpualloc.example/adapters/vga"
)

// stillRunning are the stacks of goroutines that a service has begun.
func stillRunning() (stacks []string) {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	for _, stack := range strings.Split(string(text), "\n\n") {
		if strings.Contains(stack, "service.(*Service)") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// The decision log is complete, and nobody uses the core, when Close returns.
func TestCloseWaitsForAllThatTheServiceDoes(t *testing.T) {
	a := newAPI(node("a", 16384), pod("p", 10000))
	settings := service.Defaults()
	settings.DecisionLog = filepath.Join(t.TempDir(), "decisions.jsonl")
	opened, err := service.New(a, settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Follow(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(stillRunning()) == 0 {
		t.Error("this test sees no goroutines of the service")
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	if stacks := stillRunning(); len(stacks) > 0 {
		t.Error(strings.Join(stacks, "\n\n"))
	}
	if _, _, err := opened.Explain("ns", "p"); !errors.Is(err, vga.Closed) {
		t.Error(err)
	}
	if err := opened.Follow(context.Background()); !errors.Is(err, vga.Closed) {
		t.Error(err)
	}
}

// A service is closed although requests are not answered yet when the time for that is over.
func TestClosingWhileABindingWaitsForTheAPIServer(t *testing.T) {
	wants := pod("p", 10000)
	a := newAPI(node("a", 16384), wants)
	waits, goesOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a.PrependReactor("create", "pods", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
		once.Do(func() { close(waits); <-goesOn })
		return false, nil, nil
	})
	s := open(t, a)
	bound := make(chan string, 1)
	go func() { bound <- s.bind(t, wants, "a") }()
	<-waits
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(goesOn)
	select {
	case failure := <-bound:
		if failure != "" {
			t.Error(failure)
		}
	case <-time.After(10 * time.Second):
		t.Error("the binding has no answer")
	}
	if a.present(t, "p").Spec.NodeName != "a" {
		t.Error("it is bound, and the next service reads that")
	}
}
