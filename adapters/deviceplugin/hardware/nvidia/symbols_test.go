package nvidia

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
)

// The program that loads the fake library has the core in itself too: no name of it may be seen from outside.
func TestTheFakeLibraryShowsNVMLsNamesAlone(t *testing.T) {
	file, err := elf.Open(fake.NeedLibrary(t))
	must(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	must(t, err)
	var names []string
	for _, symbol := range symbols {
		if symbol.Section == elf.SHN_UNDEF {
			continue
		}
		names = append(names, symbol.Name)
		if !strings.HasPrefix(symbol.Name, "nvml") {
			t.Errorf("it shows %s", symbol.Name)
		}
	}
	for _, name := range needed {
		if !slices.Contains(names, name) {
			t.Errorf("it lacks %s", name)
		}
	}
}

// What is no driver's library is one clear error: the process neither waits for it nor ends at the first call.
func TestWhatIsNoLibrary(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	for path, words := range map[string]string{
		"libm.so.6":     "libm.so.6 has no function nvmlInit_v2: expected libnvidia-ml.so.1",
		pipe:            "NVML_LIBRARY " + pipe + " (prw-------): expected a plain file",
		"/":             "expected a plain file",
		"/nowhere/x.so": "NVML_LIBRARY: stat /nowhere/x.so: no such file",
		"/etc/hostname": "/etc/hostname",
	} {
		library, err := New(Options{Path: path})
		if err == nil || !strings.HasPrefix(err.Error(), "failed to initialize NVML: ") || !strings.Contains(err.Error(), words) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v; expected %q", path, library, err, words)
		}
	}
}
