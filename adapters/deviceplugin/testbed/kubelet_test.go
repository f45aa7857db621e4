package testbed

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin offers so many devices, and a second list without them when it is told to.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	devices int
	empty   chan struct{}
}

func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	response := &pluginapi.ListAndWatchResponse{}
	for i := range p.devices {
		response.Devices = append(response.Devices, &pluginapi.Device{ID: fmt.Sprintf("GPU-e4d065bf-06b8-55c8-9bf8-f7aded9d3d77-memory-%d", i), Health: "Healthy"})
	}
	if err := stream.Send(response); err != nil {
		return err
	}
	select {
	case <-p.empty:
		return stream.Send(&pluginapi.ListAndWatchResponse{})
	case <-stream.Context().Done():
		return nil
	}
}

func (p *plugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	result := &pluginapi.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		result.ContainerResponses = append(result.ContainerResponses,
			&pluginapi.ContainerAllocateResponse{Envs: map[string]string{"IDS": fmt.Sprint(container.DevicesIds)}})
	}
	return result, nil
}

func serve(t *testing.T, folder, name string, served *plugin) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, served)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

func register(ctx context.Context, kubelet *Kubelet, endpoint, resource string) error {
	connection, err := grpc.NewClient("unix://"+kubelet.Socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: endpoint, ResourceName: resource})
	return err
}

func TestKubeletFollowsLists(t *testing.T) {
	folder := t.TempDir()
	ctx, end := context.WithTimeout(context.Background(), 10*time.Second)
	defer end()
	kubelet, err := NewKubelet(folder, KubeletOptions{ReadBeyondLimit: true})
	if err != nil {
		t.Fatal(err)
	}
	defer kubelet.Close()
	small, large := &plugin{devices: 3, empty: make(chan struct{})}, &plugin{devices: 81920}
	serve(t, folder, "small.sock", small)
	serve(t, folder, "large.sock", large)
	for _, name := range []string{"small", "large"} {
		if err := register(ctx, kubelet, name+".sock", "example/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := kubelet.Wait(ctx, func() bool {
		return len(kubelet.Lists("example/small")) == 1 && len(kubelet.Lists("example/large")) == 1
	}); err != nil {
		t.Fatal(err)
	}
	if err := kubelet.ListError("example/large"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v: expected that 81920 devices do not fit a message", err)
	}
	if err := kubelet.ListError("example/small"); err != nil {
		t.Error(err)
	}
	close(small.empty)
	if err := kubelet.Wait(ctx, func() bool { return len(kubelet.Lists("example/small")) == 2 }); err != nil {
		t.Fatal(err)
	}
	answer, err := kubelet.Allocate(ctx, "example/small", []string{"a", "b"})
	if err != nil || answer.ContainerResponses[0].Envs["IDS"] != "[a b]" {
		t.Errorf("%v, %v", answer, err)
	}
	if err := kubelet.Restart(); err != nil {
		t.Fatal(err)
	}
	if len(kubelet.Registrations()) != 0 || kubelet.Client("example/small") != nil {
		t.Error("a new kubelet knows no plugins")
	}
	if err := register(ctx, kubelet, "small.sock", "example/small"); err != nil {
		t.Fatal(err)
	}
}
