package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// Each line of arguments ends the program before it reaches anything.
func TestArguments(t *testing.T) {
	env := func(name string) (string, bool) {
		return map[string]string{"KUBECONFIG": "/nowhere"}[name], name == "KUBECONFIG"
	}
	t.Setenv("KUBECONFIG", "/nowhere/config")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for line, want := range map[string]struct {
		code  int
		words string
	}{
		"--help":                        {0, "usage: vgpualloc-device-plugin [flags]"},
		"--version":                     {0, "vgpualloc "},
		"--no-such-flag":                {2, "unknown flag: --no-such-flag"},
		"--device-id-strategy=bogus":    {2, "expected uuid or index"},
		"--vendor=amd":                  {2, "expected nvidia or ascend"},
		"--kubeconfig=/nowhere/config":  {2, `--kubeconfig "/nowhere/config"`},
		"--vendor ascend":               {2, "--kubeconfig"},
		"--vendor=ascend --config_file": {2, "flag needs an argument"},
		"--vendor=ascend --help":        {0, "--config_file"},
		"--vendor=ascend --bogus":       {2, "unknown flag: --bogus"},
	} {
		out, complaints := bytes.Buffer{}, bytes.Buffer{}
		code := run(context.Background(), strings.Fields(line), env, nil, &out, &complaints)
		if text := out.String() + complaints.String(); code != want.code || !strings.Contains(text, want.words) {
			t.Errorf("%s: %d %s, expected %d %s", line, code, text, want.code, want.words)
		}
	}
}
