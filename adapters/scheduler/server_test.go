package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"volcano.sh/volcano/cmd/scheduler/app/options"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/scheduler/plugin"
	"vgpualloc.example/adapters/vga"
)

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// good is a configuration that holds.
type good struct{}

func (good) Failure() error { return nil }

// R038, R040: metrics are where the seeds say, on Volcano's port, with what deviceshare calls them.
func TestMetricsOnVolcanosAddress(t *testing.T) {
	flags := options.NewServerOption()
	flags.AddFlags(pflag.NewFlagSet("volcano", pflag.ContinueOnError))
	if flags.ListenAddress != ":8080" {
		t.Error(flags.ListenAddress)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	flags.ListenAddress, flags.EnableMetrics = free.Addr().String(), true
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	engine := plugin.NewEngine()
	if err := serve(flags, engine, good{}); err != nil {
		t.Fatal(err)
	}
	if flags.EnableMetrics || flags.EnablePprof {
		t.Error("Volcano would serve on the same address")
	}
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	engine.OnCluster(cluster)
	node, err := json.Marshal(map[string]any{"kind": "Node",
		"metadata": map[string]any{"name": "a", "annotations": map[string]string{
			"volcano.sh/node-vgpu-register": "GPU-0,10,16384,NVIDIA,true,hami-core:"}},
		"status": map[string]any{"allocatable": map[string]string{"cpu": "8", "memory": "8Gi", "pods": "110",
			"volcano.sh/vgpu-number": "10", "volcano.sh/vgpu-memory": "16384", "volcano.sh/vgpu-cores": "100"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Tell(node); err != nil {
		t.Fatal(err)
	}
	status, text := get(t, "http://"+flags.ListenAddress+"/metrics")
	for _, line := range []string{`volcano_vgpu_device_memory_limit{NodeName="a",devID="GPU-0"} 16384`,
		`volcano_vgpu_device_allocated_memory{NodeName="a",devID="GPU-0"} 0`, "vgpualloc_fragmentation_ratio ",
		"vgpualloc_decision_seconds_count 0", `vgpualloc_configuration_refused{configuration="scheduler"} 0`,
		`vgpualloc_configuration_refused{configuration="devices"} 0`} {
		if status != http.StatusOK || !strings.Contains(text, "\n"+line) {
			t.Error(status, line)
		}
	}
	for query, wanted := range map[string]int{"": http.StatusBadRequest, "?pod=p": http.StatusBadRequest,
		"?pod=a/b/c": http.StatusBadRequest, "?pod=ns/nobody": http.StatusNotFound} {
		status, text := get(t, "http://"+flags.ListenAddress+"/explain"+query)
		if status != wanted || !strings.Contains(text, `"error"`) {
			t.Error(fmt.Sprintf("/explain%s: %d %s", query, status, text))
		}
	}
	if err := serve(&options.ServerOption{EnableMetrics: true, ListenAddress: flags.ListenAddress}, engine, good{}); err == nil {
		t.Error("an address that is taken is an error at the start")
	}
	if err := cluster.Close(); err != nil {
		t.Error(err)
	}
}
