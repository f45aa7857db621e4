// Package kubelet offers devices to the kubelet by its device-plugin interface v1beta1: one Server for each resource.
package kubelet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Allocator decides what containers get.
type Allocator interface {
	// Allocate has an answer for each container of a call, in its order; containers has the kubelet's ids for each.
	Allocate(ctx context.Context, resource string, containers [][]string) ([]*pluginapi.ContainerAllocateResponse, error)
}

// Preferrer knows which of the available ids the kubelet had better take; nil: any.
type Preferrer interface {
	Prefer(ctx context.Context, resource string, available, mustInclude []string, size int) []string
}

// Options are what a Server is made with.
type Options struct {
	Folder        string // of the plugin's socket, on this machine
	KubeletSocket string // the kubelet's own, on this machine; empty: never register
	Resource      string // "volcano.sh/vgpu-number"
	Endpoint      string // the name of the socket in Folder
	Allocator     Allocator
	Prefer        Preferrer                    // nil: GetPreferredAllocation is not offered and answers an error
	Retry         time.Duration                // after the first refused registration, doubled up to 30 s; 0: 1 s
	Poll          time.Duration                // between looks at the sockets beside the kernel's notices; 0: 5 s
	Registered    func()                       // after each registration that the kubelet took; may be nil
	Updated       func(resource string)        // after each message of ListAndWatch; may be nil
	Report        func(what string, err error) // what failed and is tried again; may be nil
}

// Server serves one resource.
type Server struct {
	pluginapi.UnimplementedDevicePluginServer

	options Options
	again   chan struct{}
	listed  chan struct{} // closed with the first message of ListAndWatch
	once    sync.Once

	mutex   sync.Mutex
	devices []*pluginapi.Device
	streams map[*stream]struct{}
}

// queueMax is how many lists may wait for a kubelet that does not read them; then the newest replaces the one before.
const queueMax = 64

// stream is one ListAndWatch of the kubelet.
type stream struct {
	queue [][]*pluginapi.Device // guarded by Server.mutex
	wake  chan struct{}
}

// New serves nothing yet.
func New(options Options) *Server {
	if options.Retry <= 0 {
		options.Retry = time.Second
	}
	if options.Poll <= 0 {
		options.Poll = 5 * time.Second
	}
	if options.Registered == nil {
		options.Registered = func() {}
	}
	if options.Updated == nil {
		options.Updated = func(string) {}
	}
	if options.Report == nil {
		options.Report = func(string, error) {}
	}
	return &Server{options: options, again: make(chan struct{}, 1), listed: make(chan struct{}), streams: map[*stream]struct{}{}}
}

// Set is the list of devices from now on. Each call is a message of its own to every kubelet that listens, in order. It never waits.
// The devices must not be changed afterwards.
func (s *Server) Set(devices []*pluginapi.Device) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.devices = devices
	for listener := range s.streams {
		if len(listener.queue) >= queueMax {
			listener.queue[len(listener.queue)-1] = devices
		} else {
			listener.queue = append(listener.queue, devices)
		}
		select {
		case listener.wake <- struct{}{}:
		default:
		}
	}
}

// Register has Run serve on a new socket and register again.
func (s *Server) Register() {
	select {
	case s.again <- struct{}{}:
	default:
	}
}

// isListening says whether a kubelet follows the list.
func (s *Server) isListening() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.streams) > 0
}

// Listed is closed once the kubelet was sent a list.
func (s *Server) Listed() <-chan struct{} { return s.listed }

// Socket is the path of the plugin's socket.
func (s *Server) Socket() string { return filepath.Join(s.options.Folder, s.options.Endpoint) }

func (s *Server) describe() *pluginapi.DevicePluginOptions {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: s.options.Prefer != nil}
}

// session is what one socket serves.
type session struct {
	*Server
	closing chan struct{}
	lost    chan struct{} // the kubelet has ended a ListAndWatch
}

// GetDevicePluginOptions says which calls are answered.
func (s *session) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return s.describe(), nil
}

// ListAndWatch sends the list and then each that Set was called with.
func (s *session) ListAndWatch(_ *pluginapi.Empty, sender pluginapi.DevicePlugin_ListAndWatchServer) error {
	s.mutex.Lock()
	listener := &stream{queue: [][]*pluginapi.Device{s.devices}, wake: make(chan struct{}, 1)}
	s.streams[listener] = struct{}{}
	s.mutex.Unlock()
	defer func() {
		s.mutex.Lock()
		delete(s.streams, listener)
		s.mutex.Unlock()
	}()
	for {
		s.mutex.Lock()
		waiting := listener.queue
		listener.queue = nil
		s.mutex.Unlock()
		for _, devices := range waiting {
			if err := sender.Send(&pluginapi.ListAndWatchResponse{Devices: devices}); err != nil {
				return err
			}
			s.options.Updated(s.options.Resource)
			s.once.Do(func() { close(s.listed) })
		}
		select {
		case <-listener.wake:
		case <-s.closing:
			return nil
		case <-sender.Context().Done():
			select {
			case s.lost <- struct{}{}:
			default:
			}
			return nil
		}
	}
}

// Allocate is the kubelet's call for the containers of a pod.
func (s *session) Allocate(ctx context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	containers := make([][]string, len(request.ContainerRequests))
	for i, container := range request.ContainerRequests {
		containers[i] = container.GetDevicesIds()
	}
	answers, err := s.options.Allocator.Allocate(ctx, s.options.Resource, containers)
	if err != nil {
		return nil, err
	}
	return &pluginapi.AllocateResponse{ContainerResponses: answers}, nil
}

// GetPreferredAllocation names ids, or answers an empty message where any will do.
func (s *session) GetPreferredAllocation(ctx context.Context, request *pluginapi.PreferredAllocationRequest,
) (*pluginapi.PreferredAllocationResponse, error) {
	if s.options.Prefer == nil {
		return nil, errors.New("not supported")
	}
	answer := &pluginapi.PreferredAllocationResponse{}
	hasAny := false
	for _, container := range request.ContainerRequests {
		ids := s.options.Prefer.Prefer(ctx, s.options.Resource, container.AvailableDeviceIDs, container.MustIncludeDeviceIDs,
			int(container.AllocationSize))
		hasAny = hasAny || len(ids) > 0
		answer.ContainerResponses = append(answer.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	if !hasAny {
		return &pluginapi.PreferredAllocationResponse{}, nil
	}
	return answer, nil
}

// PreStartContainer is never asked for.
func (s *session) PreStartContainer(context.Context, *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	return &pluginapi.PreStartContainerResponse{}, nil
}

// OneContainer decides what one container gets.
type OneContainer interface {
	Allocate(ctx context.Context, resource string, ids []string) (*pluginapi.ContainerAllocateResponse, error)
}

// Single takes calls for one container, as kubelets make them, and refuses others.
func Single(allocator OneContainer) Allocator { return single{allocator} }

type single struct{ OneContainer }

// Allocate refuses calls for several containers, for none, and for one that is to have nothing.
func (s single) Allocate(ctx context.Context, resource string, containers [][]string) ([]*pluginapi.ContainerAllocateResponse, error) {
	switch {
	case len(containers) > 1:
		return nil, errors.New("multiple Container Requests not supported")
	case len(containers) == 0 || len(containers[0]) == 0:
		return nil, fmt.Errorf("Allocate of %s: the request has %d containers without ids, expected one container with ids", resource,
			len(containers))
	}
	answer, err := s.OneContainer.Allocate(ctx, resource, containers[0])
	if err != nil {
		return nil, err
	}
	return []*pluginapi.ContainerAllocateResponse{answer}, nil
}
