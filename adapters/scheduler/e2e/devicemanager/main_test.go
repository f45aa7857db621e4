//go:build tier2

package devicemanager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/scheduler/e2e/isolate"
)

const lockFolder = "/tmp/vgpulock"

// skipped is the status of tests that cannot run here; ctest knows it.
const skipped = 77

// viewed is set where /var/lib is a folder of this test's own.
const viewed = "VGPUALLOC_DEVICE_MANAGER_FOLDER"

func TestMain(m *testing.M) {
	isolate.Init()
	if len(os.Args) > 1 && os.Args[1] == isolate.ViewCommand {
		end(isolate.Enter(os.Args[2:]))
	}
	switch {
	case !isolate.Inside():
		end(outside())
	case os.Getenv(viewed) == "":
		end(view())
	default:
		os.Exit(m.Run())
	}
}

func end(err error) {
	if err == nil {
		os.Exit(0)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && !isolate.Impossible(err) {
		os.Exit(exit.ExitCode())
	}
	fmt.Fprintln(os.Stderr, "the tests with the kubelet's device manager DID NOT RUN:", strings.ReplaceAll(err.Error(), "\n", ": "))
	if (isolate.Impossible(err) || errors.Is(err, fake.ErrNoLibrary)) && os.Getenv("CI") != "true" {
		os.Exit(skipped)
	}
	os.Exit(1)
}

// outside has these tests run inside. What is built is built here, where caches and the network are.
func outside() error {
	if _, err := fake.LibraryPath(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "vgpualloc-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	plugin, err := buildPlugin(folder)
	if err != nil {
		return err
	}
	// HAMi-core's folder of locks is the machine's. The plugin makes it, if nobody has.
	if _, err := os.Stat(lockFolder); errors.Is(err, os.ErrNotExist) {
		defer os.Remove(lockFolder)
	}
	for name, value := range map[string]string{pluginVariable: plugin, folderVariable: folder} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return isolate.Run(context.Background(), os.Args[1:]...)
}

// view becomes this program with another /var/lib.
func view() error {
	folder, err := os.MkdirTemp(os.Getenv(folderVariable), "lib")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder+"/kubelet/device-plugins", 0o755); err != nil {
		return err
	}
	path, arguments, err := isolate.View{Binds: []isolate.Bind{{Source: folder, Target: "/var/lib"}}}.Command(os.Args[0], os.Args[1:]...)
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{path}, arguments...), append(os.Environ(), viewed+"="+folder))
}
