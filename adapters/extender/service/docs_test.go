package service_test

import (
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

// configurationOnThePage is the block of YAML in it, as kube-scheduler reads it.
func configurationOnThePage(t *testing.T) *schedulerv1.KubeSchedulerConfiguration {
	t.Helper()
	page, err := os.ReadFile("../../../docs/extender.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		t.Fatal("docs/extender.md has no block of YAML")
	}
	return configuration(t, text)
}

func configuration(t *testing.T, text string) *schedulerv1.KubeSchedulerConfiguration {
	t.Helper()
	config := &schedulerv1.KubeSchedulerConfiguration{}
	if err := yaml.UnmarshalStrict([]byte(text), config); err != nil {
		t.Fatal(err)
	}
	return config
}

// What scripts/e2e.sh runs kube-scheduler with is what the page recommends, and the Ascend chips of its nodes.
func TestTheConfigurationEndToEndIsThatOfThePage(t *testing.T) {
	text, err := os.ReadFile("../../scheduler/e2e/conf/extender.conf")
	if err != nil {
		t.Fatal(err)
	}
	config, page := configuration(t, string(text)), configurationOnThePage(t)
	if len(config.Extenders) != 1 {
		t.Fatal(len(config.Extenders), "extenders, expected 1")
	}
	extender, expected := config.Extenders[0], page.Extenders[0]
	managed := extender.ManagedResources
	if len(managed) < len(expected.ManagedResources) {
		t.Fatal(managed, "expected at least", expected.ManagedResources)
	}
	for _, resource := range managed[len(expected.ManagedResources):] {
		if !strings.HasPrefix(resource.Name, "huawei.com/Ascend") {
			t.Error(resource.Name, "is not on the page")
		}
	}
	extender.ManagedResources, extender.URLPrefix = managed[:len(expected.ManagedResources)], expected.URLPrefix
	if !reflect.DeepEqual(extender, expected) || !reflect.DeepEqual(config.PercentageOfNodesToScore, page.PercentageOfNodesToScore) {
		t.Errorf("%+v, expected %+v", extender, expected)
	}
}

// The configuration on the page is one that kube-scheduler reads, its verbs are answered, and its resources are ours.
func TestTheConfigurationOnThePage(t *testing.T) {
	config := configurationOnThePage(t)
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
