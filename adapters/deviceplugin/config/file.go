package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// ErrWrong is what every error of a configuration is: nothing but another configuration mends it.
var ErrWrong = errors.New("configuration")

// Wrong is an error about the configuration, in one line. errors.Is finds ErrWrong and what was wrong.
func Wrong(err error) error {
	if err == nil || errors.Is(err, ErrWrong) {
		return err
	}
	return wrong{err}
}

type wrong struct{ error }

// Error is one line: YAML's errors have one a mistake.
func (w wrong) Error() string {
	lines := strings.Split(strings.TrimSpace(w.error.Error()), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

func (w wrong) Unwrap() []error { return []error{w.error, ErrWrong} }

const fileMax = 4 << 20 // bytes; a ConfigMap has 1 MiB at most

// ReadFile reads a plain file of at most 4 MiB. It waits for no pipe and reads no device.
func ReadFile(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file (%s): expected one", path, info.Mode())
	}
	text, err := io.ReadAll(io.LimitReader(file, fileMax+1))
	if err == nil && len(text) > fileMax {
		return nil, fmt.Errorf("%s: expected at most %d bytes", path, fileMax)
	}
	return text, err
}
