package metrics

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// What HAMi-core counts in a container, of each of its devices.
var (
	ofContainer  = []string{"podnamespace", "podname", "ctrname", "vdeviceid", "deviceuuid"}
	memoryInUse  = existing("vGPU_device_memory_usage_in_bytes", "Memory that a container's programs have allocated", ofContainer...)
	memoryLimit  = existing("vGPU_device_memory_limit_in_bytes", "Memory that a container may allocate; 0: all", ofContainer...)
	memoryByKind = existing("Device_memory_desc_of_container", "Memory of a container by kind, in the labels, and in all",
		append(append([]string{}, ofContainer...), "context", "module", "data", "offset")...)
	coresInUse = existing("Device_utilization_desc_of_container", "Use of multiprocessors by a container's programs, in percent", ofContainer...)
	lastKernel = existing("Device_last_kernel_of_container", "Seconds since a container has last started a kernel", ofContainer...)
)

// The file that HAMi-core shares with all programs of a container, of its versions 1.x on a machine with 64 bits: a head, slots of
// processes, a tail. Numbers are little-endian.
const (
	magic         = 19920718
	majorVersion  = 1
	devicesMax    = 16
	processesMax  = 1024
	atDevices     = 56 // after flag, versions, owner and a semaphore
	atUUIDs       = atDevices + 8
	uuidSize      = 96
	atLimits      = atUUIDs + devicesMax*uuidSize
	headSize      = atLimits + 2*8*devicesMax // limits of memory, then of multiprocessors
	memorySize    = 64                        // context, module, data, offset, total, and room for three
	usageSize     = 48                        // decoder, encoder, multiprocessors, and room for three
	atUsage       = 8 + devicesMax*(memorySize+8)
	processSize   = atUsage + devicesMax*usageSize + 8 + 24
	atTail        = headSize + processesMax*processSize
	tailSize      = 24 // processes, three switches, time of the last kernel
	uuidShown     = 40 // as the existing monitor does
	cacheFile     = ".cache"
	folderAgeLeft = 5 * time.Minute
)

// region is what one such file says.
type region struct {
	devices []regionDevice
	last    time.Time // when a kernel was last started; zero: never
}

type regionDevice struct {
	uuid                                 string
	limit                                uint64
	context, module, data, offset, total uint64
	cores                                uint64
}

var errNotReady = errors.New("no program has used it yet")

// readRegion reads a file. A program of the container decides what is in it, so that nothing in it is believed.
func readRegion(file io.ReaderAt) (*region, error) {
	head := make([]byte, headSize)
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("the head: %w", err)
	}
	number := func(from []byte, at int) uint64 { return binary.LittleEndian.Uint64(from[at:]) }
	switch flag, major := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:]); {
	case flag == 0:
		return nil, errNotReady
	case flag != magic || major != majorVersion:
		return nil, fmt.Errorf("flag %d, version %d: expected %d and %d", flag, major, magic, majorVersion)
	}
	count := number(head, atDevices)
	if count > devicesMax {
		return nil, fmt.Errorf("%d devices: expected at most %d", count, devicesMax)
	}
	tail := make([]byte, tailSize)
	if _, err := file.ReadAt(tail, atTail); err != nil {
		return nil, fmt.Errorf("the tail: %w", err)
	}
	processes := int32(binary.LittleEndian.Uint32(tail))
	if processes < 0 || processes > processesMax {
		return nil, fmt.Errorf("%d processes: expected 0 to %d", processes, processesMax)
	}
	slots := make([]byte, int(processes)*processSize)
	if _, err := file.ReadAt(slots, headSize); err != nil {
		return nil, fmt.Errorf("the processes: %w", err)
	}
	read := &region{}
	if seconds := number(tail, 16); seconds > 0 && seconds < math.MaxInt32*4 {
		read.last = time.Unix(int64(seconds), 0)
	}
	for i := range int(count) {
		device := regionDevice{limit: number(head, atLimits+8*i)}
		text := head[atUUIDs+i*uuidSize:][:uuidShown]
		if end := strings.IndexByte(string(text), 0); end >= 0 {
			text = text[:end]
		}
		device.uuid = string(text)
		for at := 0; at < len(slots); at += processSize {
			memory := slots[at+8+i*memorySize:]
			device.context += number(memory, 0)
			device.module += number(memory, 8)
			device.data += number(memory, 16)
			device.offset += number(memory, 24)
			device.total += number(memory, 32)
			device.cores += number(slots, at+atUsage+i*usageSize+16)
		}
		read.devices = append(read.devices, device)
	}
	return read, nil
}

// caches reads the files of the containers that run.
func (r *reading) caches() {
	if r.options.CacheRoot == "" {
		return
	}
	for _, pod := range r.pods {
		for i := range pod.Spec.Containers {
			name := pod.Spec.Containers[i].Name
			files, err := filepath.Glob(filepath.Join(r.options.CacheRoot, string(pod.UID)+"_"+name, "*"+cacheFile))
			if err != nil || len(files) == 0 {
				continue
			}
			read, err := readCache(files[0])
			switch {
			case errors.Is(err, errNotReady) || errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				r.fail("cache", err, "pod", klog.KObj(pod), "container", name)
				continue
			}
			r.region(read, pod.Namespace, pod.Name, name)
		}
	}
}

// readCache opens no link and waits for no pipe: the folder is the container's.
func readCache(path string) (*region, error) {
	file, err := openPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readRegion(file)
}

func (r *reading) region(of *region, namespace, pod, container string) {
	for i := range of.devices {
		device := &of.devices[i]
		if device.uuid == "" || !utf8.ValidString(device.uuid) {
			continue
		}
		labels := []string{namespace, pod, container, fmt.Sprint(i), device.uuid}
		r.gauge(memoryInUse, float64(device.total), labels...)
		r.gauge(memoryLimit, float64(device.limit), labels...)
		r.gauge(coresInUse, float64(device.cores), labels...)
		r.send(prometheus.NewConstMetric(memoryByKind, prometheus.CounterValue, float64(device.total), append(labels[:len(labels):len(labels)],
			fmt.Sprint(device.context), fmt.Sprint(device.module), fmt.Sprint(device.data), fmt.Sprint(device.offset))...))
		if !of.last.IsZero() {
			r.gauge(lastKernel, max(0, r.options.Now().Sub(of.last).Seconds()), labels...)
		}
	}
}

// Run removes, from time to time, the folders of containers of which the pod has gone, and steers the others where that is wanted, until
// the context ends.
func (m *Metrics) Run(ctx context.Context) {
	if m == nil || m.options.CacheRoot == "" {
		return
	}
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	var rounds <-chan time.Time
	var pods []*v1.Pod // of the last round
	if m.options.Feedback {
		every := time.NewTicker(m.options.FeedbackEvery)
		defer every.Stop()
		rounds = every.C
		defer func() { m.steer(pods, endFeedback) }()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-rounds:
			pods = m.round(pods)
		case <-ticker.C:
			if err := m.removeFolders(); err != nil {
				klog.ErrorS(err, "Folders of containers that are gone stay")
			}
		}
	}
}

// isUID is what Kubernetes names a pod by: a UUID or, for one from a file, a hash. A folder of another name is somebody else's.
var isUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^[0-9a-f]{32}$`)

// removeFolders removes the folders of pods that this node does not have, if they have not changed for some time. As long as not all
// pods are known it removes none.
func (m *Metrics) removeFolders() error {
	pods, known := m.options.Pods()
	if !known {
		return nil
	}
	there := map[string]bool{}
	for _, pod := range pods {
		there[string(pod.UID)] = true
	}
	folders, err := os.ReadDir(m.options.CacheRoot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, folder := range folders {
		uid, _, isContainers := strings.Cut(folder.Name(), "_")
		info, infoErr := folder.Info()
		if !isContainers || !isUID.MatchString(uid) || there[uid] || infoErr != nil || !folder.IsDir() || m.options.Now().Sub(info.ModTime()) < folderAgeLeft {
			continue
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(m.options.CacheRoot, folder.Name())))
	}
	return err
}
