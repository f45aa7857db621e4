package schedulerconf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// Copy is a copy of the file that only ever has good contents, for Volcano to read and to watch: it ends, or works on
// without our plugin, after edits that it should refuse.
type Copy struct {
	reader Reader
	folder string
	lock   *os.File // locked while the copy is in use
	text   []byte   // of the file, when it was read last

	mutex   sync.Mutex
	failure error // why the present file does not hold
}

// Where copies may be: the first folder of these that can be written to. A container that may write nothing else has memory there.
var folders = []string{os.TempDir(), "/dev/shm"}

// Read is the text of the file, if it is good.
func (r *Reader) Read() ([]byte, error) {
	text, err := os.ReadFile(r.Path)
	if err != nil {
		return nil, err
	}
	return text, r.Check(text)
}

// NewCopy makes a copy of the file, whose good text has been read.
func NewCopy(reader Reader, text []byte) (*Copy, error) {
	var err error
	c := &Copy{reader: reader, text: text}
	var failures []error
	for _, folder := range folders {
		removeLeftovers(folder)
		if c.folder, err = os.MkdirTemp(folder, prefix); err == nil {
			break
		}
		failures = append(failures, err)
	}
	if c.folder == "" {
		return nil, fmt.Errorf("a checked copy of %s: %w", reader.Path, errors.Join(failures...))
	}
	if err = c.takeLock(); err == nil {
		err = os.Mkdir(filepath.Dir(c.Path()), 0o700)
	}
	if err == nil {
		err = c.write(text)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// What the names of copies' folders begin with, and of the file in them that is locked as long as the copy is in use.
const prefix, lockName = "vgpualloc-scheduler-", "lock"

// takeLock has the lock in its place when it is locked already.
func (c *Copy) takeLock() error {
	fresh := filepath.Join(c.folder, "fresh")
	var err error
	if c.lock, err = os.OpenFile(fresh, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if err := syscall.Flock(int(c.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("locking %s: %w", fresh, err)
	}
	return os.Rename(fresh, filepath.Join(c.folder, lockName))
}

// removeLeftovers takes away the copies of schedulers that were killed.
func removeLeftovers(folder string) {
	locks, err := filepath.Glob(filepath.Join(folder, prefix+"*", lockName))
	if err != nil {
		return
	}
	for _, path := range locks {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // somebody else's
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path)) // what stays is in nobody's way
		}
		_ = lock.Close()
	}
}

// Path is that of the copy.
func (c *Copy) Path() string { return filepath.Join(c.folder, "checked", filepath.Base(c.reader.Path)) }

// write puts a text in the copy's place at once, as Volcano reads it whenever something in its folder is new.
func (c *Copy) write(text []byte) error {
	fresh := filepath.Join(c.folder, "fresh")
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, c.Path())
}

// lookPause is the time between looks at the file. Whether it is written, renamed or a link to another folder, as in a
// volume of a ConfigMap, makes no difference to looking.
const lookPause = time.Second

// Follow looks at the file until the context ends.
func (c *Copy) Follow(ctx context.Context) {
	ticker := time.NewTicker(lookPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.Look()
		}
	}
}

// Look takes over what is new in the file if it is good. What was good last holds until then. What was refused is looked
// at again each time: the reason may have been a folder that is full, and not the text.
func (c *Copy) Look() {
	text, err := os.ReadFile(c.reader.Path)
	if err == nil && c.text != nil && bytes.Equal(text, c.text) && c.Failure() == nil {
		return
	}
	c.text = text // nil where it cannot be read, so that it is new afterwards
	if err == nil {
		err = c.reader.Check(text)
	}
	if err == nil {
		err = c.write(text)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch before := c.failure; {
	case err == nil:
		klog.InfoS("The scheduler's configuration holds from now on", "file", c.reader.Path)
	case before == nil || before.Error() != err.Error():
		klog.ErrorS(err, "The scheduler's configuration is refused; the last that was good stays", "file", c.reader.Path)
	}
	c.failure = err
}

// Failure is why the present file does not hold; nil if it does.
func (c *Copy) Failure() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.failure
}

// Close removes the copy.
func (c *Copy) Close() error {
	err := os.RemoveAll(c.folder)
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
	}
	return err
}
