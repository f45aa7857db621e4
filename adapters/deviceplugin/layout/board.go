package layout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"vgpualloc.example/adapters/vga"
)

// board is a cluster of its own with one GPU of every model that was met, on which changes are planned before anything is touched.
type board struct {
	lock    sync.Mutex // plans are noted and made one at a time
	cluster *vga.Cluster
	models  map[string]*model
}

// model is a GPU model, by the name that the driver reports.
type model struct {
	name     string
	node     vga.Node
	profiles map[string]profile // by the name that a configuration or an annotation has
}

// profile is a kind of instances of a model.
type profile struct {
	ID     uint32 // NVML's
	Name   string // the catalog's
	Size   uint32 // in memory slices
	Starts []uint32
}

// place is where an instance of a GPU is.
type place struct {
	ProfileID uint32
	Start     uint32 // in memory slices
}

// text is the place as the core reads it: profiles may be named by their numbers.
func (p place) text() string {
	return strconv.FormatUint(uint64(p.ProfileID), 10) + "@" + strconv.FormatUint(uint64(p.Start), 10)
}

func texts(places []place) []string {
	result := make([]string, 0, len(places))
	for _, at := range places {
		result = append(result, at.text())
	}
	return result
}

const (
	boardGPU  = "GPU-board"
	startsMax = 64 // an instance begins below this slice
)

func newBoard(catalog string) (*board, error) {
	cluster, err := vga.New(vga.Options{Catalog: catalog})
	if err != nil {
		return nil, err
	}
	return &board{cluster: cluster, models: map[string]*model{}}, nil
}

func (b *board) close() { b.cluster.Close() }

// model finds a model; an error if the catalog has no MIG profiles of it.
func (b *board) model(name string) (*model, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if known := b.models[name]; known != nil {
		return known, nil
	}
	text := strings.NewReplacer(",", " ", ":", " ").Replace(name)
	nodeName := fmt.Sprintf("model-%d", len(b.models))
	object, err := json.Marshal(map[string]any{
		"kind": "Node",
		"metadata": map[string]any{"name": nodeName, "annotations": map[string]string{
			"volcano.sh/node-vgpu-register": boardGPU + ",64,1048576,NVIDIA-" + text + ",true,mig:"}},
		"status": map[string]any{"allocatable": map[string]string{"cpu": "1", "memory": "1Gi", "pods": "1",
			"volcano.sh/vgpu-number": "64", "volcano.sh/vgpu-memory": "1048576", "volcano.sh/vgpu-cores": "100"}},
	})
	if err != nil {
		return nil, err
	}
	if _, err := b.cluster.Upsert(object); err != nil {
		return nil, err
	}
	node, err := b.cluster.FindNode(nodeName)
	if err != nil {
		return nil, err
	}
	if err := b.cluster.NoteLayout(node, boardGPU, nil, nil); err != nil {
		_ = b.cluster.RemoveNode(nodeName)
		return nil, fmt.Errorf("the catalog has no MIG profiles of model %q: %w", name, err)
	}
	result := &model{name: name, node: node, profiles: map[string]profile{}}
	b.models[name] = result
	return result, nil
}

// profile finds a profile of a model by its name or number.
func (b *board) profile(of *model, name string) (profile, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if known, is := of.profiles[name]; is {
		return known, nil
	}
	if strings.ContainsAny(name, "=@,") {
		return profile{}, fmt.Errorf("profile %q: expected a name like 1g.5gb", name)
	}
	if err := b.cluster.NoteLayout(of.node, boardGPU, nil, nil); err != nil {
		return profile{}, err
	}
	steps, isPossible, err := b.cluster.PlanLayout(of.node, boardGPU, vga.LayoutRequest{Group: name + "=1"})
	if err != nil {
		return profile{}, fmt.Errorf("profile %q of model %s: %w", name, of.name, err)
	}
	if !isPossible || len(steps) != 1 {
		return profile{}, fmt.Errorf("profile %q of model %s: no place on an empty GPU", name, of.name)
	}
	result := profile{ID: steps[0].ProfileID, Name: steps[0].Profile, Size: steps[0].Size}
	for start := range uint32(startsMax) {
		if b.cluster.NoteLayout(of.node, boardGPU, []string{place{result.ID, start}.text()}, nil) == nil {
			result.Starts = append(result.Starts, start)
		}
	}
	of.profiles[name] = result
	return result, nil
}

// name is a place in words.
func (b *board) name(of *model, at place) string {
	known, err := b.profile(of, strconv.FormatUint(uint64(at.ProfileID), 10))
	if err != nil {
		return "profile " + at.text()
	}
	return known.Name + "@" + strconv.FormatUint(uint64(at.Start), 10)
}

func (b *board) names(of *model, places []place) []string {
	result := make([]string, 0, len(places))
	for _, at := range places {
		result = append(result, b.name(of, at))
	}
	return result
}

// check is an error where the catalog does not allow these instances together.
func (b *board) check(of *model, existing []place) error {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.cluster.NoteLayout(of.node, boardGPU, texts(existing), nil)
}

// plan is a way to a layout.
type plan struct {
	steps []vga.LayoutStep
	after []place // what the GPU holds then, by ascending start
}

// groupPlan is the cheapest way from instances of which none is in use to exactly those of a group; nil: there is none.
func (b *board) groupPlan(of *model, existing []place, counts []profileCount) (*plan, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	parts := make([]string, 0, len(counts))
	for _, kind := range counts {
		parts = append(parts, fmt.Sprintf("%d=%d", kind.ID, kind.Count))
	}
	sketch := b.sketch(of, existing, nil)
	return sketch.plan(sketch.take(vga.LayoutRequest{Group: strings.Join(parts, ",")}))
}

// placesPlan makes instances at these places beside those in use, which stay; nil: there is no way.
func (b *board) placesPlan(of *model, existing, used, wanted []place) (*plan, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	sketch := b.sketch(of, existing, used)
	for _, at := range wanted {
		if isPossible, err := sketch.take(vga.LayoutRequest{Want: at.text()}); !isPossible || err != nil {
			return nil, err
		}
		sketch.used = append(sketch.used, at)
	}
	return sketch.plan(true, nil)
}

// countsPlan makes exactly so many instances of each profile, of which those in use count and stay, larger profiles first; nil: there
// is no such way.
func (b *board) countsPlan(of *model, existing, used []place, counts []profileCount) (*plan, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	sketch := b.sketch(of, existing, used)
	larger := slices.Clone(counts)
	slices.SortStableFunc(larger, func(left, right profileCount) int { return int(right.Size) - int(left.Size) })
	for _, kind := range larger {
		missing := kind.Count
		for _, at := range used {
			if at.ProfileID == kind.ID {
				missing--
			}
		}
		for range missing {
			want := vga.LayoutRequest{Want: strconv.FormatUint(uint64(kind.ID), 10)}
			if isPossible, err := sketch.take(want); !isPossible || err != nil {
				return nil, err
			}
			sketch.used = append(sketch.used, sketch.idle(kind.ID))
		}
		if missing < 0 {
			return nil, nil
		}
	}
	for _, kind := range larger { // no more than that
		for _, at := range slices.Clone(sketch.existing) {
			if at.ProfileID == kind.ID && !slices.Contains(sketch.used, at) {
				sketch.follow(vga.LayoutStep{Kind: vga.DestroyInstance, Profile: kind.Name, ProfileID: kind.ID, Start: at.Start,
					Size: kind.Size})
			}
		}
	}
	return sketch.plan(true, nil)
}

// completions are the ways, at most `limit`, to have exactly so many instances of each profile with those that are present; each way
// is the places that are missing.
func (b *board) completions(of *model, present []place, counts []profileCount, limit int) [][]place {
	b.lock.Lock()
	defer b.lock.Unlock()
	var result [][]place
	var complete func(row int, from uint32, layout []place)
	complete = func(row int, from uint32, layout []place) {
		if row == len(counts) {
			result = append(result, slices.Clone(layout[len(present):]))
			return
		}
		kind := counts[row]
		count := 0
		for _, at := range layout {
			if at.ProfileID == kind.ID {
				count++
			}
		}
		if count >= kind.Count {
			if count == kind.Count {
				complete(row+1, 0, layout)
			}
			return
		}
		for _, start := range kind.Starts {
			at := place{kind.ID, start}
			if start < from || len(result) >= limit || slices.Contains(layout, at) {
				continue
			}
			more := append(slices.Clone(layout), at)
			if b.cluster.NoteLayout(of.node, boardGPU, texts(more), nil) == nil {
				complete(row, start+1, more)
			}
		}
	}
	complete(0, 0, present)
	return result
}

// sketch is a layout on the board on the way to another one. The board is locked.
type sketch struct {
	board          *board
	model          *model
	existing, used []place
	steps          []vga.LayoutStep
}

func (b *board) sketch(of *model, existing, used []place) *sketch {
	return &sketch{board: b, model: of, existing: slices.Clone(existing), used: slices.Clone(used)}
}

// take plans what is wanted and follows the plan; false: there is none.
func (s *sketch) take(wanted vga.LayoutRequest) (bool, error) {
	if err := s.board.cluster.NoteLayout(s.model.node, boardGPU, texts(s.existing), texts(s.used)); err != nil {
		return false, err
	}
	steps, isPossible, err := s.board.cluster.PlanLayout(s.model.node, boardGPU, wanted)
	if !isPossible || err != nil {
		return false, err
	}
	for _, step := range steps {
		s.follow(step)
	}
	return true, nil
}

func (s *sketch) follow(step vga.LayoutStep) {
	s.steps = append(s.steps, step)
	at := place{step.ProfileID, step.Start}
	if step.Kind == vga.CreateInstance {
		s.existing = append(s.existing, at)
		return
	}
	s.existing = slices.DeleteFunc(s.existing, func(other place) bool { return other == at })
}

// idle is the first instance of a profile that is not in use; there is one.
func (s *sketch) idle(profileID uint32) place {
	result := place{ProfileID: profileID, Start: startsMax}
	for _, at := range s.existing {
		if at.ProfileID == profileID && at.Start < result.Start && !slices.Contains(s.used, at) {
			result = at
		}
	}
	return result
}

// plan is what was sketched.
func (s *sketch) plan(isPossible bool, err error) (*plan, error) {
	if !isPossible || err != nil {
		return nil, err
	}
	slices.SortFunc(s.existing, func(left, right place) int { return int(left.Start) - int(right.Start) })
	return &plan{steps: s.steps, after: s.existing}, nil
}
