package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"vgpualloc.example/adapters/kubectl/export"
)

// form is what stands behind a flag.
type form int

const (
	text  form = iota // one value
	texts             // a value each time
	truth             // nothing
	file              // the name of a file, whose bytes go along
	files             // such a name each time
)

// flagOf is a flag of a command, with the option of ask.h that it sets.
type flagOf struct {
	name, short, option string
	form                form
	metavar, help       string
}

// command is what vgpusim has under the same name.
type command struct {
	name, argument, summary string // argument: empty if there is none
	flags                   []flagOf
}

// dialectFlags are of every command.
var dialectFlags = []flagOf{
	{"config", "", "config", files, "FILE", "device configuration (device-config.yaml, or its ConfigMap); may be repeated"},
	{"file", "", "catalog", files, "FILE", "catalog file that adds or replaces GPUs and NPUs; may be repeated"},
}

var commands = []command{
	{"show", "", "GPUs used, free and out of service, how many more pods fit, who uses them, who waits", []flagOf{
		{"selector", "l", "nodes", text, "SET", "only these nodes: names, globs and ranges, or labels (zone=b, 'pool in (train,dev)')"},
		{"namespace", "n", "namespace", text, "NAMESPACE", "list only pods of this namespace; what is free is counted with all"},
		{"by", "", "by", text, "WORD", "rows of the first table: pool, kind, node, resource, namespace, queue, owner, or a label"},
		{"all", "", "all", truth, "", "print every row"},
		{"prices", "", "prices", file, "FILE", "also print what the GPUs cost a day, by these prices"},
	}},
	{"why", "[POD]", "why pods wait, and what would have to change", []flagOf{
		{"all", "", "all", truth, "", "print every row, with every pod"},
	}},
	{"whatif", "", "what would become of the cluster; nothing is done", []flagOf{
		{"policy", "", "policy", text, "POLICY", "policy that ranks nodes and devices"},
		{"device-policy", "", "device_policy", text, "POLICY", "policy that ranks the devices of a node; by default that of --policy"},
		{"seed", "", "seed", text, "N", "seed of randomised policies"},
		{"add-nodes", "", "add_nodes", texts, "KIND=N", "add N nodes like KIND; may be repeated"},
		{"node-template", "", "node_template", files, "FILE", "nodes that --add-nodes and --find-nodes may name; may be repeated"},
		{"uncordon", "", "uncordon", texts, "NODES", "let nodes take pods again; may be repeated"},
		{"drain", "", "drain", texts, "NODES", "cordon nodes and evict their pods; may be repeated"},
		{"fail", "", "fail", texts, "NODES[/DEVICE]", "lose nodes, or one device of each; may be repeated"},
		{"set-mode", "", "set_mode", texts, "NODES=MODE[:LAYOUT]", "give the devices of nodes another mode; may be repeated"},
		{"add-pods", "", "add_pods", files, "FILE", "add pods: manifests with their replicas; may be repeated"},
		{"anew", "", "anew", truth, "", "place every pod that may move anew"},
		{"find-layout", "", "find_layout", text, "NODES", "try the MIG layouts of these nodes, best first"},
		{"all", "", "all", truth, "", "leave out no line: every pod with its devices, why others find no place, or all layouts"},
		{"find-nodes", "", "find_nodes", text, "KIND", "find the smallest number of nodes like KIND that places every pod"},
	}},
	{"plan", "", "which pods move so that one fits, or so that devices or nodes become empty; nothing is done", []flagOf{
		{"pod", "", "pod", text, "POD", "make room for a pod that waits (namespace/name, or name)"},
		{"add-pod", "", "add_pod", file, "FILE", "make room for the pod of this manifest"},
		{"consolidate", "", "consolidate", text, "devices|nodes", "empty as many devices, or nodes, as possible"},
		{"moves", "", "moves", text, "N", "at most so many moves"},
		{"downtime-s", "", "downtime_s", text, "SECONDS", "at most so many device-seconds of downtime in all"},
		{"move-s", "", "move_s", text, "SECONDS", "downtime of a move beside copying"},
		{"copy-s-per-gib", "", "copy_s_per_gib", text, "SECONDS", "time to copy a GiB of device memory"},
		{"steps", "", "steps", text, "N", "steps that the search may take"},
		{"keep-namespace", "", "keep_namespace", texts, "NAMESPACE", "pods of this namespace stay; may be repeated"},
		{"movable-label", "", "movable_label", texts, "KEY=VALUE", "only pods with this label may move; may be repeated"},
		{"move-bare-pods", "", "move_bare_pods", truth, "", "pods without a controller may move as well"},
	}},
}

// values are what the command line says.
type values struct {
	access    export.Access
	command   string
	options   []option // in the order of the command's flags
	output    string   // table, wide, json, yaml or html
	page      string   // the file of html
	isWatched bool     // answered again when something changed
	helpText  string   // all that was asked for; empty: a question
}

// option is one of ask.h, with the flag that set it.
type option struct {
	flag, name, value string
	isFile            bool
}

func usage() string {
	var result strings.Builder
	result.WriteString("usage: kubectl vgpu COMMAND [flags]\n\nAnswers about GPUs of the cluster as it is now. It only reads.\n\n")
	for _, known := range commands {
		fmt.Fprintf(&result, "  %-12s %s\n", strings.TrimSpace(known.name+" "+known.argument), known.summary)
	}
	return result.String() + "  version      the version of the library\n\nkubectl vgpu COMMAND --help lists the flags of a command.\n"
}

func commandNames() string {
	var names []string
	for _, known := range commands {
		names = append(names, known.name)
	}
	return strings.Join(names, ", ") + ", version"
}

// readFlags reads the command line without opening a file.
func readFlags(arguments []string) (*values, error) {
	if len(arguments) == 0 {
		return nil, fmt.Errorf("no command, expected one of %s", commandNames())
	}
	name := arguments[0]
	if name == "--help" || name == "-h" || name == "help" {
		return &values{helpText: usage()}, nil
	}
	number := slices.IndexFunc(commands, func(known command) bool { return known.name == name })
	if number < 0 {
		return nil, fmt.Errorf("command %q, expected one of %s", name, commandNames())
	}
	return readCommand(commands[number], arguments[1:])
}

func readCommand(known command, arguments []string) (*values, error) {
	result := &values{command: known.name}
	flags := pflag.NewFlagSet(known.name, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	own := slices.Concat(known.flags, dialectFlags)
	for _, flag := range own {
		addFlag(flags, flag)
	}
	output := addOutput(flags, known.name)
	flags.BoolVarP(&result.isWatched, "watch", "w", false, "answer again when something changed, at most every 2 s, until Ctrl-C")
	timeout := addAccess(flags, known.name, &result.access)
	switch err := flags.Parse(arguments); {
	case errors.Is(err, pflag.ErrHelp):
		line := strings.TrimSpace("kubectl vgpu " + known.name + " " + known.argument)
		result.helpText = fmt.Sprintf("usage: %s [flags]\n\n%s\n\n%s", line, known.summary, flags.FlagUsages())
		return result, nil
	case err != nil:
		return nil, err
	}
	for _, flag := range own {
		if err := result.addOptions(flags, flag); err != nil {
			return nil, err
		}
	}
	var err error
	if result.access.RequestTimeout, err = parseTimeout(*timeout); err != nil {
		return nil, err
	}
	if result.output, result.page, err = output(); err != nil {
		return nil, err
	}
	return result, result.check(flags, known)
}

func addFlag(flags *pflag.FlagSet, flag flagOf) {
	help := flag.help
	if flag.metavar != "" {
		help = "`" + flag.metavar + "`: " + help
	}
	switch flag.form {
	case truth:
		flags.BoolP(flag.name, flag.short, false, flag.help)
	case texts, files:
		flags.StringArrayP(flag.name, flag.short, nil, help)
	default:
		flags.StringP(flag.name, flag.short, "", help)
	}
}

// addOutput adds the flags that say how an answer is printed; the function that it returns reads them, and the file of a page.
func addOutput(flags *pflag.FlagSet, name string) func() (output, page string, err error) {
	isJSON := flags.Bool("json", false, "everything, as JSON, in whole numbers")
	known, words := []string{"table", "json", "yaml"}, "table, json or yaml"
	help := "`FORMAT`: " + words
	if name == "show" {
		known, words = append(known, "wide"), "table, wide, json, yaml or html=FILE"
		help = "`FORMAT`: table, wide, json, yaml, or html=FILE: a page that is written there"
	}
	format := flags.StringP("output", "o", "table", help)
	return func() (string, string, error) {
		page, isPage := strings.CutPrefix(*format, "html=")
		isPage = isPage && name == "show"
		switch {
		case name == "show" && *format == "html" || isPage && page == "":
			return "", "", fmt.Errorf("--output %q: expected html=FILE, the page to write", *format)
		case isPage && *isJSON:
			return "", "", fmt.Errorf("--output %q: expected either a page or --json", *format)
		case isPage:
			return "html", page, nil
		case !slices.Contains(known, *format):
			return "", "", fmt.Errorf("--output %q: expected %s", *format, words)
		case *isJSON && flags.Changed("output") && *format != "json":
			return "", "", fmt.Errorf("--output %q: expected either this format or --json", *format)
		case *isJSON:
			return "json", "", nil
		}
		return *format, "", nil
	}
}

// addAccess adds kubectl's own flags.
func addAccess(flags *pflag.FlagSet, name string, access *export.Access) (timeout *string) {
	switch name {
	case "why":
		flags.StringP("namespace", "n", "", "`NAMESPACE`: of a POD that is named without one; without a POD, list only pods of this namespace")
	case "plan":
		flags.StringP("namespace", "n", "", "`NAMESPACE`: of a POD that is named without one")
	}
	flags.BoolP("all-namespaces", "A", false, "all namespaces, which are always counted")
	flags.StringVar(&access.Kubeconfig, "kubeconfig", "", "`FILE`: how to reach the API server; by default $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&access.Context, "context", "", "`NAME`: the context of the kubeconfig")
	return flags.String("request-timeout", "0", "`TIME`: the longest that one request may take (30s, 2m); 0: no limit")
}

func parseTimeout(value string) (time.Duration, error) {
	timeout, err := clientcmd.ParseTimeout(value)
	if err != nil || timeout < 0 {
		return 0, fmt.Errorf("--request-timeout %q: expected seconds, or a time such as 30s or 2m", value)
	}
	return timeout, nil
}

// addOptions adds what a flag sets, if it is there.
func (v *values) addOptions(flags *pflag.FlagSet, flag flagOf) error {
	if !flags.Changed(flag.name) {
		return nil
	}
	var settings []string
	switch flag.form {
	case texts, files:
		settings, _ = flags.GetStringArray(flag.name)
	default:
		settings = []string{flags.Lookup(flag.name).Value.String()}
	}
	for _, setting := range settings {
		if setting == "" {
			return fmt.Errorf("--%s is empty: expected %s, or the flag to be left out", flag.name, flag.metavar)
		}
		v.options = append(v.options, option{"--" + flag.name, flag.option, setting, flag.form == file || flag.form == files})
	}
	return nil
}

// check reads the argument, and refuses what does not go together.
func (v *values) check(flags *pflag.FlagSet, known command) error {
	most := 0
	if known.argument != "" {
		most = 1
	}
	if flags.NArg() > most {
		return fmt.Errorf("argument %q of %s: expected flags only", flags.Arg(most), known.name)
	}
	if flags.NArg() == 1 {
		if flags.Arg(0) == "" {
			return errors.New("POD is empty: expected namespace/name, or name")
		}
		v.options = append(v.options, option{"POD", "pod", flags.Arg(0), false})
	}
	if flags.Changed("find-layout") && flags.Changed("find-nodes") {
		return errors.New("--find-layout and --find-nodes: expected one of them")
	}
	if known.name == "show" {
		return nil
	}
	return v.addNamespace(flags)
}

// addNamespace puts the namespace before the pod's name; without a pod, why lists only those of the namespace.
func (v *values) addNamespace(flags *pflag.FlagSet) error {
	namespace := flags.Lookup("namespace")
	if namespace == nil || !namespace.Changed {
		return nil
	}
	number := slices.IndexFunc(v.options, func(set option) bool { return set.name == "pod" })
	if namespace.Value.String() == "" {
		return errors.New("--namespace is empty: expected NAMESPACE, or the flag to be left out")
	}
	if number < 0 && v.command == "why" {
		v.options = append(v.options, option{"--namespace", "namespace", namespace.Value.String(), false})
		return nil
	}
	if number < 0 || strings.Contains(v.options[number].value, "/") {
		return fmt.Errorf("--namespace %q: expected a POD that is named without a namespace", namespace.Value.String())
	}
	v.options[number].value = namespace.Value.String() + "/" + v.options[number].value
	return nil
}
