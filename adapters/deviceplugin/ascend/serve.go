package ascend

import (
	"context"
	"path/filepath"

	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"vgpualloc.example/adapters/deviceplugin/kubelet"
)

// oneResource is the allocator of the only resource.
type oneResource struct{ *allocator }

// Allocate is kubelet.Allocator's.
func (a oneResource) Allocate(ctx context.Context, _ string, containers [][]string) ([]*pluginapi.ContainerAllocateResponse, error) {
	return a.allocator.Allocate(ctx, containers)
}

// newServer offers the chips to the kubelet of this node, by a socket that is named for the word of the chips.
func newServer(options Options, chip chipConfig, allocator *allocator) server {
	folder := filepath.Join(options.Root, socketFolder)
	return kubelet.New(kubelet.Options{Folder: folder, KubeletSocket: filepath.Join(folder, "kubelet.sock"),
		Resource: chip.ResourceName, Endpoint: chip.CommonWord + ".sock", Allocator: oneResource{allocator},
		Retry: options.KubeletRetry, Poll: options.KubeletPoll,
		Registered: func() { options.Observe("registered") },
		Updated:    func(resource string) { options.Observe("updated " + resource) },
		Report: func(what string, err error) {
			klog.ErrorS(err, "The kubelet cannot be served; it is tried again", "at", what)
		}})
}
