package metrics

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
	"vgpualloc.example/adapters/deviceplugin/register"
)

// machineOfTest answers for two cards; every other call of hardware.Library panics.
type machineOfTest struct {
	hardware.Library
	lost string
}

func (m *machineOfTest) Use(uuid string) (hardware.Use, error) {
	if uuid == m.lost {
		return hardware.Use{}, hardware.ErrLost
	}
	return hardware.Use{MemoryBytes: 3 << 30, SMPercent: 41}, nil
}

func (m *machineOfTest) Instances(string) ([]hardware.Instance, error) {
	return []hardware.Instance{{GI: 7, ProfileID: 19, Start: 2, Size: 1, UUID: "MIG-one", Busy: true}, {GI: 8, ProfileID: 19, Start: 3, Size: 1, UUID: "MIG-two"}}, nil
}

func (m *machineOfTest) Processes(uuid string) ([]hardware.Process, error) {
	if uuid == "GPU-mig" {
		return []hardware.Process{{PID: 70, GI: 7, MemoryBytes: 100}, {PID: 71, GI: 7, MemoryBytes: 50}, {PID: 99, GI: 8, MemoryBytes: 9}}, nil
	}
	return nil, nil
}

const (
	firstID  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	secondID = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func podOfTest() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "uid-1"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main"}, {Name: "side"}}},
		Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "main", ContainerID: "containerd://" + firstID},
			{Name: "side", ContainerID: "containerd://" + secondID}}}}
}

func newOfTest(t *testing.T) (*Metrics, *machineOfTest, string) {
	t.Helper()
	root, library := t.TempDir(), &machineOfTest{}
	write(t, filepath.Join(root, "proc/70/cgroup"), "0::/kubepods.slice/cri-containerd-"+firstID+".scope\n")
	write(t, filepath.Join(root, "proc/71/cgroup"), "0::/kubepods.slice/cri-containerd-"+firstID+".scope\n")
	m := New(Options{Node: "n1", Library: library, CacheRoot: filepath.Join(root, "containers"), Proc: filepath.Join(root, "proc"),
		Pods: func() ([]*v1.Pod, bool) { return []*v1.Pod{podOfTest()}, true },
		Cards: func() []register.Card {
			return []register.Card{{UUID: "GPU-soft", Index: 0, Name: "NVIDIA T4", MemoryMiB: 15360, Healthy: true, Card: config.Card{Mode: config.HAMiCore}},
				{UUID: "GPU-mig", Index: 1, Name: "NVIDIA A30", MemoryMiB: 24576, Card: config.Card{Mode: config.MIG}}}
		},
		Layout: func(uuid string) string { return map[string]string{"GPU-mig": "reconfiguring"}[uuid] },
		Profile: func(model string, id uint32) string {
			if model == "NVIDIA A30" && id == 19 {
				return "1g.6gb"
			}
			return ""
		},
		Now: func() time.Time { return time.Unix(2000, 0) }})
	return m, library, root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, m *Metrics, path string) string {
	t.Helper()
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	response, err := http.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", path, response.StatusCode, err, text)
	}
	return string(text)
}

func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			t.Errorf("there is no line %s; of this metric there is:\n%s", line, strings.Join(linesOf(text, name), "\n"))
		}
	}
}

func linesOf(text, begin string) []string {
	var found []string
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, begin) {
			found = append(found, line)
		}
	}
	return found
}

func TestCardsAreShownUnderTheNamesOfTheExistingMonitor(t *testing.T) {
	m, _, _ := newOfTest(t)
	expect(t, ask(t, m, "/metrics"),
		`HostGPUMemoryUsage{deviceidx="0",deviceuuid="GPU-soft",zone="vGPU"} 3.221225472e+09`,
		`HostCoreUtilization{deviceidx="1",deviceuuid="GPU-mig",zone="vGPU"} 41`,
		`vgpualloc_plugin_device_info{NodeName="n1",deviceidx="0",devicename="NVIDIA T4",deviceuuid="GPU-soft",mode="hami-core"} 1`,
		`vgpualloc_plugin_device_healthy{NodeName="n1",deviceuuid="GPU-soft"} 1`,
		`vgpualloc_plugin_device_healthy{NodeName="n1",deviceuuid="GPU-mig"} 0`,
		`vgpualloc_plugin_device_memory_bytes{NodeName="n1",deviceuuid="GPU-mig"} 2.5769803776e+10`)
}

func TestTheMIGLayoutAndWhatRunsInItAreShown(t *testing.T) {
	m, _, _ := newOfTest(t)
	text := ask(t, m, "/metrics")
	expect(t, text,
		`vgpualloc_plugin_mig_instance{NodeName="n1",deviceuuid="GPU-mig",migUUID="MIG-one",profile="1g.6gb",start="2",state="busy"} 1`,
		`vgpualloc_plugin_mig_instance{NodeName="n1",deviceuuid="GPU-mig",migUUID="MIG-two",profile="1g.6gb",start="3",state="idle"} 1`,
		`vgpualloc_plugin_layout_state{NodeName="n1",deviceuuid="GPU-mig",state="reconfiguring"} 1`,
		`vgpualloc_plugin_layout_state{NodeName="n1",deviceuuid="GPU-mig",state="in_service"} 0`,
		`vgpualloc_plugin_container_memory_bytes{NodeName="n1",ctrname="main",deviceuuid="GPU-mig",migUUID="MIG-one",podname="train",podnamespace="team"} 150`,
		`vgpualloc_plugin_container_memory_bytes{NodeName="n1",ctrname="",deviceuuid="GPU-mig",migUUID="MIG-two",podname="",podnamespace=""} 9`)
	if lines := linesOf(text, `vgpualloc_plugin_mig_instance{NodeName="n1",deviceuuid="GPU-soft"`); len(lines) > 0 {
		t.Errorf("a card that is not cut has instances: %s", lines)
	}
}

func TestALostCardHidesNoOther(t *testing.T) {
	m, library, _ := newOfTest(t)
	library.lost = "GPU-soft"
	text := ask(t, m, "/metrics")
	expect(t, text, `vgpualloc_plugin_unreadable{NodeName="n1",what="card"} 1`, `HostCoreUtilization{deviceidx="1",deviceuuid="GPU-mig",zone="vGPU"} 41`)
	if lines := linesOf(text, `HostGPUMemoryUsage{deviceidx="0"`); len(lines) > 0 {
		t.Errorf("a card that cannot be read has a use: %s", lines)
	}
}

// regionOfTest is HAMi-core's shared_region_t of version 1.x, member by member.
type regionOfTest struct {
	Flag         int32
	Major, Minor uint32
	SMInit       int32
	Owner        uint64
	Semaphore    [32]byte
	Devices      uint64
	UUIDs        [16][96]byte
	Limits       [16]uint64
	SMLimits     [16]uint64
	Processes    [1024]processOfTest
	Count        int32
	Switch       int32
	Recent       int32
	Priority     int32
	LastKernel   uint64
	Unused       [4]uint64
}

type processOfTest struct {
	PID, HostPID int32
	Used         [16]struct{ Context, Module, Data, Offset, Total, _, _, _ uint64 }
	Monitor      [16]uint64
	Usage        [16]struct{ Decoder, Encoder, SM, _, _, _ uint64 }
	Status       int32
	_            int32
	Unused       [3]uint64
}

func newRegion() *regionOfTest {
	region := &regionOfTest{Flag: magic, Major: 1, Minor: 2, Devices: 2, Count: 2, LastKernel: 1988}
	copy(region.UUIDs[0][:], "GPU-soft")
	copy(region.UUIDs[1][:], "GPU-other")
	region.Limits = [16]uint64{3000 << 20, 4000 << 20}
	for i := range 2 {
		process := &region.Processes[i]
		process.Used[0].Context, process.Used[0].Data, process.Used[0].Total = 10, 20, 30
		process.Usage[1].SM = 25
	}
	region.Processes[2].Used[0].Total = 1 << 40 // one that has ended
	return region
}

func (r *regionOfTest) bytes() []byte {
	var buffer bytes.Buffer
	if err := binary.Write(&buffer, binary.LittleEndian, r); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func TestLimitsAndUseOfContainersAreReadFromHAMiCore(t *testing.T) {
	m, _, root := newOfTest(t)
	write(t, filepath.Join(root, "containers/uid-1_main/x.cache"), string(newRegion().bytes()))
	text := ask(t, m, "/metrics")
	const first = `ctrname="main",deviceuuid="GPU-soft",podname="train",podnamespace="team",vdeviceid="0",zone="vGPU"} `
	const second = `ctrname="main",deviceuuid="GPU-other",podname="train",podnamespace="team",vdeviceid="1",zone="vGPU"} `
	expect(t, text,
		"vGPU_device_memory_limit_in_bytes{"+first+"3.145728e+09", "vGPU_device_memory_limit_in_bytes{"+second+"4.194304e+09",
		"vGPU_device_memory_usage_in_bytes{"+first+"60", "vGPU_device_memory_usage_in_bytes{"+second+"0",
		"Device_utilization_desc_of_container{"+first+"0", "Device_utilization_desc_of_container{"+second+"50",
		"Device_last_kernel_of_container{"+first+"12",
		`Device_memory_desc_of_container{context="20",ctrname="main",data="40",deviceuuid="GPU-soft",module="0",offset="0",podname="train",`+
			`podnamespace="team",vdeviceid="0",zone="vGPU"} 60`,
		`vgpualloc_plugin_unreadable{NodeName="n1",what="cache"} 0`)
}

// The file is the container's: whatever a program writes into it, the other containers are shown.
func TestAFileThatAProgramHasSpoiltIsLeftOut(t *testing.T) {
	good := newRegion().bytes()
	spoil := func(change func(*regionOfTest)) []byte { region := newRegion(); change(region); return region.bytes() }
	for name, content := range map[string][]byte{
		"short": good[:1000], "without its end": good[:len(good)-100], "flag": spoil(func(r *regionOfTest) { r.Flag = 1 }),
		"version":  spoil(func(r *regionOfTest) { r.Major = 2 }),
		"devices":  spoil(func(r *regionOfTest) { r.Devices = 17 }),
		"many":     spoil(func(r *regionOfTest) { r.Count = 1025 }),
		"negative": spoil(func(r *regionOfTest) { r.Count = -1 }),
	} {
		m, _, root := newOfTest(t)
		write(t, filepath.Join(root, "containers/uid-1_main/x.cache"), string(content))
		write(t, filepath.Join(root, "containers/uid-1_side/x.cache"), string(good))
		text := ask(t, m, "/metrics")
		if lines := linesOf(text, `vGPU_device_memory_limit_in_bytes{ctrname="main"`); len(lines) > 0 {
			t.Errorf("%s: it was read: %s", name, lines)
		}
		if lines := linesOf(text, `vGPU_device_memory_limit_in_bytes{ctrname="side"`); len(lines) != 2 {
			t.Errorf("%s: the other container has %s", name, lines)
		}
		expect(t, text, `vgpualloc_plugin_unreadable{NodeName="n1",what="cache"} 1`)
	}
	for name, make := range map[string]func(path string) error{
		"link":   func(path string) error { return os.Symlink("/etc/hostname", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) }} {
		m, _, root := newOfTest(t)
		folder := filepath.Join(root, "containers/uid-1_main")
		if err := errors.Join(os.MkdirAll(folder, 0o755), make(filepath.Join(folder, "x.cache"))); err != nil {
			t.Fatal(err)
		}
		if text := ask(t, m, "/metrics"); !strings.Contains(text, `what="cache"} 1`) {
			t.Errorf("%s: it was opened", name)
		}
	}
	m, _, root := newOfTest(t)
	write(t, filepath.Join(root, "containers/uid-1_main/x.cache"), string(make([]byte, len(good))))
	expect(t, ask(t, m, "/metrics"), `vgpualloc_plugin_unreadable{NodeName="n1",what="cache"} 0`)
}

func TestFoldersOfPodsThatAreGoneAreRemoved(t *testing.T) {
	m, _, root := newOfTest(t)
	const gone = "00000000-0000-0000-0000-000000000002_main"
	for _, name := range []string{"uid-1_main", gone, "00000000-0000-0000-0000-000000000003_main", "my_folder", "else"} {
		folder := filepath.Join(root, "containers", name)
		write(t, filepath.Join(folder, "x.cache"), "")
		changed := time.Unix(1000, 0)
		if strings.HasPrefix(name, "00000000-0000-0000-0000-000000000003") {
			changed = time.Unix(1990, 0)
		}
		if err := os.Chtimes(folder, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	pods := m.options.Pods
	m.options.Pods = func() ([]*v1.Pod, bool) { return nil, false }
	if err := m.removeFolders(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(m.options.CacheRoot); len(left) != 5 {
		t.Errorf("without knowing the pods folders were removed: %v are left", left)
	}
	m.options.Pods = pods
	if err := m.removeFolders(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(root, "containers/*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if strings.Join(left, " ") != "00000000-0000-0000-0000-000000000003_main else my_folder uid-1_main" {
		t.Errorf("left are %v", left)
	}
}

func TestWhatThePluginDoesIsCounted(t *testing.T) {
	m, _, _ := newOfTest(t)
	m.Allocated("volcano.sh/vgpu-number", 3*time.Millisecond, nil)
	m.Allocated("volcano.sh/vgpu-number", time.Millisecond, errors.New("no pod"))
	m.Xid("GPU-soft", 79)
	m.Registered("volcano.sh/vgpu-cores")
	m.Annotated(nil)
	m.Annotated(errors.New("refused"))
	m.Changed(2*time.Second, nil)
	expect(t, ask(t, m, "/metrics"),
		`vgpualloc_plugin_allocations_total{NodeName="n1",resource="volcano.sh/vgpu-number",result="done"} 1`,
		`vgpualloc_plugin_allocations_total{NodeName="n1",resource="volcano.sh/vgpu-number",result="failed"} 1`,
		`vgpualloc_plugin_allocate_seconds_count{NodeName="n1"} 2`,
		`vgpualloc_plugin_xid_events_total{NodeName="n1",deviceuuid="GPU-soft",xid="79"} 1`,
		`vgpualloc_plugin_kubelet_registrations_total{NodeName="n1",resource="volcano.sh/vgpu-cores"} 1`,
		`vgpualloc_plugin_annotation_rounds_total{NodeName="n1",result="failed"} 1`,
		`vgpualloc_plugin_last_annotation_timestamp_seconds{NodeName="n1"} 2000`,
		`vgpualloc_plugin_layout_changes_total{NodeName="n1",result="done"} 1`,
		`vgpualloc_plugin_layout_change_seconds_count{NodeName="n1"} 1`)
}

func TestHealthzAnswers(t *testing.T) {
	m, _, _ := newOfTest(t)
	if text := ask(t, m, "/healthz"); text != "ok\n" {
		t.Errorf("/healthz says %q", text)
	}
}

func TestNobodyNeedsMetrics(t *testing.T) {
	var m *Metrics
	m.Allocated("x", time.Second, nil)
	m.Xid("x", 1)
	m.Registered("x")
	m.Annotated(nil)
	m.Changed(time.Second, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.Run(ctx)
}
