// Package mps looks whether the control daemon of MPS answers, without which no program can use a card that is shared by MPS.
package mps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"vgpualloc.example/adapters/deviceplugin/programs"
)

// DefaultRoot is where NVIDIA's own deployments keep the daemons' folders.
const DefaultRoot = "/run/nvidia/mps"

// PipeFolder is the folder on the host in which the daemon of a resource has its pipes; root is --mps-root.
func PipeFolder(root, resource string) string { return path.Join(rootOr(root), resource, "pipe") }

// SharedMemory is the folder on the host that daemons and their clients share memory by.
func SharedMemory(root string) string { return path.Join(rootOr(root), "shm") }

func rootOr(root string) string {
	if root == "" {
		return DefaultRoot
	}
	return root
}

// Program is NVIDIA's tool that talks to the daemon.
const Program = "nvidia-cuda-mps-control"

// question is one that every daemon answers and that changes nothing; NVIDIA's own plugin sends it, too.
const question = "get_default_active_thread_percentage\n"

// Ask has NVIDIA's tool talk to the daemon whose pipes are in a folder.
func Ask(ctx context.Context, folder string) error {
	if info, err := os.Stat(folder); err != nil {
		return fmt.Errorf("the folder of its pipes: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s: expected a folder with its pipes", folder)
	}
	output, err := programs.OfMachine{Limit: askPatience, Env: []string{"CUDA_MPS_PIPE_DIRECTORY=" + folder}}.Run(ctx, []string{Program}, question)
	if err != nil {
		return fmt.Errorf("%s: %w: %q", Program, err, strings.TrimSpace(output))
	}
	return nil
}

// Limits of the time that looking takes.
const (
	askPatience     = 5 * time.Second
	intervalDefault = 10 * time.Second
)

// Options are what a Watcher is made with. Folders is needed.
type Options struct {
	Folders  map[string]string                              // of pipes as this process sees them, by resource; each has a daemon of its own
	Ask      func(ctx context.Context, folder string) error // nil: Ask
	Interval time.Duration                                  // between looks; 0: 10 s
	// Changed is called after a look that has found a daemon that did not answer before, or one that does no longer; Report says for
	// each of these what it is, and once of one that does not answer at the first look. A nil error: it answers again. Nil: nobody looks.
	Changed func()
	Report  func(resource string, err error)
}

// Watcher knows which daemons answer.
type Watcher struct {
	options Options

	mutex  sync.Mutex
	silent map[string]error // by resource
}

// New has not looked yet: all daemons count as answering.
func New(options Options) *Watcher {
	if options.Ask == nil {
		options.Ask = Ask
	}
	if options.Interval <= 0 {
		options.Interval = intervalDefault
	}
	if options.Changed == nil {
		options.Changed = func() {}
	}
	if options.Report == nil {
		options.Report = func(string, error) {}
	}
	return &Watcher{options: options, silent: map[string]error{}}
}

// Look asks every daemon once.
func (w *Watcher) Look(ctx context.Context) {
	now := map[string]error{}
	for resource, folder := range w.options.Folders {
		if err := w.options.Ask(ctx, folder); err != nil {
			now[resource] = err
		}
	}
	if ctx.Err() != nil {
		return // who ends is not answered
	}
	w.mutex.Lock()
	before := w.silent
	w.silent = now
	w.mutex.Unlock()
	isChanged := false
	for _, resource := range slices.Sorted(maps.Keys(w.options.Folders)) {
		if (before[resource] == nil) != (now[resource] == nil) {
			isChanged = true
			w.options.Report(resource, now[resource])
		}
	}
	if isChanged {
		w.options.Changed()
	}
}

// Run looks again and again until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	ticker := time.NewTicker(w.options.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.Look(ctx)
		}
	}
}

// Silent is why cards cannot be shared by MPS now; nil: all daemons answer. A nil Watcher has none.
func (w *Watcher) Silent() error {
	if w == nil {
		return nil
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var result error
	for _, resource := range slices.Sorted(maps.Keys(w.silent)) {
		result = errors.Join(result, fmt.Errorf("the control daemon of MPS for %s does not answer: %w", resource, w.silent[resource]))
	}
	return result
}

// Answers says of each resource whether its daemon answers. A nil Watcher has none.
func (w *Watcher) Answers() map[string]bool {
	if w == nil {
		return nil
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	result := map[string]bool{}
	for resource := range w.options.Folders {
		result[resource] = w.silent[resource] == nil
	}
	return result
}
