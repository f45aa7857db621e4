package service_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

// The configuration on the page is one that kube-scheduler reads, its verbs are answered, and its resources are ours.
func TestTheConfigurationOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/extender.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		t.Fatal("docs/extender.md has no block of YAML")
	}
	var config schedulerv1.KubeSchedulerConfiguration
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	s := open(t, newAPI(node("a", 16384)))
	extender := config.Extenders[0]
	for _, verb := range []string{extender.FilterVerb, extender.PrioritizeVerb, extender.PreemptVerb, extender.BindVerb} {
		status, answer := s.post(t, verb, strings.NewReader("{}"))
		if verb == "" || status != http.StatusBadRequest || !strings.Contains(answer, "expected") {
			t.Error(verb, status, answer)
		}
	}
	var names []string
	for _, resource := range extender.ManagedResources {
		names = append(names, resource.Name)
		if !s.Cluster().ReadsResource(resource.Name) {
			t.Error(resource.Name, "is read by no dialect")
		}
	}
	slices.Sort(names)
	if len(names) == 0 || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error(names)
	}
	if !extender.NodeCacheCapable || extender.Ignorable || extender.Weight < 131 {
		t.Error(extender)
	}
}
