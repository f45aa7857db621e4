package service_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// A pod that fits nowhere, in a cluster of 5,000 nodes of 4 cards with 20 pods each: every node says why it refuses, and whether
// evicting pods could help.
func BenchmarkFilterOfAPodThatFitsNowhere(b *testing.B) {
	const nodes, cards, podsOfCard, card = 5000, 4, 5, 16384
	wants := pod("wants", 10000)
	nodeList, podList := &v1.NodeList{}, &v1.PodList{Items: []v1.Pod{*wants}}
	nodeList.ResourceVersion, podList.ResourceVersion = "1", "1"
	var names []string
	for n := range nodes {
		name := fmt.Sprintf("node-%04d", n)
		names = append(names, name)
		nodeList.Items = append(nodeList.Items, *node(name, card, card, card, card))
		for p := range cards * podsOfCard {
			runs := running(fmt.Sprintf("pod-%d-%d", n, p), name, p/podsOfCard, 3000, 0)
			runs.Spec.Containers[0].Resources.Limits["cpu"] = amounts("cpu", "100m")["cpu"]
			podList.Items = append(podList.Items, *runs)
		}
	}
	a := newAPI()
	lists := map[string]runtime.Object{"nodes": nodeList, "pods": podList}
	for resource, list := range lists {
		a.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, list, nil })
	}
	s := open(b, a)
	args := &extenderv1.ExtenderArgs{Pod: wants, NodeNames: &names}
	filter := func() {
		result, err := s.Filter(context.Background(), args)
		if err != nil || len(result.FailedNodes) != nodes {
			b.Fatal(err, len(result.FailedNodes))
		}
	}
	filter() // the first one reads all pods, to learn what is typical
	for b.Loop() {
		filter()
	}
}
