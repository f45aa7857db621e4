package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	vcv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// What the seeds say of a scheduler (docs/requirements.md), in sessions that are opened from the text of its configuration.

// seedConfiguration is the one of the seeds, with our plugin in place of deviceshare.
func seedConfiguration(arguments ...string) string {
	text := "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: predicates\n  - name: vgpualloc\n    arguments:\n"
	for _, argument := range arguments {
		text += "      " + argument + "\n"
	}
	return text
}

// world is a cluster without an API server, over several sessions of one scheduler.
type world struct {
	t      *testing.T
	cache  *cache.SchedulerCache
	binder *util.FakeBinder
	engine *Engine
	text   string            // of volcano-scheduler.conf
	why    map[string]string // of pods that wait: what their job is told
}

// newWorld has a group of its own for each pod.
func newWorld(t *testing.T, text string, configMaps []*v1.ConfigMap, nodes []*v1.Node, pods ...*v1.Pod) *world {
	t.Helper()
	w := &world{t: t, binder: util.NewFakeBinder(100), engine: NewEngine(), text: text, why: map[string]string{}}
	w.cache = cache.NewCustomMockSchedulerCache("volcano", apiBinder{w.binder}, util.NewFakeEvictor(100), &util.FakeStatusUpdater{}, nil, nil)
	for _, configMap := range configMaps {
		_, err := w.cache.Client().CoreV1().ConfigMaps(configMap.Namespace).Create(context.Background(), configMap, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	w.cache.Run(stop)
	for _, node := range nodes {
		if err := w.cache.AddOrUpdateNode(node); err != nil {
			t.Fatal(err)
		}
	}
	w.cache.AddQueueV1beta1(util.BuildQueue("q", 1, nil))
	w.add(pods...)
	t.Cleanup(func() {
		close(stop)
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) add(pods ...*v1.Pod) {
	w.t.Helper()
	for _, pod := range pods {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations["scheduling.k8s.io/group-name"] = pod.Name
		if _, err := w.cache.Client().CoreV1().Pods("ns").Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
		w.cache.AddPod(pod)
		w.cache.AddPodGroupV1beta1(group(pod.Name, 1, "q", "", vcv1.PodGroupPending))
	}
}

// session runs the actions of the configuration, and waits until so many pods are bound.
func (w *world) session(bound int) {
	w.t.Helper()
	framework.RegisterPluginBuilder("predicates", predicates.New)
	framework.RegisterPluginBuilder(Name, w.engine.New)
	defer framework.CleanupPluginBuilders()
	actions, tiers, configurations, _, err := scheduler.UnmarshalSchedulerConf(w.text)
	if err != nil {
		w.t.Fatal(err)
	}
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	session := framework.OpenSession(w.cache, tiers, configurations)
	for _, action := range actions {
		action.Initialize()
		action.Execute(session)
		action.UnInitialize()
	}
	for _, job := range session.Jobs {
		w.why[job.Name] = job.FitError()
		for _, errors := range job.NodesFitErrors {
			w.why[job.Name] += " " + errors.Error()
		}
	}
	for range bound {
		select {
		case <-w.binder.Channel:
		case <-time.After(10 * time.Second):
			w.t.Errorf("fewer than %d pods are bound: %v", bound, w.why)
		}
	}
	framework.CloseSession(session)
	select {
	case pod := <-w.binder.Channel:
		w.t.Errorf("%s is bound too, expected %d pods", pod, bound)
	case <-time.After(100 * time.Millisecond):
	}
	for name, node := range w.binder.Binds() {
		w.runs(strings.TrimPrefix(name, "ns/"), node)
	}
}

// runs: the cache hears of a bound pod what the API server would say.
func (w *world) runs(name, node string) {
	w.t.Helper()
	pods := w.cache.Client().CoreV1().Pods("ns")
	before, err := pods.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if before.Status.Phase == v1.PodRunning {
		return
	}
	after := before.DeepCopy()
	after.Spec.NodeName, after.Status.Phase = node, v1.PodRunning
	if _, err := pods.Update(context.Background(), after, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.cache.UpdatePod(before, after)
}

func (w *world) where(pod string) string { return w.binder.Binds()["ns/"+pod] }

func (w *world) annotation(pod, name string) string {
	w.t.Helper()
	object, err := w.cache.Client().CoreV1().Pods("ns").Get(context.Background(), pod, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return object.Annotations[name]
}

// apiBinder writes what comes with a binding, as the API server does.
type apiBinder struct{ *util.FakeBinder }

func (b apiBinder) Bind(client kubernetes.Interface, tasks []*api.TaskInfo) map[api.TaskID]string {
	for _, task := range tasks {
		pods := client.CoreV1().Pods(task.Namespace)
		object, err := pods.Get(context.Background(), task.Name, metav1.GetOptions{})
		if err == nil {
			object.Annotations = task.Pod.Annotations
			_, err = pods.Update(context.Background(), object, metav1.UpdateOptions{})
		}
		if err != nil {
			return map[api.TaskID]string{task.UID: err.Error()}
		}
	}
	return b.FakeBinder.Bind(client, tasks)
}

// refused: the pod waits, has no devices, and is told why in these words.
func (w *world) refused(pod string, words ...string) {
	w.t.Helper()
	if where := w.where(pod); where != "" {
		w.t.Errorf("pod %s is bound to %s", pod, where)
	}
	if ids := w.annotation(pod, "volcano.sh/vgpu-ids-new"); ids != "" {
		w.t.Errorf("pod %s has %s", pod, ids)
	}
	for _, word := range words {
		if !strings.Contains(w.why[pod], word) {
			w.t.Errorf("pod %s: %q, expected %q in it", pod, w.why[pod], word)
		}
	}
}

func asking(name string, limits v1.ResourceList, annotations, labels map[string]string) *v1.Pod {
	result := pod(name, name, 0)
	maps.Copy(result.Annotations, annotations)
	result.Labels = labels
	result.Spec.SchedulerName = "volcano"
	result.Spec.Containers[0].Resources = v1.ResourceRequirements{Limits: limits, Requests: limits}
	return result
}

func vgpu(name, memory, mode string) *v1.Pod {
	annotations := map[string]string{}
	if mode != "" {
		annotations["volcano.sh/vgpu-mode"] = mode
	}
	return asking(name, amounts("volcano.sh/vgpu-number", "1", "volcano.sh/vgpu-memory", memory), annotations, nil)
}

func configMap(namespace, name, key, text string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: text}}
}

// offering is a node with something allocatable, and annotations and labels.
func offering(name string, annotations, labels map[string]string, pairs ...string) *v1.Node {
	result := util.BuildNode(name, amounts(append([]string{"cpu", "64", "memory", "256Gi", "pods", "110"}, pairs...)...), labels)
	result.Annotations = annotations
	return result
}

func migNode(name string) *v1.Node {
	return offering(name, map[string]string{"volcano.sh/node-vgpu-register": "GPU-" + name + ",10,40960,NVIDIA-A100-SXM4-40GB,true,mig:"}, nil,
		"volcano.sh/vgpu-number", "10", "volcano.sh/vgpu-memory", "40960", "volcano.sh/vgpu-cores", "100")
}

const resourceNames = `
nvidia:
  resourceCountName: volcano.sh/vgpu-number
  resourceMemoryName: volcano.sh/vgpu-memory
  resourceCoreName: volcano.sh/vgpu-cores
`

// geometry is a device configuration whose groups have one kind of instance each: "1g.5gb 5120 7".
func geometry(groups ...string) string {
	text := resourceNames + "  knownMigGeometries:\n  - models: [\"A100-SXM4-40GB\"]\n    allowedGeometries:\n"
	for _, group := range groups {
		kind := strings.Fields(group)
		text += fmt.Sprintf("    - {group: of-%s, geometries: [{name: %s, memory: %s, count: %s}]}\n",
			kind[0], kind[0], kind[1], kind[2])
	}
	return text
}

const (
	small = "1g.5gb 5120 7"
	whole = "7g.40gb 40960 1"
)

const otherNPU = `
vnpus:
- {chipName: 310P3, commonWord: Ascend310P, resourceName: example.com/npu, resourceMemoryName: huawei.com/Ascend310P-memory,
   memoryAllocatable: 21527, memoryCapacity: 24576, aiCore: 8, aiCPU: 7,
   templates: [{name: vir01, memory: 3072, aiCore: 1, aiCPU: 1}, {name: vir02, memory: 6144, aiCore: 2, aiCPU: 2}]}
`

func npuNode(name, resource string) *v1.Node {
	return offering(name, map[string]string{"hami.io/node-register-Ascend310P": `[{"id":"npu-` + name +
		`","index":0,"count":7,"devmem":21527,"devcore":8,"type":"Ascend310P","health":true}]`}, nil, resource, "7")
}

// R019, R020: the configuration of the seeds serves the pod of the seeds.
func TestTheConfigurationOfTheSeeds(t *testing.T) {
	hamiCore := vgpu("pod", "3000", "hami-core")
	hamiCore.Spec.Containers[0].Resources.Limits["volcano.sh/vgpu-cores"] = amounts("c", "50")["c"]
	w := newWorld(t, seedConfiguration("deviceshare.VGPUEnable: true", "deviceshare.SchedulePolicy: binpack"), nil,
		[]*v1.Node{node("a", 16384)}, hamiCore)
	w.session(1)
	if ids := w.annotation("pod", "volcano.sh/vgpu-ids-new"); ids != "GPU-a-0,NVIDIA,3000,50:" && ids != "GPU-a-0,NVIDIA,3000,50:;" {
		t.Error(ids)
	}
}

// R036: the policy of the cluster is the argument's, for nodes and for cards.
func TestThePolicyOfTheCluster(t *testing.T) {
	for policy, expected := range map[string][2]string{"binpack": {"used", "GPU-used-1"}, "spread": {"idle", "GPU-idle-"}} {
		has := running("has", "has", "used", "GPU-used-1", 8000)
		w := newWorld(t, seedConfiguration("deviceshare.VGPUEnable: true", "deviceshare.SchedulePolicy: "+policy), nil,
			[]*v1.Node{node("idle", 16384, 16384), node("used", 16384, 16384)}, has, vgpu("pod", "3000", ""))
		w.session(1)
		if where, ids := w.where("pod"), w.annotation("pod", "volcano.sh/vgpu-ids-new"); where != expected[0] || !strings.HasPrefix(ids, expected[1]) {
			t.Error(policy, where, ids)
		}
	}
}

// R072: the annotation is the user's choice; without it any mode serves.
func TestTheModeIsTheUsersChoice(t *testing.T) {
	config := []*v1.ConfigMap{configMap("kube-system", "volcano-vgpu-device-config", "device-config.yaml", geometry(small))}
	for name, nodes := range map[string][]string{"hami-core": {"core"}, "mig": {"mig"}, "": {"core", "mig"}} {
		w := newWorld(t, seedConfiguration("deviceshare.VGPUEnable: true"), config, []*v1.Node{node("core", 16384), migNode("mig")},
			vgpu("pod", "3000", name), vgpu("other", "3000", "mps"))
		w.session(1)
		where, ids := w.where("pod"), w.annotation("pod", "volcano.sh/vgpu-ids-new")
		if !slices.Contains(nodes, where) || strings.Contains(ids, "GPU-mig[of-1g.5gb-") != (where == "mig") {
			t.Error(name, where, ids)
		}
		w.refused("other", "mode")
	}
}

// R068, R069: instances are those of the ConfigMap that the device plugin reads too. A change of it holds without a restart,
// and one that cannot be read changes nothing.
func TestGeometriesAreThoseOfTheSharedConfigMap(t *testing.T) {
	config := configMap("kube-system", "volcano-vgpu-device-config", "device-config.yaml", geometry(whole))
	w := newWorld(t, seedConfiguration("deviceshare.VGPUEnable: true"), []*v1.ConfigMap{config},
		[]*v1.Node{migNode("m1"), migNode("m2")}, vgpu("a", "3000", ""), vgpu("b", "3000", ""), vgpu("c", "3000", ""))
	w.session(2)
	waits := ""
	for _, name := range []string{"a", "b", "c"} {
		if w.where(name) == "" {
			waits = name
		} else if ids := w.annotation(name, "volcano.sh/vgpu-ids-new"); !strings.Contains(ids, "[of-7g.40gb-0]") {
			t.Error(name, ids)
		}
	}
	w.refused(waits)
	change := func(text string) {
		config.Data["device-config.yaml"] = text
		_, err := w.cache.Client().CoreV1().ConfigMaps("kube-system").Update(context.Background(), config, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 { // until who watches has heard of it
			if w.engine.config.HasNews() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("nobody has heard of the change")
	}
	if err := w.cache.AddOrUpdateNode(migNode("m3")); err != nil {
		t.Fatal(err)
	}
	change(resourceNames + "  gpuMemoryFactor: much\n")
	w.session(1)
	if ids := w.annotation(waits, "volcano.sh/vgpu-ids-new"); !strings.Contains(ids, "GPU-m3[of-7g.40gb-0]") {
		t.Error("the one before stays", ids)
	}
	if err := w.cache.AddOrUpdateNode(migNode("m4")); err != nil {
		t.Fatal(err)
	}
	change(geometry(small, whole)) // what has been given out keeps its group
	w.add(vgpu("d", "3000", ""), vgpu("e", "3000", ""))
	w.session(2)
	ids := w.annotation("d", "volcano.sh/vgpu-ids-new") + w.annotation("e", "volcano.sh/vgpu-ids-new")
	if !strings.Contains(ids, "GPU-m4[of-1g.5gb-0]") || !strings.Contains(ids, "GPU-m4[of-1g.5gb-1]") {
		t.Error(ids)
	}
}

// R085, R086: HAMi mode, its arguments, and the ConfigMap that they name.
func TestHAMiModeAndItsConfigMap(t *testing.T) {
	arguments := []string{"deviceshare.AscendHAMiVNPUEnable: true", "deviceshare.SchedulePolicy: binpack",
		"deviceshare.KnownGeometriesCMNamespace: kube-system", "deviceshare.KnownGeometriesCMName: hami-scheduler-device"}
	config := []*v1.ConfigMap{configMap("kube-system", "hami-scheduler-device", "device-config.yaml", otherNPU)}
	npu := asking("pod", amounts("example.com/npu", "1", "huawei.com/Ascend310P-memory", "4096"), nil, nil)
	w := newWorld(t, seedConfiguration(arguments...), config, []*v1.Node{npuNode("n", "example.com/npu")}, npu)
	w.session(1)
	if ids := w.annotation("pod", "hami.io/Ascend310P-devices-allocated"); !strings.HasPrefix(ids, "npu-n,Ascend310P,6144,") {
		t.Error(ids)
	}
	if given := w.annotation("pod", "huawei.com/Ascend310P"); !strings.Contains(given, "vir02") {
		t.Error(given)
	}
}

// R087: GPUs and NPUs in one cluster, with both sections in one ConfigMap.
func TestGPUsAndNPUsInOneCluster(t *testing.T) {
	config := []*v1.ConfigMap{configMap("kube-system", "volcano-vgpu-device-config", "device-config.yaml",
		geometry(small)+otherNPU)}
	w := newWorld(t, seedConfiguration("deviceshare.VGPUEnable: true", "deviceshare.AscendHAMiVNPUEnable: true"), config,
		[]*v1.Node{migNode("gpu"), npuNode("npu", "example.com/npu")}, vgpu("g", "3000", "mig"),
		asking("n", amounts("example.com/npu", "1", "huawei.com/Ascend310P-memory", "3000"), nil, nil))
	w.session(2)
	if ids := w.annotation("g", "volcano.sh/vgpu-ids-new"); !strings.Contains(ids, "GPU-gpu[of-1g.5gb-0]") {
		t.Error(ids)
	}
	if ids := w.annotation("n", "hami.io/Ascend310P-devices-allocated"); !strings.HasPrefix(ids, "npu-npu,Ascend310P,3072,") {
		t.Error(ids)
	}
}

// R082: MindCluster's 310P.
func TestMindCluster(t *testing.T) {
	labels := map[string]string{"accelerator": "huawei-Ascend310P", "servertype": "Ascend310P-8", "node.kubernetes.io/npu.chip.name": "310P3"}
	chips := `{"DeviceInfo":{"DeviceList":{"huawei.com/Ascend310P":"Ascend310P-0"}}}`
	config := []*v1.ConfigMap{configMap("kube-system", "mindx-dl-deviceinfo-atlas", "DeviceInfoCfg", chips)}
	atlas := offering("atlas", map[string]string{"baseDeviceInfos": `{"Ascend310P-0":{}}`}, labels, "huawei.com/npu-core", "8")
	w := newWorld(t, seedConfiguration("deviceshare.AscendMindClusterVNPUEnable: true"), config, []*v1.Node{atlas},
		asking("pod", amounts("huawei.com/npu-core", "2"), nil,
			map[string]string{"ring-controller.atlas": "ascend-310P", "vnpu-dvpp": "null", "vnpu-level": "low"}))
	w.session(1)
	if given := w.annotation("pod", "huawei.com/npu-core"); given != "0-vir02_1c" {
		t.Error(given)
	}
}

// R017, R018: a node offers what is allocatable on it, whatever it registers.
func TestANodeOffersWhatIsAllocatable(t *testing.T) {
	silent := node("silent", 16384)
	for _, name := range []v1.ResourceName{"volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"} {
		silent.Status.Capacity[name] = silent.Status.Allocatable[name]
	}
	silent.Status.Allocatable = amounts("cpu", "64", "memory", "256Gi", "pods", "110")
	w := newWorld(t, seedConfiguration("deviceshare.VGPUEnable: true"), nil, []*v1.Node{silent}, vgpu("pod", "3000", ""))
	w.session(0)
	w.refused("pod")
	if err := w.cache.AddOrUpdateNode(node("offers", 16384)); err != nil {
		t.Fatal(err)
	}
	w.session(1)
	if w.where("pod") != "offers" {
		t.Error(w.where("pod"))
	}
}

// R114: virtual GPUs of CCE.
func TestCCE(t *testing.T) {
	pod := asking("pod", amounts("volcano.sh/gpu-mem.128Mi", "40", "volcano.sh/gpu-core.percentage", "25"), nil, nil)
	w := newWorld(t, seedConfiguration("vgpualloc.policy: binpack"), nil,
		[]*v1.Node{offering("a", nil, nil, "volcano.sh/gpu-mem.128Mi", "126", "volcano.sh/gpu-core.percentage", "100")}, pod)
	w.session(1)
	if given := w.annotation("pod", "vgpualloc.io/cce-devices-allocated"); !strings.Contains(given, ",5120,25:") {
		t.Error(given)
	}
}

// R020, R082: what is not enabled serves no pod, and the pod is told which argument enables it.
func TestWhatIsNotEnabledServesNoPod(t *testing.T) {
	w := newWorld(t, seedConfiguration("deviceshare.AscendHAMiVNPUEnable: true"), nil, []*v1.Node{node("a", 16384)},
		vgpu("pod", "3000", ""), pod("plain", "plain", 0))
	w.session(1)
	w.refused("pod", "VGPUEnable")
	if w.where("plain") != "a" {
		t.Error("a pod without devices is not concerned")
	}
	w.text = seedConfiguration("deviceshare.AscendHAMiVNPUEnable: true", "deviceshare.VGPUEnable: true")
	w.session(1) // no restart is needed
	if w.where("pod") != "a" {
		t.Error(w.why)
	}
}

// Where whole cards are given, a pod that names memory besides gets as many as it asks for (upstream gives one: Q25).
func TestWhereCardsAreGivenByNumberTheMemoryOfAPodDoesNotCount(t *testing.T) {
	capacity := amounts("cpu", "64", "memory", "256Gi", "pods", "110", "volcano.sh/gpu-number", "2", "volcano.sh/gpu-memory", "32000")
	w := newWorld(t, seedConfiguration("deviceshare.GPUNumberEnable: true"), nil, []*v1.Node{util.BuildNode("a", capacity, nil)},
		asking("pod", amounts("volcano.sh/gpu-number", "2", "volcano.sh/gpu-memory", "500"), nil, nil))
	w.session(1)
	if cards := w.annotation("pod", "volcano.sh/gpu-index"); cards != "0,1" {
		t.Errorf("cards %q, expected 0,1; %s", cards, w.why["pod"])
	}
}
