package measure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// DevicePart is what decides about devices in our scheduler and in stock Volcano, by the beginnings of functions' names.
var DevicePart = []string{
	"vgpualloc.example/adapters/scheduler/plugin.", "vgpualloc.example/adapters/live.", "vgpualloc.example/adapters/vga.",
	"vgpualloc.example/adapters/kube.", "vgpualloc.example/adapters/objects.",
	"volcano.sh/volcano/pkg/scheduler/plugins/deviceshare.", "volcano.sh/volcano/pkg/scheduler/api/devices",
}

// Share is how much of a process's CPU time in a profile went into some functions and what they call.
type Share struct {
	CPUSeconds float64 `json:"cpu_s"`
	OfSeconds  float64 `json:"of_cpu_s"`
}

// Ratio is 0 for a profile in which nothing was done.
func (share Share) Ratio() float64 {
	if share.OfSeconds == 0 {
		return 0
	}
	return share.CPUSeconds / share.OfSeconds
}

// ShareOf reads a profile of CPU time as Go's runtime writes it.
func ShareOf(text io.Reader, functions []string) (Share, error) {
	parsed, err := profile.Parse(text)
	if err != nil {
		return Share{}, err
	}
	of := slices.IndexFunc(parsed.SampleType, func(kind *profile.ValueType) bool { return kind.Type == "cpu" && kind.Unit == "nanoseconds" })
	if of < 0 {
		return Share{}, fmt.Errorf("profile: no values of type cpu in nanoseconds")
	}
	var share Share
	for _, sample := range parsed.Sample {
		spent := time.Duration(sample.Value[of]).Seconds()
		share.OfSeconds += spent
		if slices.ContainsFunc(sample.Location, func(at *profile.Location) bool { return isOf(at, functions) }) {
			share.CPUSeconds += spent
		}
	}
	return share, nil
}

func isOf(at *profile.Location, functions []string) bool {
	return slices.ContainsFunc(at.Line, func(line profile.Line) bool {
		return line.Function != nil && slices.ContainsFunc(functions, func(beginning string) bool {
			return strings.HasPrefix(line.Function.Name, beginning)
		})
	})
}
