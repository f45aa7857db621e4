package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Page is a page of the documentation, named from the root of the repository, which is a folder above the working directory.
func Page(path string) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; folder = filepath.Dir(folder) {
		text, err := os.ReadFile(filepath.Join(folder, path))
		if err == nil || !errors.Is(err, os.ErrNotExist) || filepath.Dir(folder) == folder {
			return string(text), err
		}
	}
}

// Section is what stands under a heading of a page, up to the next one of its level or above.
func Section(page, heading string) (string, error) {
	level := len(heading) - len(strings.TrimLeft(heading, "#"))
	_, rest, isThere := strings.Cut("\n"+page, "\n"+heading+"\n")
	if !isThere {
		return "", fmt.Errorf("there is no heading %q", heading)
	}
	lines := strings.Split(rest, "\n")
	for i, line := range lines {
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if marks > 0 && marks <= level {
			return strings.Join(lines[:i], "\n"), nil
		}
	}
	return rest, nil
}

var quoted = regexp.MustCompile("`([^`]+)`")

// Quoted are the names between backquotes of a text.
func Quoted(text string) []string {
	names := []string{}
	for _, match := range quoted.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// Keys are the names in the first columns of a table of a section, whose heading begins with this column's title: of the first so many
// columns.
func Keys(section, title string, columns int) ([]string, error) {
	lines := strings.Split(section, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "| "+title+" |") {
			continue
		}
		names := []string{}
		for _, row := range lines[min(len(lines), i+2):] {
			if !strings.HasPrefix(row, "|") {
				break
			}
			cells := strings.Split(row, "|")
			names = append(names, Quoted(strings.Join(cells[1:min(len(cells), 1+columns)], "|"))...)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("table %q has no rows", title)
		}
		return names, nil
	}
	return nil, fmt.Errorf("there is no table with the column %q", title)
}
