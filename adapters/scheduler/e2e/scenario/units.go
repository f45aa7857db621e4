package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	env.names++
	name := fmt.Sprintf("%s-%05d", kind.Name, env.names)
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

// units makes pods of random kinds, of six units one a gang of two to four where there are gangs.
func (env *Env) units(pods int) []Unit {
	var result []Unit
	for count := 0; count < pods; {
		kind, members := env.kinds[env.Random.Intn(len(env.kinds))], 1
		if env.Volcano != nil && env.Random.Intn(6) == 0 {
			members = 2 + env.Random.Intn(3)
		}
		result = append(result, env.Unit(kind, members, nil))
		count += members
	}
	return result
}

// Submit posts units at a rate of pods a second, or as fast as it goes. Creation is timed pod by pod.
func (env *Env) Submit(units []Unit, rate float64) error {
	began := time.Now()
	var sent atomic.Int64
	return inParallel(len(units), 16, func(i int) error {
		unit := units[i]
		if rate > 0 {
			due := began.Add(time.Duration(float64(sent.Add(int64(len(unit.Pods)))) / rate * float64(time.Second)))
			if err := pause(env.ctx, time.Until(due)); err != nil {
				return err
			}
		}
		if unit.Group != nil {
			env.mutex.Lock()
			env.members[unit.Group.Name] = len(unit.Pods)
			env.mutex.Unlock()
			if err := create(env.ctx, env.groups(), unit.Group); err != nil {
				return err
			}
		}
		for _, pod := range unit.Pods {
			env.Recorder.Creating(pod.Name)
			if err := create(env.ctx, env.pods(), pod); err != nil {
				return err
			}
		}
		return nil
	})
}

// delete tells pods to end, as a user would.
func (env *Env) delete(pods []*corev1.Pod) {
	must(inParallel(len(pods), 16, func(i int) error {
		env.Recorder.Removing(pods[i].Name)
		return remove(env.ctx, env.pods(), pods[i].Name)
	}))
}

// finish lets the containers of pods end by themselves, successfully.
func (env *Env) finish(pods []*corev1.Pod) {
	must(inParallel(len(pods), 16, func(i int) error {
		return patch(env.ctx, env.pods(), pods[i].Name, []byte(`{"status":{"phase":"Succeeded"}}`), "status")
	}))
}

// sortedGroups are the pods that are there now, group by group, in the order of names, so that chance is the same in every run.
func (env *Env) sortedGroups() [][]*corev1.Pod {
	groups := map[string][]*corev1.Pod{}
	pods := env.list()
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		groups[groupOf(pod)] = append(groups[groupOf(pod)], pod)
	}
	var result [][]*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		result = append(result, groups[name])
	}
	return result
}

// deleteGroups deletes the groups that leave, by their first pod. Whole groups leave, so that what is left of gangs is whole.
func (env *Env) deleteGroups(leaves func(first *corev1.Pod) bool) {
	var gone []*corev1.Pod
	for _, pods := range env.sortedGroups() {
		if leaves(pods[0]) {
			gone = append(gone, pods...)
		}
	}
	env.delete(gone)
}

func (env *Env) reapGroups() {
	for {
		select {
		case <-env.ctx.Done():
			return
		case group := <-env.orphaned:
			if err := remove(env.ctx, env.groups(), group); err != nil && env.ctx.Err() == nil {
				env.Say("PodGroup %s stays: %v", group, err)
			}
		}
	}
}
