package nvidia

import (
	"debug/elf"
	"slices"
	"strings"
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
