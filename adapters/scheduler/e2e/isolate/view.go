package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// View is what a program sees in other places than others do.
type View struct {
	// Binds are folders and files that it sees in the place of others: where, and what. All are there.
	Binds []Bind `json:"binds"`
	// Keep are folders that stay visible where a bind would hide them.
	Keep []string `json:"keep"`
}

// Bind shows Source at Target.
type Bind struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// ViewCommand is the subcommand of this program that Command uses.
const ViewCommand = "with-view"

// Command is the command line by which this program becomes another that has a view.
func (view View) Command(program string, arguments ...string) (string, []string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	text, err := json.Marshal(view)
	if err != nil {
		return "", nil, err
	}
	return self, append([]string{ViewCommand, string(text), program}, arguments...), nil
}

// Enter is what the subcommand does: VIEW PROGRAM ARGUMENTS…. It becomes PROGRAM.
func Enter(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s: %d arguments, expected VIEW PROGRAM", ViewCommand, len(arguments))
	}
	var view View
	if err := json.Unmarshal([]byte(arguments[0]), &view); err != nil {
		return fmt.Errorf("%s: %w", ViewCommand, err)
	}
	runtime.LockOSThread()
	if err := view.enter(); err != nil {
		return err
	}
	return syscall.Exec(arguments[1], arguments[1:], os.Environ())
}

func (view View) enter() error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of one's own: %w", err)
	}
	// What is to stay visible, and what is shown, may be hidden by a bind before it is looked for, so all are opened first.
	opened := map[string]*os.File{}
	for _, path := range view.paths() {
		file, err := os.OpenFile(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		opened[path] = file
	}
	for _, bind := range view.Binds {
		if err := show(opened[bind.Source], bind.Target); err != nil {
			return err
		}
		for _, folder := range view.Keep {
			if !strings.HasPrefix(folder+"/", bind.Target+"/") {
				continue
			}
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			if err := show(opened[folder], folder); err != nil {
				return err
			}
		}
	}
	var failures []error
	for _, file := range opened {
		failures = append(failures, file.Close())
	}
	return errors.Join(failures...)
}

func (view View) paths() []string {
	paths := append([]string{}, view.Keep...)
	for _, bind := range view.Binds {
		paths = append(paths, bind.Source)
	}
	return paths
}

// show binds what was opened.
func show(file *os.File, target string) error {
	source := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if err := syscall.Mount(source, filepath.Clean(target), "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("showing %s at %s: %w", file.Name(), target, err)
	}
	return nil
}
