package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

const (
	idsKey  = "volcano.sh/vgpu-ids-new"
	nodeKey = "volcano.sh/vgpu-node"
)

// bound is a pod of one container on a node, with these annotations.
func bound(name, node string, limits objects.Limits, annotations map[string]string) *corev1.Pod {
	pod := objects.Pod(objects.PodSpec{Name: name, Group: name, Containers: []objects.Limits{limits}, Annotations: annotations})
	pod.Spec.NodeName = node
	return pod
}

func vgpuPod(name string, memory, cores int, ids string) *corev1.Pod {
	return bound(name, "n", objects.Limits{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": memory, "volcano.sh/vgpu-cores": cores},
		map[string]string{idsKey: ids, nodeKey: "n"})
}

func clusterOf(node objects.NodeWithExtras, pods ...*corev1.Pod) Cluster {
	return Cluster{Nodes: []*corev1.Node{node.Node}, Pods: pods, ConfigMaps: append(node.ConfigMaps, objects.DeviceConfig())}
}

func TestWhatIsFound(t *testing.T) {
	hamiCore, mig, mps := objects.Volcano("n", "hami-core", 2), objects.Volcano("n", "mig", 2), objects.Volcano("n", "mps", 1)
	twoContainers := objects.Pod(objects.PodSpec{Name: "two", Group: "two", Containers: []objects.Limits{
		{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 1000}, {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 2000}},
		Annotations: map[string]string{idsKey: "GPU-n-0,NVIDIA,1000,0:;GPU-n-0,NVIDIA,2000,0:", nodeKey: "n"}})
	twoContainers.Spec.NodeName = "n"
	ended := vgpuPod("ended", 30000, 0, "GPU-n-0,NVIDIA,30000,0:")
	ended.Status.Phase = corev1.PodSucceeded
	var many []*corev1.Pod
	for i := range 11 {
		many = append(many, vgpuPod(string(rune('a'+i)), 100, 0, "GPU-n-0,NVIDIA,100,0:"))
	}
	sick := objects.VolcanoCards("n", []objects.Card{{UUID: "GPU-n-0", Mode: "hami-core", Sick: true}})
	chip := func(name, given string, cores int) *corev1.Pod {
		pod := bound(name, "n", objects.Limits{"huawei.com/npu-core": cores}, map[string]string{"huawei.com/npu-core": given})
		pod.Labels = map[string]string{"ring-controller.atlas": "ascend-310P"}
		return pod
	}
	card := func(name, given string, memory int) *corev1.Pod {
		return bound(name, "n", objects.Limits{"huawei.com/Ascend310P": 1, "huawei.com/Ascend310P-memory": memory}, map[string]string{
			"hami.io/Ascend310P-devices-allocated": given, "huawei.com/Ascend310P": `[{"UUID":"NPU-n-0","temp":"vir02"}]`})
	}
	gpu := func(name, given string, units, cores int) *corev1.Pod {
		limits := objects.Limits{"volcano.sh/gpu-mem.128Mi": units}
		if cores > 0 {
			limits["volcano.sh/gpu-core.percentage"] = cores
		}
		return bound(name, "n", limits, map[string]string{"vgpualloc.io/cce-devices-allocated": given})
	}
	shared := func(name, index, resource string, amount int) *corev1.Pod {
		return bound(name, "n", objects.Limits{resource: amount}, map[string]string{"volcano.sh/gpu-index": index})
	}
	cases := []struct {
		name    string
		cluster Cluster
		rules   []string // in the order of the report
	}{
		{"all well", clusterOf(hamiCore, vgpuPod("a", 20000, 40, "GPU-n-0,NVIDIA,20000,40:"), vgpuPod("b", 20000, 60, "GPU-n-0,NVIDIA,20000,60:")), nil},
		{"memory", clusterOf(hamiCore, vgpuPod("a", 30000, 0, "GPU-n-0,NVIDIA,30000,0:"), vgpuPod("b", 11000, 0, "GPU-n-0,NVIDIA,11000,0:")), []string{Overcommit}},
		{"cores", clusterOf(hamiCore, vgpuPod("a", 1000, 60, "GPU-n-0,NVIDIA,1000,60:"), vgpuPod("b", 1000, 50, "GPU-n-0,NVIDIA,1000,50:")), []string{Overcommit}},
		{"slots", clusterOf(hamiCore, many...), []string{Overcommit}},
		{"who has ended holds nothing", clusterOf(hamiCore, ended, vgpuPod("b", 30000, 0, "GPU-n-0,NVIDIA,30000,0:")), nil},
		{"all compute and another", clusterOf(hamiCore, vgpuPod("a", 1000, 100, "GPU-n-0,NVIDIA,1000,100:"), vgpuPod("b", 1000, 0, "GPU-n-0,NVIDIA,1000,0:")), []string{NotShared}},
		{"all compute and another, by MPS", clusterOf(mps, vgpuPod("a", 1000, 100, "GPU-n-0,NVIDIA,1000,100:"), vgpuPod("b", 1000, 0, "GPU-n-0,NVIDIA,1000,0:")), nil},
		{"no annotation", clusterOf(hamiCore, vgpuPod("a", 1000, 0, "")), []string{NoAnnotation}},
		{"text", clusterOf(hamiCore, vgpuPod("a", 1000, 0, "GPU-n-0,NVIDIA,1000:")), []string{BadAnnotation}},
		{"another node", clusterOf(hamiCore, bound("a", "n", objects.Limits{"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": 1000},
			map[string]string{idsKey: "GPU-n-0,NVIDIA,1000,0:", nodeKey: "m"})), []string{BadAnnotation}},
		{"another node's card", clusterOf(hamiCore, vgpuPod("a", 1000, 0, "GPU-m-0,NVIDIA,1000,0:")), []string{UnknownDevice}},
		{"less than asked for", clusterOf(hamiCore, vgpuPod("a", 1000, 0, "GPU-n-0,NVIDIA,500,0:")), []string{AmountDiffers}},
		{"two containers", clusterOf(hamiCore, twoContainers), nil},
		{"unhealthy", clusterOf(sick, vgpuPod("a", 1000, 0, "GPU-n-0,NVIDIA,1000,0:")), []string{SickDevice}},
		{"instances", clusterOf(mig, vgpuPod("a", 5000, 0, "GPU-n-0[group1-0],NVIDIA,5000,0:"), vgpuPod("b", 5000, 0, "GPU-n-0[group1-1],NVIDIA,5000,0:")), nil},
		{"one instance twice", clusterOf(mig, vgpuPod("a", 5000, 0, "GPU-n-0[group1-0],NVIDIA,5000,0:"), vgpuPod("b", 5000, 0, "GPU-n-0[group1-0],NVIDIA,5000,0:")), []string{InstanceTwice}},
		{"two groups", clusterOf(mig, vgpuPod("a", 5000, 0, "GPU-n-0[group1-0],NVIDIA,5000,0:"), vgpuPod("b", 20000, 0, "GPU-n-0[group3-0],NVIDIA,20000,0:")), []string{GroupsMixed}},
		{"instance too small", clusterOf(mig, vgpuPod("a", 5000, 0, "GPU-n-0[group2-3],NVIDIA,5000,0:"), vgpuPod("b", 9000, 0, "GPU-n-1[group1-0],NVIDIA,9000,0:")), []string{AmountDiffers}},
		{"no such instance", clusterOf(mig, vgpuPod("a", 5000, 0, "GPU-n-0[group1-7],NVIDIA,5000,0:")), []string{AmountDiffers}},
		{"chip", clusterOf(objects.MindCluster310P("n", 1), chip("a", "0-vir04", 4), chip("b", "0-vir02_1c", 2), chip("c", "0-vir02", 2)), nil},
		{"AI CPUs of a chip", clusterOf(objects.MindCluster310P("n", 1), chip("a", "0-vir04", 4), chip("b", "0-vir04", 4)), []string{Overcommit}},
		{"video engines", clusterOf(objects.MindCluster310P("n", 1), chip("a", "0-vir04_4c_dvpp", 4), chip("b", "0-vir04_4c_dvpp", 4)), []string{Overcommit, Overcommit}},
		{"whole chip and a part", clusterOf(objects.MindCluster310P("n", 1), chip("a", "0", 8), chip("b", "0-vir01", 1)), []string{Overcommit, Overcommit}},
		{"template too small", clusterOf(objects.MindCluster310P("n", 1), chip("a", "0-vir01", 2)), []string{AmountDiffers}},
		{"NPU", clusterOf(objects.AscendHAMi("n", 1), card("a", "NPU-n-0,Ascend310P,12288,0:;", 9000), card("b", "NPU-n-0,Ascend310P,6144,0:;", 4000)), nil},
		{"memory of an NPU", clusterOf(objects.AscendHAMi("n", 1), card("a", "NPU-n-0,Ascend310P,12288,0:;", 9000), card("b", "NPU-n-0,Ascend310P,12288,0:;", 9000)), []string{Overcommit, Overcommit}},
		{"no template", clusterOf(objects.AscendHAMi("n", 1), card("a", "NPU-n-0,Ascend310P,0,0:;", 30000)), []string{AmountDiffers}},
		{"CCE", clusterOf(objects.CCE("n", 1), gpu("a", "GPU-n-0,5120,25:;", 40, 25), gpu("b", "GPU-n-0,5120,75:;", 40, 75)), nil},
		{"two kinds of isolation", clusterOf(objects.CCE("n", 1), gpu("a", "GPU-n-0,5120,25:;", 40, 25), gpu("b", "GPU-n-0,5120,0:;", 40, 0)), []string{NotShared}},
		{"whole GPU of CCE", clusterOf(objects.CCE("n", 1), gpu("a", "GPU-n-0,whole:;", 126, 0), gpu("b", "GPU-n-0,1024,0:;", 8, 0)), []string{NotShared}},
		{"gpushare", clusterOf(objects.Gpushare("n", 2), shared("a", "0", "volcano.sh/gpu-memory", 9000), shared("b", "1", "volcano.sh/gpu-memory", 9000)), nil},
		{"memory of gpushare", clusterOf(objects.Gpushare("n", 2), shared("a", "0", "volcano.sh/gpu-memory", 9000), shared("b", "0", "volcano.sh/gpu-memory", 9000)), []string{Overcommit}},
		{"whole card of gpushare", clusterOf(objects.Gpushare("n", 2), shared("a", "0,1", "volcano.sh/gpu-number", 2), shared("b", "1", "volcano.sh/gpu-memory", 9000)), []string{NotShared}},
		{"HAMi", clusterOf(objects.HAMi("n", 1), bound("a", "n", objects.Limits{"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1024}, map[string]string{
			"hami.io/vgpu-devices-allocated": "GPU-n-0,NVIDIA,1024,0:;", "hami.io/vgpu-node": "n"})), nil},
		{"MIG of HAMi", clusterOf(hamiMIG(), hamiMIGPod("a", 4, 4, 18000), hamiMIGPod("b", 0, 4, 18000)), nil},
		{"MIG of HAMi that overlaps", clusterOf(hamiMIG(), hamiMIGPod("a", 4, 4, 18000), hamiMIGPod("b", 6, 2, 18000)), []string{InstanceTwice}},
		{"MIG of HAMi that is too small", clusterOf(hamiMIG(), hamiMIGPod("a", 4, 4, 20000)), []string{AmountDiffers}},
	}
	for _, each := range cases {
		t.Run(each.name, func(t *testing.T) {
			var rules []string
			for _, violation := range Check(each.cluster, Options{Health: true}).Violations {
				rules = append(rules, violation.Rule)
			}
			if !slices.Equal(rules, each.rules) {
				t.Errorf("broken rules %v, expected %v: %v", rules, each.rules, Check(each.cluster, Options{Health: true}).Violations)
			}
		})
	}
}

func TestGangsAndWhatIsLeftBehind(t *testing.T) {
	member := func(name, node string) *corev1.Pod {
		pod := vgpuPod(name, 1000, 0, "GPU-n-0,NVIDIA,1000,0:")
		pod.Annotations["scheduling.k8s.io/group-name"] = "gang"
		pod.Spec.NodeName = node
		return pod
	}
	cluster := clusterOf(objects.Volcano("n", "hami-core", 1), member("a", "n"), member("b", "n"))
	cluster.Groups = []*schedulingv1beta1.PodGroup{objects.PodGroup("gang", 3, "")}
	report := Check(cluster, Options{Settled: true})
	if len(report.Violations) != 1 || report.Violations[0].Rule != GangBroken {
		t.Errorf("two of three members: %v, expected %s", report.Violations, GangBroken)
	}
	cluster.Pods = append(cluster.Pods, member("c", "n"))
	if report = Check(cluster, Options{Settled: true}); len(report.Violations) != 0 || report.Gangs != 1 {
		t.Errorf("a whole gang: %v, %d gangs, expected 1", report.Violations, report.Gangs)
	}
	cluster.Pods = []*corev1.Pod{member("d", "")}
	report = Check(cluster, Options{Settled: true})
	if len(report.Violations) != 1 || report.Violations[0].Rule != LeftBehind {
		t.Errorf("an annotation without a node: %v, expected %s", report.Violations, LeftBehind)
	}
	if report = Check(cluster, Options{}); len(report.Violations) != 0 {
		t.Errorf("while things are under way: %v, expected nothing", report.Violations)
	}
	if !strings.Contains(Violation{Rule: GangBroken, Node: "n", Text: "x", Pods: []string{"e2e/a"}}.String(), "node n: x (pods e2e/a)") {
		t.Error("a violation does not name its node and pods")
	}
}

func TestPlacementsWithoutGroups(t *testing.T) {
	cluster := clusterOf(objects.Volcano("n", "mig", 1), vgpuPod("a", 20000, 0, "GPU-n-0[3g.20gb-0],NVIDIA,20000,0:"),
		vgpuPod("b", 9000, 0, "GPU-n-0[2g.10gb-4],NVIDIA,9000,0:"))
	cluster.ConfigMaps = nil
	if report := Check(cluster, Options{}); len(report.Violations) != 0 {
		t.Errorf("instances side by side: %v", report.Violations)
	}
	cluster.Pods = append(cluster.Pods, vgpuPod("c", 5000, 0, "GPU-n-0[1g.5gb-5],NVIDIA,5000,0:"))
	report := Check(cluster, Options{})
	if len(report.Violations) != 1 || report.Violations[0].Rule != InstanceTwice {
		t.Errorf("overlapping instances: %v, expected %s", report.Violations, InstanceTwice)
	}
}

func hamiMIG() objects.NodeWithExtras {
	node := objects.HAMi("n", 1)
	node.Node.Annotations["hami.io/node-nvidia-register"] = strings.Replace(node.Node.Annotations["hami.io/node-nvidia-register"], "hami-core", "mig", 1)
	return node
}

// hamiMIGPod has a MIG device of 19968 MiB in its second container; the first asks for nothing.
func hamiMIGPod(name string, start, size, memory int) *corev1.Pod {
	pod := bound(name, "n", objects.Limits{"nvidia.com/gpu": 1, "nvidia.com/gpumem": memory}, map[string]string{"hami.io/vgpu-node": "n",
		"hami.io/vgpu-devices-allocated": ";GPU-n-0,NVIDIA,19968,43:;",
		"hami.io/vgpu-mig-allocations": fmt.Sprintf(`[{"containerIndex":1,"deviceIndex":0,"gpuUUID":"GPU-n-0","profile":"3g.20gb","placement":{"start":%d,"size":%d}}]`,
			start, size)})
	pod.Spec.Containers = append([]corev1.Container{{Name: "none"}}, pod.Spec.Containers...)
	return pod
}
