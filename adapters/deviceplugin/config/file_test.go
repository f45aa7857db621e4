package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/config"
)

func TestOnlyPlainFilesOfSomeSizeAreRead(t *testing.T) {
	folder := t.TempDir()
	pipe, large, plain := filepath.Join(folder, "pipe"), filepath.Join(folder, "large"), filepath.Join(folder, "plain")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(large, nil, 0o600), os.Truncate(large, 5<<20),
		os.WriteFile(plain, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, words := range map[string]string{pipe: "no plain file", folder: "no plain file", "/dev/zero": "no plain file",
		large: "expected at most", folder + "/none": "no such file"} {
		if _, err := config.ReadFile(path); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, expected %q", path, err, words)
		}
	}
	if text, err := config.ReadFile(plain); err != nil || string(text) != "{}" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAnErrorOfTheConfigurationIsOneLine(t *testing.T) {
	_, err := config.Build(config.Flags{Node: "n"}, []byte("nvidia:\n  gpuMemoryFactor: 1\n  gpuMemoryFactor: 2\n"), nil)
	if err = config.Wrong(err); !errors.Is(err, config.ErrWrong) || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), `line 3: key "gpuMemoryFactor"`) {
		t.Errorf("%v", err)
	}
}

func TestFlagsThatCannotWork(t *testing.T) {
	for _, line := range []string{"--node-name=a/b", "--node-name=..", "--metrics-listen=x", "--metrics-listen=:99999", "--state-file=x",
		"--container-cache-root=x", "--kubelet-socket=x"} {
		_, err := config.ReadFlags([]string{line}, func(string) (string, bool) { return "", false })
		flag, value, _ := strings.Cut(line, "=")
		if err == nil || !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), `"`+value+`": expected`) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
