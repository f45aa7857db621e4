package vga_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"vgpualloc.example/adapters/vga"
)

// callAll calls every method of a cluster, with arguments of no meaning, and returns the errors by method.
func callAll(cluster, other *vga.Cluster) map[string]error {
	failures := map[string]error{}
	called := reflect.ValueOf(cluster)
	for i := range called.NumMethod() {
		name := called.Type().Method(i).Name
		if name == "Close" {
			continue
		}
		method := called.Method(i)
		arguments := make([]reflect.Value, method.Type().NumIn())
		for j := range arguments {
			arguments[j] = reflect.Zero(method.Type().In(j))
			if arguments[j].Type() == reflect.TypeOf(other) {
				arguments[j] = reflect.ValueOf(other)
			}
		}
		results := method.Call(arguments)
		if len(results) == 0 {
			continue
		}
		if err, fails := results[len(results)-1].Interface().(error); fails {
			failures[name] = err
		} else if results[len(results)-1].Type() == reflect.TypeFor[error]() {
			failures[name] = nil
		}
	}
	return failures
}

func TestAClosedClusterAnswersSo(t *testing.T) {
	c := clusterOf(t, node("a", 1), pod("p", "u", 1000, ""))
	other := clusterOf(t)
	c.Close()
	c.Close()
	failures := callAll(c, other)
	if len(failures) < 20 {
		t.Error("methods without an error", failures)
	}
	for method, err := range failures {
		if !errors.Is(err, vga.Closed) {
			t.Error(method, err)
		}
	}
	if err := other.Swap(c); !errors.Is(err, vga.Closed) {
		t.Error(err)
	}
	if limit, version := c.NodesVersion(); limit != 0 || version != 0 {
		t.Error(limit, version)
	}
	if state, _ := c.Pod("u"); state != vga.PodUnknown || c.ReadingVersion() != 0 {
		t.Error(state, c.ReadingVersion())
	}
}

// A scheduler that ends closes its cluster while metrics are read and a pod is explained.
func TestClosingWhileOthersCall(t *testing.T) {
	for range 10 {
		c := clusterOf(t, node("a", 2), node("b", 2), pod("p", "u", 1000, ""))
		other := clusterOf(t, node("a", 2))
		var group sync.WaitGroup
		for caller := range 8 {
			group.Add(1)
			go func() {
				defer group.Done()
				first, second := c, other
				if caller%2 == 1 { // whose Swap takes them the other way round
					first, second = second, first
				}
				for deadline := time.Now().Add(10 * time.Second); ; {
					failures := callAll(first, second)
					if errors.Is(failures["Swap"], vga.Closed) {
						return
					}
					if time.Now().After(deadline) {
						t.Error("it is not closed", failures)
						return
					}
				}
			}()
		}
		time.Sleep(2 * time.Millisecond)
		c.Close()
		group.Wait()
	}
}
