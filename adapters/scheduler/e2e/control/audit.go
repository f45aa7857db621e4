package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

const auditFile = "audit.jsonl"

// A watch is written when it begins, as some end with the API server.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [%q]}
- {level: None}
`

// prepareAudit has the API server write down the requests of the user in question.
func (plane *Plane) prepareAudit() error {
	if plane.options.Audited == "" {
		return nil
	}
	policy := filepath.Join(plane.options.Dir, "audit-policy.yaml")
	plane.APIServer.Args = append(plane.APIServer.Args, "--audit-policy-file="+policy, "--audit-log-path="+filepath.Join(plane.options.Dir, auditFile))
	return os.WriteFile(policy, fmt.Appendf(nil, auditPolicy, plane.options.Audited), 0o600)
}

// Requests are what the audited user asked the API server for, as "get nodes", and how often; refused are those that it had no right to.
func (plane *Plane) Requests() (allowed, refused map[string]int, err error) {
	text, err := os.ReadFile(filepath.Join(plane.options.Dir, auditFile))
	if err != nil {
		return nil, nil, err
	}
	return requests(text)
}

func requests(log []byte) (allowed, refused map[string]int, err error) {
	allowed, refused = map[string]int{}, map[string]int{}
	for line := range bytes.Lines(log) {
		if line[len(line)-1] != '\n' {
			break // it is being written
		}
		var entry struct {
			Stage, Verb, RequestURI string
			ObjectRef               *struct{ Resource, Subresource string }
			Annotations             map[string]string
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, nil, fmt.Errorf("%s: line %.200q: %w", auditFile, line, err)
		}
		if entry.Verb == "watch" && entry.Stage == "ResponseComplete" && entry.Annotations[auditDecision] == "allow" {
			continue // its begin was counted
		}
		name := entry.Verb + " " + entry.RequestURI
		if object := entry.ObjectRef; object != nil && object.Resource != "" {
			name = entry.Verb + " " + object.Resource
			if object.Subresource != "" {
				name += "/" + object.Subresource
			}
		}
		if entry.Annotations[auditDecision] == "allow" {
			allowed[name]++
		} else {
			refused[name]++
		}
	}
	return allowed, refused, nil
}

const auditDecision = "authorization.k8s.io/decision"
