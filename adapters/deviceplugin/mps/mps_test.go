package mps_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vgpualloc.example/adapters/deviceplugin/mps"
)

// TestAskTalksToTheDaemonOfAFolder: over a control program that knows its daemon by a file in the folder of the pipes.
func TestAskTalksToTheDaemonOfAFolder(t *testing.T) {
	programs, folder := t.TempDir(), t.TempDir()
	const program = `#!/bin/sh
read -r question
test "$question" = get_default_active_thread_percentage || exit 2
test -e "$CUDA_MPS_PIPE_DIRECTORY/control" || { echo "Cannot find MPS control daemon process"; exit 1; }
echo 100.0
`
	if err := os.WriteFile(filepath.Join(programs, mps.Program), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	ctx := context.Background()
	if err := mps.Ask(ctx, folder); err == nil || !strings.Contains(err.Error(), "Cannot find MPS control daemon") {
		t.Errorf("no daemon: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "control"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mps.Ask(ctx, folder); err != nil {
		t.Error(err)
	}
	if err := mps.Ask(ctx, filepath.Join(folder, "control")); err == nil || !strings.Contains(err.Error(), "expected a folder") {
		t.Errorf("a file in the place of the folder: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := mps.Ask(ctx, folder); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("no program: %v", err)
	}
}

func TestFolders(t *testing.T) {
	if folder := mps.PipeFolder("", "volcano.sh/vgpu-number"); folder != "/run/nvidia/mps/volcano.sh/vgpu-number/pipe" {
		t.Error(folder)
	}
	if folder := mps.SharedMemory("/m/"); folder != "/m/shm" {
		t.Error(folder)
	}
}

// TestChangesAreReportedOnce: each daemon that begins or ceases to answer, and one that does not at the first look.
func TestChangesAreReportedOnce(t *testing.T) {
	var isUp atomic.Bool
	changes := 0
	var reports []string
	watcher := mps.New(mps.Options{Folders: map[string]string{"a/b": "/one", "c/d": "/other"}, Interval: time.Millisecond,
		Ask: func(_ context.Context, folder string) error {
			if folder == "/other" || isUp.Load() {
				return nil
			}
			return errors.New("away")
		},
		Changed: func() { changes++ },
		Report:  func(resource string, err error) { reports = append(reports, resource+" "+errorText(err)) }})
	look := func(up bool) {
		isUp.Store(up)
		watcher.Look(context.Background())
	}
	look(false)
	look(false)
	if err := watcher.Silent(); err == nil || !strings.Contains(err.Error(), "a/b does not answer: away") {
		t.Errorf("%v", err)
	}
	if answers := watcher.Answers(); answers["a/b"] || !answers["c/d"] {
		t.Errorf("%v", answers)
	}
	look(true)
	look(true)
	if err := watcher.Silent(); err != nil {
		t.Error(err)
	}
	look(false)
	if text := strings.Join(reports, ", "); text != "a/b away, a/b , a/b away" || changes != 3 {
		t.Errorf("%d changes, reported %q", changes, text)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watcher.Run(ctx)
	}()
	isUp.Store(true)
	for end := time.Now().Add(5 * time.Second); watcher.Silent() != nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	if watcher.Silent() != nil {
		t.Error("Run did not look")
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
