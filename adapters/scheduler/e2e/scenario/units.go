package scenario

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

// Unit is a PodGroup with its pods.
type Unit struct {
	Group *schedulingv1beta1.PodGroup // nil where nobody knows groups
	Pods  []*corev1.Pod
}

// Unit makes pods of a kind that are one group, all of which are needed. Change may be nil.
func (env *Env) Unit(kind objects.Kind, members int, change func(*objects.PodSpec)) Unit {
	env.mutex.Lock()
	env.names++
	name := fmt.Sprintf("%s-%05d", kind.Name, env.names)
	env.mutex.Unlock()
	first := objects.PodSpec{Name: name, Group: name}
	kind.Fill(&first, env.Random)
	if change != nil {
		change(&first)
	}
	var unit Unit
	if env.Volcano != nil {
		unit.Group = objects.PodGroup(name, members, first.Priority)
	} else {
		first.Scheduler = corev1.DefaultSchedulerName
	}
	for i := range members {
		spec := first // members of a gang ask for the same
		spec.Name = fmt.Sprintf("%s-%d", name, i)
		unit.Pods = append(unit.Pods, objects.Pod(spec))
	}
	return unit
}

// Submit posts units at a rate of pods a second, or as fast as it goes. Creation is timed pod by pod.
func (env *Env) Submit(ctx context.Context, units []Unit, rate float64) error {
	began := time.Now()
	var sent atomic.Int64
	return inParallel(len(units), 16, func(i int) error {
		unit := units[i]
		if rate > 0 {
			due := began.Add(time.Duration(float64(sent.Add(int64(len(unit.Pods)))) / rate * float64(time.Second)))
			if err := pause(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		if err := env.submitGroup(ctx, unit); err != nil {
			return err
		}
		for _, pod := range unit.Pods {
			env.mutex.Lock()
			env.came[kindOf(pod.Name)]++
			env.mutex.Unlock()
			env.Recorder.Creating(pod.Name)
			if err := again(ctx, func() error {
				_, err := env.Client.CoreV1().Pods(objects.Namespace).Create(ctx, pod, metav1.CreateOptions{})
				return err
			}); err != nil {
				return fmt.Errorf("pod %s: %w", pod.Name, err)
			}
		}
		return nil
	})
}

func (env *Env) submitGroup(ctx context.Context, unit Unit) error {
	if unit.Group == nil {
		return nil
	}
	env.mutex.Lock()
	env.members[unit.Group.Name] = len(unit.Pods)
	env.mutex.Unlock()
	if err := again(ctx, func() error {
		_, err := env.Volcano.SchedulingV1beta1().PodGroups(objects.Namespace).Create(ctx, unit.Group, metav1.CreateOptions{})
		return err
	}); err != nil {
		return fmt.Errorf("PodGroup %s: %w", unit.Group.Name, err)
	}
	return nil
}

// Delete tells pods to end, as a user would.
func (env *Env) Delete(ctx context.Context, pods []*corev1.Pod) error {
	env.mutex.Lock()
	for _, pod := range pods {
		env.removed[pod.Name] = true
	}
	env.mutex.Unlock()
	return inParallel(len(pods), 16, func(i int) error {
		err := again(ctx, func() error {
			return env.Client.CoreV1().Pods(objects.Namespace).Delete(ctx, pods[i].Name, metav1.DeleteOptions{})
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting pod %s: %w", pods[i].Name, err)
		}
		return nil
	})
}

// Finish lets the containers of pods end by themselves, successfully.
func (env *Env) Finish(ctx context.Context, pods []*corev1.Pod) error {
	return inParallel(len(pods), 16, func(i int) error {
		err := again(ctx, func() error {
			_, err := env.Client.CoreV1().Pods(objects.Namespace).Patch(ctx, pods[i].Name, types.MergePatchType,
				[]byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
			return err
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("ending pod %s: %w", pods[i].Name, err)
		}
		return nil
	})
}

// Evicted counts pods that somebody else than the scenario told to end, which here can only be the scheduler.
func (env *Env) Evicted() int {
	env.mutex.Lock()
	defer env.mutex.Unlock()
	return len(env.evicted)
}

// Groups are the pods that are there now, by their PodGroup.
func (env *Env) Groups() map[string][]*corev1.Pod {
	result := map[string][]*corev1.Pod{}
	for _, pod := range env.list() {
		group := pod.Annotations["scheduling.k8s.io/group-name"]
		result[group] = append(result[group], pod)
	}
	return result
}

// Waiting counts pods without a node.
func (env *Env) Waiting() int {
	count := 0
	for _, pod := range env.list() {
		if pod.Spec.NodeName == "" {
			count++
		}
	}
	return count
}

func (env *Env) list() []*corev1.Pod {
	pods, err := env.Pods.Pods(objects.Namespace).List(labels.Everything())
	if err != nil {
		return nil // a lister of a store in memory has no errors
	}
	return pods
}

func (env *Env) notice(before, pod *corev1.Pod) {
	env.mutex.Lock()
	defer env.mutex.Unlock()
	if before.Spec.NodeName == "" && pod.Spec.NodeName != "" {
		env.bound[kindOf(pod.Name)]++
	}
	if pod.DeletionTimestamp != nil && !env.removed[pod.Name] {
		env.evicted[pod.Name] = true
	}
}

// forget counts the pods of a group and has it removed with the last, as nobody else does.
func (env *Env) forget(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	group := pod.Annotations["scheduling.k8s.io/group-name"]
	env.mutex.Lock()
	defer env.mutex.Unlock()
	delete(env.removed, pod.Name)
	if _, known := env.members[group]; !known {
		return
	}
	if env.members[group]--; env.members[group] == 0 {
		delete(env.members, group)
		env.orphaned <- group
	}
}

func (env *Env) reapGroups(ctx context.Context) {
	var workers sync.WaitGroup
	for range 8 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for {
				select {
				case <-ctx.Done():
					return
				case group := <-env.orphaned:
					err := again(ctx, func() error {
						return env.Volcano.SchedulingV1beta1().PodGroups(objects.Namespace).Delete(ctx, group, metav1.DeleteOptions{})
					})
					if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
						env.Say("PodGroup %s stays: %v", group, err)
					}
				}
			}
		}()
	}
	workers.Wait()
}
