package scenario

import (
	"slices"
	"testing"
)

func TestRightsOfARole(t *testing.T) {
	objects := documents([]byte(`{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"a"}}
{"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1","rules":[{"resources":["pods","nodes"],"verbs":["get","list"]},{"resources":["events"],"verbs":["create"]}]}
`))
	var rights []string
	for _, object := range objects {
		rights = append(rights, grants(object)...)
	}
	if expected := []string{"get pods", "list pods", "get nodes", "list nodes", "create events"}; !slices.Equal(rights, expected) {
		t.Errorf("rights %q, expected %q", rights, expected)
	}
}
