package isolate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Init()
	if len(os.Args) > 1 && os.Args[1] == ViewCommand {
		fmt.Fprintln(os.Stderr, Enter(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// inside runs one test of this program inside, where it does what it says.
func inside(t *testing.T, environment ...string) {
	t.Helper()
	for _, each := range environment {
		name, value, _ := strings.Cut(each, "=")
		t.Setenv(name, value)
	}
	err := Run(context.Background(), "-test.run=^"+t.Name()+"$", "-test.v")
	if Impossible(err) && os.Getenv("CI") != "true" {
		t.Skip("THIS DID NOT RUN:", err)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestInsideThereIsOnlyLoopbackAndNoOtherProcess(t *testing.T) {
	if !Inside() {
		inside(t)
		return
	}
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) != 1 || interfaces[0].Name != "lo" || interfaces[0].Flags&net.FlagUp == 0 {
		t.Errorf("interfaces %v, error %v, expected lo alone, up", interfaces, err)
	}
	if err := AddAddress(1, [4]byte{192, 0, 2, 7}); err != nil {
		t.Error(err)
	}
	if listener, err := net.Listen("tcp", "192.0.2.7:0"); err != nil {
		t.Error(err)
	} else {
		_ = listener.Close() // nobody has connected
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(processes) != 2 {
		t.Errorf("processes %v, error %v, expected the first one and this", processes, err)
	}
	if groups, err := os.ReadFile("/proc/self/cgroup"); err != nil || strings.Contains(string(groups), groupPrefix) {
		t.Errorf("control groups are %q, error %v, expected them to begin here", groups, err)
	}
}

func TestNothingStays(t *testing.T) {
	if !Inside() {
		folder := t.TempDir()
		inside(t, "VGPUALLOC_TEST_FOLDER="+folder)
		if hierarchies, err := readHierarchies(); err == nil {
			for _, each := range hierarchies {
				left, err := filepath.Glob(filepath.Join(each.own, groupPrefix+fmt.Sprint(os.Getpid())))
				if err != nil || len(left) > 0 {
					t.Errorf("control groups stay: %v, error %v", left, err)
				}
			}
		}
		if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(text), folder) {
			t.Errorf("mounts stay, or error %v", err)
		}
		return
	}
	if err := os.Mkdir("/sys/fs/cgroup/memory/group-of-a-container", 0o755); err != nil {
		t.Error(err)
	}
	if err := exec.Command("sleep", "1000").Start(); err != nil { // ends with its namespace
		t.Error(err)
	}
	if err := exec.Command("mount", "-t", "tmpfs", "none", os.Getenv("VGPUALLOC_TEST_FOLDER")).Run(); err != nil {
		t.Error(err)
	}
}

func TestTheStatusIsThatOfTheProgram(t *testing.T) {
	if Inside() {
		os.Exit(42)
	}
	err := Run(context.Background(), "-test.run=^"+t.Name()+"$")
	if Impossible(err) && os.Getenv("CI") != "true" {
		t.Skip("THIS DID NOT RUN:", err)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 42 {
		t.Errorf("error %v, expected status 42", err)
	}
}

func TestAViewShowsFoldersElsewhereAndKeepsWhatItHides(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("user id", os.Geteuid(), "instead of 0")
	}
	folder := t.TempDir() // below the folder that is hidden
	for _, name := range []string{"shown", "kept"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, hidden := filepath.Join(folder, "kept"), filepath.Dir(filepath.Dir(folder))
	view := View{Binds: []Bind{{Source: filepath.Join(folder, "shown"), Target: hidden}}, Keep: []string{kept}}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	path, arguments, err := view.Command(shell, "-c", `ls "$0" "$1"`, hidden, kept)
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(path, arguments...).CombinedOutput()
	if err != nil || !strings.Contains(string(output), "shown\n") || !strings.Contains(string(output), "kept\n") {
		t.Errorf("%s, error %v; expected files shown and kept", output, err)
	}
}
