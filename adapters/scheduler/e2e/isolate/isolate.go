// Package isolate runs this program again where a kubelet may do what it does to a machine: with mounts, processes, network, control
// groups, IPC and host name of its own. Whatever was mounted, started or listened on there has gone when it has ended. It takes root and
// control groups of version 1.
package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrImpossible: this machine does not let this program have namespaces or control groups of its own.
var ErrImpossible = errors.New("no namespaces of one's own here")

// stageVariable says which of the programs this is; the value of the first is empty.
const stageVariable = "VGPUALLOC_ISOLATED"

// What stageVariable says: the first process inside, which prepares and then reaps what others leave, and the one that works.
const (
	stageInit   = "init "
	stageInside = "inside"
)

// Init is called first of all in main. In the first process inside it does not return.
func Init() {
	stage := os.Getenv(stageVariable)
	groups, ok := strings.CutPrefix(stage, stageInit)
	if !ok {
		return
	}
	status, err := first(groups)
	if err != nil {
		fmt.Fprintln(os.Stderr, "isolate:", err)
	}
	os.Exit(status)
}

// Inside says whether this process is one that Run started.
func Inside() bool { return os.Getenv(stageVariable) == stageInside }

// Run runs this program with these arguments inside, where Inside is true, and waits until it has ended. The context's end asks it to
// end. The error is ErrImpossible, or an *exec.ExitError with the status of the program.
func Run(ctx context.Context, arguments ...string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: user id %d, expected 0", ErrImpossible, os.Geteuid())
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	hierarchies, err := readHierarchies()
	if err != nil {
		return err
	}
	name := groupPrefix + strconv.Itoa(os.Getpid())
	defer removeGroups(hierarchies, name)
	if err := makeGroups(hierarchies, name); err != nil {
		return fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	command := exec.CommandContext(ctx, self, arguments...)
	command.Env = append(os.Environ(), stageVariable+"="+stageInit+name)
	command.Stdin, command.Stdout, command.Stderr = nil, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	// The kernel ends the child with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := command.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	return command.Wait()
}

// first is the process with the number 1.
func first(name string) (status int, err error) {
	// Namespaces are a thread's, and Go moves what is not locked from thread to thread.
	runtime.LockOSThread()
	if err := prepare(name); err != nil {
		return exitImpossible, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := os.Setenv(stageVariable, stageInside); err != nil {
		return 1, err
	}
	child, err := os.StartProcess(self, os.Args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 1, err
	}
	go func() {
		for signal := range signals {
			_ = child.Signal(signal) // it may have ended meanwhile
		}
	}()
	for {
		var waited syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &waited, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1, fmt.Errorf("waiting for processes: %w", err)
		case pid != child.Pid:
		case waited.Signaled():
			return 128 + int(waited.Signal()), nil
		default:
			return waited.ExitStatus(), nil
		}
	}
}

// exitImpossible is the status of the first process where the machine refuses what it needs.
const exitImpossible = 77

// Impossible says whether Run ended because of the machine, and not because of what was run.
func Impossible(err error) bool {
	var exit *exec.ExitError
	return errors.Is(err, ErrImpossible) || errors.As(err, &exit) && exit.ExitCode() == exitImpossible
}

func prepare(name string) error {
	hierarchies, err := readHierarchies()
	if err != nil {
		return err
	}
	if err := joinGroups(hierarchies, name); err != nil {
		return err
	}
	if err := syscall.Unshare(syscall.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("a view of control groups: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of one's own: %w", err)
	}
	if err := mountGroups(hierarchies); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return startLoopback()
}
