package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/vga"
)

// ArgumentError is an argument of the plugin that is refused.
type ArgumentError struct {
	Argument string
	why      string // follows the argument's name
}

func (e *ArgumentError) Error() string {
	return "argument " + e.Argument + " of plugin " + Name + e.why
}

func refuseArgument(name, format string, values ...any) error {
	return &ArgumentError{name, fmt.Sprintf(format, values...)}
}

// CheckArguments says what a session would not understand of the plugin's arguments and of the configurations beside it.
func CheckArguments(arguments framework.Arguments, configurations []conf.Configuration) error {
	read, err := readArguments(arguments, configurations)
	if err != nil {
		return err
	}
	core, err := vga.New(read.options("", ""))
	if err != nil {
		return nameArgument(err, arguments)
	}
	core.Close()
	return checkLog(read.decisionLog)
}

// checkLog is whether a decision log can be written. It makes nothing of the log's name, not even for a moment: somebody may
// begin or rotate the log meanwhile, and would lose it when it is removed again.
func checkLog(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err == nil {
		err = file.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = tryFolder(path)
	}
	if err != nil {
		return refuseArgument(logArgument, ": %v, expected a file that can be written", err)
	}
	return nil
}

// tryFolder is whether a file that is not there could be made: another one is, and removed.
func tryFolder(path string) error {
	missing := path
	for target, err := os.Readlink(missing); err == nil; target, err = os.Readlink(missing) { // a link to what is not there
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(missing), target)
		}
		missing = target
	}
	probe, err := os.CreateTemp(filepath.Dir(missing), ".vgpualloc-probe-*")
	if failure := (*fs.PathError)(nil); errors.As(err, &failure) {
		return &fs.PathError{Op: failure.Op, Path: path, Err: failure.Err}
	}
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// The core's names of what stands in its options.
var optionOfCore = regexp.MustCompile(`^(policy|device_policy)((?::| ).*)$`)

// placeInOptions is how the core names what passOn has written for it.
var placeInOptions = regexp.MustCompile(`^scheduler_config(:\d+)*: (plugin \w+: )?(deviceshare: )?`)

// nameArgument has an error of the core about its options name the argument that the option comes from.
func nameArgument(err error, arguments framework.Arguments) error {
	failure := (*vga.Error)(nil)
	if !errors.As(err, &failure) {
		return err
	}
	text := failure.Error()
	if parts := optionOfCore.FindStringSubmatch(text); parts != nil {
		argument := devicePolicyArgument
		if parts[1] == "policy" {
			argument = policyArgument
		}
		return &ArgumentError{argument, parts[2]}
	}
	if !strings.HasPrefix(text, "scheduler_config") {
		return err
	}
	named := ""
	for _, argument := range slices.Sorted(maps.Keys(arguments)) {
		if strings.Contains(text, argument) && len(argument) > len(named) {
			named = argument
		}
	}
	if named != "" {
		_, why, _ := strings.Cut(text, named)
		return &ArgumentError{named, why}
	}
	return fmt.Errorf("arguments of plugin %s: %s", Name, placeInOptions.ReplaceAllString(text, ""))
}
