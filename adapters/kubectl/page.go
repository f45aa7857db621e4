package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// checkPage refuses a page in the place of what is no file, or of a file that a flag reads. Nothing is written.
func checkPage(chosen *values) error {
	if chosen.output != "html" {
		return nil
	}
	if chosen.isWatched {
		return fmt.Errorf("--output html=%q: expected either a page or --watch", chosen.page)
	}
	if chosen.page == "-" || os.IsPathSeparator(chosen.page[len(chosen.page)-1]) {
		return fmt.Errorf("--output html=%q: expected a file, which is written as a whole or not at all", chosen.page)
	}
	there, err := os.Stat(chosen.page)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--output html=%q: %w", chosen.page, err)
	}
	if !there.Mode().IsRegular() {
		return fmt.Errorf("--output html=%q: expected a file, or a name that nothing has", chosen.page)
	}
	inputs := []string{chosen.access.Kubeconfig}
	inputs = append(inputs, filepath.SplitList(os.Getenv("KUBECONFIG"))...)
	for _, set := range chosen.options {
		if set.isFile {
			inputs = append(inputs, set.value)
		}
	}
	for _, input := range inputs {
		if read, err := os.Stat(input); err == nil && os.SameFile(read, there) {
			return fmt.Errorf("--output html=%q: expected another file than the input %q", chosen.page, input)
		}
	}
	return nil
}

// writePage writes the whole page or nothing: under another name beside its own, which it gets at the end. Of a link the file that it
// leads to is replaced.
func writePage(path string, page []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(fmt.Sprintf("%s.%d.part", path, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	var chmodErr error
	if there, err := os.Stat(path); err == nil {
		chmodErr = file.Chmod(there.Mode().Perm())
	}
	_, err = file.Write(page)
	err = errors.Join(err, chmodErr, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// shown is a name as a terminal may have it.
func shown(name string) string {
	quoted := strconv.Quote(name)
	if quoted == `"`+name+`"` {
		return name
	}
	return quoted
}
