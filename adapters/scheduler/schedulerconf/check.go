// Package schedulerconf reads volcano-scheduler.conf before Volcano does. Volcano passes over plugins that it does not know and,
// where it cannot read the file, works on without our plugin or ends: pods that ask for devices would be bound without any.
package schedulerconf

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	yamlv2 "gopkg.in/yaml.v2"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/scheduler/plugin"
)

// upstream is the plugin that gives out devices in stock Volcano.
const upstream = "deviceshare"

// Reader reads texts of one file.
type Reader struct {
	Path       string // as errors name it
	PluginsDir string // where further plugins are, of Volcano's flag --plugins-dir; may be empty
}

// Check says what is wrong with a text of the file: where, the value, and what was expected.
func (r *Reader) Check(text []byte) error {
	t := &tree{path: r.Path}
	if strings.TrimSpace(string(text)) == "" {
		return t.wrong(nil, "is empty: expected actions, and tiers of plugins with %s in one of them", plugin.Name)
	}
	if err := yaml.Unmarshal(text, &t.root); err != nil {
		return t.wrong(nil, "%s", inOneLine(err))
	}
	read := &conf.SchedulerConfiguration{}
	if err := yamlv2.Unmarshal(text, read); err != nil { // as Volcano does
		return t.wrong(nil, "%s", inOneLine(err))
	}
	if err := checkActions(t, read.Actions); err != nil {
		return err
	}
	ours, err := r.checkPlugins(t, read.Tiers)
	if err != nil {
		return err
	}
	if err := ours.check(t, read.Configurations); err != nil {
		return err
	}
	if _, _, _, _, err := scheduler.UnmarshalSchedulerConf(string(text)); err != nil {
		return t.wrong(nil, "%s", inOneLine(err))
	}
	if evicts.MatchString(read.Actions) && (ours.way[1] != 0 || ours.way[3] != 0) {
		klog.Warningf("%s: plugin %s is not the first of the first tier: whom preempt and reclaim evict is then settled without it", r.Path,
			plugin.Name)
	}
	if err := yamlv2.UnmarshalStrict(text, &conf.SchedulerConfiguration{}); err != nil {
		klog.Warningf("%s: Volcano passes over what it does not know: %s", r.Path, inOneLine(err))
	}
	return nil
}

// evicts are actions that ask plugins, tier by tier, for pods that may go.
var evicts = regexp.MustCompile(`\b(preempt|reclaim)\b`)

func inOneLine(err error) string {
	return strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
}

// tree is the text as it was written, for the lines that errors name.
type tree struct {
	path string
	root yaml.Node
}

// wrong is an error in the line of what is reached by names of members and numbers of entries, as far as that is there; nil: of the
// file as a whole.
func (t *tree) wrong(way []any, format string, values ...any) error {
	at, line := &t.root, 0
	if len(at.Content) > 0 {
		at = at.Content[0]
	}
	for _, step := range way {
		if at.Kind == yaml.AliasNode {
			at = at.Alias
		}
		next := (*yaml.Node)(nil)
		switch step := step.(type) {
		case int:
			if at.Kind == yaml.SequenceNode && step < len(at.Content) {
				next, line = at.Content[step], at.Content[step].Line
			}
		case string:
			for i := 0; at.Kind == yaml.MappingNode && i+1 < len(at.Content); i += 2 {
				if at.Content[i].Value == step {
					next, line = at.Content[i+1], at.Content[i].Line
				}
			}
		}
		if next == nil {
			break
		}
		at = next
	}
	place := t.path
	if line > 0 {
		place = fmt.Sprintf("%s:%d", t.path, line)
	}
	return errors.New(place + ": " + fmt.Sprintf(format, values...))
}

func checkActions(t *tree, actions string) error {
	way := []any{"actions"}
	if strings.TrimSpace(actions) == "" {
		return t.wrong(way, `actions are missing: expected names with commas between them, as "enqueue, allocate, backfill"`)
	}
	for _, name := range strings.Split(actions, ",") {
		if _, known := framework.GetAction(strings.TrimSpace(name)); !known {
			return t.wrong(way, "actions: got %q, expected Volcano's (enqueue, allocate, backfill, preempt, reclaim and others) with commas "+
				"between them", strings.TrimSpace(name))
		}
	}
	return nil
}

// entry is that of our plugin in a tier.
type entry struct {
	way    []any
	option conf.PluginOption
}

// checkPlugins finds the one entry of our plugin.
func (r *Reader) checkPlugins(t *tree, tiers []conf.Tier) (*entry, error) {
	var ours *entry
	var names []string
	for i, tier := range tiers {
		for j, option := range tier.Plugins {
			way := []any{"tiers", i, "plugins", j}
			switch {
			case option.Name == upstream:
				return nil, t.wrong(way, "plugin %s gives out the same devices as %s: expected %s alone, which takes the arguments of both",
					upstream, plugin.Name, plugin.Name)
			case option.Name == plugin.Name && ours != nil:
				return nil, t.wrong(way, "plugin %s is there twice: expected it once", plugin.Name)
			case option.Name == plugin.Name:
				ours = &entry{way, option}
			case !r.isKnown(option.Name):
				return nil, t.wrong(way, "plugin %q is not known: expected %s, or one of Volcano's", option.Name, plugin.Name)
			}
			names = append(names, option.Name)
		}
	}
	if ours == nil {
		return nil, t.wrong([]any{"tiers"}, "plugin %s is missing among the plugins (%s): pods that ask for devices would be bound "+
			"without any", plugin.Name, strings.Join(names, ", "))
	}
	return ours, nil
}

func (r *Reader) isKnown(name string) bool {
	if _, known := framework.GetPluginBuilder(name); known {
		return true
	}
	if r.PluginsDir == "" {
		return false
	}
	files, err := filepath.Glob(filepath.Join(r.PluginsDir, "*.so")) // Volcano loads them later
	return err == nil && slices.Contains(files, filepath.Join(r.PluginsDir, name+".so"))
}

// check looks at what stands beside the plugin's name.
func (e *entry) check(t *tree, configurations []conf.Configuration) error {
	if enabled := e.option.EnabledPredicate; enabled != nil && !*enabled {
		return t.wrong(append(e.way, "enablePredicate"), "enablePredicate of plugin %s is false: expected true, as pods that ask for "+
			"devices would be bound without any", plugin.Name)
	}
	err := plugin.CheckArguments(e.option.Arguments, configurations)
	if refused := (*plugin.ArgumentError)(nil); errors.As(err, &refused) {
		return t.wrong(append(e.way, "arguments", refused.Argument), "%v", err)
	}
	if err != nil {
		return t.wrong(append(e.way, "arguments"), "%v", err)
	}
	return nil
}
