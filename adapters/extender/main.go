// vgpualloc-extender answers kube-scheduler's questions about pods that ask for devices: docs/extender.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/extender/service"
	"vgpualloc.example/adapters/vga"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program: 0 when it was asked to end, 2 for flags that make no sense, 1 for anything else that fails.
func run(ctx context.Context, arguments []string, out, complaints io.Writer) int {
	fail := func(code int, err error) int {
		_, _ = fmt.Fprintln(complaints, "vgpualloc-extender:", err)
		return code
	}
	flags, err := readFlags(arguments, out)
	if err != nil {
		return fail(2, err)
	}
	if flags == nil {
		return 0 // asked for help or the version
	}
	guard, err := newGuard(flags)
	if err != nil {
		return fail(2, err)
	}
	client, err := newClient(flags)
	if err != nil {
		return fail(2, err)
	}
	made, err := service.New(client, flags.settings)
	if err != nil {
		return fail(2, nameFlag(err))
	}
	listener, err := net.Listen("tcp", flags.listen)
	if err != nil {
		return fail(1, errors.Join(fmt.Errorf("--listen %q: %w", flags.listen, err), made.Close()))
	}
	if err := serve(ctx, made, guard.listen(listener), guard); err != nil {
		return fail(1, err)
	}
	return 0
}

func newClient(flags *flagValues) (kubernetes.Interface, error) {
	config, err := rest.InClusterConfig()
	if flags.kubeconfig != "" || err != nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules() // $KUBECONFIG, or ~/.kube/config
		rules.ExplicitPath = flags.kubeconfig
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %q: %w", flags.kubeconfig, err)
	}
	config.QPS, config.Burst = 200, 400 // one call for each pod that is bound
	config.UserAgent = "vgpualloc-extender/" + vga.Version()
	return kubernetes.NewForConfig(config)
}

// serve follows the cluster and answers until the context ends.
func serve(ctx context.Context, made *service.Service, listener net.Listener, guard *tlsGuard) error {
	server := &http.Server{Handler: made.Handler(guard.allowed), ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: time.Minute, WriteTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	failures := make(chan error, 2)
	following, stop := context.WithCancel(ctx)
	go func() { failures <- server.Serve(listener) }()
	go func() {
		if err := made.Follow(following); err != nil && ctx.Err() == nil {
			failures <- err
			return
		}
		klog.InfoS("Following the cluster", "address", listener.Addr().String(), "library", vga.Version())
	}()
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-failures:
	}
	patience, cancel := context.WithTimeout(context.Background(), time.Minute) // for pods that are being bound
	defer cancel()
	ended := server.Shutdown(patience)
	stop()
	return errors.Join(failure, ended, made.Close())
}
