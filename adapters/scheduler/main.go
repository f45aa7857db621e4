// vgpualloc-scheduler is the Volcano scheduler with the plugin vgpualloc. Its flags are Volcano's.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseoptions "k8s.io/component-base/config/options"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	commonutil "volcano.sh/volcano/pkg/util"
	"volcano.sh/volcano/pkg/version"

	"vgpualloc.example/adapters/scheduler/plugin"
	"vgpualloc.example/adapters/vga"
)

func main() {
	runtime.GOMAXPROCS(runtime.NumCPU())
	klog.InitFlags(nil)
	flags := options.NewServerOption()
	flags.AddFlags(pflag.CommandLine)
	utilfeature.DefaultMutableFeatureGate.AddFlag(pflag.CommandLine)
	commonutil.LeaderElectionDefault(&flags.LeaderElection)
	flags.LeaderElection.ResourceName = commonutil.GenerateComponentName(flags.SchedulerNames)
	componentbaseoptions.BindLeaderElectionFlags(&flags.LeaderElection, pflag.CommandLine)
	examineEveryNode()
	flags.RegisterOptions()
	cliflag.InitFlags()
	if flags.PrintVersion {
		fmt.Println("vgpualloc", vga.Version(), vga.Library())
		version.PrintVersionAndExit()
	}
	if err := run(flags); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// examineEveryNode changes a default of Volcano, which looks at a part of the nodes of a large cluster only, those that
// come next: what is decided would depend on what was asked before. Whoever gives the flag has the last word.
func examineEveryNode() {
	every := pflag.CommandLine.Lookup("percentage-nodes-to-find")
	every.DefValue = "100"
	if err := every.Value.Set("100"); err != nil {
		panic(err)
	}
}

func run(flags *options.ServerOption) error {
	if err := flags.CheckOptionOrDie(); err != nil {
		return err
	}
	if flags.CaCertFile != "" && flags.CertFile != "" && flags.KeyFile != "" {
		if err := flags.ParseCAFiles(nil); err != nil {
			return fmt.Errorf("certificates: %w", err)
		}
	}
	defer klog.Flush()
	engine := plugin.NewEngine()
	framework.RegisterPluginBuilder(plugin.Name, engine.New)
	if err := serve(flags, engine); err != nil {
		return err
	}
	return app.Run(flags)
}
