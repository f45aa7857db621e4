package live_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"vgpualloc.example/adapters/vga"
)

// Kube-scheduler asks for an order and takes what it likes.
func TestAnOrderIsTheBestFirstAndTheLogHasWhatWasChosenFrom(t *testing.T) {
	c, path := told(t, node("c", 1), pod("first", 10000), pod("p", 10000), pod("q", 10000), pod("r", 10000))
	reserve(t, c, "first", "c", nil)
	for _, later := range []string{node("a", 1), node("b", 2)} {
		if _, err := c.Tell([]byte(later)); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := c.Ask("p", "ns/p")
	if err != nil {
		t.Fatal(err)
	}
	order := answers.Order([]string{"a", "nowhere", "b", "c"})
	if len(order) != 3 || order[0] != "c" || !answers.Before("c", "a") || answers.Before("b", "c") {
		t.Error(order)
	}
	for _, choice := range []struct {
		uid, node  string
		candidates []string
	}{{"p", "c", []string{"c", "a", "gone"}}, {"q", "b", []string{"a", "b", "c"}}, {"r", "a", nil}} {
		if _, err := c.Reserve(choice.uid, "ns/"+choice.uid, choice.node, choice.candidates, time.Unix(1, 0)); err != nil {
			t.Error(choice, err)
		}
	}
	var only, except [][]string
	for _, entry := range closed(t, c, path) {
		if entry.Event == "decide" {
			only, except = append(only, entry.Only), append(except, entry.Except)
		}
	}
	if !reflect.DeepEqual(only, [][]string{nil, nil, {"b"}, {"a"}}) || !reflect.DeepEqual(except, [][]string{nil, {"b"}, nil, nil}) {
		t.Error("only the core's own choices have others to choose from", only, except)
	}
}

func TestACloseLookHasNumbersThoughOtherNodesFit(t *testing.T) {
	c, _ := told(t, node("a", 1), node("b", 1), pod("other", 30000), pod("p", 20000))
	reserve(t, c, "other", "a", nil)
	answers, err := c.Ask("p", "ns/p")
	if err != nil || strings.Contains(answers.Refusal("a"), "20000") {
		t.Error(answers.Refusal("a"), err)
	}
	for range 2 { // the second time it is remembered
		answers, err = c.AskClosely("p", "ns/p")
		if err != nil || !strings.Contains(answers.Refusal("a"), "20000 MiB wanted, at most 10960 MiB left") ||
			answers.Refusal("b") != "" || answers.Fitting() != 1 {
			t.Error(answers.Refusal("a"), err)
		}
	}
	if _, err := c.AskClosely("nobody", "ns/nobody"); err == nil {
		t.Error("nobody is known")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestVictimsBesideOthersThatGo(t *testing.T) {
	c, _ := told(t, node("a", 1), pod("x", 10000), pod("y", 10000), pod("z", 10000), pod("p", 30000))
	for _, uid := range []string{"x", "y", "z"} {
		reserve(t, c, uid, "a", nil)
	}
	check := func(others, candidates, want []string, possible bool) {
		t.Helper()
		victims, can := c.Victims("p", "a", others, candidates)
		if can != possible || !reflect.DeepEqual(append([]string{}, victims...), append([]string{}, want...)) {
			t.Error(others, candidates, victims, can)
		}
	}
	check(nil, []string{"x", "y", "z"}, []string{"y", "z"}, true)
	check([]string{"x"}, []string{"y", "z"}, []string{"z"}, true)
	check([]string{"x", "y"}, []string{"z"}, nil, true)
	check([]string{"x"}, nil, nil, false)
	if state, _ := c.Pod("x"); state != vga.PodReserved {
		t.Error("trials leave nothing", state)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
