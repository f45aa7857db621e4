package play

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/recordings/model"
)

func TestAscendDraft(t *testing.T) {
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip()
	}
	for _, name := range strings.Split(os.Getenv("FILES"), ",") {
		read, err := cases.Read(filepath.Join(folder, "conformance/node", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		equal, explained, bad := 0, 0, 0
		for i := range read {
			if only := os.Getenv("CASE"); only != "" && !strings.HasSuffix(read[i].ID, only) {
				continue
			}
			var ours cases.Output
			var err error
			if read[i].Input.Plugin == "ascend" {
				ours, err = Ascend(&read[i])
			} else {
				ours, err = VGPU(&read[i], fake.NeedLibrary(t))
			}
			if err != nil {
				t.Errorf("%s: %v", read[i].ID, err)
				continue
			}
			up, right := model.Upstream(&read[i].Input), model.Right(&read[i].Input, &ours)
			loose := cases.Loose{Order: up.Loose.Order || right.Loose.Order, Health: up.Loose.Health || right.Loose.Health}
			o, r, u, w := ours.Fields(loose), read[i].Output.Fields(loose), up.Output.Fields(loose), right.Output.Fields(loose)
			keys := map[string]bool{}
			for k := range o {
				keys[k] = true
			}
			for k := range r {
				keys[k] = true
			}
			var list []string
			for k := range keys {
				list = append(list, k)
			}
			sort.Strings(list)
			places := cases.Places{}
			diff, unexplained := 0, ""
			for _, k := range list {
				if places.Same(r[k], o[k]) {
					continue
				}
				diff++
				if places.Same(r[k], u[k]) && w[k] == o[k] {
					continue
				}
				if unexplained == "" {
					unexplained = k + ": recorded " + r[k] + ", ours " + o[k] + ", right " + w[k]
				}
			}
			switch {
			case diff == 0:
				equal++
			case unexplained == "":
				explained++
			default:
				bad++
				if bad < 40 {
					t.Errorf("%s: %s (N%v) %v", read[i].ID, unexplained, right.Mistakes, ours.Exit)
				}
			}
		}
		t.Logf("%s: %d equal, %d explained, %d not", name, equal, explained, bad)
	}
}
