package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Cards of mode mps are offered as long as the control daemon answers, and no others go with them.
func TestCardsOfMPSNeedADaemon(t *testing.T) {
	var isUp atomic.Bool
	var folders atomic.Value
	r := newRig(t, newMachine(2), deviceConfig, map[string]string{"/config/config.json": `{"nodeconfig":[{"name":"node-a",` +
		`"devices":[{"index":0,"operatingmode":"mps"}]}]}`})
	r.askMPS = func(_ context.Context, folder string) error {
		folders.Store(folder)
		if isUp.Load() {
			return nil
		}
		return errors.New("no daemon")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.listen = func(string) (net.Listener, error) { return listener, nil }
	r.start("--metrics-listen=:9394").serving()
	if devices := r.kubelet.Lists("volcano.sh/vgpu-number")[0]; sick(devices) != "GPU-0" || len(devices) != 8 {
		t.Errorf("without a daemon cards %q are not healthy, expected GPU-0", sick(devices))
	}
	if text := r.registered(); !strings.Contains(text, ",false,mps:") || !strings.Contains(text, ",true,hami-core:") {
		t.Errorf("registered %s", text)
	}
	if folder := r.root + "/run/nvidia/mps/volcano.sh/vgpu-number/pipe"; folders.Load() != folder {
		t.Errorf("the daemon of %v was asked, expected that of %s", folders.Load(), folder)
	}
	metric := func(value int) bool {
		answer, err := http.Get("http://" + listener.Addr().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(text),
			fmt.Sprintf("vgpualloc_plugin_mps_daemon{NodeName=\"node-a\",resource=\"volcano.sh/vgpu-number\"} %d\n", value))
	}
	r.wait("the metric of a daemon that is silent", func() bool { return metric(0) })
	isUp.Store(true)
	r.wait("the card", func() bool {
		return sick(last(r.kubelet.Lists("volcano.sh/vgpu-memory"))) == "" && !strings.Contains(r.registered(), "false")
	})
	r.wait("the metric of a daemon that answers", func() bool { return metric(1) })
	isUp.Store(false)
	r.wait("the card to go", func() bool {
		return sick(last(r.kubelet.Lists("volcano.sh/vgpu-cores"))) == "GPU-0" && strings.Contains(r.registered(), ",false,mps:")
	})
	r.wait("an event", func() bool {
		return slices.ContainsFunc(r.api.Events(), func(event corev1.Event) bool { return strings.Contains(event.Message, "no daemon") })
	})
}
