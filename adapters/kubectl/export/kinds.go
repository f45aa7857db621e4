package export

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/client-go/rest"
)

// kind is what is listed: a resource, of all namespaces or of one.
type kind struct {
	group, version, resource string
	namespace                string // empty: all
	isNeeded                 bool   // there is no answer without it
}

// kinds are what the answers look at, in the order in which a `kubectl get` that names them prints them.
var kinds = []kind{
	{version: "v1", resource: "nodes", isNeeded: true},
	{version: "v1", resource: "pods", isNeeded: true},
	{version: "v1", resource: "namespaces"},
	{version: "v1", resource: "resourcequotas"},
	{group: "batch", version: "v1", resource: "jobs"},
	{version: "v1", resource: "limitranges"},
	{group: "policy", version: "v1", resource: "poddisruptionbudgets"},
	{group: "scheduling.k8s.io", version: "v1", resource: "priorityclasses"},
	{group: "scheduling.volcano.sh", version: "v1beta1", resource: "podgroups"},
	{group: "scheduling.volcano.sh", version: "v1beta1", resource: "queues"},
	{group: "kueue.x-k8s.io", version: "v1beta1", resource: "workloads"},
	{group: "kueue.x-k8s.io", version: "v1beta1", resource: "localqueues"},
	{group: "kueue.x-k8s.io", version: "v1beta1", resource: "clusterqueues"},
	{group: "kueue.x-k8s.io", version: "v1beta1", resource: "cohorts"},
	{group: "kueue.x-k8s.io", version: "v1beta1", resource: "resourceflavors"},
	{group: "resource.k8s.io", version: "v1", resource: "deviceclasses"},
	{group: "resource.k8s.io", version: "v1", resource: "resourceslices"},
}

// chipKinds say which chips nodes have under MindCluster, and are listed where a node offers some.
var chipKinds = []kind{
	{version: "v1", resource: "configmaps", namespace: "kube-system"},
	{version: "v1", resource: "configmaps", namespace: "mindx-dl"},
}

// chipResources begins the names of resources that stand for chips under MindCluster.
const chipResources = `"huawei.com/`

// name is the kind as kubectl and roles name it: jobs.batch.
func (k kind) name() string {
	result := k.resource
	if k.group != "" {
		result += "." + k.group
	}
	if k.namespace != "" {
		result += " in " + k.namespace
	}
	return result
}

func (k kind) path() string {
	root := "/apis/" + k.group
	if k.group == "" {
		root = "/api"
	}
	root += "/" + k.version
	if k.namespace != "" {
		root += "/namespaces/" + k.namespace
	}
	return root + "/" + k.resource
}

// served are the kinds whose groups the API server has, in the versions that it prefers. An API server that does not tell its groups
// is asked for all kinds.
func served(ctx context.Context, client rest.Interface, wanted []kind) ([]kind, error) {
	text, err := body(client.Get().AbsPath("/apis").SetHeader("Accept", "application/json").Do(ctx))
	if isPassedOver(err) {
		return wanted, nil
	}
	if err != nil {
		return nil, err
	}
	var list struct {
		Groups []struct {
			Name             string
			PreferredVersion struct{ Version string }
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("GET /apis: %w", err)
	}
	versions := map[string]string{"": "v1"}
	for _, group := range list.Groups {
		versions[group.Name] = group.PreferredVersion.Version
	}
	var result []kind
	for _, candidate := range wanted {
		if version, isServed := versions[candidate.group]; isServed {
			candidate.version = version
			result = append(result, candidate)
		}
	}
	return result, nil
}
