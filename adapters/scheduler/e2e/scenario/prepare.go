package scenario

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

//go:embed manifests
var manifests embed.FS

// Priority classes of the scenarios.
const (
	Low  = "e2e-low"
	High = "e2e-high"
)

// prepareCluster makes what a scheduler expects to find: Volcano's resources, namespaces, queues, priority classes and the
// device configuration.
func (env *Env) prepareCluster() {
	env.apply("cluster")
	config := objects.DeviceConfig()
	if env.Real != nil {
		config = objects.RealDeviceConfig(env.Factor)
	}
	must(create(env.ctx, env.Client.CoreV1().ConfigMaps("kube-system"), config))
	if env.Volcano == nil {
		env.apply("extender")
		return
	}
	env.defineResources()
	env.apply("queues")
}

// apply posts the objects of a manifest.
func (env *Env) apply(name string) {
	for _, object := range documents(got(manifests.ReadFile("manifests/" + name + ".yaml"))) {
		env.post(object)
	}
}

func documents(text []byte) []*unstructured.Unstructured {
	var result []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return result
		}
		must(err)
		result = append(result, object)
	}
}

// post posts an object of any kind, and its status if it has one. The API server makes some namespaces itself.
func (env *Env) post(object *unstructured.Unstructured) {
	resource := env.served(object.GroupVersionKind()).Namespace(object.GetNamespace())
	made, err := resource.Create(env.ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) && object.GetKind() == "Namespace" {
		return
	}
	must(err)
	if status, has := object.Object["status"]; has {
		made.Object["status"] = status
		got(resource.UpdateStatus(env.ctx, made, metav1.UpdateOptions{}))
	}
}

// served is the client of a kind, once it is served. That of a resource that was just defined is found a moment later, and may
// be unknown to the request handlers even then.
func (env *Env) served(kind schema.GroupVersionKind) dynamic.NamespaceableResourceInterface {
	client := got(dynamic.NewForConfig(env.Plane.Config()))
	var resource dynamic.NamespaceableResourceInterface
	if !env.until(time.Minute, func() bool {
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(env.Client.Discovery()))
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return false
		}
		resource = client.Resource(mapping.Resource)
		_, err = resource.List(env.ctx, metav1.ListOptions{})
		return err == nil
	}) {
		must(fmt.Errorf("%v is not served after a minute", kind))
	}
	return resource
}

// defineResources makes Volcano's resources known and waits until they are served.
func (env *Env) defineResources() {
	files := got(filepath.Glob(filepath.Join(env.CRDs, "*.yaml")))
	if len(files) == 0 {
		must(fmt.Errorf("folder %q has no files *.yaml, expected Volcano's CustomResourceDefinitions", env.CRDs))
	}
	var kinds []schema.GroupVersionKind
	for _, file := range files {
		for _, definition := range documents(got(os.ReadFile(file))) {
			env.post(definition)
			group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
			versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
			for _, version := range versions {
				name, _ := version.(map[string]any)["name"].(string)
				kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
			}
		}
	}
	for _, kind := range kinds {
		env.served(kind)
	}
}
