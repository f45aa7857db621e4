package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The vendor is what --vendor says, and not what another flag does.
func TestVendor(t *testing.T) {
	for line, want := range map[string]string{
		"":                                    "",
		"--node-name=a --vendor=ascend":       "ascend",
		"--node-name a --vendor ascend":       "ascend",
		"--node_name --vendor=ascend":         "",
		"--kubeconfig --vendor ascend":        "",
		"--pass-device-specs --vendor ascend": "ascend",
		"-v 5 --vendor ascend":                "ascend",
		"-v --vendor=ascend":                  "",
		"--config_file --vendor ascend":       "",
		"--vendor nvidia --vendor ascend":     "ascend",
		"--vendor=ascend --vendor=nvidia":     "nvidia",
		"-- --vendor=ascend":                  "",
		"--vendor":                            "",
	} {
		if vendor := vendorOf(strings.Fields(line)); vendor != want {
			t.Errorf("%s: %q, expected %q", line, vendor, want)
		}
	}
}

// kubeconfig names an API server that nobody reaches.
const kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
	"clusters":[{"name":"k","cluster":{"server":"http://127.0.0.1:1"}}],"users":[{"name":"u","user":{}}]}`

// Each line of arguments ends the program before it reaches anything.
func TestArguments(t *testing.T) {
	env := func(name string) (string, bool) {
		return map[string]string{"KUBECONFIG": "/nowhere"}[name], name == "KUBECONFIG"
	}
	t.Setenv("KUBECONFIG", "/nowhere/config")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("NVML_LIBRARY", "libm.so.6") // which is no driver's
	settings := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(settings, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	reach := " --kubeconfig=" + settings
	for line, want := range map[string]struct {
		code  int
		words string
	}{
		reach: {2, "--node-name (NODE_NAME) is empty"},
		"--node-name=n --metrics-listen= --config-file=/nowhere.yaml" + reach: {2, "--config-file: open /nowhere.yaml"},
		"--node-name=n --metrics-listen=" + reach:                             {1, "failed to initialize NVML: libm.so.6 has no function nvmlInit_v2"},
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

// A wrong configuration of the plugin of Ascend chips is exit code 2 too.
func TestAscendArguments(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(settings, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", settings)
	t.Setenv("PATH", "") // no npu-smi
	env := func(string) (string, bool) { return "", false }
	for line, want := range map[string]struct {
		code  int
		words string
	}{
		"--vendor=ascend --node_name=n":                  {2, "config_file: empty"},
		"--vendor ascend --config_file=/c":               {2, "node_name: empty"},
		"--vendor ascend --node_name=n --config_file=/c": {1, "npu-smi"},
	} {
		out, complaints := bytes.Buffer{}, bytes.Buffer{}
		code := run(context.Background(), strings.Fields(line), env, nil, &out, &complaints)
		if text := out.String() + complaints.String(); code != want.code || !strings.Contains(text, want.words) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %d %s, expected %d %s", line, code, text, want.code, want.words)
		}
	}
}
