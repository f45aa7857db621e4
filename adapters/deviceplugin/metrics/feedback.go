package metrics

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// Where in the tail of HAMi-core's file the fields are that are written.
const (
	atSwitch   = atTail + 4  // 1: the limit of compute holds; 0: it does not
	atRecent   = atTail + 8  // rounds for which a container counts as computing; below 0: it has to wait
	atPriority = atTail + 12 // 0: high
	priorities = 2           // others count as low
)

// steered is a container's file that is open for writing.
type steered struct {
	*os.File
	uuids             []string
	priority          int
	isLimited, recent int32
	read              struct{ isLimited, recent int32 }
}

// openSteered opens no link and waits for no pipe: the folder is the container's.
func openSteered(path string) (*steered, error) {
	file, err := openPlain(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	result := &steered{File: file}
	if err := result.load(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return result, nil
}

func (s *steered) load() error {
	region, err := readRegion(s.File)
	if err != nil {
		return err
	}
	for _, device := range region.devices {
		s.uuids = append(s.uuids, device.uuid)
	}
	fields := make([]byte, atPriority+4-atSwitch)
	if _, err := s.ReadAt(fields, atSwitch); err != nil {
		return err
	}
	field := func(at int) int32 { return int32(binary.LittleEndian.Uint32(fields[at-atSwitch:])) }
	s.isLimited, s.recent = field(atSwitch), field(atRecent)
	s.priority = int(min(max(field(atPriority), 0), priorities-1))
	s.read.isLimited, s.read.recent = s.isLimited, s.recent
	return nil
}

// write writes what has changed.
func (s *steered) write() error {
	put := func(at int64, value, before int32) error {
		if value == before {
			return nil
		}
		_, err := s.WriteAt(binary.LittleEndian.AppendUint32(nil, uint32(value)), at)
		return err
	}
	return errors.Join(put(atSwitch, s.isLimited, s.read.isLimited), put(atRecent, s.recent, s.read.recent))
}

// round is one of the feedback, and which pods it was about. As long as not all pods are known it does nothing.
func (m *Metrics) round(before []*v1.Pod) []*v1.Pod {
	pods, known := m.options.Pods()
	if !known {
		return before
	}
	m.steer(pods, feedback)
	return pods
}

// steer does something to the files of all containers of pods and writes them.
func (m *Metrics) steer(pods []*v1.Pod, what func(all []*steered)) {
	var all []*steered
	for _, pod := range pods {
		for i := range pod.Spec.Containers {
			folder := filepath.Join(m.options.CacheRoot, string(pod.UID)+"_"+pod.Spec.Containers[i].Name)
			files, err := filepath.Glob(filepath.Join(folder, "*"+cacheFile))
			if err != nil || len(files) == 0 {
				continue
			}
			opened, err := openSteered(files[0])
			switch {
			case errors.Is(err, errNotReady) || errors.Is(err, fs.ErrNotExist):
			case err != nil:
				klog.V(3).ErrorS(err, "A container's file cannot be steered", "pod", klog.KObj(pod), "container", pod.Spec.Containers[i].Name)
			default:
				all = append(all, opened)
			}
		}
	}
	what(all)
	for _, one := range all {
		if err := errors.Join(one.write(), one.Close()); err != nil {
			klog.ErrorS(err, "A container's file could not be written", "file", one.Name())
		}
	}
}

// feedback is a round of the existing monitor: a container that computes alone on its card is not limited, and one of low priority waits
// while one of high priority computes on its card.
func feedback(all []*steered) {
	active := map[string]*[priorities]int{}
	for _, one := range all {
		if one.recent > 0 {
			one.recent--
		}
		for _, uuid := range one.uuids {
			if active[uuid] == nil {
				active[uuid] = &[priorities]int{}
			}
			if one.recent > 0 {
				active[uuid][one.priority]++
			}
		}
	}
	for _, one := range all {
		if len(one.uuids) == 0 {
			continue
		}
		on := active[one.uuids[0]] // the first card decides, as in the existing monitor
		isOutranked := one.priority > 0 && on[0] > 0
		switch {
		case isOutranked:
			one.recent = -1
		case one.recent < 0:
			one.recent = 0
		}
		one.isLimited = 0
		if isOutranked || on[one.priority] > 1 {
			one.isLimited = 1
		}
	}
}

// endFeedback leaves nobody waiting and every limit in force.
func endFeedback(all []*steered) {
	for _, one := range all {
		one.isLimited, one.recent = 1, max(one.recent, 0)
	}
}
