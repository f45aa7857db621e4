package plugin_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/register"
)

const hamiRegistration = "hami.io/node-nvidia-register"

// hamiCards are the cards of a registration for HAMi.
type hamiCards []struct {
	Type     string
	Count    int
	Profiles []register.Profile `json:"migProfiles"`
}

// registeredForHAMi starts a plugin with one card and returns its registration once it has profiles.
func registeredForHAMi(t *testing.T, gpu fake.GPU) hamiCards {
	t.Helper()
	r, library := cuttingCard(t, gpu, "--scheduler=hami")
	var cards hamiCards
	r.wait("profiles", func() bool {
		cards = nil
		return json.Unmarshal([]byte(r.api.Node("node-a").Annotations[hamiRegistration]), &cards) == nil && len(cards) == 1 && len(cards[0].Profiles) > 0
	})
	if gpus, err := library.GPUs(); err != nil || !gpus[0].MigEnabled {
		t.Errorf("MIG was not switched on: %v, %v", gpus, err)
	}
	return cards
}

// HAMi's scheduler is told what a MIG card can be cut into, for which MIG is switched on.
func TestProfilesAreRegisteredForHAMi(t *testing.T) {
	gpu := fake.GPU{UUID: cutCard, Name: "NVIDIA A100-SXM4-40GB", MemoryBytes: 40 << 30, MigCapable: true, ComputeCapability: "8.0"}
	cards := registeredForHAMi(t, gpu)
	var words []string
	for _, profile := range cards[0].Profiles {
		text, err := json.Marshal(profile)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, string(text))
	}
	const half = `{"name":"3g.20gb","memoryMB":19968,"core":43,"sliceCount":3,"placements":[{"start":0,"size":4},{"start":4,"size":4}]}`
	if len(words) != 4 || words[2] != half || cards[0].Count != 4 { // deviceSplitCount, which is less than seven instances
		t.Errorf("count %d, profiles\n%s\nexpected four, the third\n%s", cards[0].Count, strings.Join(words, "\n"), half)
	}
}

// TestProfilesAreThoseThatHAMiRegisters: the registrations that HAMi's scheduler was recorded with.
func TestProfilesAreThoseThatHAMiRegisters(t *testing.T) {
	folder := os.Getenv("VGPUALLOC_EVIDENCE")
	if folder == "" {
		t.Skip("VGPUALLOC_EVIDENCE is not set")
	}
	for _, gpu := range []fake.GPU{
		{UUID: cutCard, Name: "NVIDIA A100-SXM4-40GB", MemoryBytes: 40960 << 20, MigCapable: true, ComputeCapability: "8.0"},
		{UUID: cutCard, Name: "NVIDIA A30", MemoryBytes: 24576 << 20, MigCapable: true, ComputeCapability: "8.0"},
		{UUID: cutCard, Name: "NVIDIA H100 80GB HBM3", MemoryBytes: 81559 << 20, MigCapable: true, ComputeCapability: "9.0"},
	} {
		t.Run(gpu.Name, func(t *testing.T) {
			recorded := recordedProfiles(t, filepath.Join(folder, "conformance", "hami", "mig.jsonl"), gpu.Name)
			cards := registeredForHAMi(t, gpu)
			registered := cards[0].Profiles
			for i := range min(len(registered), len(recorded)) { // memory is the driver's word, and the fake NVML's is near it
				if difference := registered[i].MemoryMiB - recorded[i].MemoryMiB; max(difference, -difference)*50 > recorded[i].MemoryMiB {
					t.Errorf("%s: %d MiB, recorded %d", registered[i].Name, registered[i].MemoryMiB, recorded[i].MemoryMiB)
				}
				registered[i].MemoryMiB, recorded[i].MemoryMiB = 0, 0
			}
			if !reflect.DeepEqual(registered, recorded) {
				t.Errorf("registered\n%+v\nrecorded\n%+v", registered, recorded)
			}
		})
	}
}

// recordedProfiles are the first that a file has of a model, by ascending slices.
func recordedProfiles(t *testing.T, path, model string) []register.Profile {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var content any
		if err := json.Unmarshal(lines.Bytes(), &content); err != nil {
			t.Fatal(err)
		}
		for _, text := range textsIn(content) {
			var cards hamiCards
			if !strings.Contains(text, "migProfiles") || json.Unmarshal([]byte(text), &cards) != nil {
				continue
			}
			for _, card := range cards {
				if card.Type == "NVIDIA-"+model && len(card.Profiles) > 0 {
					slices.SortFunc(card.Profiles, func(left, right register.Profile) int { return left.Slices - right.Slices })
					return card.Profiles
				}
			}
		}
	}
	t.Fatalf("%s has no profiles of %s", path, model)
	return nil
}

// textsIn are the texts in a value of JSON.
func textsIn(value any) (result []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, part := range value {
			result = append(result, textsIn(part)...)
		}
	case map[string]any:
		for _, part := range value {
			result = append(result, textsIn(part)...)
		}
	}
	return result
}
