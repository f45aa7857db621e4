package scenario

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vgpualloc.example/adapters/scheduler/e2e/check"
)

// PluginUser is who the device plugins of real nodes are: the service account of Options.Rights.
const PluginUser = "system:serviceaccount:" + pluginNamespace + ":" + pluginAccount

const (
	pluginNamespace = "volcano-system"
	pluginAccount   = "vgpualloc-device-plugin"
)

// ruleForbidden: the API server refused the device plugin something, because it has no right to it.
const ruleForbidden = "forbidden"

// pluginRights are those that the chart gives the device plugin, and what it made of them.
type pluginRights struct {
	Used    map[string]int `json:"used"` // "get nodes" and how often
	Refused map[string]int `json:"refused"`
	Unused  []string       `json:"unused"`

	kubeconfig string
	granted    []string
}

// pluginAccount makes the service account that device plugins run with and gives it the rights of Options.Rights, once. It returns the
// path of its kubeconfig.
func (env *Env) pluginAccount() string {
	if env.rights != nil {
		return env.rights.kubeconfig
	}
	env.rights = &pluginRights{}
	for _, object := range documents(got(os.ReadFile(env.Options.Rights))) {
		env.post(object)
		env.rights.granted = append(env.rights.granted, grants(object)...)
	}
	seconds := int64(24 * 60 * 60)
	token := got(env.Client.CoreV1().ServiceAccounts(pluginNamespace).CreateToken(env.ctx, pluginAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{}))
	env.rights.kubeconfig = got(env.Plane.WriteKubeconfig(pluginAccount, token.Status.Token))
	return env.rights.kubeconfig
}

// grants are the rights of a role, as "get nodes".
func grants(role *unstructured.Unstructured) []string {
	var result []string
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	must(err)
	for _, rule := range rules {
		fields, _ := rule.(map[string]any)
		resources, _, err := unstructured.NestedStringSlice(fields, "resources")
		must(err)
		verbs, _, err := unstructured.NestedStringSlice(fields, "verbs")
		must(err)
		for _, resource := range resources {
			for _, verb := range verbs {
				result = append(result, verb+" "+resource)
			}
		}
	}
	return result
}

// measureRights fills in what the device plugins asked for.
func (env *Env) measureRights(summary *Summary) {
	if env.rights == nil {
		return
	}
	var err error
	env.rights.Used, env.rights.Refused, err = env.Plane.Requests()
	must(err)
	for _, right := range slices.Compact(slices.Sorted(slices.Values(env.rights.granted))) {
		if env.rights.Used[right] == 0 {
			env.rights.Unused = append(env.rights.Unused, right)
		}
	}
	for _, request := range slices.Sorted(maps.Keys(env.rights.Refused)) {
		summary.example(check.Violation{Rule: ruleForbidden, Text: fmt.Sprintf("%d times %q of %s, which the chart gives no right to", env.rights.Refused[request],
			request, PluginUser)})
	}
	summary.Rights = env.rights
}

func (rights *pluginRights) print() {
	var used []string
	for _, request := range slices.Sorted(maps.Keys(rights.Used)) {
		used = append(used, fmt.Sprintf("%s (%d)", request, rights.Used[request]))
	}
	fmt.Printf("rights of the device plugin: used %s; unused %s\n", strings.Join(used, ", "), strings.Join(rights.Unused, ", "))
}
