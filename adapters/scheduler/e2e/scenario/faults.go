package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type faultSeen struct {
	ID    string          `json:"id"`
	What  string          `json:"what"`
	With  string          `json:"with"` // what is particular to the scheduler's configuration
	There bool            `json:"there"`
	Pods  map[string]seen `json:"pods"`
	Order []string        `json:"order"`
	Crash string          `json:"scheduler_ended,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Faults provokes each fault of upstream that can be provoked through the API, and writes what was seen as a table.
func Faults(ctx context.Context, options Options) error {
	// Pods take their time to end, or nobody could come while they do.
	options.Ending = 5 * time.Second
	original, err := os.ReadFile(options.Control.SchedulerConf)
	if err != nil {
		return err
	}
	// The scheduler watches the folder, in which nothing else is to change.
	options.Control.SchedulerConf = filepath.Join(options.Control.Dir, "conf", "scheduler.conf")
	var rows []faultSeen
	err = onCluster(ctx, options, func(env *Env) {
		env.apply("refuse-records")
		for i, set := range settings {
			rows = append(rows, env.playSetting(set, i == 0, original)...)
		}
		env.write("faults", rows)
		table := faultTable(env.Label, rows)
		fmt.Print(table)
		env.keep("faults-"+env.Label+".md", table)
	})
	if err == nil && slices.ContainsFunc(rows, func(row faultSeen) bool { return row.There || row.Error != "" }) {
		return ErrViolations
	}
	return err
}

// playSetting provokes the faults of a setting that are wanted, with a scheduler that is started for it.
func (env *Env) playSetting(set setting, isFirst bool, original []byte) (rows []faultSeen) {
	chosen := set.faults
	if env.Only != "" {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(each fault) bool { return !slices.Contains(strings.Split(env.Only, ","), each.id) })
	}
	if isFirst {
		chosen = append([]fault{start}, chosen...)
	}
	if len(chosen) == 0 {
		return nil
	}
	// It watches its configuration, too, which may therefore change only while it does not run.
	env.stopScheduler()
	must(set.configure(original, env.Control.SchedulerConf))
	env.deviceConfig(!set.builtIn)
	if !isFirst {
		env.Say("the scheduler is started with %s", set)
		must(env.StartScheduler())
	}
	for _, each := range chosen {
		row := env.provoke(each)
		row.With = set.String()
		rows = append(rows, row)
		must(env.ctx.Err())
	}
	return rows
}

// start is what a scheduler does with nodes and pods that are there before it. Only a first start shows it.
var start = fault{"start", "pods are bound without devices after a start", script(vgpuNode("hami-core", 1), bare("a"), one("a", card(4000)),
	func(stage *stage) {
		nudge := stage.env.Nudge
		stage.env.Nudge = false
		defer func() { stage.env.Nudge = nudge }()
		must(stage.env.StartScheduler())
		stage.settle()
	})}

// stopScheduler ends the scheduler if it has been started.
func (env *Env) stopScheduler() {
	// One that has ended by itself is about to be started again, and has to be back.
	env.awaitScheduler()
	env.watched.Store(false)
	env.Plane.Scheduler.Stop(10 * time.Second)
}

// awaitScheduler waits until the scheduler runs, which it does not while it is to be started again.
func (env *Env) awaitScheduler() {
	if !env.watched.Load() {
		return
	}
	if !env.until(time.Minute, func() bool { _, err := env.Plane.Sessions(); return err == nil }) {
		must(errors.New("the scheduler is not back after a minute"))
	}
}

// provoke plays one fault on a stage of its own.
func (env *Env) provoke(each fault) faultSeen {
	stage := &stage{env: env, prefix: "fault-" + strings.ToLower(each.id), seen: map[string]seen{}}
	row := faultSeen{ID: each.id, What: each.what}
	crashes := env.Crashes()
	err := attempt(func() {
		env.awaitScheduler()
		stage.crashes, stage.evictions = env.Crashes(), env.Recorder.Evicted()
		row.There = each.play(stage)
		row.Pods, row.Order = stage.seen, stage.pods
		stage.close()
	})
	if err != nil {
		row.Error = err.Error()
	}
	if env.Crashes() > crashes {
		env.mutex.Lock()
		row.Crash = env.crashes[len(env.crashes)-1]
		env.mutex.Unlock()
	}
	env.Say("%s: there: %t", each.id, row.There)
	return row
}

func faultTable(label string, rows []faultSeen) string {
	var text strings.Builder
	fmt.Fprintf(&text, "| fault | what it is | there with %s | seen |\n|---|---|---|---|\n", label)
	for _, row := range rows {
		var parts []string
		for _, name := range row.Order {
			parts = append(parts, name+": "+row.Pods[name].String())
		}
		if row.Crash != "" {
			parts = append(parts, "the scheduler ended: "+row.Crash)
		}
		if row.Error != "" {
			parts = append(parts, "error: "+row.Error)
		}
		there := map[bool]string{true: "**yes**", false: "no"}[row.There]
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", row.ID, row.What, there, strings.ReplaceAll(strings.Join(parts, "; "), "|", "/"))
	}
	return text.String()
}
