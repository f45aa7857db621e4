package metrics

import (
	"os"
	"syscall"
)

// openPlain opens a file that is no link; it does not wait if the file has become a pipe meanwhile.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
