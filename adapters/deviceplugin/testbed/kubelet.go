package testbed

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// KubeletOptions change how the stub behaves.
type KubeletOptions struct {
	// NoLists: it never opens ListAndWatch, as a kubelet that hangs.
	NoLists bool
	// ReadBeyondLimit: a list that is too long for 4 MiB is read again without the limit. Lists has it, and ListError says so.
	ReadBeyondLimit bool
}

// Kubelet is a stub of the kubelet's device manager: it takes registrations at kubelet.sock and then follows ListAndWatch of the
// plugin that registered, with the 4 MiB that gRPC's clients receive if nobody asks for more, as the kubelet does.
type Kubelet struct {
	pluginapi.UnimplementedRegistrationServer

	folder  string
	options KubeletOptions
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu            sync.Mutex
	server        *grpc.Server
	registrations []*pluginapi.RegisterRequest
	plugins       map[string]*pluginOf
	news          chan struct{} // closed and replaced at each change
}

// pluginOf is what the stub knows of the plugin that serves a resource now.
type pluginOf struct {
	connection *grpc.ClientConn
	client     pluginapi.DevicePluginClient
	lists      [][]*pluginapi.Device
	limitError error // of the client with the default limit
	ended      error // how ListAndWatch ended
	stop       context.CancelFunc
}

// NewKubelet listens at kubelet.sock in a folder that exists. A path of a socket may have 107 bytes. The caller closes it.
func NewKubelet(folder string, options KubeletOptions) (*Kubelet, error) {
	ctx, end := context.WithCancel(context.Background())
	kubelet := &Kubelet{folder: folder, options: options, ctx: ctx, end: end, plugins: map[string]*pluginOf{}, news: make(chan struct{})}
	if err := kubelet.listen(); err != nil {
		end()
		return nil, err
	}
	return kubelet, nil
}

// Socket is the path of kubelet.sock.
func (k *Kubelet) Socket() string { return filepath.Join(k.folder, "kubelet.sock") }

func (k *Kubelet) listen() error {
	listener, err := net.Listen("unix", k.Socket())
	if err != nil {
		return fmt.Errorf("the kubelet's socket: %w", err)
	}
	server := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(server, k)
	k.mu.Lock()
	k.server = server
	k.mu.Unlock()
	k.running.Add(1)
	go func() {
		defer k.running.Done()
		_ = server.Serve(listener) // ends with Stop
	}()
	return nil
}

// Close ends everything and waits for it.
func (k *Kubelet) Close() {
	k.end()
	k.Stop()
	k.running.Wait()
}

// Stop closes and removes the socket and forgets the plugins, as a kubelet that ends. Lists and Registrations stay readable until Start.
func (k *Kubelet) Stop() {
	k.mu.Lock()
	server := k.server
	k.server = nil
	for _, plugin := range k.plugins {
		plugin.close()
	}
	k.mu.Unlock()
	if server != nil {
		server.Stop()
	}
	_ = os.Remove(k.Socket())
}

// Start listens again after Stop. Nothing is known of registrations before it.
func (k *Kubelet) Start() error {
	k.mu.Lock()
	k.registrations, k.plugins = nil, map[string]*pluginOf{}
	k.mu.Unlock()
	return k.listen()
}

// Restart is Stop and Start.
func (k *Kubelet) Restart() error {
	k.Stop()
	return k.Start()
}

func (p *pluginOf) close() {
	p.stop()
	_ = p.connection.Close()
}

// Register takes a registration and follows the plugin's list in a goroutine of its own. A second one of the same resource replaces
// the first.
func (k *Kubelet) Register(_ context.Context, request *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	if request.Version != pluginapi.Version {
		return nil, status.Errorf(codes.InvalidArgument, "version %q: expected %q", request.Version, pluginapi.Version)
	}
	socket := filepath.Join(k.folder, request.Endpoint)
	connection, err := grpc.NewClient("passthrough:///unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(k.ctx)
	plugin := &pluginOf{connection: connection, client: pluginapi.NewDevicePluginClient(connection), stop: stop}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		plugin.close()
		return nil, status.Error(codes.Unavailable, "the kubelet ends")
	}
	if old := k.plugins[request.ResourceName]; old != nil {
		old.close()
	}
	k.plugins[request.ResourceName] = plugin
	k.registrations = append(k.registrations, request)
	k.changed()
	if !k.options.NoLists {
		k.running.Add(1)
		go k.follow(ctx, plugin)
	}
	return &pluginapi.Empty{}, nil
}

// changed wakes who waits; the lock is held.
func (k *Kubelet) changed() {
	close(k.news)
	k.news = make(chan struct{})
}

func (k *Kubelet) follow(ctx context.Context, plugin *pluginOf) {
	defer k.running.Done()
	err := k.receive(ctx, plugin)
	if k.options.ReadBeyondLimit && status.Code(err) == codes.ResourceExhausted {
		k.mu.Lock()
		plugin.limitError = err
		k.mu.Unlock()
		err = k.receive(ctx, plugin, grpc.MaxCallRecvMsgSize(1<<30))
	}
	k.mu.Lock()
	plugin.ended = err
	k.changed()
	k.mu.Unlock()
}

func (k *Kubelet) receive(ctx context.Context, plugin *pluginOf, options ...grpc.CallOption) error {
	stream, err := plugin.client.ListAndWatch(ctx, &pluginapi.Empty{}, options...)
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		k.mu.Lock()
		plugin.lists = append(plugin.lists, message.Devices)
		k.changed()
		k.mu.Unlock()
	}
}

// Registrations are the requests since the last Start, in order.
func (k *Kubelet) Registrations() []*pluginapi.RegisterRequest {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]*pluginapi.RegisterRequest(nil), k.registrations...)
}

// Lists are the messages of ListAndWatch of the plugin that serves a resource now, the first at the front.
func (k *Kubelet) Lists(resource string) [][]*pluginapi.Device {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.plugins[resource] == nil {
		return nil
	}
	return append([][]*pluginapi.Device(nil), k.plugins[resource].lists...)
}

// ListError is why the list of a resource could not be received with the kubelet's limit, or how ListAndWatch ended; nil: it goes on.
func (k *Kubelet) ListError(resource string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	plugin := k.plugins[resource]
	switch {
	case plugin == nil:
		return nil
	case plugin.limitError != nil:
		return plugin.limitError
	}
	return plugin.ended
}

// Client calls the plugin that serves a resource now; nil: none has registered.
func (k *Kubelet) Client(resource string) pluginapi.DevicePluginClient {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.plugins[resource] == nil {
		return nil
	}
	return k.plugins[resource].client
}

// Allocate is one call for a resource, with the device ids of each container.
func (k *Kubelet) Allocate(ctx context.Context, resource string, containers ...[]string) (*pluginapi.AllocateResponse, error) {
	client := k.Client(resource)
	if client == nil {
		return nil, status.Errorf(codes.NotFound, "resource %q: no plugin has registered", resource)
	}
	request := &pluginapi.AllocateRequest{}
	for _, ids := range containers {
		request.ContainerRequests = append(request.ContainerRequests, &pluginapi.ContainerAllocateRequest{DevicesIds: ids})
	}
	return client.Allocate(ctx, request)
}

// Wait returns when `holds` does, which is tried at each registration and each list; the context's error otherwise.
func (k *Kubelet) Wait(ctx context.Context, holds func() bool) error {
	for {
		k.mu.Lock()
		news := k.news
		k.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("what the kubelet's stub waits for did not come: %w", ctx.Err())
		}
	}
}
