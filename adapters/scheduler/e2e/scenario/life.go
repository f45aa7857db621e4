package scenario

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vgpualloc.example/adapters/scheduler/e2e/control"
)

// StartScheduler begins the scheduler, for the first time or again.
//
// Stock Volcano reads nodes before it knows which devices it serves, and binds pods without device annotations until a
// node changes. Nudge makes every node change, so that the rest of it can be compared.
func (env *Env) StartScheduler(ctx context.Context) error {
	if err := env.Plane.StartScheduler(ctx); err != nil {
		return err
	}
	env.watched.Store(true)
	if !env.Nudge {
		return nil
	}
	// The first session, in which the devices become known, has to be over.
	if err := pause(ctx, env.Control.Period+500*time.Millisecond); err != nil {
		return err
	}
	nodes, err := env.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{"vgpualloc.io/e2e-nudged":"%d"}}}`, time.Now().UnixNano())
	return inParallel(len(nodes.Items), 8, func(i int) error {
		_, err := env.Client.CoreV1().Nodes().Patch(ctx, nodes.Items[i].Name, types.MergePatchType, change, metav1.PatchOptions{})
		return err
	})
}

// KillScheduler ends what decides on devices as a power cut would. A kube-scheduler that asks it goes on.
func (env *Env) KillScheduler() {
	env.watched.Store(false)
	env.Plane.Decider().Kill()
}

// Crashes counts how often the scheduler has ended by itself.
func (env *Env) Crashes() int {
	env.mutex.Lock()
	defer env.mutex.Unlock()
	return len(env.crashes)
}

// superviseScheduler starts a scheduler that has ended by itself again, after a second, as a Deployment would.
func (env *Env) superviseScheduler(ctx context.Context) {
	for pause(ctx, 200*time.Millisecond) == nil {
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
		if pause(ctx, time.Second) != nil {
			return
		}
		if err := env.StartScheduler(ctx); err != nil && ctx.Err() == nil {
			env.Say("starting the scheduler again: %v", err)
		}
	}
}
