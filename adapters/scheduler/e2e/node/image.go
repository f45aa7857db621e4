package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Images of the pods and of their sandboxes. Nothing pulls them.
const (
	ShowImage  = "vgpualloc.example/show:1"
	pauseImage = "vgpualloc.example/pause:1"
)

// image is one that the container runtime can import: programs, with the libraries that they are linked to.
type image struct {
	name     string
	programs []string // paths here; each is put into the root folder
	// alsoLinked are libraries that are not put in, but what they are linked to is.
	alsoLinked []string
}

// writeImages writes an archive of images in the form of `docker save`, each with its first program as its command.
func writeImages(path string, images ...image) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	type entry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var manifest []entry
	for _, image := range images {
		layer, err := image.layer()
		if err != nil {
			return fmt.Errorf("image %s: %w", image.name, err)
		}
		digest := sha256.Sum256(layer)
		layerName := hex.EncodeToString(digest[:]) + "/layer.tar"
		config, err := json.Marshal(map[string]any{
			"architecture": runtime.GOARCH, "os": "linux",
			"config": map[string]any{"Entrypoint": []string{"/" + filepath.Base(image.programs[0])}, "Env": []string{"PATH=/"}},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(digest[:])}},
		})
		if err != nil {
			return err
		}
		configDigest := sha256.Sum256(config)
		configName := hex.EncodeToString(configDigest[:]) + ".json"
		manifest = append(manifest, entry{configName, []string{image.name}, []string{layerName}})
		if err := addFile(archive, configName, config, 0o644); err != nil {
			return err
		}
		if err := addFile(archive, layerName, layer, 0o644); err != nil {
			return err
		}
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := addFile(archive, "manifest.json", text, 0o644); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return file.Close()
}

// layer is the archive of the files of an image.
func (image image) layer() ([]byte, error) {
	files := map[string]string{} // where in the image, and where here
	linked := slices.Clone(image.alsoLinked)
	for _, program := range image.programs {
		files[filepath.Base(program)] = program
		linked = append(linked, program)
	}
	for len(linked) > 0 {
		needed, err := neededBy(linked[0])
		if err != nil {
			return nil, err
		}
		linked = linked[1:]
		for _, library := range needed {
			inside := strings.TrimPrefix(library, "/")
			if _, known := files[inside]; !known {
				files[inside] = library
				linked = append(linked, library)
			}
		}
	}
	var result bytes.Buffer
	archive := tar.NewWriter(&result)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		content, err := os.ReadFile(files[name])
		if err != nil {
			return nil, err
		}
		if err := addFile(archive, name, content, 0o755); err != nil {
			return nil, err
		}
	}
	return result.Bytes(), archive.Close()
}

// Where the dynamic linker looks that has no cache.
var libraryFolders = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/lib64", "/usr/lib64", "/lib", "/usr/lib"}

// neededBy are the libraries that a file is linked to and the linker that loads them. One that is in no such folder is left out: it
// comes from elsewhere, as a driver does.
func neededBy(path string) ([]string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var result []string
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			name, err := io.ReadAll(part.Open())
			if err != nil {
				return nil, err
			}
			result = append(result, string(bytes.TrimRight(name, "\x00")))
		}
	}
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, library := range libraries {
		for _, folder := range libraryFolders {
			candidate := filepath.Join(folder, library)
			if _, err := os.Stat(candidate); err == nil {
				result = append(result, candidate)
				break
			}
		}
	}
	return result, nil
}

func addFile(archive *tar.Writer, name string, content []byte, mode fs.FileMode) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: int64(mode)}); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}
