package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// scripted answers what a test says. Nodes that are in `refusals` with an empty text take a pod.
type scripted struct {
	core       // what is not scripted is not called
	refusals   map[string]string
	emptyFits  map[string]bool
	askEmpty   error
	reserve    error
	victims    map[string][]string // a node that is not there has none that help
	booked     vga.PodState
	happened   []string
	candidates []string
}

// said are the answers of a script.
type said struct {
	script   *scripted
	refusals map[string]string
	empty    bool
}

func (s said) Failure() error { return nil }

func (s said) Knows(node string) bool {
	_, known := s.refusals[node]
	return known
}

func (s said) Fits(node string) bool {
	if s.empty {
		return s.script.emptyFits[node]
	}
	return s.Knows(node) && s.refusals[node] == ""
}

func (s said) Refusal(node string) string {
	if !s.Knows(node) {
		return "not known"
	}
	return s.refusals[node]
}

func (s said) Order(candidates []string) []string {
	order := slices.DeleteFunc(slices.Clone(candidates), func(node string) bool { return !s.Fits(node) })
	slices.Sort(order)
	return order
}

func (s *scripted) WantsDevices(string) bool             { return true }
func (s *scripted) Learn() error                         { return nil }
func (s *scripted) Flush() error                         { return nil }
func (s *scripted) Pod(string) (vga.PodState, string)    { return s.booked, "" }
func (s *scripted) Ask(_, _ string) (nodeAnswers, error) { return said{s, s.refusals, false}, nil }
func (s *scripted) AskEmpty(string) (nodeAnswers, error) { return said{s, nil, true}, s.askEmpty }
func (s *scripted) AskClosely(string, string) (nodeAnswers, error) {
	closely := map[string]string{}
	for node, why := range s.refusals {
		closely[node] = why + ": 5 wanted, at most 3 left"
	}
	return said{s, closely, false}, nil
}

func (s *scripted) Victims(_, node string, _, _ []string) ([]string, bool) {
	added, possible := s.victims[node]
	return added, possible
}

func (s *scripted) Reserve(_, _, node string, candidates []string, _ time.Time) (*live.Decision, error) {
	s.candidates = candidates
	if s.reserve != nil {
		return nil, s.reserve
	}
	s.booked = vga.PodReserved
	s.happened = append(s.happened, "reserve "+node)
	return &live.Decision{Node: node, Annotations: map[string]string{"devices": "0"}}, nil
}

func (s *scripted) Commit(uid string) error {
	s.booked = vga.PodCommitted
	s.happened = append(s.happened, "commit "+uid)
	return nil
}

func (s *scripted) Rollback(uid string) error {
	s.booked = vga.PodWaiting
	s.happened = append(s.happened, "rollback "+uid)
	return nil
}

// scriptedService knows one pod.
func scriptedService(script *scripted, client *fake.Clientset) (*Service, *v1.Pod) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}}
	script.booked = vga.PodWaiting
	s := newService(client, Defaults(), script)
	s.keep(pod)
	return s, pod
}

func keysOf(failed extenderv1.FailedNodesMap) []string { return slices.Sorted(maps.Keys(failed)) }

func TestNodesThatRefuseAreToldApartByWhetherEvictingHelps(t *testing.T) {
	script := &scripted{refusals: map[string]string{"full": "too full", "small": "too small"}, emptyFits: map[string]bool{"full": true}}
	s, pod := scriptedService(script, fake.NewClientset())
	args := &extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"full", "small", "new"}}
	result, err := s.Filter(context.Background(), args)
	if err != nil {
		t.Fatal(err)
	}
	if helps := keysOf(result.FailedNodes); !slices.Equal(helps, []string{"full", "new"}) || result.FailedNodes["new"] != "not known" {
		t.Error(result.FailedNodes)
	}
	if !slices.Equal(keysOf(result.FailedAndUnresolvableNodes), []string{"small"}) ||
		!strings.Contains(result.FailedAndUnresolvableNodes["small"], "at most 3 left") {
		t.Error(result.FailedAndUnresolvableNodes)
	}
	script.askEmpty = vga.Closed
	if _, err := s.Filter(context.Background(), args); !errors.Is(err, vga.Closed) {
		t.Error("kube-scheduler would take all nodes for ones where nothing helps", err)
	}
	script.refusals["full"] = ""
	if result, err = s.Filter(context.Background(), args); err != nil || !slices.Equal(*result.NodeNames, []string{"full"}) {
		t.Error(result, err)
	}
}

func TestWhatIsBookedIsCommittedOrRolledBack(t *testing.T) {
	for _, each := range []struct {
		reserve, answer error
		happened        []string
	}{{nil, nil, []string{"reserve a", "commit u"}},
		{&live.Refused{Pod: "ns/p", Node: "a", Reason: "full"}, nil, nil},
		{nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("no right")), []string{"reserve a", "rollback u"}}} {
		client := fake.NewClientset()
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, each.answer })
		script := &scripted{refusals: map[string]string{"a": "", "b": ""}, reserve: each.reserve}
		s, pod := scriptedService(script, client)
		if _, err := s.Filter(context.Background(), &extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"b", "a"}}); err != nil {
			t.Fatal(err)
		}
		err := s.Bind(context.Background(), &extenderv1.ExtenderBindingArgs{PodNamespace: "ns", PodName: "p", PodUID: "u", Node: "a"})
		if (err == nil) != (each.reserve == nil && each.answer == nil) || !slices.Equal(script.happened, each.happened) {
			t.Error(each, script.happened, err)
		}
		if !slices.Equal(script.candidates, []string{"b", "a"}) {
			t.Error("what there was to choose from", script.candidates)
		}
		if asked := len(client.Actions()) > 0; asked != (each.reserve == nil) {
			t.Error("nothing is bound without its devices", client.Actions())
		}
	}
}

func TestNodesWhereEvictingDoesNotHelpAreLeftOut(t *testing.T) {
	script := &scripted{victims: map[string][]string{"a": {"other"}, "b": nil}}
	s, pod := scriptedService(script, fake.NewClientset())
	proposed := func() *extenderv1.MetaVictims {
		return &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{{UID: "first"}}}
	}
	result, err := s.Preempt(context.Background(), &extenderv1.ExtenderPreemptionArgs{Pod: pod,
		NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"a": proposed(), "b": proposed(), "c": proposed()}})
	if err != nil {
		t.Fatal(err)
	}
	victims := map[string]int{}
	for node, chosen := range result.NodeNameToMetaVictims {
		victims[node] = len(chosen.Pods)
	}
	if !maps.Equal(victims, map[string]int{"a": 2, "b": 1}) {
		t.Error(victims)
	}
}
