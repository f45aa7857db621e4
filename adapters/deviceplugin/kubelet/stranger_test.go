package kubelet_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"vgpualloc.example/adapters/deviceplugin/kubelet"
)

func TestAFileInTheSocketsPlaceStays(t *testing.T) {
	folder, reports := t.TempDir(), make(chan error, 16)
	server := kubelet.New(kubelet.Options{Folder: folder, Resource: "volcano.sh/x", Endpoint: "x.sock", Retry: time.Second, Poll: time.Second,
		Report: func(_ string, err error) {
			select {
			case reports <- err:
			default:
			}
		}})
	if err := os.WriteFile(server.Socket(), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	if err := <-reports; !strings.Contains(err.Error(), server.Socket()+" is no socket") {
		t.Errorf("%v, expected that it is no socket", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(server.Socket()); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v: expected the file as it was", text, err)
	}
}
