package layout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// story is what happens on one node: how it begins, and the pods that come and go. It is the same for the same seed.
type story struct {
	Native bool
	GPUs   []storyGPU
	Events []event
}

// storyGPU is a card at the beginning.
type storyGPU struct {
	Name   string
	IsOff  bool    // MIG is
	Places []place // of its instances
	Busy   []place // processes of nobody's pods run on these
}

// event is a pod that comes, or one that goes.
type event struct {
	Pod    string
	IsEnd  bool
	GPU    int
	Group  string // of a geometry; else
	Place  place
	Number int // position in the group
	Runs   bool
	Drop   bool // when the program is killed meanwhile, the kubelet gives the pod up
}

// profileNames are those of the catalog.
var profileNames = map[string]map[uint32]string{
	a100: {19: "1g.5gb", 15: "1g.10gb", 14: "2g.10gb", 9: "3g.20gb", 5: "4g.20gb", 0: "7g.40gb"},
	a30:  {14: "1g.6gb", 5: "2g.12gb", 0: "4g.24gb"},
}

func (e event) part(gpus []storyGPU) string {
	if e.Group != "" {
		return fmt.Sprintf("GPU-%d[%s-%d]", e.GPU, e.Group, e.Number)
	}
	return fmt.Sprintf("GPU-%d[%s-%d]", e.GPU, profileNames[gpus[e.GPU].Name][e.Place.ProfileID], e.Place.Start)
}

// tableOf are the profiles of a model, and its compute slices.
func tableOf(name string) (map[uint32]memoryProfile, uint32) {
	if name == a30 {
		return fourSlices, 4
	}
	return sevenSlices, 7
}

// fits is whether an instance can be beside others.
func fits(name string, others []place, added place) bool {
	table, most := tableOf(name)
	compute := table[added.ProfileID].compute
	for _, other := range others {
		compute += table[other.ProfileID].compute
		if other.Start < added.Start+table[added.ProfileID].size && added.Start < other.Start+table[other.ProfileID].size {
			return false
		}
	}
	return compute <= most
}

// anyPlace is a place of a model.
func anyPlace(random *rand.Rand, name string) place {
	table, _ := tableOf(name)
	var profiles []uint32
	for id := range table {
		profiles = append(profiles, id)
	}
	slices.Sort(profiles)
	id := profiles[random.IntN(len(profiles))]
	return place{id, table[id].starts[random.IntN(len(table[id].starts))]}
}

// storyOf writes a story as a scheduler's decisions would make it; one pod in ten goes where it cannot.
func storyOf(seed uint64) story {
	random := rand.New(rand.NewPCG(seed, 33))
	result := story{Native: random.IntN(3) == 0}
	for range 1 + random.IntN(3) {
		card := storyGPU{Name: []string{a100, a100, a30}[random.IntN(3)], IsOff: random.IntN(6) == 0}
		for range random.IntN(6) {
			if at := anyPlace(random, card.Name); !card.IsOff && fits(card.Name, card.Places, at) {
				card.Places = append(card.Places, at)
				if random.IntN(12) == 0 {
					card.Busy = append(card.Busy, at)
				}
			}
		}
		result.GPUs = append(result.GPUs, card)
	}
	var running []event
	for number := range 5 + random.IntN(8) {
		if len(running) > 0 && random.IntN(3) == 0 {
			row := random.IntN(len(running))
			gone := running[row]
			gone.IsEnd = true
			result.Events = append(result.Events, gone)
			running = slices.Delete(running, row, row+1)
			continue
		}
		next := event{Pod: fmt.Sprintf("pod-%d", number), GPU: random.IntN(len(result.GPUs)), Runs: random.IntN(2) == 0, Drop: random.IntN(3) == 0}
		if result.choose(random, running, &next) || random.IntN(10) == 0 {
			result.Events = append(result.Events, next)
			running = append(running, next)
		}
	}
	return result
}

// choose gives a pod a part of its GPU; false: it cannot be beside what runs.
func (s *story) choose(random *rand.Rand, running []event, next *event) bool {
	name := s.GPUs[next.GPU].Name
	var places []place
	group := ""
	taken := map[int]bool{}
	for _, other := range running {
		if other.GPU == next.GPU {
			places = append(places, other.Place)
			group, taken[other.Number] = other.Group, true
		}
	}
	if s.Native {
		next.Place = anyPlace(random, name)
		return fits(name, places, next.Place)
	}
	groups := []string{"group1", "group2", "group3", "group4", "mix", "rev"}
	if name == a30 {
		groups = groups[:3]
	}
	next.Group = groups[random.IntN(len(groups))]
	isFree := group == "" || random.IntN(10) == 0
	if !isFree {
		next.Group = group
	}
	count := 0
	for _, kind := range geometry(name, next.Group).Instances {
		count += kind.Count
	}
	next.Number = random.IntN(count)
	return isFree || !taken[next.Number]
}

// profileOf is the profile that an event's pod is to get.
func (s *story) profileOf(of event) uint32 {
	if of.Group == "" {
		return of.Place.ProfileID
	}
	name, number := s.GPUs[of.GPU].Name, of.Number
	for _, kind := range geometry(name, of.Group).Instances {
		if number -= kind.Count; number < 0 {
			for id, profile := range profileNames[name] {
				if profile == kind.Name {
					return id
				}
			}
		}
	}
	return ^uint32(0)
}

// records are what the API server has: it outlives the program.
type records struct {
	Next int // event that comes next
	Pods map[string]record
	// Answers and Refusals count what became of pods.
	Answers, Refusals, Failures int
}

// record is a pod; without a uuid it waits.
type record struct {
	Event event
	UUID  string
}

// machineView is what a story sees of a machine besides its library.
type machineView interface {
	// run marks the instance with this uuid as used by processes, or idle.
	run(uuid string, busy bool) error
	// list are the instances of a GPU.
	list(gpu int) ([]hardware.Instance, error)
}

// live lets the story go on from where the records are, and keeps them after each thing that happens. It ends early with errKilled.
func (s *story) live(n *node, saved *records, machine machineView, keep func() error) error {
	for saved.Next < len(s.Events) {
		if err := s.happen(n, saved, machine, s.Events[saved.Next], keep); err != nil {
			return err
		}
		saved.Next++
		if err := errors.Join(s.check(n, saved, machine), keep()); err != nil {
			return fmt.Errorf("after event %d: %w", saved.Next-1, err)
		}
	}
	return nil
}

func (s *story) happen(n *node, saved *records, machine machineView, next event, keep func() error) error {
	if next.IsEnd {
		gone, is := saved.Pods[next.Pod]
		if !is {
			return nil
		}
		delete(saved.Pods, next.Pod)
		n.remove(next.Pod)
		return errors.Join(machine.run(gone.UUID, false), keep())
	}
	saved.Pods[next.Pod] = record{Event: next}
	if err := keep(); err != nil {
		return err
	}
	n.put(next.Pod, Waiting, next.part(s.GPUs))
	uuid, err := s.ask(n, next)
	var refused *Refusal
	var failed *ChangeError
	switch {
	case errors.Is(err, errKilled):
		return err
	case err == nil:
		saved.Answers++
		saved.Pods[next.Pod] = record{Event: next, UUID: uuid}
		if err := keep(); err != nil {
			return err
		}
		n.put(next.Pod, Answered, next.part(s.GPUs))
		if next.Runs {
			return machine.run(uuid, true)
		}
		return nil
	case errors.As(err, &refused):
		saved.Refusals++
	case errors.As(err, &failed):
		saved.Failures++
	default:
		return err
	}
	delete(saved.Pods, next.Pod)
	n.remove(next.Pod)
	return nil
}

func (s *story) ask(n *node, next event) (string, error) {
	gpu := fmt.Sprintf("GPU-%d", next.GPU)
	if next.Group != "" {
		return n.executor.Instance(background, gpu, geometry(s.GPUs[next.GPU].Name, next.Group), next.Number)
	}
	return n.executor.Make(background, gpu, profileNames[s.GPUs[next.GPU].Name][next.Place.ProfileID], next.Place.Start)
}

// restart starts the program anew on what the records have: pods that waited are given up or still wait, and the executor repairs.
func (s *story) restart(n *node, saved *records) ([]Finding, error) {
	for name, pod := range saved.Pods {
		switch {
		case pod.UUID != "":
			n.put(name, Answered, pod.Event.part(s.GPUs))
		case pod.Event.Drop:
			delete(saved.Pods, name)
			saved.Next++
		default:
			n.put(name, Waiting, pod.Event.part(s.GPUs))
		}
	}
	return n.executor.Repair(background)
}

// check compares hardware, ledger, records and what would be registered.
func (s *story) check(n *node, saved *records, machine machineView) error {
	users := map[string]string{}
	for gpu := range s.GPUs {
		instances, err := machine.list(gpu)
		if err != nil {
			return err
		}
		uuid := fmt.Sprintf("GPU-%d", gpu)
		status := n.executor.Status(uuid)
		where, err := n.ledger.FindNode(nodeName)
		if err != nil {
			return err
		}
		order, err := n.ledger.ServiceOf(where, uuid)
		if err != nil {
			return err
		}
		if status.Service == Reconfiguring || (order == 0) != (status.Service == InService) || (status.Reason == "") != (status.Service == InService) {
			return fmt.Errorf("%s is %+v and %d in the ledger", uuid, status, order)
		}
		for name, pod := range saved.Pods {
			if pod.Event.GPU != gpu || pod.UUID == "" {
				continue
			}
			row := slices.IndexFunc(instances, func(instance hardware.Instance) bool { return instance.UUID == pod.UUID })
			if row < 0 || instances[row].ProfileID != s.profileOf(pod.Event) {
				return fmt.Errorf("pod %s has %s of profile %d, the hardware %+v", name, pod.UUID, s.profileOf(pod.Event), instances)
			}
			if other, is := users[pod.UUID]; is && saved.Pods[other].Event.Number != pod.Event.Number {
				return fmt.Errorf("pods %s and %s both have %s", name, other, pod.UUID)
			}
			users[pod.UUID] = name
		}
		for _, instance := range instances {
			if isHalf(instance) && status.Service == InService {
				return fmt.Errorf("%s is in service with a half-made instance %+v", uuid, instance)
			}
		}
		if difference := differs(n, uuid, instances); difference != "" {
			return errors.New(difference)
		}
	}
	return nil
}

// differs is where the ledger's layout of a GPU is another one than the hardware's; a GPU that was never looked at is not noted.
func differs(n *node, uuid string, instances []hardware.Instance) string {
	noted, err := n.noted(uuid)
	if err != nil {
		return err.Error()
	}
	holds := texts(placesOf(instances, anyInstance))
	slices.Sort(holds)
	if !slices.Equal(noted, holds) {
		return fmt.Sprintf("the ledger notes %s of %s, which holds %s", strings.Join(noted, " "), uuid, strings.Join(holds, " "))
	}
	return ""
}
