// Program e2e runs scenarios against real components on loopback: etcd, kube-apiserver and a Volcano scheduler, or a
// kube-scheduler with our extender, with nodes and kubelets that are played. scripts/e2e.sh builds what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"vgpualloc.example/adapters/scheduler/e2e/control"
	"vgpualloc.example/adapters/scheduler/e2e/isolate"
	"vgpualloc.example/adapters/scheduler/e2e/node"
	"vgpualloc.example/adapters/scheduler/e2e/objects"
	"vgpualloc.example/adapters/scheduler/e2e/scenario"
)

var scenarios = []struct {
	name, help string
	run        func(context.Context, scenario.Options) error
	pods       int
	period     time.Duration
}{
	{"mixed", "pods of every kind, gangs, deletions, preemption", scenario.Mixed, 300, time.Second},
	{"kill", "the scheduler is killed at random moments, the API server once", scenario.Kill, 900, time.Second},
	{"throughput", "as many pods as fast as it goes", scenario.Throughput, 1000, time.Second},
	{"soak", "pods come and go while nodes change", scenario.Soak, 2000, time.Second},
	{"faults", "each fault of upstream that the API can provoke", scenario.Faults, 0, time.Second},
	// Pods do not wait for a session, so moments to kill at are sooner over.
	{"node", "pods of every way of sharing on a real node: kubelet, containerd, our device plugin on the fake NVML (root)", scenario.Node, 0, 200 * time.Millisecond},
	{"churn", "pods of every way of sharing come and go on two real nodes, layouts change, GPUs fall ill, programs are killed (root)", scenario.Churn, 0, 200 * time.Millisecond},
	{"switch", "stock Volcano with our device plugin on real nodes, then our scheduler in its place while pods run, and back (root)", scenario.Switch, 0, 200 * time.Millisecond},
	{"hami", "pods in HAMi's spelling on a real node: kube-scheduler with our extender, our device plugin (root)", scenario.HAMi, 0, 200 * time.Millisecond},
	{"extender", "kube-scheduler with our extender, which is killed; pods of every kind, deletions, preemption", scenario.Extender, 900, 200 * time.Millisecond},
}

func main() {
	isolate.Init()
	if len(os.Args) > 1 && os.Args[1] == control.EnterCommand {
		fail(control.Enter(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == isolate.ViewCommand {
		fail(isolate.Enter(os.Args[2:]))
	}
	if err := run(os.Args[1:]); err != nil {
		fail(err)
	}
}

// realScenarios have real nodes, and take a machine's place for them.
var realScenarios = []string{"node", "churn", "switch", "hami"}

// outside runs this program again with namespaces of its own.
func outside(arguments []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := isolate.Run(ctx, arguments...)
	var exit *exec.ExitError
	switch {
	case isolate.Impossible(err):
		return impossibleError{err}
	case errors.As(err, &exit): // it has said why
		os.Exit(exit.ExitCode())
	}
	return err
}

type impossibleError struct{ error }

func fail(err error) {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	code := 1
	var usage usageError
	var impossible impossibleError
	switch {
	case errors.As(err, &usage):
		code = 2
	case errors.As(err, &impossible):
		code = 77
	}
	os.Exit(code)
}

type usageError struct{ text string }

func (err usageError) Error() string { return err.text }

func run(arguments []string) error {
	var names []string
	for _, each := range scenarios {
		names = append(names, each.name)
	}
	if len(arguments) == 0 || !slices.Contains(names, arguments[0]) {
		return usageError{fmt.Sprintf("%q, expected a scenario: %s; -help after it lists its flags", arguments, strings.Join(names, ", "))}
	}
	chosen := scenarios[slices.Index(names, arguments[0])]
	flags := flag.NewFlagSet(chosen.name, flag.ContinueOnError)
	var options scenario.Options
	kinds := flags.String("kinds", "hami-core,mig,mps,ascend,310p,cce,gpushare", "ways of sharing, by comma; hami is one more, which Volcano serves only where nodes offer nvidia.com/gpumem")
	schedulerArgs := flags.String("scheduler-args", "", "further flags of the scheduler, by blank")
	flags.StringVar(&options.Control.Etcd, "etcd", "etcd", "program etcd")
	flags.StringVar(&options.Control.APIServer, "kube-apiserver", "kube-apiserver", "program kube-apiserver")
	flags.StringVar(&options.Control.Scheduler, "scheduler", "", "the scheduler: a program with the flags of vc-scheduler")
	flags.StringVar(&options.Control.SchedulerConf, "scheduler-conf", "", "its volcano-scheduler.conf, or KubeSchedulerConfiguration")
	flags.StringVar(&options.Control.Extender, "extender", "", "our extender, and then the scheduler is a kube-scheduler")
	flags.StringVar(&options.Control.Stock, "stock", "", "Volcano's own scheduler, which takes the other's place (scenario switch)")
	flags.StringVar(&options.Control.StockConf, "stock-conf", "", "its volcano-scheduler.conf (scenario switch)")
	extenderArgs := flags.String("extender-args", "", "further flags of the extender, by blank")
	flags.DurationVar(&options.Control.Period, "schedule-period", chosen.period, "time between sessions; kills come within two")
	flags.IntVar(&options.Control.Verbosity, "v", 2, "verbosity of the scheduler's log")
	flags.BoolVar(&options.Control.InCluster, "in-cluster", false, "show the scheduler a service account, which stock deviceshare reads its configuration with (root)")
	flags.StringVar(&options.Control.Dir, "dir", "", "private folder, which must not exist; default: a new one under the system's, removed at the end")
	keep := flags.Bool("keep", false, "keep the private folder with the logs, as is done where something was wrong")
	flags.StringVar(&options.CRDs, "crds", "", "folder config/crd/volcano/bases of Volcano's module")
	flags.IntVar(&options.Nodes, "nodes", 4, "nodes of each kind")
	flags.IntVar(&options.Devices, "devices", 4, "devices of each node")
	flags.IntVar(&options.Pods, "pods", chosen.pods, "pods in all")
	flags.Float64Var(&options.Rate, "rate", 0, "pods created a second, 0 for as fast as it goes")
	flags.Int64Var(&options.Seed, "seed", 1, "of all that is random")
	flags.DurationVar(&options.Ending, "ending", 200*time.Millisecond, "how long pods take to end")
	flags.IntVar(&options.Kills, "kills", 30, "how often it is killed (scenarios kill and extender)")
	flags.IntVar(&options.Rounds, "rounds", 12, "in which pods come and go (scenario churn); ten take a minute or two")
	flags.BoolVar(&options.Locks, "node-locks", false, "the node side releases locks of nodes (deviceshare.NodeLockEnable)")
	flags.BoolVar(&options.Ledger, "ledger", false, "hold the devices' use in the scheduler's metrics against the pods' annotations")
	flags.BoolVar(&options.Explains, "explain", false, "ask the scheduler at /explain about every pod that waits when all has settled; one that has room is forgotten")
	flags.DurationVar(&options.Profile, "profile", 0, "scenario throughput: how long the scheduler's CPU time is profiled, from the first pod on")
	flags.StringVar(&options.Only, "only", "", "scenario faults: these alone, by comma (start is always there)")
	flags.BoolVar(&options.Nudge, "nudge", false, "change all nodes after each start, without which stock deviceshare does not see their devices")
	var real node.Options
	flags.StringVar(&real.Kubelet, "kubelet", "", "program kubelet (scenarios on real nodes)")
	flags.StringVar(&real.Plugin, "device-plugin", "", "our device plugin (scenarios on real nodes)")
	flags.StringVar(&real.Debs, "debs", "", "folder in which containerd and runc are unpacked (scenarios on real nodes)")
	flags.StringVar(&real.Programs, "container-programs", "", "folder of the compiled programs of node/container (scenarios on real nodes)")
	flags.StringVar(&options.Rights, "plugin-rights", "", "account and roles of the device plugin, as the chart renders them (scenarios on real nodes)")
	flags.StringVar(&real.NVML, "fake-nvml", "", "our fake libnvidia-ml.so.1 (scenarios on real nodes)")
	keepVisible := flags.String("keep-visible", "", "folders that programs are in, by comma (scenarios on real nodes)")
	flags.StringVar(&options.Out, "out", ".", "folder of the summary")
	flags.StringVar(&options.Label, "label", "scheduler", "name of the scheduler in the summary")
	if err := flags.Parse(arguments[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return usageError{err.Error()}
	}
	if flags.NArg() > 0 {
		return usageError{fmt.Sprintf("%q, expected flags only", flags.Args())}
	}
	options.Kinds = strings.Split(*kinds, ",")
	if slices.Contains(realScenarios, chosen.name) {
		real.Keep, real.Verbosity = strings.Split(*keepVisible, ","), options.Control.Verbosity
		options.Real, options.Control.Audited = &real, scenario.PluginUser
	}
	if err := check(chosen.name, &options); err != nil {
		return err
	}
	options.Control.SchedulerArgs, options.Control.ExtenderArgs = strings.Fields(*schedulerArgs), strings.Fields(*extenderArgs)
	for _, path := range []*string{&options.Control.Scheduler, &options.Control.SchedulerConf, &options.CRDs} {
		absolute, err := filepath.Abs(*path)
		if err != nil || *path == "" {
			return usageError{"-scheduler, -scheduler-conf and -crds are needed"}
		}
		*path = absolute
	}
	if options.Real != nil && !isolate.Inside() {
		return outside(arguments)
	}
	isOurDir := options.Control.Dir == ""
	if isOurDir {
		dir, err := os.MkdirTemp("", "vgpualloc-e2e-")
		if err != nil {
			return err
		}
		options.Control.Dir = dir
	} else if err := os.Mkdir(options.Control.Dir, 0o700); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := chosen.run(ctx, options)
	if err != nil || *keep {
		if isOurDir { // whoever named it knows, and may take it away
			fmt.Fprintf(os.Stderr, "e2e: logs are in %s\n", options.Control.Dir)
		}
		return err
	}
	return os.RemoveAll(options.Control.Dir)
}

// check refuses what a scenario would fail with when etcd and the API server run.
func check(name string, options *scenario.Options) error {
	for _, kind := range options.Kinds {
		if _, err := objects.KindNamed(kind); err != nil {
			return usageError{"-kinds: " + err.Error()}
		}
	}
	kills := name == "kill" || name == "extender"
	const positive = "%s %d, expected a number from 1 on"
	for _, each := range []struct {
		wrong bool
		text  string
	}{
		{options.Nodes < 1, fmt.Sprintf(positive, "-nodes", options.Nodes)},
		{options.Devices < 1, fmt.Sprintf(positive, "-devices", options.Devices)},
		{options.Pods < 1 && name != "faults" && options.Real == nil, fmt.Sprintf(positive, "-pods", options.Pods)},
		{options.Kills < 1 && kills, fmt.Sprintf(positive, "-kills", options.Kills)},
		{options.Nodes*options.Devices < scenario.DevicesToKill && kills, fmt.Sprintf("-nodes %d with -devices %d: expected at least %d devices of each kind",
			options.Nodes, options.Devices, scenario.DevicesToKill)},
		{!(options.Rate >= 0), fmt.Sprintf("-rate %v, expected a number from 0 on", options.Rate)},
		{options.Profile != 0 && (name != "throughput" || options.Profile < time.Second),
			fmt.Sprintf("-profile %v of scenario %s, expected a second or more of scenario throughput", options.Profile, name)},
		{options.Rounds < 1, fmt.Sprintf(positive, "-rounds", options.Rounds)},
		{options.Ending < 0, fmt.Sprintf("-ending %v, expected 0 or more", options.Ending)},
		{(name == "extender" || name == "hami") && options.Control.Extender == "", "-extender is needed"},
		{name == "switch" && (options.Control.Stock == "" || options.Control.StockConf == ""), "-stock and -stock-conf are needed"},
		{options.Real != nil && options.Rights == "", "-plugin-rights is needed"},
	} {
		if each.wrong {
			return usageError{each.text}
		}
	}
	return nil
}
