// Package control starts and ends the programs of a control plane: etcd, kube-apiserver and a scheduler, on loopback only.
package control

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program with a log file and a pid file. It can be started again after it has ended.
type Process struct {
	Name string
	Path string
	Args []string
	Env  []string // nil: that of this program
	Dir  string   // where NAME.log and NAME.pid go

	mutex   sync.Mutex
	command *exec.Cmd
	ended   chan struct{} // closed when the program that command started has ended
	// What earlier lives used.
	pastCPU     time.Duration
	pastPeakMiB float64
}

// The kernel ends a child with its parent (Pdeathsig) when the thread that started it ends, so one thread that lives as
// long as this program starts all of them.
var starter = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for start := range starter {
			start()
		}
	}()
}

// Start begins the program. Its output is appended to the log, so that what an earlier life wrote stays.
func (process *Process) Start() error {
	process.mutex.Lock()
	defer process.mutex.Unlock()
	if process.alive() {
		return fmt.Errorf("%s runs already, with pid %d", process.Name, process.command.Process.Pid)
	}
	log, err := os.OpenFile(process.LogPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", process.Name, err)
	}
	defer log.Close()
	command := exec.Command(process.Path, process.Args...)
	command.Env = process.Env
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	starter <- func() { started <- command.Start() }
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s (%s): %w", process.Name, process.Path, err)
	}
	ended := make(chan struct{})
	process.command, process.ended = command, ended
	go func() {
		// How it ended is in its log; a program that was killed has not failed.
		_ = command.Wait()
		process.mutex.Lock()
		process.pastCPU += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		if used, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
			process.pastPeakMiB = max(process.pastPeakMiB, float64(used.Maxrss)/1024)
		}
		process.mutex.Unlock()
		close(ended)
	}()
	pid := strconv.Itoa(command.Process.Pid) + "\n"
	return os.WriteFile(process.pidPath(), []byte(pid), 0o600)
}

// Stop asks the program to end, and kills it after the patience is over.
func (process *Process) Stop(patience time.Duration) {
	process.end(syscall.SIGTERM, patience)
}

// Kill ends the program as a power cut would, with SIGKILL, and waits until it is gone.
func (process *Process) Kill() {
	process.end(syscall.SIGKILL, time.Minute)
}

// Pid is 0 when the program does not run.
func (process *Process) Pid() int {
	process.mutex.Lock()
	defer process.mutex.Unlock()
	if !process.alive() {
		return 0
	}
	return process.command.Process.Pid
}

// exchange makes each of two processes, neither of which runs, start what the other one has started so far, with its name and log.
func (process *Process) exchange(other *Process) {
	process.mutex.Lock()
	defer process.mutex.Unlock()
	process.Name, other.Name = other.Name, process.Name
	process.Path, other.Path = other.Path, process.Path
	process.Args, other.Args = other.Args, process.Args
	process.Env, other.Env = other.Env, process.Env
}

// Past is what the lives that have ended used: CPU together, memory at most.
func (process *Process) Past() (cpuSeconds, peakMiB float64) {
	process.mutex.Lock()
	defer process.mutex.Unlock()
	return process.pastCPU.Seconds(), process.pastPeakMiB
}

// LogPath is where the program's output is.
func (process *Process) LogPath() string { return filepath.Join(process.Dir, process.Name+".log") }

func (process *Process) pidPath() string { return filepath.Join(process.Dir, process.Name+".pid") }

// alive is called with the mutex held.
func (process *Process) alive() bool {
	if process.command == nil {
		return false
	}
	select {
	case <-process.ended:
		return false
	default:
		return true
	}
}

func (process *Process) end(signal syscall.Signal, patience time.Duration) {
	process.mutex.Lock()
	if !process.alive() {
		process.mutex.Unlock()
		return
	}
	running, ended := process.command.Process, process.ended
	process.mutex.Unlock()
	// A signal can only fail because the program has ended by itself meanwhile, which is what is wanted.
	_ = running.Signal(signal)
	select {
	case <-ended:
	case <-time.After(patience):
		_ = running.Kill()
		<-ended
	}
	_ = os.Remove(process.pidPath())
}

// Crash is the line of its log that says why a program ended, and where in the code it was.
func (process *Process) Crash() string {
	text, err := os.ReadFile(process.LogPath())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if !strings.HasPrefix(lines[i], "panic: ") && !strings.HasPrefix(lines[i], "fatal error: ") && !strings.HasPrefix(lines[i], "F") {
			continue
		}
		// Of a stack the first function of Volcano or of this project is where to look.
		for _, frame := range lines[i:] {
			if strings.HasPrefix(frame, "volcano.sh/") || strings.HasPrefix(frame, "vgpualloc.example/") || strings.HasPrefix(frame, "main.") {
				function := frame[strings.LastIndexByte(frame, '/')+1:]
				if arguments := strings.LastIndexByte(function, '('); arguments > 0 {
					function = function[:arguments]
				}
				return lines[i] + " in " + function
			}
		}
		return lines[i]
	}
	return "without a word; its log ends with " + lines[max(0, len(lines)-2)]
}

// tail is the end of a log, for an error message.
func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// freePorts finds ports of 127.0.0.1 that nobody listens on. All are held until the last is found, so that they differ.
func freePorts(count int) ([]int, error) {
	var ports []int
	for len(ports) < count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port of 127.0.0.1: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
