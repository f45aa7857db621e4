package control

import (
	"maps"
	"testing"
)

func TestRequestsOfTheAuditedUser(t *testing.T) {
	const log = `{"stage":"ResponseComplete","verb":"get","objectRef":{"resource":"nodes"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"ResponseStarted","verb":"watch","objectRef":{"resource":"pods"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"ResponseComplete","verb":"watch","objectRef":{"resource":"pods"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"ResponseComplete","verb":"watch","objectRef":{"resource":"secrets"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"stage":"ResponseComplete","verb":"patch","objectRef":{"resource":"pods","subresource":"status"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"stage":"ResponseComplete","verb":"get","requestURI":"/version","annotations":{"authorization.k8s.io/decision":"allow"}}
{"stage":"Respon`
	allowed, refused, err := requests([]byte(log))
	if err != nil {
		t.Fatal(err)
	}
	if expected := map[string]int{"get nodes": 1, "watch pods": 1, "get /version": 1}; !maps.Equal(allowed, expected) {
		t.Errorf("allowed %v, expected %v", allowed, expected)
	}
	if expected := map[string]int{"watch secrets": 1, "patch pods/status": 1}; !maps.Equal(refused, expected) {
		t.Errorf("refused %v, expected %v", refused, expected)
	}
}
