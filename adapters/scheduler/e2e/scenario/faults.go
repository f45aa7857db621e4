package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
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
	env, err := Open(ctx, options)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := env.refuseRecords(ctx); err != nil {
		return fmt.Errorf("rule against records: %w", err)
	}
	var rows []faultSeen
	for i, set := range settings {
		chosen := set.faults
		if env.Only != "" {
			chosen = slices.DeleteFunc(slices.Clone(chosen), func(each fault) bool { return !slices.Contains(strings.Split(env.Only, ","), each.id) })
		}
		if i > 0 && len(chosen) == 0 {
			continue
		}
		// It watches its configuration, too, which may therefore change only while it does not run.
		if err := env.stopScheduler(ctx); err != nil {
			return err
		}
		if err := set.configure(original, options.Control.SchedulerConf); err != nil {
			return err
		}
		if err := env.deviceConfig(ctx, !set.builtIn); err != nil {
			return fmt.Errorf("device configuration: %w", err)
		}
		if i == 0 {
			rows = append(rows, env.start(ctx))
		} else {
			env.Say("the scheduler is started with %s", set)
			if err := env.StartScheduler(ctx); err != nil {
				return err
			}
		}
		for _, each := range chosen {
			row := env.provoke(ctx, each)
			row.With = set.String()
			rows = append(rows, row)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	if err := env.write("faults-"+env.Label, rows); err != nil {
		return err
	}
	table := faultTable(env.Label, rows)
	fmt.Print(table)
	if err := os.WriteFile(filepath.Join(env.Out, "faults-"+env.Label+".md"), []byte(table), 0o644); err != nil {
		return err
	}
	for _, row := range rows {
		if row.There || row.Error != "" {
			return ErrViolations
		}
	}
	return nil
}

// stopScheduler ends the scheduler if it has been started.
func (env *Env) stopScheduler(ctx context.Context) error {
	if !env.watched.Load() {
		return nil
	}
	// One that has ended by itself is about to be started again, and has to be back.
	if err := env.awaitScheduler(ctx); err != nil {
		return err
	}
	env.watched.Store(false)
	env.Plane.Scheduler.Stop(10 * time.Second)
	return nil
}

// awaitScheduler waits until the scheduler runs, which it does not while it is to be started again.
func (env *Env) awaitScheduler(ctx context.Context) error {
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := env.Plane.Sessions()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the scheduler is not back after a minute: %w", err)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func stageOf(id string) string { return "fault-" + strings.ToLower(id) }

// provoke plays one fault on a stage of its own.
func (env *Env) provoke(ctx context.Context, each fault) faultSeen {
	stage := &stage{env: env, prefix: stageOf(each.id), seen: map[string]seen{}}
	row := faultSeen{ID: each.id, What: each.what}
	crashes := env.Crashes()
	err := env.awaitScheduler(ctx)
	if err == nil {
		row.There, err = each.play(ctx, stage)
	}
	if err == nil {
		row.Pods, row.Order = stage.seen, stage.pods
		err = stage.close(ctx)
	}
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

// start provokes what a scheduler does with nodes and pods that are there before it. Only a first start shows it.
func (env *Env) start(ctx context.Context) faultSeen {
	row := faultSeen{ID: "start", What: "pods are bound without devices after a start"}
	stage := &stage{env: env, prefix: stageOf("start"), seen: map[string]seen{}}
	run := func() error {
		if err := stage.add(ctx, objects.Volcano(stage.prefix, "hami-core", 1)); err != nil {
			return err
		}
		if err := stage.pod(ctx, "a", card(4000)); err != nil {
			return err
		}
		nudge := env.Nudge
		env.Nudge = false
		defer func() { env.Nudge = nudge }()
		if err := env.StartScheduler(ctx); err != nil {
			return err
		}
		if err := stage.settle(ctx); err != nil {
			return err
		}
		row.There = stage.seen["a"].Bound && stage.seen["a"].Given == ""
		row.Pods, row.Order = stage.seen, stage.pods
		return stage.close(ctx)
	}
	if err := run(); err != nil {
		row.Error = err.Error()
	}
	env.Say("start: there: %t", row.There)
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
