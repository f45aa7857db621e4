package ascend

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/kube"
)

// registered is a chip as schedulers read it: the members, their order and what is left out when it is 0 are HAMi's.
type registered struct {
	ID              string         `json:"id,omitempty"`
	Index           int            `json:"index,omitempty"`
	Count           int            `json:"count,omitempty"`
	Devmem          int64          `json:"devmem,omitempty"`
	Devcore         int32          `json:"devcore,omitempty"`
	Type            string         `json:"type,omitempty"`
	Health          bool           `json:"health,omitempty"`
	CustomInfo      map[string]int `json:"custominfo,omitempty"`
	DevicePairScore struct{}       `json:"devicepairscore"`
}

// networkSize is how many chips of a 910 are in one network, in the order of their logic ids.
const networkSize = 4

// softCores is what a chip has that is limited in software: percent.
const softCores = 100

// registrationText is the list of chips for schedulers. States and chips go together.
func registrationText(of *config, chips []chipState) (string, error) {
	list := make([]registered, 0, len(chips))
	for i, chip := range chips {
		entry := registered{ID: chip.VDie, Index: i, Count: of.slots, Devmem: of.chip.MemoryAllocatable, Devcore: of.chip.AICore,
			Type: of.chip.CommonWord, Health: chip.isHealthy}
		if of.isSoft {
			entry.Devcore = softCores
		}
		if strings.HasPrefix(of.chip.CommonWord, "Ascend910") {
			network := 0
			if i >= networkSize && of.chip.CommonWord != "Ascend910C" {
				network = 1
			}
			entry.CustomInfo = map[string]int{"NetworkID": network}
		}
		list = append(list, entry)
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// Annotations of a node, and beginnings of those.
const (
	registerPrefix  = "hami.io/node-register-"
	handshakePrefix = "hami.io/node-handshake-"
	reportedPrefix  = "hami.io/node-reported-" // the handshake's time in RFC 3339; ours
	softAnnotation  = "hami-vnpu-core"
	lockAnnotation  = "hami.io/mutex.lock"
)

// registrationOf are the node's annotations at a time.
func registrationOf(of *config, chips []chipState, now time.Time, offset time.Duration) (map[string]any, error) {
	text, err := registrationText(of, chips)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		registerPrefix + of.chip.CommonWord:  text,
		handshakePrefix + of.chip.CommonWord: "Reported_" + now.Add(offset).Format("2006.01.02 15:04:05"),
		reportedPrefix + of.chip.CommonWord:  now.UTC().Format(time.RFC3339),
		softAnnotation:                       fmt.Sprint(of.isSoft),
	}, nil
}

// annotateNode writes annotations of a node, of exactly the one that has the name now; nil removes one. With a version the API server
// refuses where the node has changed since.
func annotateNode(ctx context.Context, client kubernetes.Interface, node metav1.ObjectMeta, version string,
	annotations map[string]any) error {
	patch, err := kube.AnnotationsPatch(node.UID, version, annotations)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("writing the annotations of node %s: %w", node.Name, err)
	}
	return nil
}
