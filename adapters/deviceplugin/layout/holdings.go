package layout

import (
	"encoding/json"
	"fmt"
	"time"
)

// holding is an instance that the ledger says a pod has.
type holding struct {
	pod     string // "namespace/name"
	profile string // its name
	group   string // of a geometry; empty: the instance is at a place
	number  int    // slot of its profile in the group, or start in memory slices
	claim   Claim  // not Over
	isShare bool   // of a card that is not cut; then there are no profile, group and number
}

// handing is an instance that this executor has handed out.
type handing struct {
	since  time.Time
	group  string // empty: at a place
	number int    // slot of its profile in the group
	seen   bool   // the ledger has shown it since
}

// handedGrace is how long an instance that was handed out counts as in use before the ledger shows the pod that has it.
const handedGrace = 30 * time.Second

// ledgerMetrics is what is read of the ledger's metrics.
type ledgerMetrics struct {
	Nodes []struct {
		Name    string `json:"name"`
		Devices []struct {
			UUID   string `json:"uuid"`
			Shares []struct {
				UID       string `json:"uid"`
				Namespace string `json:"namespace"`
				Pod       string `json:"pod"`
				Container string `json:"container"`
				Kind      string `json:"kind"`
				Name      string `json:"name"`
				Group     string `json:"group"`
				Start     int    `json:"start"`
			} `json:"shares"`
		} `json:"devices"`
	} `json:"nodes"`
}

// holdings are what pods have of a GPU by the ledger, without those that are over; none of one that the ledger does not know. Of a GPU
// that is cut pods have instances only.
func (e *Executor) holdings(gpuUUID string, isCut bool) ([]holding, error) {
	text, err := e.options.Ledger.Metrics()
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var metrics ledgerMetrics
	if err := json.Unmarshal([]byte(text), &metrics); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var result []holding
	for _, node := range metrics.Nodes {
		for _, device := range node.Devices {
			if node.Name != e.options.Node || device.UUID != gpuUUID {
				continue
			}
			for _, share := range device.Shares {
				held := holding{pod: share.Namespace + "/" + share.Pod, profile: share.Name, group: share.Group, number: share.Start}
				switch isInstance := share.Kind == "mig_instance" && share.Name != "" && share.Start >= 0; {
				case isInstance:
				case isCut:
					return nil, fmt.Errorf("GPU %s: pod %s/%s: got a part of kind '%s', name '%s' and start %d, expected a mig_instance",
						gpuUUID, share.Namespace, share.Pod, share.Kind, share.Name, share.Start)
				default:
					held = holding{pod: held.pod, isShare: true}
				}
				if e.options.Claim != nil {
					held.claim = e.options.Claim(share.UID, share.Container)
				}
				if held.claim != Over {
					result = append(result, held)
				}
			}
		}
	}
	return result, nil
}
