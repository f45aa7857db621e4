package scenario

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/scheduler/e2e/control"
)

// StartScheduler begins the scheduler, for the first time or again.
//
// Stock Volcano reads nodes before it knows which devices it serves, and binds pods without device annotations until a
// node changes. Nudge makes every node change, so that the rest of it can be compared.
func (env *Env) StartScheduler() error {
	if err := env.Plane.StartScheduler(env.ctx); err != nil {
		return err
	}
	env.watched.Store(true)
	if !env.Nudge {
		return nil
	}
	// The first session, in which the devices become known, has to be over.
	if err := pause(env.ctx, env.Control.Period+500*time.Millisecond); err != nil {
		return err
	}
	nodes, err := env.nodes().List(env.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{"vgpualloc.io/e2e-nudged":"%d"}}}`, time.Now().UnixNano())
	return inParallel(len(nodes.Items), 8, func(i int) error { return patch(env.ctx, env.nodes(), nodes.Items[i].Name, change) })
}

// Crashes counts how often the scheduler has ended by itself.
func (env *Env) Crashes() int {
	env.mutex.Lock()
	defer env.mutex.Unlock()
	return len(env.crashes)
}

// superviseScheduler starts a scheduler that has ended by itself again, after a second, as a Deployment would.
func (env *Env) superviseScheduler() {
	for pause(env.ctx, 200*time.Millisecond) == nil {
		ended := slices.IndexFunc(env.Plane.Schedulers(), func(process *control.Process) bool { return process.Pid() == 0 })
		if ended < 0 || !env.watched.Load() {
			continue
		}
		process := env.Plane.Schedulers()[ended]
		cause := process.Crash()
		env.mutex.Lock()
		env.crashes = append(env.crashes, cause)
		env.mutex.Unlock()
		env.Say("%s has ended by itself: %s", process.Name, cause)
		if pause(env.ctx, time.Second) != nil {
			return
		}
		if err := env.StartScheduler(); err != nil && env.ctx.Err() == nil {
			env.Say("starting the scheduler again: %v", err)
		}
	}
}
