package fake

import (
	"errors"
	"os"
	"path/filepath"
	"sort"
)

// LibraryVariable is the environment variable with the path of the built fake libnvidia-ml.so.1.
const LibraryVariable = "VGPUALLOC_FAKE_NVML_LIBRARY"

// ErrNoLibrary: the fake library has not been built.
var ErrNoLibrary = errors.New("no fake libnvidia-ml.so.1: build target fake_nvml, or set " + LibraryVariable)

// LibraryPath is that of the fake library: what LibraryVariable says, or the newest below build/*/lib/fake_nvml of a folder above
// the working directory.
func LibraryPath() (string, error) {
	if path := os.Getenv(LibraryVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", errors.Join(ErrNoLibrary, err)
		}
		return path, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", errors.Join(ErrNoLibrary, err)
	}
	for {
		paths, err := filepath.Glob(filepath.Join(folder, "build", "*", "lib", "fake_nvml", "libnvidia-ml.so.1"))
		if err != nil {
			return "", errors.Join(ErrNoLibrary, err)
		}
		if len(paths) > 0 {
			sort.Slice(paths, func(left, right int) bool { return modified(paths[left]) > modified(paths[right]) })
			return paths[0], nil
		}
		if filepath.Dir(folder) == folder {
			return "", ErrNoLibrary
		}
		folder = filepath.Dir(folder)
	}
}

func modified(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// NeedLibrary is LibraryPath for a test, which is skipped where there is no library, and fails instead with CI=true.
func NeedLibrary(test interface {
	Helper()
	Skip(...any)
	Fatal(...any)
}) string {
	test.Helper()
	path, err := LibraryPath()
	if err != nil && os.Getenv("CI") == "true" {
		test.Fatal(err)
	}
	if err != nil {
		test.Skip(err)
	}
	return path
}
