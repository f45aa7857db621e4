package plugin

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// logged is what klog writes during a call.
func logged(t *testing.T, call func()) string {
	t.Helper()
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	var text bytes.Buffer
	if err := flags.Set("logtostderr", "false"); err != nil {
		t.Fatal(err)
	}
	klog.SetOutput(&text)
	call()
	klog.Flush()
	klog.SetOutput(os.Stderr)
	if err := flags.Set("logtostderr", "true"); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestWhatBecomesOfChangedArgumentsIsLogged(t *testing.T) {
	engine := NewEngine()
	configure := func(arguments framework.Arguments) string {
		return logged(t, func() { _ = engine.configure(arguments, nil, nil) })
	}
	if words := configure(framework.Arguments{policyArgument: "nosuch"}); !strings.Contains(words, "argument vgpualloc.policy of plugin vgpualloc: got 'nosuch'") ||
		!strings.Contains(words, "no pod that asks for devices is placed until they are good") {
		t.Error(words)
	}
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	if words := configure(framework.Arguments{logArgument: first}); words != "" {
		t.Error(words)
	}
	if words := configure(framework.Arguments{logArgument: second}); !strings.Contains(words, "Another decision log holds from the next start") {
		t.Error(words)
	}
	if _, err := os.Stat(second); !os.IsNotExist(err) {
		t.Error(err)
	}
	if words := configure(framework.Arguments{policyArgument: nil}); !strings.Contains(words, "has no value") || !strings.Contains(words, "the last that were good stay") {
		t.Error(words)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}

// A configuration is looked at while another scheduler, or this one, begins or rotates its log.
func TestALogThatIsBegunMeanwhileIsNotRemoved(t *testing.T) {
	const rounds = 2000
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	ended := make(chan struct{})
	checked := make(chan error)
	go func() {
		for {
			select {
			case <-ended:
				checked <- nil
				return
			default:
			}
			if err := checkLog(path); err != nil {
				checked <- err
				return
			}
		}
	}()
	for range rounds {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640) // as decisionlog.Open
		if err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
		_, err = os.Stat(path)
		if err != nil {
			t.Error("the log that was begun is gone", err)
			break
		}
		if err := errors.Join(file.Close(), os.Rename(path, path+".1")); err != nil {
			t.Fatal(err)
		}
	}
	close(ended)
	if err := <-checked; err != nil {
		t.Error(err)
	}
}

func TestCheckingALogLeavesNothingBehind(t *testing.T) {
	folder := t.TempDir()
	left := func() (names []string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	path, link := filepath.Join(folder, "new"), filepath.Join(folder, "link")
	if err := checkLog(path); err != nil || len(left()) != 0 {
		t.Error(err, left())
	}
	if err := os.WriteFile(path, []byte("kept\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := checkLog(path); err != nil || !slices.Equal(left(), []string{"new"}) {
		t.Error(err, left())
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "kept\n" {
		t.Error(string(text), err)
	}
	for target, isGood := range map[string]bool{"later": true, "nosuch/later": false, path: true, filepath.Join(folder, "later"): true} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := checkLog(link); (err == nil) != isGood {
			t.Error(target, err)
		}
		if err := os.Remove(link); err != nil || !slices.Equal(left(), []string{"new"}) {
			t.Error(target, err, left())
		}
	}
	missing := filepath.Join(folder, "no", "such")
	if err := checkLog(missing); err == nil || !strings.Contains(err.Error(), "open "+missing+": no such file or directory, expected") {
		t.Error(err)
	}
	if err := checkLog(folder); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
}
