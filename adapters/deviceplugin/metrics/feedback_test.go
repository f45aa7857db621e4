package metrics

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// steering has files of containers, each a pod of its own by its name.
type steering struct {
	*testing.T
	*Metrics
	root string
}

func newSteering(t *testing.T, containers map[string]*regionOfTest) *steering {
	t.Helper()
	m, _, root := newOfTest(t)
	var pods []*v1.Pod
	for name, region := range containers {
		write(t, filepath.Join(root, "containers", name+"_main/x.cache"), string(region.bytes()))
		pods = append(pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}}}})
	}
	m.options.Pods = func() ([]*v1.Pod, bool) { return pods, true }
	return &steering{t, m, root}
}

// is what the file of a container says now.
func (s *steering) is(name string, isLimited, recent int32) {
	s.Helper()
	content, err := os.ReadFile(filepath.Join(s.root, "containers", name+"_main/x.cache"))
	if err != nil {
		s.Fatal(err)
	}
	var region regionOfTest
	if err := binary.Read(bytes.NewReader(content), binary.LittleEndian, &region); err != nil {
		s.Fatal(err)
	}
	if region.Switch != isLimited || region.Recent != recent {
		s.Errorf("%s: switch %d, recent %d, expected %d and %d", name, region.Switch, region.Recent, isLimited, recent)
	}
	rest := newRegion()
	rest.Switch, rest.Recent, rest.Priority, rest.UUIDs = region.Switch, region.Recent, region.Priority, region.UUIDs
	if !bytes.Equal(rest.bytes(), content) {
		s.Errorf("%s: something else was written", name)
	}
}

func regionOf(card string, recent, priority int32) *regionOfTest {
	region := newRegion()
	region.UUIDs[0] = [96]byte{}
	copy(region.UUIDs[0][:], card)
	region.Recent, region.Priority, region.Switch = recent, priority, 1
	return region
}

// TestFeedback: who computes alone is not limited, low priority waits for high, and nobody waits when the program ends.
func TestFeedback(t *testing.T) {
	s := newSteering(t, map[string]*regionOfTest{"alone": regionOf("GPU-1", 5, 0), "one": regionOf("GPU-2", 5, 0), "two": regionOf("GPU-2", 5, 0),
		"high": regionOf("GPU-3", 3, 0), "low": regionOf("GPU-3", 5, 1), "idle": regionOf("GPU-4", 1, 0), "beside": regionOf("GPU-4", 5, 0)})
	s.round(nil)
	s.is("alone", 0, 4)
	s.is("one", 1, 4)
	s.is("two", 1, 4)
	s.is("high", 0, 2)
	s.is("low", 1, -1)
	s.is("idle", 0, 0)
	s.is("beside", 0, 4)
	s.round(nil)
	s.is("high", 0, 1)
	s.is("low", 1, -1)
	s.round(nil) // the high one no longer computes
	s.is("high", 0, 0)
	s.is("low", 0, 0)
	s = newSteering(t, map[string]*regionOfTest{"alone": regionOf("GPU-1", 5, 0), "low": regionOf("GPU-3", -1, 1)})
	pods, _ := s.options.Pods()
	s.steer(pods, endFeedback)
	s.is("low", 1, 0)
	s.is("alone", 1, 5)
}

// TestFeedbackEndsWithRun: after the last round, when the node's pods are no longer known.
func TestFeedbackEndsWithRun(t *testing.T) {
	s := newSteering(t, map[string]*regionOfTest{"alone": regionOf("GPU-1", 1000, 0)})
	ctx, cancel := context.WithCancel(context.Background())
	pods, rounds := s.options.Pods, 0
	s.options.Feedback, s.options.FeedbackEvery = true, time.Millisecond
	s.options.Pods = func() ([]*v1.Pod, bool) {
		list, _ := pods()
		if rounds++; rounds > 3 {
			cancel()
		}
		return list, rounds <= 3
	}
	s.Metrics.Run(ctx)
	s.is("alone", 1, 997)
}

// TestFeedbackWritesNowhereElse: neither through links nor into files that are no region, and not before all pods are known.
func TestFeedbackWritesNowhereElse(t *testing.T) {
	s := newSteering(t, map[string]*regionOfTest{"alone": regionOf("GPU-1", 5, 0)})
	pods := s.options.Pods
	s.options.Pods = func() ([]*v1.Pod, bool) { list, _ := pods(); return list, false }
	s.round(nil)
	s.is("alone", 1, 5)
	s.options.Pods = pods
	path := filepath.Join(s.root, "containers/alone_main/x.cache")
	other := filepath.Join(s.root, "other")
	if err := os.Rename(path, other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	s.round(nil)
	s.is("alone", 1, 5)
}
