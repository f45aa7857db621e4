package main

import (
	"errors"
	goflag "flag"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseoptions "k8s.io/component-base/config/options"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	commonutil "volcano.sh/volcano/pkg/util"
)

// usageError is a command line, or a configuration that it names, that makes no sense.
type usageError struct{ why error }

func (u usageError) Error() string { return u.why.Error() }

// readFlags is nil without an error if all was said on `out` that was asked for.
func readFlags(arguments []string, out io.Writer) (*options.ServerOption, error) {
	values := options.NewServerOption()
	flags := pflag.NewFlagSet("vgpualloc-scheduler", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	flags.Usage = func() {}
	values.AddFlags(flags)
	utilfeature.DefaultMutableFeatureGate.AddFlag(flags)
	commonutil.LeaderElectionDefault(&values.LeaderElection)
	values.LeaderElection.ResourceName = commonutil.GenerateComponentName(values.SchedulerNames)
	componentbaseoptions.BindLeaderElectionFlags(&values.LeaderElection, flags)
	flags.AddGoFlagSet(goflag.CommandLine) // klog's
	if err := examineEveryNode(flags); err != nil {
		return nil, err
	}
	switch err := flags.Parse(arguments); {
	case errors.Is(err, pflag.ErrHelp):
		_, _ = fmt.Fprintf(out, "usage: vgpualloc-scheduler --scheduler-conf FILE [flags]\n\nThe flags are those of Volcano's scheduler.\n\n%s",
			flags.FlagUsages())
		return nil, nil
	case err != nil:
		return nil, usageError{err}
	}
	if flags.NArg() > 0 {
		return nil, usageError{fmt.Errorf("%q: expected flags only", flags.Arg(0))}
	}
	if values.SchedulerConf == "" && !values.PrintVersion {
		return nil, usageError{errors.New("--scheduler-conf is empty: expected the path of volcano-scheduler.conf, as Volcano's built-in " +
			"configuration has no plugin vgpualloc")}
	}
	flags.VisitAll(func(flag *pflag.Flag) { klog.V(2).Infof("FLAG: --%s=%q", flag.Name, flag.Value) })
	return values, nil
}

// examineEveryNode changes a default of Volcano, which looks at a part of the nodes of a large cluster only, those that
// come next: what is decided would depend on what was asked before. Whoever gives the flag has the last word.
func examineEveryNode(flags *pflag.FlagSet) error {
	every := flags.Lookup("percentage-nodes-to-find")
	every.DefValue = "100"
	return every.Value.Set("100")
}
