// Package objects makes the objects that the scenarios post: nodes that register devices as each dialect has it, pods of
// every way of sharing, and the cluster around them. The annotations are those of docs/dialects.
package objects

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The hardware that the nodes say they have.
const (
	a100Type       = "NVIDIA A100-SXM4-40GB"
	a100Memory     = 40960
	v100Memory     = 16160
	cardSlots      = 10
	ascendWord     = "Ascend310P"
	ascendMemory   = 21527
	ascendCores    = 8
	chipCores      = 8
	gpushareMemory = 16000
)

// Volcano 1.14 answers each "Reported" of a device plugin by writing "Requesting" and the time to the node, five times a
// second at most, and forgets the cards of a node that has not reported again within a minute. With a time in the future it
// is content, which is the best that can be done for its speed.
const handshake = "Requesting_2099.01.01 00:00:00"

// NodeWithExtras is a node and what belongs to it.
type NodeWithExtras struct {
	Node       *corev1.Node
	ConfigMaps []*corev1.ConfigMap
}

// Card is one card of a registration, where a scenario wants something unusual. Its zero values mean the usual.
type Card struct {
	UUID   string
	Type   string
	Memory int
	Slots  int
	Mode   string
	Sick   bool
}

// Volcano is a node whose cards are shared by Volcano's device plugin: mode hami-core, mig or mps.
func Volcano(name, mode string, cards int) NodeWithExtras {
	list := make([]Card, cards)
	for i := range list {
		list[i] = Card{UUID: fmt.Sprintf("GPU-%s-%d", name, i), Mode: mode}
	}
	return VolcanoCards(name, list)
}

// VolcanoCards is Volcano for cards that differ.
func VolcanoCards(name string, cards []Card) NodeWithExtras {
	var memory, slots int
	var register strings.Builder
	for _, card := range cards {
		ofCard, slotsOfCard := cmp.Or(card.Memory, a100Memory), cmp.Or(card.Slots, cardSlots)
		memory, slots = memory+ofCard, slots+slotsOfCard
		fmt.Fprintf(&register, "%s,%d,%d,%s,%t,%s:", card.UUID, slotsOfCard, ofCard, cmp.Or(card.Type, a100Type), !card.Sick, card.Mode)
	}
	node := bare(name, map[string]int{"volcano.sh/vgpu-number": slots, "volcano.sh/vgpu-memory": memory,
		"volcano.sh/vgpu-cores": 100 * len(cards)})
	node.Annotations["volcano.sh/node-vgpu-register"] = register.String()
	node.Annotations["volcano.sh/node-vgpu-handshake"] = handshake
	return NodeWithExtras{Node: node}
}

// AscendHAMi is a node of Ascend cards in HAMi's mode.
func AscendHAMi(name string, cards int) NodeWithExtras {
	return AscendHAMiOf(name, cards, ascendMemory)
}

// AscendHAMiOf is AscendHAMi for cards that are registered with another memory, in MiB.
func AscendHAMiOf(name string, cards, memory int) NodeWithExtras {
	node := bare(name, map[string]int{"huawei.com/" + ascendWord: 7 * cards})
	node.Annotations["hami.io/node-register-"+ascendWord] = registered("NPU-"+name, cards, map[string]any{"count": 7, "devmem": memory,
		"devcore": ascendCores, "type": ascendWord}, "index")
	return NodeWithExtras{Node: node}
}

// MindCluster310P is a node of Atlas inference cards, with the list of chips that its device plugin keeps in a ConfigMap.
func MindCluster310P(name string, chips int) NodeWithExtras {
	node := bare(name, map[string]int{"huawei.com/npu-core": chipCores * chips})
	maps.Copy(node.Labels, map[string]string{"accelerator": "huawei-Ascend310P",
		"servertype": fmt.Sprintf("Ascend310P-%d", chipCores), "node.kubernetes.io/npu.chip.name": "310P3"})
	infos := map[string]any{}
	var names []string
	for i := range chips {
		chip := fmt.Sprintf("Ascend310P-%d", i)
		names = append(names, chip)
		infos[chip] = map[string]any{"IP": "", "SuperDeviceID": 0}
	}
	node.Annotations["baseDeviceInfos"] = compact(infos)
	lists := map[string]string{"huawei.com/Ascend310P": strings.Join(names, ","), "huawei.com/Ascend310P-Unhealthy": ""}
	type deviceInfo struct {
		DeviceList map[string]string
		UpdateTime int64
	}
	info := deviceInfo{DeviceList: lists, UpdateTime: time.Now().Unix()}
	// The plugin signs what it writes with the hash of it, and readers check that.
	hash := sha256.Sum256([]byte(compact(info)))
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "mindx-dl-deviceinfo-" + name, Namespace: "kube-system",
			Labels: map[string]string{"mx-consumer-cim": "true"}},
		Data: map[string]string{"DeviceInfoCfg": compact(map[string]any{"DeviceInfo": info,
			"CheckCode": hex.EncodeToString(hash[:])})},
	}
	return NodeWithExtras{Node: node, ConfigMaps: []*corev1.ConfigMap{config}}
}

// CCE is a node of Huawei Cloud with virtual GPUs.
func CCE(name string, cards int) NodeWithExtras {
	node := bare(name, map[string]int{"volcano.sh/gpu-mem.128Mi": v100Memory / 128 * cards,
		"volcano.sh/gpu-core.percentage": 100 * cards})
	node.Annotations["vgpualloc.io/cce-node-register"] = registered("GPU-"+name, cards, map[string]any{"model": "V100", "memory": v100Memory})
	return NodeWithExtras{Node: node}
}

// Gpushare is a node of the older sharing by memory or of whole cards.
func Gpushare(name string, cards int) NodeWithExtras {
	return NodeWithExtras{Node: bare(name, map[string]int{"volcano.sh/gpu-number": cards,
		"volcano.sh/gpu-memory": gpushareMemory * cards})}
}

// HAMi is a node whose cards are shared by HAMi's device plugin.
func HAMi(name string, cards int) NodeWithExtras {
	node := bare(name, map[string]int{"nvidia.com/gpu": cardSlots * cards})
	node.Annotations["hami.io/node-nvidia-register"] = registered("GPU-"+name, cards, map[string]any{"count": cardSlots, "devmem": a100Memory,
		"devcore": 100, "type": "NVIDIA-" + a100Type, "mode": "hami-core"}, "index", "numa")
	node.Annotations["hami.io/node-handshake"] = "Reported " + time.Now().UTC().Format(time.DateTime)
	return NodeWithExtras{Node: node}
}

// registered is the list in JSON by which a device plugin registers healthy cards that are alike but for their ids and what
// else is numbered.
func registered(prefix string, count int, alike map[string]any, numbered ...string) string {
	list := make([]map[string]any, count)
	for i := range list {
		list[i] = map[string]any{"id": fmt.Sprintf("%s-%d", prefix, i), "health": true}
		maps.Copy(list[i], alike)
		for _, name := range numbered {
			list[i][name] = i
		}
	}
	return compact(list)
}

// bare is a node that is ready, with room for many pods.
func bare(name string, resources map[string]int) *corev1.Node {
	amounts := corev1.ResourceList{"cpu": resource.MustParse("256"), "memory": resource.MustParse("1Ti"),
		"pods": resource.MustParse("500"), "ephemeral-storage": resource.MustParse("1Ti")}
	for key, amount := range resources {
		amounts[corev1.ResourceName(key)] = resource.MustParse(strconv.Itoa(amount))
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}, Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
		Status: corev1.NodeStatus{Allocatable: amounts, Capacity: amounts, Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
			Message: "kubelet is posting ready status", LastHeartbeatTime: now, LastTransitionTime: now}}},
	}
}

// compact is JSON without spaces. What is written here can always be.
func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("JSON of %v: %v", value, err))
	}
	return string(text)
}
