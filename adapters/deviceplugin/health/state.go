package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/config"
)

// state is what is kept over restarts of the plugin: cards on which an Xid was reported.
type state struct {
	Boot  string           `json:"boot"`
	Cards map[string]*Card `json:"cards"`
}

func (m *Monitor) boot() string {
	text, err := os.ReadFile(m.options.BootFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// load reads what an earlier process has kept. A machine that was started since has reset its cards.
func (m *Monitor) load() {
	if m.options.StateFile == "" {
		return
	}
	text, err := config.ReadFile(m.options.StateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	saved := state{}
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil {
		m.options.Report("reading which cards are not healthy from "+m.options.StateFile, err)
		return
	}
	if saved.Boot != m.boot() {
		return
	}
	for uuid, card := range saved.Cards {
		if card != nil {
			m.sick[uuid] = card
		}
	}
}

// save keeps the state; m.mutex is held. Without cards there is no file.
func (m *Monitor) save() {
	if m.options.StateFile == "" {
		return
	}
	saved := state{Boot: m.boot(), Cards: map[string]*Card{}}
	for uuid, card := range m.sick {
		if card.Xid != 0 {
			saved.Cards[uuid] = card
		}
	}
	if err := write(m.options.StateFile, saved); err != nil {
		m.options.Report("writing which cards are not healthy to "+m.options.StateFile, err)
	}
}

func write(path string, saved state) error {
	for _, file := range []string{path, path + ".new"} {
		if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no plain file (%s): it stays as it is", file, info.Mode())
		}
	}
	if len(saved.Cards) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
