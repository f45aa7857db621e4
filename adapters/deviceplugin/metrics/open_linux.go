package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// openPlain opens a plain file for os.O_RDONLY or os.O_RDWR. It follows no link and waits for no pipe.
func openPlain(path string, mode int) (*os.File, error) {
	file, err := os.OpenFile(path, mode|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: expected a plain file, it is %s", filepath.Base(path), info.Mode().Type())
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
