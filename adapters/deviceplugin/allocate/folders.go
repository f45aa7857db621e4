package allocate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// lockFolder is shared by all containers that use HAMi-core.
const lockFolder = "/tmp/vgpulock"

// folderOf is the folder of a container's counters, on the host.
func (a *Allocator) folderOf(claim *claim) string {
	return path.Join(a.hookPath(), "vgpu", "containers", string(claim.pod.UID)+"_"+claim.container.Name)
}

// open are the rights of a folder that all containers write into, under any user.
const open = 0o777

// makeFolder makes the folder of a container's counters, empty, and that of locks, where its answer mounts them. Usually the first is
// not there and the second is, so that is what is tried first.
func (a *Allocator) makeFolder(claim *claim) error {
	if !claim.mountsFolder {
		return nil
	}
	if err := makeEmpty(a.path(a.folderOf(claim))); err != nil {
		return err
	}
	locks := a.path(lockFolder)
	if info, err := os.Lstat(locks); err == nil && info.IsDir() && info.Mode().Perm() == open {
		return nil
	}
	err := os.MkdirAll(locks, open)
	if err == nil {
		err = openToAll(locks)
	}
	if err != nil {
		return fmt.Errorf("the folder of locks: %w", err)
	}
	return nil
}

// makeEmpty makes a folder in the place of what was there.
func makeEmpty(folder string) error {
	err := os.Mkdir(folder, open)
	switch {
	case errors.Is(err, fs.ErrExist):
		if err = os.RemoveAll(folder); err == nil {
			err = os.Mkdir(folder, open)
		}
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(path.Dir(folder), 0o755); err != nil {
			return fmt.Errorf("the folder of containers: %w", err)
		}
		err = os.Mkdir(folder, open)
	}
	if err == nil {
		err = openToAll(folder)
	}
	if err != nil {
		return fmt.Errorf("the folder of a container: %w", err)
	}
	return nil
}

// openToAll has all write to a folder, whatever this process's umask was when it was made. A link in its place is refused: who makes
// one would choose whose rights are changed.
func openToAll(folder string) error {
	opened, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("expected a folder that is no link: %w", err)
	}
	defer opened.Close()
	return opened.Chmod(open)
}
