// controllers runs two controllers of kube-controller-manager, which write the status that the API server decides by: of
// ResourceQuotas and of PodDisruptionBudgets. They are started as kube-controller-manager starts them; it has many more.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/quota/v1/install"
)

const resync = 5 * time.Minute

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 1000, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects := informers.NewSharedInformerFactory(client, resync)
	if err := startBudgets(ctx, config, client, objects); err != nil {
		return err
	}
	started := make(chan struct{})
	others, err := startQuotas(ctx, config, client, objects, started)
	if err != nil {
		return err
	}
	objects.Start(ctx.Done())
	others.Start(ctx.Done())
	close(started)
	<-ctx.Done()
	return nil
}

func startBudgets(ctx context.Context, config *rest.Config, client kubernetes.Interface, objects informers.SharedInformerFactory) error {
	known := memory.NewMemCacheClient(client.Discovery())
	var mapper meta.RESTMapper = restmapper.NewDeferredDiscoveryRESTMapper(known)
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	if err != nil {
		return err
	}
	core, apps := objects.Core().V1(), objects.Apps().V1()
	budgets := disruption.NewDisruptionController(ctx, core.Pods(), objects.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), client, mapper, scales, client.Discovery())
	go budgets.Run(ctx)
	return nil
}

func startQuotas(ctx context.Context, config *rest.Config, client kubernetes.Interface, objects informers.SharedInformerFactory,
	started <-chan struct{}) (metadatainformer.SharedInformerFactory, error) {
	heads, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	others := metadatainformer.NewSharedInformerFactory(heads, resync)
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	counted := install.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(objects.ForResource))
	quotas, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               client.CoreV1(),
		ResourceQuotaInformer:     objects.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(resync),
		InformerFactory:           informerfactory.NewInformerFactory(objects, others),
		ReplenishmentResyncPeriod: func() time.Duration { return resync },
		DiscoveryFunc:             resources.ServerPreferredNamespacedResources,
		IgnoredResourcesFunc:      counted.IgnoredResources,
		InformersStarted:          started,
		Registry:                  generic.NewRegistry(counted.Evaluators()),
		UpdateFilter:              install.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	const workers = 5
	go quotas.Run(ctx, workers)
	return others, nil
}
