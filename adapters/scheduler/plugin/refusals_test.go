package plugin

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
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
