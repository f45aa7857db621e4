package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"

	"vgpualloc.example/adapters/extender/service"
	"vgpualloc.example/adapters/live/decisionlog"
	"vgpualloc.example/adapters/vga"
)

// flagValues are what the command line says.
type flagValues struct {
	listen                    string
	tlsCert, tlsKey, clientCA string
	kubeconfig                string
	settings                  service.Settings
}

// readFlags is nil without an error if all was said on `out` that was asked for.
func readFlags(arguments []string, out io.Writer) (*flagValues, error) {
	values := &flagValues{settings: service.Defaults()}
	settings := &values.settings
	flags := pflag.NewFlagSet("vgpualloc-extender", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&values.listen, "listen", "127.0.0.1:8090",
		"address to answer on; other than loopback only with the three flags of TLS")
	flags.StringVar(&values.tlsCert, "tls-cert", "", "file with the certificate of this server, PEM")
	flags.StringVar(&values.tlsKey, "tls-key", "", "file with the key of the certificate, PEM")
	flags.StringVar(&values.clientCA, "client-ca", "",
		"file with the authorities whose certificates clients need, PEM; GET /healthz and /livez need none")
	flags.StringVar(&values.kubeconfig, "kubeconfig", "",
		"how to reach the API server; by default as a pod of the cluster, $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&settings.Options.Policy, "policy", "", "which node is best: see vgpusim policies; the default is the library's")
	flags.StringVar(&settings.Options.DevicePolicy, "device-policy", "", "which of its devices; by default as --policy")
	flags.StringVar(&settings.ConfigNamespace, "device-config-namespace", settings.ConfigNamespace,
		"namespace of the ConfigMap with the devices' configuration")
	flags.StringVar(&settings.ConfigName, "device-config-name", settings.ConfigName, "its name")
	flags.BoolVar(&settings.MindCluster, "mindcluster", false,
		"read what MindCluster says of its chips: ConfigMaps of the namespaces kube-system and mindx-dl")
	flags.StringSliceVar(&settings.SchedulerNames, "scheduler-name", settings.SchedulerNames,
		"profiles of kube-scheduler that ask here, as pods name them in spec.schedulerName; may be repeated")
	flags.StringVar(&settings.DecisionLog, "decision-log", "", "file to which decisions are appended, for vgpusim replay")
	logLimit := flags.Uint32("decision-log-max-mib", decisionlog.LimitMiB,
		"size at which that file is renamed to FILE.1, which it replaces, and a new one begins; 0: it grows without limit")
	version := flags.Bool("version", false, "print the version of the library and end")
	verbosity := flag.NewFlagSet("", flag.ContinueOnError) // klog's flag for it alone
	klog.InitFlags(verbosity)
	flags.AddGoFlag(verbosity.Lookup("v"))
	switch err := flags.Parse(arguments); {
	case errors.Is(err, pflag.ErrHelp):
		_, _ = fmt.Fprintf(out, "usage: vgpualloc-extender [flags]\n\n%s", flags.FlagUsages())
		return nil, nil
	case err != nil:
		return nil, err
	case *version:
		_, _ = fmt.Fprintln(out, "vgpualloc", vga.Version())
		return nil, nil
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q: expected flags only", flags.Arg(0))
	}
	settings.DecisionLogLimit = int64(*logLimit) << 20
	for _, name := range []string{"policy", "device-policy", "decision-log"} {
		if flag := flags.Lookup(name); flag.Changed && flag.Value.String() == "" {
			return nil, fmt.Errorf("--%s is empty: expected a value, or the flag to be left out", name)
		}
	}
	return values, values.check()
}

// nameFlag has an error of the service about its settings name the flag that the setting comes from.
func nameFlag(err error) error {
	if failure := (*fs.PathError)(nil); errors.As(err, &failure) {
		return fmt.Errorf("--decision-log: %w", err)
	}
	for option, flag := range map[string]string{"policy: ": "--policy: ", "device_policy: ": "--device-policy: "} {
		if why, found := strings.CutPrefix(err.Error(), option); found {
			return errors.New(flag + why)
		}
	}
	return err
}

func (v *flagValues) check() error {
	given := 0
	for _, file := range []string{v.tlsCert, v.tlsKey, v.clientCA} {
		if file != "" {
			given++
		}
	}
	if given != 0 && given != 3 {
		return fmt.Errorf("--tls-cert %q, --tls-key %q, --client-ca %q: expected all three or none", v.tlsCert, v.tlsKey,
			v.clientCA)
	}
	host, port, err := net.SplitHostPort(v.listen)
	if err != nil {
		return fmt.Errorf("--listen %q: expected an address and a port, as 127.0.0.1:8090", v.listen)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("--listen %q: port %q, expected a number from 0 to 65535", v.listen, port)
	}
	if slices.Contains(v.settings.SchedulerNames, "") || len(v.settings.SchedulerNames) == 0 {
		return fmt.Errorf("--scheduler-name %q: expected names of kube-scheduler's profiles", v.settings.SchedulerNames)
	}
	if wrong := validation.IsDNS1123Label(v.settings.ConfigNamespace); len(wrong) > 0 {
		return fmt.Errorf("--device-config-namespace %q: %s", v.settings.ConfigNamespace, wrong[0])
	}
	if wrong := validation.IsDNS1123Subdomain(v.settings.ConfigName); len(wrong) > 0 {
		return fmt.Errorf("--device-config-name %q: %s", v.settings.ConfigName, wrong[0])
	}
	if given == 0 && !isLoopback(host) {
		return fmt.Errorf("--listen %q: expected a loopback address, or --tls-cert, --tls-key and --client-ca", v.listen)
	}
	return nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
