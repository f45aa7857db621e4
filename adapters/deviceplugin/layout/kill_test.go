package layout

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

var killPoints = flag.Int("kill-points", 60, "random points at which the executor is killed, in memory")

func (m *memory) run(uuid string, busy bool) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, instances := range m.instances {
		for row := range instances {
			if instances[row].UUID == uuid {
				instances[row].Busy = busy
			}
		}
	}
	return nil
}

func (m *memory) list(gpu int) ([]hardware.Instance, error) {
	return m.Instances(fmt.Sprintf("GPU-%d", gpu))
}

func (s *story) machine() *memory {
	result := newMemory()
	for index, card := range s.GPUs {
		result.gpus = append(result.gpus, hardware.GPU{Index: index, UUID: fmt.Sprintf("GPU-%d", index), Name: card.Name, MigCapable: true,
			MigEnabled: !card.IsOff})
	}
	for index, card := range s.GPUs {
		result.put(result.gpus[index].UUID, card.Places...)
		for _, at := range card.Busy {
			result.setBusy(result.gpus[index].UUID, at, true)
		}
	}
	return result
}

func mayEnable(options *Options) { options.MayEnable = func(string) bool { return true } }

// tally is what became of stories.
type tally struct{ points, answers, refusals, failures, withdrawn int }

func (c *tally) add(saved *records) {
	c.answers, c.refusals, c.failures = c.answers+saved.Answers, c.refusals+saved.Refusals, c.failures+saved.Failures
}

// TestKilledAnywhere ends the program at every kind of point, starts it again and compares hardware, ledger, what would be registered
// and what pods were answered with.
func TestKilledAnywhere(t *testing.T) {
	var sum tally
	for seed := uint64(0); sum.points < *killPoints; seed++ {
		random := rand.New(rand.NewPCG(seed, 34))
		calls, err := playStory(t, seed, 0, killBefore, &sum)
		for range min(4, calls, *killPoints-sum.points) {
			if err == nil {
				sum.points++
				_, err = playStory(t, seed, 1+random.IntN(calls), killMoment(random.IntN(3)), &sum)
			}
		}
		if err != nil {
			t.Fatalf("story %d: %v", seed, err)
		}
	}
	t.Logf("%d kill points: %d pods answered, %d refused, %d failed; %d GPUs withdrawn after a restart", sum.points, sum.answers, sum.refusals,
		sum.failures, sum.withdrawn)
	if sum.answers < sum.points || sum.failures > 0 || sum.withdrawn > 0 {
		t.Errorf("expected at least one answer a story, no failure and no GPU withdrawn")
	}
}

// playStory lets a story happen. The program is killed at one of its changing calls and started again, and sometimes killed again while
// it repairs; 0: it is not killed. The result is how many changing calls there were up to then.
func playStory(t *testing.T, seed uint64, killAt int, when killMoment, sum *tally) (calls int, err error) {
	tale := storyOf(seed)
	machine := tale.machine()
	saved := &records{Pods: map[string]record{}}
	defer func() { sum.add(saved) }()
	kills := []int{killAt}
	if killAt%3 == 1 {
		kills = append(kills, 1+killAt%2)
	}
	for start := 0; ; start++ {
		if start < len(kills) {
			machine.killAt, machine.killWhen = kills[start], when
		}
		n := newNode(t, machine, tale.Native, mayEnable)
		var findings []Finding
		if findings, err = tale.restart(n, saved); err == nil && !machine.dead {
			err = tale.check(n, saved, machine)
		}
		if err == nil {
			err = tale.live(n, saved, machine, func() error { return nil })
		}
		if start == 0 {
			calls = machine.calls
		}
		if machine.dead {
			machine.revive()
			continue
		}
		for _, finding := range findings {
			if finding.Status.Service != InService {
				sum.withdrawn++
				t.Logf("story %d, killed at calls %d (%d): %+v", seed, kills, when, finding)
			}
		}
		break
	}
	if err == nil && machine.inUse > 0 {
		err = fmt.Errorf("%d instances in use were to be destroyed", machine.inUse)
	}
	if err != nil {
		err = fmt.Errorf("killed at calls %d (%d): %w", kills, when, err)
	}
	return calls, err
}
