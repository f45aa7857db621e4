package model

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
)

// TestUpstreamIsPredicted compares the model that makes upstream's mistakes with the recordings.
func TestUpstreamIsPredicted(t *testing.T) {
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	files, err := filepath.Glob(filepath.Join(folder, "conformance", "node", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", folder, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if only := os.Getenv("FAMILY"); only != "" && !strings.Contains(file, only) {
				t.Skip()
			}
			read, err := cases.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i := range read {
				prediction := Upstream(&read[i].Input)
				best := ""
				for j, output := range append([]cases.Output{read[i].Output}, read[i].Others...) {
					difference := output.Words(&prediction.Output)
					if difference == "" {
						difference = output.Malformed()
					}
					if difference == "" {
						difference = firstDifference(output.Fields(prediction.Loose), prediction)
					}
					if j == 0 || difference == "" {
						best = difference
					}
				}
				if best != "" {
					wrong++
					if wrong <= 12 {
						t.Errorf("%s: %s (N%v)", read[i].ID, best, prediction.Mistakes)
					}
				}
			}
			t.Logf("%d of %d cases differ", wrong, len(read))
		})
	}
}

func firstDifference(recorded cases.Fields, prediction Prediction) string {
	predicted := prediction.Output.Fields(prediction.Loose)
	paths := map[string]bool{}
	for path := range recorded {
		paths[path] = true
	}
	for path := range predicted {
		paths[path] = true
	}
	sorted := make([]string, 0, len(paths))
	for path := range paths {
		sorted = append(sorted, path)
	}
	sort.Strings(sorted)
	places := cases.Places{}
	for _, path := range sorted {
		if !places.Same(recorded[path], predicted[path]) {
			return path + ": recorded " + recorded[path] + ", predicted " + predicted[path]
		}
	}
	return ""
}
