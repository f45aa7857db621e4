package plugin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/kubelet"
	"vgpualloc.example/adapters/deviceplugin/metrics"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// serveMetrics answers on --metrics-listen until the returned function is called. A port that is taken is an error.
func (p *Plugin) serveMetrics(ctx context.Context) (func(), error) {
	address := p.flags.MetricsListen
	if address == "" || p.options.Listen == nil {
		return func() {}, nil
	}
	listener, err := p.options.Listen(address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen %q: %w", address, err)
	}
	p.metrics = metrics.New(metrics.Options{Node: p.flags.Node, Library: late{plugin: p}, Cards: p.shownCards, Layout: p.layoutOf,
		Profile: p.profileName, MPS: p.mpsDaemons, Pods: p.podsOfNode, CacheRoot: p.options.Root + p.flags.CacheRoot,
		Feedback: p.flags.CoreFeedback, FeedbackEvery: p.intervals.Feedback, Proc: p.options.Root + "/proc", Now: p.options.Now})
	server := &http.Server{Handler: p.metrics.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{}, 2)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "Metrics are served no more")
		}
		ended <- struct{}{}
	}()
	go func() {
		p.metrics.Run(running)
		ended <- struct{}{}
	}()
	return func() {
		stop()
		patience, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := server.Shutdown(patience); err != nil {
			_ = server.Close()
		}
		<-ended
		<-ended
	}, nil
}

func (p *Plugin) shownCards() []register.Card {
	if session := p.current.get(); session != nil {
		return session.shown()
	}
	return nil
}

// layoutOf is a card's service; empty: it is not cut.
func (p *Plugin) layoutOf(uuid string) string {
	session := p.current.get()
	if session == nil || session.executor == nil || !session.isCut(uuid) {
		return ""
	}
	return strings.ReplaceAll(session.executor.Status(uuid).Service.String(), " ", "_")
}

func (p *Plugin) podsOfNode() ([]*v1.Pod, bool) {
	if session := p.current.get(); session != nil {
		return session.pods.list()
	}
	return nil, false
}

// profileName is what the driver calls a MIG profile; empty: that is not known.
func (p *Plugin) profileName(model string, profileID uint32) string {
	if session := p.current.get(); session != nil && session.executor != nil {
		return session.executor.ProfileName(model, profileID)
	}
	return ""
}

// late is the plugin's library, which is there before the first card is.
type late struct {
	hardware.Library
	plugin *Plugin
}

func (l late) Instances(uuid string) ([]hardware.Instance, error) {
	return l.plugin.library.Instances(uuid)
}
func (l late) Use(uuid string) (hardware.Use, error) { return l.plugin.library.Use(uuid) }
func (l late) Processes(uuid string) ([]hardware.Process, error) {
	return l.plugin.library.Processes(uuid)
}

// timed counts calls of the kubelet.
type timed struct {
	kubelet.OneContainer
	plugin *Plugin
}

// Allocate is OneContainer's.
func (t timed) Allocate(ctx context.Context, resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error) {
	began := time.Now()
	answer, err := t.OneContainer.Allocate(ctx, resource, ids)
	t.plugin.metrics.Allocated(resource, time.Since(began), err)
	return answer, err
}
