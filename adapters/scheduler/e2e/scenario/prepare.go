package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"vgpualloc.example/adapters/scheduler/e2e/objects"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Priority classes of the scenarios.
const (
	Low  = "e2e-low"
	High = "e2e-high"
)

// prepareCluster makes what a scheduler expects to find: Volcano's resources, namespaces, queues, priority classes and the
// device configuration.
func (env *Env) prepareCluster(ctx context.Context, config *rest.Config) error {
	if env.Volcano != nil {
		if err := env.defineResources(ctx, config); err != nil {
			return err
		}
	}
	for _, name := range []string{objects.Namespace, "kube-system", "mindx-dl", "volcano-system"} {
		_, err := env.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	for name, value := range map[string]int32{Low: 10, High: 1000} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := env.Client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("priority class %s: %w", name, err)
		}
	}
	if _, err := env.Client.CoreV1().ConfigMaps("kube-system").Create(ctx, objects.DeviceConfig(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("device configuration: %w", err)
	}
	if env.Volcano == nil {
		return env.allowExtender(ctx)
	}
	// There is no controller that opens queues.
	for _, name := range []string{"root", "default"} {
		reclaimable := name != "root"
		queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: schedulingv1beta1.QueueSpec{Weight: 1, Reclaimable: &reclaimable}}
		made, err := env.Volcano.SchedulingV1beta1().Queues().Create(ctx, queue, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("queue %s: %w", name, err)
		}
		made.Status.State = schedulingv1beta1.QueueStateOpen
		if _, err := env.Volcano.SchedulingV1beta1().Queues().UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("queue %s: opening it: %w", name, err)
		}
	}
	return nil
}

func (env *Env) defineResources(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(env.CRDs, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("folder %q has %d files *.yaml, expected Volcano's CustomResourceDefinitions", env.CRDs, len(files))
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := client.Resource(definitions).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		names = append(names, object.GetName())
	}
	deadline := time.Now().Add(time.Minute)
	for _, name := range names {
		for {
			object, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			if err == nil && established(object) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("resource %s is not served after a minute: %v", name, err)
			}
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
	// A resource that is established may still be unknown to the request handlers for a moment.
	for {
		_, err := env.Volcano.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{})
		if err == nil {
			_, err = env.Volcano.SchedulingV1beta1().PodGroups("").List(ctx, metav1.ListOptions{})
		}
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
