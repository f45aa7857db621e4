package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Machine is a state file. Beside it stand <path>.lock, which whoever writes holds, and <path>.calls, the log of changing calls.
// Any number of goroutines and processes may edit it.
type Machine struct{ path string }

// New writes a state file and empties its log.
func New(path string, state State) (*Machine, error) {
	result := Open(path)
	if err := result.Edit(func(current *State) error { *current = state; return nil }); err != nil {
		return nil, err
	}
	return result, result.ClearCalls()
}

// Open is the machine of a state file that is there already.
func Open(path string) *Machine { return &Machine{path: path} }

// Path is the file's: the value of Variable for a program that is to see this machine.
func (m *Machine) Path() string { return m.path }

// Read is the state as it is now.
func (m *Machine) Read() (State, error) {
	var result State
	text, err := os.ReadFile(m.path)
	if err != nil {
		return result, fmt.Errorf("state of the fake NVML: %w", err)
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return result, fmt.Errorf("state of the fake NVML %s: %w", m.path, err)
	}
	return result, nil
}

// Edit changes the state; nobody else writes meanwhile. With an error from the function the state stays as it was. The function
// must not call into this machine, nor into NVML.
func (m *Machine) Edit(change func(*State) error) (failure error) {
	lock, err := os.OpenFile(m.path+".lock", os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return fmt.Errorf("lock of the fake NVML: %w", err)
	}
	defer func() { failure = errors.Join(failure, lock.Close()) }() // which gives the lock back
	if err := lockFile(lock); err != nil {
		return fmt.Errorf("lock of the fake NVML: %w", err)
	}
	state, err := m.Read()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := change(&state); err != nil {
		return err
	}
	return m.write(state)
}

func lockFile(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// write replaces the file at once: readers take no lock.
func (m *Machine) write(state State) error {
	if state.GPUs == nil {
		state.GPUs = []GPU{}
	}
	if state.Instances == nil {
		state.Instances = []Instance{}
	}
	text, err := json.MarshalIndent(state, "", " ")
	if err != nil {
		return fmt.Errorf("state of the fake NVML: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(m.path), filepath.Base(m.path)+".new")
	if err != nil {
		return fmt.Errorf("state of the fake NVML: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err == nil {
		err = os.Rename(file.Name(), m.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("state of the fake NVML: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// Calls are the changing calls so far, refused ones with the library's text, as the recorded cases spell them:
//
//	CreateGpuInstance gpu=0 profile=14 -> gi=3 placement=0:2
//	CreateComputeInstance gpu=0 gi=3 profile=1 -> ci=0
//	ComputeInstanceDestroy gpu=0 gi=5 ci=0 -> In use by another client
//	GpuInstanceDestroy gpu=0 gi=7
//	SetMigMode gpu=0 mode=1
func (m *Machine) Calls() ([]string, error) {
	text, err := os.ReadFile(m.callsPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("calls of the fake NVML: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1], nil
}

// ClearCalls empties the log.
func (m *Machine) ClearCalls() error {
	if err := os.Remove(m.callsPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("calls of the fake NVML: %w", err)
	}
	return nil
}

func (m *Machine) callsPath() string { return m.path + ".calls" }
