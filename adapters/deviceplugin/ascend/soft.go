package ascend

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
)

// softFiles are what limits in software, copied from the image to the node.
var softFiles = []string{"libvnpu.so", "ld.so.preload"}

// prepare makes the node ready: the folder that containers share and, on a node that limits in software, the library that does and
// the driver's switch that lets several containers use a chip.
func prepare(ctx context.Context, root string, of settings, isSoft bool, chips []chipState, programs chips.Exec) error {
	if isSoft {
		for _, name := range softFiles {
			if err := copyFile(root, filepath.Join(of.assets, name), filepath.Join(of.folder, name)); err != nil {
				return fmt.Errorf("copying what limits in software: %w", err)
			}
		}
	}
	if err := openFolder(root, sharedRegion); err != nil {
		return err
	}
	if !isSoft {
		return nil
	}
	for _, chip := range chips {
		argv := []string{"npu-smi", "set", "-t", "device-share", "-i", strconv.Itoa(int(chip.CardID)), "-c", strconv.Itoa(int(chip.DeviceID)),
			"-d", "1"}
		if output, err := programs.Run(ctx, argv, "Y\n"); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(output))
		}
	}
	return nil
}

// openFolder makes a folder that everybody may write into.
func openFolder(root, path string) error {
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return withoutRoot(err, root, path)
	}
	if err := os.Mkdir(full, 0o777); err != nil && !os.IsExist(err) {
		return withoutRoot(err, root, path)
	}
	return withoutRoot(os.Chmod(full, 0o777), root, path) // whatever the umask is
}

// copyFile copies a file unless the other one has that content. A reader sees the old one or the new one, whole.
func copyFile(root, from, to string) error {
	content, err := os.ReadFile(filepath.Join(root, from))
	if err != nil {
		return withoutRoot(err, root, from)
	}
	target := filepath.Join(root, to)
	if existing, err := os.ReadFile(target); err == nil && bytes.Equal(existing, content) {
		return nil
	}
	if err = os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return withoutRoot(err, root, filepath.Dir(to))
	}
	temporary, err := os.CreateTemp(filepath.Dir(target), filepath.Base(to)+".*")
	if err != nil {
		return withoutRoot(err, root, to)
	}
	defer os.Remove(temporary.Name()) // it has another name by then, if all went well
	if _, err = temporary.Write(content); err == nil {
		err = temporary.Chmod(0o644)
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), target)
	}
	return err
}
