package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// groupPrefix is how the names of this program's control groups begin; its number follows.
const groupPrefix = "vgpualloc-e2e-"

const groupsFolder = "/sys/fs/cgroup"

// hierarchy is one of control groups of version 1.
type hierarchy struct {
	folder  string // where it is mounted, directly in groupsFolder
	options string // of mount: "memory", "cpu,cpuacct", "none,name=systemd"
	own     string // the folder of this process's group
}

// readHierarchies has those that are mounted.
func readHierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var result []hierarchy
	for _, line := range strings.Split(string(mounts), "\n") {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(kind) < 3 || kind[0] != "cgroup" || len(fields) < 5 || filepath.Dir(fields[4]) != groupsFolder {
			continue
		}
		var controllers []string
		for _, option := range strings.Split(kind[2], ",") {
			if !slices.Contains([]string{"rw", "ro", "xattr", "noprefix", "clone_children"}, option) && !strings.HasPrefix(option, "release_agent=") {
				controllers = append(controllers, option)
			}
		}
		own, ok := groupOf(string(groups), controllers)
		if !ok {
			return nil, fmt.Errorf("/proc/self/cgroup: no line for %v, expected one as it is mounted at %s", controllers, fields[4])
		}
		if strings.HasPrefix(controllers[0], "name=") {
			controllers = append([]string{"none"}, controllers...)
		}
		result = append(result, hierarchy{folder: fields[4], options: strings.Join(controllers, ","), own: filepath.Join(fields[4], own)})
	}
	if !slices.ContainsFunc(result, func(group hierarchy) bool { return group.options == "memory" }) {
		return nil, fmt.Errorf("%w: no control groups of version 1 at %s", ErrImpossible, groupsFolder)
	}
	return result, nil
}

// groupOf finds this process's group in lines like "4:cpu,cpuacct:/group".
func groupOf(lines string, controllers []string) (string, bool) {
	for _, line := range strings.Split(lines, "\n") {
		fields := strings.SplitN(line, ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), controllers[0]) {
			return fields[2], true
		}
	}
	return "", false
}

// makeGroups makes a group of this name in each hierarchy, below that of this process, and takes away those of runs that were killed.
func makeGroups(hierarchies []hierarchy, name string) error {
	for _, group := range hierarchies {
		for _, old := range leftBehind(group.own) {
			removeTree(old)
		}
		folder := filepath.Join(group.own, name)
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("a control group: %w", err)
		}
		// A group of this kind takes nobody in until it has processors and memory.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(group.own, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, file), text, 0o644); err != nil {
				return fmt.Errorf("a control group: %w", err)
			}
		}
	}
	return nil
}

// leftBehind are groups of runs whose process does not run any more.
func leftBehind(folder string) []string {
	var result []string
	groups, _ := filepath.Glob(filepath.Join(folder, groupPrefix+"*")) // the pattern is well-formed
	for _, folder := range groups {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), groupPrefix))
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			result = append(result, folder)
		}
	}
	return result
}

// joinGroups moves this process.
func joinGroups(hierarchies []hierarchy, name string) error {
	for _, group := range hierarchies {
		if err := os.WriteFile(filepath.Join(group.own, name, "cgroup.procs"), []byte("0\n"), 0o644); err != nil {
			return fmt.Errorf("entering a control group: %w", err)
		}
	}
	return nil
}

// mountGroups shows each hierarchy from this process's group on, instead of all of it.
func mountGroups(hierarchies []hierarchy) error {
	if err := syscall.Unmount(groupsFolder, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting %s: %w", groupsFolder, err)
	}
	if err := syscall.Mount("tmpfs", groupsFolder, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting an empty %s: %w", groupsFolder, err)
	}
	for _, group := range hierarchies {
		if err := os.Mkdir(group.folder, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("cgroup", group.folder, "cgroup", 0, group.options); err != nil {
			return fmt.Errorf("mounting control groups %s: %w", group.options, err)
		}
		if parts := strings.Split(group.options, ","); len(parts) > 1 && parts[0] != "none" {
			for _, part := range parts {
				if err := os.Symlink(group.folder, filepath.Join(groupsFolder, part)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// removeGroups takes the groups away, whose processes have ended or are about to.
func removeGroups(hierarchies []hierarchy, name string) {
	for _, group := range hierarchies {
		folder := filepath.Join(group.own, name)
		for range 100 {
			removeTree(folder)
			if _, err := os.Stat(folder); err != nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if _, err := os.Stat(folder); err == nil {
			fmt.Fprintf(os.Stderr, "isolate: control group %s stays: something in it still runs\n", folder)
		}
	}
}

// removeTree removes a group and those in it. One with processes stays.
func removeTree(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() {
			removeTree(filepath.Join(folder, entry.Name()))
		}
	}
	_ = syscall.Rmdir(folder) // whoever called sees whether it stays
}
