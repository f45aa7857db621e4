package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// How long the kubelet may take to answer a registration, and calls that run may take when the plugin ends.
const (
	registerPatience = 5 * time.Second
	endPatience      = 5 * time.Second
	retryMax         = 30 * time.Second
	pathMax          = 107 // bytes of a Unix socket's path
)

// Run serves and registers until the context ends; it removes the socket then. It serves and registers anew when the kubelet's
// socket was made anew, when the plugin's own is gone, and after Register. The error is of what no waiting can mend.
func (s *Server) Run(ctx context.Context) error {
	for _, path := range []string{s.Socket(), s.options.KubeletSocket} {
		if len(path) > pathMax {
			return fmt.Errorf("the socket's path %q has %d bytes: expected at most %d", path, len(path), pathMax)
		}
	}
	notices, closeNotices := s.watch()
	defer closeNotices()
	for ctx.Err() == nil {
		if err := s.serveOnce(ctx, notices); err != nil && ctx.Err() == nil {
			s.options.Report("serving "+s.options.Resource, err)
			s.pause(ctx, s.options.Retry)
		}
	}
	return nil
}

// watch has the kernel tell of changes in the folders of both sockets. Without it, polling finds them.
func (s *Server) watch() (<-chan fsnotify.Event, func()) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		s.options.Report("watching the kubelet's folder", err)
		return nil, func() {}
	}
	folders := map[string]bool{s.options.Folder: true}
	if s.options.KubeletSocket != "" {
		folders[filepath.Dir(s.options.KubeletSocket)] = true
	}
	for folder := range folders {
		if err := watcher.Add(folder); err != nil {
			s.options.Report("watching "+folder, err)
		}
	}
	notices, ended := make(chan fsnotify.Event, 1), make(chan struct{})
	go func() { // passes on that something happened, however much
		defer close(ended)
		for {
			select {
			case event, isOpen := <-watcher.Events:
				if !isOpen {
					return
				}
				select {
				case notices <- event:
				default:
				}
			case _, isOpen := <-watcher.Errors:
				if !isOpen {
					return
				}
			}
		}
	}()
	return notices, func() {
		_ = watcher.Close()
		<-ended
	}
}

// file is which file is at a path; nil: none.
func file(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if path == "" || err != nil {
		return nil
	}
	return info
}

// isSame: no socket was made in between.
func isSame(before, now fs.FileInfo) bool {
	if before == nil || now == nil {
		return before == nil && now == nil
	}
	return os.SameFile(before, now) && before.ModTime().Equal(now.ModTime())
}

// serveOnce serves on one socket until that must be done anew.
func (s *Server) serveOnce(ctx context.Context, notices <-chan fsnotify.Event) error {
	if info, err := os.Lstat(s.Socket()); err == nil && info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is no socket (%s): expected a socket or nothing, it stays as it is", s.Socket(), info.Mode())
	}
	if err := os.Remove(s.Socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", s.Socket())
	if err != nil {
		return err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	own := file(s.Socket())
	serving := &session{Server: s, closing: make(chan struct{}), lost: make(chan struct{}, 1)}
	server := grpc.NewServer(grpc.UnaryInterceptor(survive))
	pluginapi.RegisterDevicePluginServer(server, serving)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer func() {
		close(serving.closing)
		end(server)
		if isSame(own, file(s.Socket())) { // not another plugin's
			_ = os.Remove(s.Socket())
		}
	}()
	return s.follow(ctx, own, notices, serving.lost, failed)
}

// follow registers and then waits for a reason to do all anew. A kubelet that ends its ListAndWatch and goes on has forgotten the
// plugin: kubelet 1.34 does so when it hears of the end of a former ListAndWatch only after the plugin has registered again. Then it
// takes another registration.
func (s *Server) follow(ctx context.Context, own fs.FileInfo, notices <-chan fsnotify.Event, lost <-chan struct{}, failed <-chan error) error {
	poll := time.NewTicker(s.options.Poll)
	defer poll.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	wait, isRegistered, isLost := s.options.Retry, false, false
	var kubelet fs.FileInfo
	var registered time.Time
	for {
		if !isSame(own, file(s.Socket())) {
			return nil // the kubelet's start empties its folder
		}
		if isRegistered && s.options.KubeletSocket != "" {
			if now := file(s.options.KubeletSocket); now != nil && !isSame(kubelet, now) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.again:
			return nil
		case err := <-failed:
			return err
		case <-notices:
			if !isRegistered && kubelet == nil && file(s.options.KubeletSocket) != nil {
				retry.Reset(0) // it has just come
			}
		case <-poll.C:
		case <-lost:
			if isLost = isRegistered; isLost {
				if time.Since(registered) > retryMax {
					wait = s.options.Retry
				}
				retry.Reset(wait)
				wait = min(2*wait, retryMax)
			}
		case <-retry.C:
			if s.options.KubeletSocket == "" || isRegistered && !isLost {
				continue
			}
			kubelet = file(s.options.KubeletSocket)
			if isLost && (kubelet == nil || s.isListening()) {
				isLost = false // it has gone with its socket, and the next one's is another; or it asked for the list again
				continue
			}
			if err := s.register(ctx); err != nil {
				if ctx.Err() == nil {
					s.options.Report("registering "+s.options.Resource+" with the kubelet", err)
				}
				retry.Reset(wait)
				wait = min(2*wait, retryMax)
				continue
			}
			kubelet = file(s.options.KubeletSocket) // which may have come while it was called
			isRegistered, isLost, registered = true, false, time.Now()
			s.options.Registered()
		}
	}
}

func (s *Server) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, registerPatience)
	defer cancel()
	connection, err := grpc.NewClient("unix:"+s.options.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{Version: pluginapi.Version,
		Endpoint: s.options.Endpoint, ResourceName: s.options.Resource, Options: s.describe()})
	return err
}

func (s *Server) pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.again:
	case <-timer.C:
	}
}

// end lets calls that run end, but not for ever.
func end(server *grpc.Server) {
	ended := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endPatience):
		server.Stop()
		<-ended
	}
}

// survive answers an error where a call panics: the pod fails and the plugin goes on. Where it happened is for the log alone.
func survive(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	defer func() {
		if what := recover(); what != nil {
			klog.ErrorS(nil, "A call of the kubelet failed in this program", "call", info.FullMethod, "reason", what, "stack", string(debug.Stack()))
			answer, err = nil, status.Errorf(codes.Internal, "%s failed in the device plugin, whose log says where", info.FullMethod)
		}
	}()
	return handler(ctx, request)
}
