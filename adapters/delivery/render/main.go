// Command render renders a Helm chart as `helm install` would, without a cluster: Helm's own engine, in strict mode, in
// which a name that no value has is an error. It prints a JSON list of the objects, in the order of their templates.
//
//	render CHART RELEASE NAMESPACE [VALUES.yaml…]
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

func render(folder, release, namespace string, valueFiles []string) ([]map[string]any, error) {
	chart, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	given := map[string]any{}
	for _, name := range valueFiles {
		values, err := chartutil.ReadValuesFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		given = chartutil.CoalesceTables(values, given) // the last file wins
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	// Values are checked here against values.schema.json.
	values, err := chartutil.ToRenderValues(chart, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Engine{Strict: true}.Render(chart, values)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(texts))
	for name := range texts {
		if strings.HasSuffix(path.Ext(name), "yaml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	objects := []map[string]any{}
	for _, name := range names {
		documents := releaseutil.SplitManifests(texts[name])
		keys := make([]string, 0, len(documents))
		for key := range documents {
			keys = append(keys, key)
		}
		sort.Sort(releaseutil.BySplitManifestsOrder(keys))
		for _, key := range keys {
			object := map[string]any{}
			// A key that is there twice would be lost silently otherwise.
			if err := yaml.UnmarshalStrict([]byte(documents[key]), &object); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: render CHART RELEASE NAMESPACE [VALUES.yaml…]")
		os.Exit(2)
	}
	objects, err := render(os.Args[1], os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(objects); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}
