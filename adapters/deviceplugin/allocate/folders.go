package allocate

import (
	"fmt"
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

// makeFolder makes the folder of a container's counters, empty, and that of locks, where its answer mounts them. All containers
// write into them, under any user.
func (a *Allocator) makeFolder(claim *claim) error {
	if !claim.mountsFolder {
		return nil
	}
	folder := a.path(a.folderOf(claim))
	if err := os.MkdirAll(path.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("the folder of containers: %w", err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("the folder of the container: %w", err)
	}
	if err := makeOpen(folder); err != nil {
		return err
	}
	return makeOpen(a.path(lockFolder))
}

// makeOpen makes a folder that all may write to, whatever this process's umask is. A link in its place is refused: who makes one
// would choose whose rights are changed.
func makeOpen(folder string) error {
	const open = 0o777
	if err := os.MkdirAll(folder, open); err != nil {
		return fmt.Errorf("a folder for containers: %w", err)
	}
	opened, err := os.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("a folder for containers: expected a folder that is no link: %w", err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err == nil && info.Mode().Perm() != open {
		err = opened.Chmod(open)
	}
	if err != nil {
		return fmt.Errorf("a folder for containers: %w", err)
	}
	return nil
}
