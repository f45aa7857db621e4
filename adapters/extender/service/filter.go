package service

import (
	"context"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/kube"
)

// Filter tells which of the nodes take a pod, and why the others do not: with numbers if none does, as the pod waits
// then and its owner reads why.
func (s *Service) Filter(ctx context.Context, args *extenderv1.ExtenderArgs) (*extenderv1.ExtenderFilterResult, error) {
	pod, nodes, err := s.asked(ctx, args)
	if err != nil {
		return nil, err
	}
	if !s.cluster.WantsDevices(string(pod.UID)) {
		if off := kube.SwitchedOff(s.cluster, pod); off != nil {
			return nil, off
		}
		return &extenderv1.ExtenderFilterResult{Nodes: args.Nodes, NodeNames: args.NodeNames}, nil
	}
	if err := s.waiting(ctx, pod); err != nil {
		return nil, err
	}
	s.learn()
	uid := string(pod.UID)
	answers, err := s.cluster.Ask(uid, fullName(pod))
	if err != nil {
		return nil, err
	}
	fitting, failed := sorted(answers, nodes)
	result := &extenderv1.ExtenderFilterResult{FailedNodes: failed}
	if len(fitting) == 0 {
		if answers, err = s.cluster.AskClosely(uid, fullName(pod)); err != nil {
			return nil, err
		}
		if err := s.explainFailure(pod, nodes, answers, result); err != nil {
			return nil, err
		}
	}
	s.mutex.Lock()
	s.chosen.keep(pod.UID, fitting)
	s.mutex.Unlock()
	give(args, fitting, result)
	return result, nil
}

// asked is the pod of a question about nodes, and the nodes' names.
func (s *Service) asked(ctx context.Context, args *extenderv1.ExtenderArgs) (*v1.Pod, []string, error) {
	if args.Pod == nil {
		return nil, nil, badRequest("Pod is null: expected the pod that is to be scheduled")
	}
	var nodes []string
	switch {
	case args.NodeNames != nil:
		nodes = *args.NodeNames
	case args.Nodes != nil:
		nodes = make([]string, len(args.Nodes.Items))
		for i := range args.Nodes.Items {
			nodes[i] = args.Nodes.Items[i].Name
		}
	default:
		return nil, nil, badRequest("Nodes and NodeNames are null: expected one of them")
	}
	pod, err := s.known(ctx, args.Pod.Namespace, args.Pod.Name, args.Pod.UID)
	return pod, nodes, err
}

func sorted(answers nodeAnswers, nodes []string) (fitting []string, failed extenderv1.FailedNodesMap) {
	failed = extenderv1.FailedNodesMap{}
	fitting = make([]string, 0, len(nodes))
	for _, node := range nodes {
		if why := answers.Refusal(node); why != "" {
			failed[node] = why
		} else {
			fitting = append(fitting, node)
		}
	}
	return fitting, failed
}

// explainFailure says of every node why it refuses, and tells those where preemption could make room from those that
// would not take the pod without any other either.
func (s *Service) explainFailure(pod *v1.Pod, nodes []string, answers nodeAnswers,
	result *extenderv1.ExtenderFilterResult) error {
	var empty nodeAnswers // as if no pod had anything
	if answers.Failure() == nil {
		var err error
		if empty, err = s.cluster.AskEmpty(string(pod.UID)); err != nil {
			return err
		}
	}
	result.FailedNodes = extenderv1.FailedNodesMap{}
	result.FailedAndUnresolvableNodes = extenderv1.FailedNodesMap{}
	for _, node := range nodes {
		why := answers.Refusal(node)
		switch {
		case why == "": // something was given back since the pod was asked about; the next attempt will find it
			result.FailedNodes[node] = "node(s) that had no room a moment ago"
		case !answers.Knows(node) && answers.Failure() == nil:
			result.FailedNodes[node] = why
		case empty != nil && empty.Fits(node):
			result.FailedNodes[node] = why
		default:
			result.FailedAndUnresolvableNodes[node] = why
		}
	}
	return nil
}

// give writes the nodes that are left in the form in which they were asked about.
func give(args *extenderv1.ExtenderArgs, fitting []string, result *extenderv1.ExtenderFilterResult) {
	if args.NodeNames != nil {
		result.NodeNames = &fitting
		return
	}
	left := make(map[string]bool, len(fitting))
	for _, node := range fitting {
		left[node] = true
	}
	result.Nodes = &v1.NodeList{Items: make([]v1.Node, 0, len(fitting))}
	for i := range args.Nodes.Items {
		if left[args.Nodes.Items[i].Name] {
			result.Nodes.Items = append(result.Nodes.Items, args.Nodes.Items[i])
		}
	}
}

// Prioritize orders the nodes as the core does. The best alone has the highest priority; the others follow in their
// order, evenly.
func (s *Service) Prioritize(ctx context.Context, args *extenderv1.ExtenderArgs) (extenderv1.HostPriorityList, error) {
	pod, nodes, err := s.asked(ctx, args)
	if err != nil {
		return nil, err
	}
	result := make(extenderv1.HostPriorityList, len(nodes))
	for i, node := range nodes {
		result[i].Host = node
	}
	if !s.cluster.WantsDevices(string(pod.UID)) {
		return result, nil
	}
	answers, err := s.cluster.Ask(string(pod.UID), fullName(pod))
	if err != nil {
		return nil, err
	}
	order := answers.Order(nodes)
	s.mutex.Lock()
	s.chosen.keep(pod.UID, order)
	s.mutex.Unlock()
	priorities := make(map[string]int64, len(order))
	for place, node := range order {
		priorities[node] = priorityOf(place, len(order))
	}
	for i := range result {
		result[i].Score = priorities[result[i].Host]
	}
	return result, nil
}

func priorityOf(place, nodes int) int64 {
	if place == 0 {
		return extenderv1.MaxExtenderPriority
	}
	return (extenderv1.MaxExtenderPriority - 1) * int64(nodes-1-place) / int64(nodes-1)
}
