package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api/devices/nvidia/vgpu"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/live/telemetry"
	"vgpualloc.example/adapters/live/web"
	"vgpualloc.example/adapters/scheduler/plugin"
)

// refusable is a configuration, the present text of which may not hold.
type refusable interface{ Failure() error }

// serve answers /metrics, /explain and, if asked for, pprof on Volcano's address for metrics, in place of Volcano's own
// server, which has no room for more.
func serve(flags *options.ServerOption, engine *plugin.Engine, configuration refusable) error {
	if !flags.EnableMetrics && !flags.EnablePprof {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /explain", func(to http.ResponseWriter, request *http.Request) { explain(engine, to, request) })
	if flags.EnableMetrics {
		mux.Handle("/metrics", metrics(engine, configuration))
	}
	if flags.EnablePprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	flags.EnableMetrics, flags.EnablePprof = false, false
	listener, err := net.Listen("tcp", flags.ListenAddress)
	if err != nil {
		return fmt.Errorf("--listen-address %q: %w", flags.ListenAddress, err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 90 * time.Second} // a profile takes 30 s
	go func() {
		klog.ErrorS(server.Serve(listener), "The server of metrics and explanations ended", "address", flags.ListenAddress)
	}()
	return nil
}

// metrics are Volcano's and ours. The figures that Volcano's device code counts along are ours now, under the same names;
// they are in a registry of their own, as a registry never forgets the labels of a name.
func metrics(engine *plugin.Engine, configuration refusable) http.Handler {
	for _, upstream := range []prometheus.Collector{vgpu.VGPUDevicesSharedNumber, vgpu.VGPUDevicesAllocatedMemory,
		vgpu.VGPUDevicesAllocatedCores, vgpu.VGPUDevicesMemoryTotal, vgpu.VGPUPodMemoryAllocated,
		vgpu.VGPUPodCoreAllocated} {
		prometheus.Unregister(upstream)
	}
	// Those of Kubernetes' registry stay.
	prometheus.Unregister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	prometheus.Unregister(collectors.NewGoCollector())
	ours := prometheus.NewRegistry()
	ours.MustRegister(telemetry.NewRefusedGauge("scheduler", configuration.Failure), telemetry.NewRefusedGauge("devices", engine.ConfigFailure))
	engine.OnCluster = func(cluster *live.Cluster) { ours.MustRegister(telemetry.NewCollector(cluster)) }
	all := prometheus.Gatherers{ours, prometheus.DefaultGatherer, legacyregistry.DefaultGatherer}
	return promhttp.InstrumentMetricHandler(prometheus.DefaultRegisterer, promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
}

// explain answers GET /explain?pod=namespace/name as `vgpusim explain --json` does.
func explain(engine *plugin.Engine, to http.ResponseWriter, request *http.Request) {
	web.ServeExplanation(to, request, engine.Explain)
}
