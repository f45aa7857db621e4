package layout

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// holding is an instance that the ledger says a pod has.
type holding struct {
	pod     string // "namespace/name"
	profile string // its name
	group   string // of a geometry; empty: the instance is at a place
	number  int    // slot in the group, or start in memory slices
	claim   Claim  // not Over
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

var (
	groupWords = regexp.MustCompile(`^mig (.+) at slot (\d+) of group (.*)$`)
	placeWords = regexp.MustCompile(`^mig (.+) at placement (\d+)$`)
)

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
				Part      string `json:"part"`
			} `json:"shares"`
		} `json:"devices"`
	} `json:"nodes"`
}

// holdings are what pods have of a GPU by the ledger, without those that are over; none of one that the ledger does not know.
func (e *Executor) holdings(gpuUUID string) ([]holding, error) {
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
				held, err := readHolding(share.Part)
				if err != nil {
					return nil, fmt.Errorf("GPU %s: pod %s/%s: %w", gpuUUID, share.Namespace, share.Pod, err)
				}
				held.pod = share.Namespace + "/" + share.Pod
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

// readHolding reads the ledger's words for a part of a GPU that is shared as mig.
func readHolding(words string) (holding, error) {
	result := holding{}
	parts := groupWords.FindStringSubmatch(words)
	if parts != nil {
		result.group = parts[3]
	} else if parts = placeWords.FindStringSubmatch(words); parts == nil {
		return result, fmt.Errorf("part of a GPU: got '%s', expected a MIG instance", words)
	}
	number, err := strconv.Atoi(parts[2])
	if err != nil {
		return result, fmt.Errorf("part of a GPU: got '%s': %w", words, err)
	}
	result.profile, result.number = parts[1], number
	return result, nil
}
