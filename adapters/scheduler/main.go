// vgpualloc-scheduler is the Volcano scheduler with the plugin vgpualloc. Its flags are Volcano's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/framework"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/version"

	"vgpualloc.example/adapters/scheduler/plugin"
	"vgpualloc.example/adapters/scheduler/schedulerconf"
	"vgpualloc.example/adapters/vga"
)

func main() {
	runtime.GOMAXPROCS(runtime.NumCPU())
	klog.InitFlags(nil)
	os.Exit(program(os.Args[1:], os.Stdout, os.Stderr))
}

// program is 0 when all is said that was asked for, 2 for flags and a configuration that make no sense, 1 when anything else
// ends it: it has no end of its own.
func program(arguments []string, out, complaints io.Writer) int {
	flags, err := readFlags(arguments, out)
	if flags == nil && err == nil {
		return 0
	}
	if err == nil && flags.PrintVersion {
		_, _ = fmt.Fprintln(out, "vgpualloc", vga.Version(), vga.Library())
		version.PrintVersionAndExit()
	}
	if err == nil {
		err = run(flags)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(complaints, "vgpualloc-scheduler:", err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		return 2
	}
	return 1
}

// quietTime is how long a scheduler waits that may follow on one that was killed: the API server carries out what that one
// had asked for, and it has to be seen. With leader election the lease takes longer.
const quietTime = time.Second

func run(flags *options.ServerOption) (failure error) {
	flags.RegisterOptions()
	if err := flags.CheckOptionOrDie(); err != nil {
		return usageError{err}
	}
	if flags.CaCertFile != "" && flags.CertFile != "" && flags.KeyFile != "" {
		if err := flags.ParseCAFiles(nil); err != nil {
			return usageError{fmt.Errorf("certificates: %w", err)}
		}
	}
	defer klog.Flush()
	engine := plugin.NewEngine()
	framework.RegisterPluginBuilder(plugin.Name, engine.New)
	checked, err := checkedConfiguration(flags)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, checked.Close()) }()
	if err := serve(flags, engine, checked); err != nil {
		return err
	}
	following, stop := context.WithCancel(context.Background())
	defer stop()
	go checked.Follow(following)
	if !flags.LeaderElection.LeaderElect {
		time.Sleep(quietTime)
	}
	return app.Run(flags)
}

// checkedConfiguration has Volcano read a copy of its configuration, which only good contents come into, and never fall back on
// the built-in one.
func checkedConfiguration(flags *options.ServerOption) (*schedulerconf.Copy, error) {
	reader := schedulerconf.Reader{Path: flags.SchedulerConf, PluginsDir: flags.PluginsDir}
	text, err := reader.Read()
	if err != nil {
		return nil, usageError{fmt.Errorf("--scheduler-conf: %w", err)}
	}
	checked, err := schedulerconf.NewCopy(reader, text)
	if err != nil {
		return nil, err
	}
	flags.SchedulerConf, flags.DisableDefaultSchedulerConfig = checked.Path(), true
	return checked, nil
}
