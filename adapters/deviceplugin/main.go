// vgpualloc-device-plugin offers the GPUs of a node to the kubelet and to schedulers: docs/deploy/device-plugin.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/deviceplugin/ascend"
	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
	"vgpualloc.example/adapters/deviceplugin/ascend/npusmi"
	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/hardware/nvidia"
	"vgpualloc.example/adapters/deviceplugin/plugin"
	"vgpualloc.example/adapters/vga"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.LookupEnv, reloads, os.Stdout, os.Stderr)
	stop()
	klog.Flush()
	os.Exit(code)
}

// run is the program: 0 when it was asked to end, 2 for flags and a configuration that make no sense, 1 for anything else that fails.
func run(ctx context.Context, arguments []string, env func(string) (string, bool), reloads <-chan os.Signal,
	out, complaints io.Writer) int {
	fail := func(code int, err error) int {
		_, _ = fmt.Fprintln(complaints, "vgpualloc-device-plugin:", err)
		return code
	}
	if vendorOf(arguments) == "ascend" {
		flags := ascend.Flags()
		flags.Usage = func() {}
		switch err := flags.Parse(arguments); {
		case errors.Is(err, config.ErrHelp):
			_, _ = fmt.Fprint(out, "usage: vgpualloc-device-plugin --vendor=ascend [flags]\n\n"+flags.FlagUsages())
			return 0
		case err != nil:
			return fail(2, err)
		}
		return ended(ctx, fail, runAscend(ctx, arguments, env, reloads))
	}
	flags, err := config.ReadFlags(arguments, env)
	switch {
	case errors.Is(err, config.ErrHelp):
		_, _ = fmt.Fprint(out, config.Usage())
		return 0
	case err != nil:
		return fail(2, err)
	case flags.ShowVersion:
		_, _ = fmt.Fprintln(out, "vgpualloc", vga.Version())
		return 0
	}
	client, err := newClient(flags.Kubeconfig)
	if err != nil {
		return fail(2, err)
	}
	served, err := plugin.New(plugin.Options{Arguments: arguments, Env: env, Client: client, Listen: listen, Open: open})
	if err != nil {
		return fail(2, err)
	}
	return ended(ctx, fail, reloading(reloads, served.Reload, func() error { return served.Run(ctx) }))
}

// ended is the exit code of a plugin whose Run has answered.
func ended(ctx context.Context, fail func(code int, err error) int, err error) int {
	switch {
	case err == nil, ctx.Err() != nil && errors.Is(err, context.Canceled): // it was asked to end before it served
		return 0
	case errors.Is(err, config.ErrWrong):
		return fail(2, err)
	}
	return fail(1, err)
}

// vendorOf is the last value of --vendor, which says whose the other flags are. The value of another flag is none, whatever it is.
func vendorOf(arguments []string) string {
	sets := []*pflag.FlagSet{config.FlagSet(), ascend.Flags()}
	takesValue := func(name string) bool {
		for _, set := range sets {
			flag := set.Lookup(name)
			if flag == nil && len(name) == 1 {
				flag = set.ShorthandLookup(name)
			}
			if flag != nil {
				return flag.NoOptDefVal == ""
			}
		}
		return false
	}
	vendor := ""
	for i := 0; i < len(arguments) && arguments[i] != "--"; i++ {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arguments[i], "-"), "=")
		if !strings.HasPrefix(arguments[i], "-") {
			continue
		}
		if !hasValue && takesValue(name) && i+1 < len(arguments) {
			i++
			value = arguments[i]
		}
		if name == "vendor" {
			vendor = value
		}
	}
	return vendor
}

// reloading runs a plugin that takes SIGHUP.
func reloading(reloads <-chan os.Signal, reload func(), run func() error) error {
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-reloads:
				reload()
			case <-ended:
				return
			}
		}
	}()
	return run()
}

// runAscend serves Ascend chips.
func runAscend(ctx context.Context, arguments []string, env func(string) (string, bool), reloads <-chan os.Signal) error {
	client, err := newClient("")
	if err != nil {
		return config.Wrong(err)
	}
	programs := chips.Programs{}
	served := ascend.New(ascend.Options{Arguments: arguments, Env: env, Client: client, Library: npusmi.New(programs), Exec: programs})
	return reloading(reloads, served.Reload, func() error { return served.Run(ctx) })
}

func listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// open initialises NVML: the library of the driver that the container runtime has put into this container.
func open(context.Context, config.Flags) (hardware.Library, error) {
	return nvidia.New(nvidia.Options{Path: os.Getenv("NVML_LIBRARY")})
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	settings, err := rest.InClusterConfig()
	if kubeconfig != "" || err != nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules() // $KUBECONFIG, or ~/.kube/config
		rules.ExplicitPath = kubeconfig
		settings, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %q: %w", kubeconfig, err)
	}
	settings.QPS, settings.Burst = 200, 400 // two calls for each container
	settings.UserAgent = "vgpualloc-device-plugin/" + vga.Version()
	return kubernetes.NewForConfig(settings)
}
