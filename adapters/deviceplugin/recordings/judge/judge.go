// Package judge compares what our plugin answered to a case with what was recorded.
//
// A field is right where both answers are equal, or where both follow from the input: the recorded one with upstream's mistakes, ours
// without them (package model). So an explanation covers exactly the fields that a mistake changes, and with exactly these values:
// a recording in which any compared value was changed has a field that nothing explains.
package judge

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/recordings/model"
)

// Verdict is what became of a case.
type Verdict struct {
	ID        string `json:"id"`
	Place     string `json:"place"`     // file and line
	Equal     bool   `json:"equal"`     // our answer is a recorded one
	Mistakes  []int  `json:"mistakes"`  // of upstream, that explain what differs
	Complaint string `json:"complaint"` // the first field that nothing explains; empty: there is none
}

// Failed says whether the case is neither equal nor explained.
func (v *Verdict) Failed() bool { return !v.Equal && v.Complaint != "" }

// Of judges our answer to a case. failure is why there is no answer.
func Of(c *cases.Case, ours *cases.Output, failure error) Verdict {
	result := Verdict{ID: c.ID, Place: fmt.Sprintf("%s:%d", c.File, c.Line)}
	if failure != nil {
		result.Complaint = "no answer of ours: " + failure.Error()
		return result
	}
	upstream, right := model.Upstream(&c.Input), model.Right(&c.Input, ours)
	loose := cases.Loose{Order: upstream.Loose.Order || right.Loose.Order, Health: upstream.Loose.Health || right.Loose.Health}
	compared := comparison{
		ours: ours.Fields(loose), upstream: upstream.Output.Fields(loose), right: right.Output.Fields(loose),
		mistakes: right.Mistakes,
	}
	for i, recorded := range append([]cases.Output{c.Output}, c.Others...) {
		if complaint := recorded.Malformed(); complaint != "" {
			return Verdict{ID: result.ID, Place: result.Place, Complaint: complaint}
		}
		equal, complaint := compared.with(recorded.Fields(loose))
		if expected := recorded.Words(&upstream.Output); expected != "" {
			equal, complaint = false, expected
		}
		if equal || i == 0 || complaint == "" && result.Complaint != "" {
			result.Equal, result.Complaint = equal, complaint
		}
		if equal {
			break
		}
	}
	if !result.Equal && result.Complaint == "" {
		result.Mistakes = right.Mistakes
	}
	return result
}

// comparison are the fields that recorded ones are compared with.
type comparison struct {
	ours, upstream, right cases.Fields
	mistakes              []int
}

// with compares them: whether ours are the recorded ones, and otherwise the first field that nothing explains.
func (c *comparison) with(recorded cases.Fields) (equal bool, complaint string) {
	paths := map[string]bool{}
	for _, fields := range []cases.Fields{recorded, c.ours} {
		for path := range fields {
			paths[path] = true
		}
	}
	list := make([]string, 0, len(paths))
	for path := range paths {
		list = append(list, path)
	}
	sort.Strings(list)
	places := cases.Places{}
	equal = true
	differing := map[string]bool{} // steps that a mistake changes: there all that is recorded has to be what upstream does
	for _, path := range list {
		places.Same(recorded[path], c.upstream[path]) // which instances the uuids are that no row names
	}
	for _, path := range list {
		if !places.Same(recorded[path], c.ours[path]) {
			differing[stepOf(path)] = true
		}
	}
	for _, path := range list {
		if places.Same(recorded[path], c.ours[path]) {
			if complaint == "" && differing[stepOf(path)] && !places.Same(recorded[path], c.upstream[path]) {
				complaint = fmt.Sprintf("%s: recorded %s as ours, but upstream answers %s", path, show(recorded, path), show(c.upstream, path))
			}
			continue
		}
		equal = false
		switch {
		case complaint != "":
		case c.right[path] != c.ours[path]:
			complaint = fmt.Sprintf("%s: recorded %s, ours %s, right is %s", path, show(recorded, path), show(c.ours, path), show(c.right, path))
		case !places.Same(recorded[path], c.upstream[path]):
			complaint = fmt.Sprintf("%s: recorded %s, ours %s is right, but upstream answers %s", path, show(recorded, path),
				show(c.ours, path), show(c.upstream, path))
		case len(c.mistakes) == 0:
			complaint = fmt.Sprintf("%s: recorded %s, ours %s, and no mistake of upstream explains it", path, show(recorded, path), show(c.ours, path))
		}
	}
	return equal, complaint
}

// stepOf is the step that a path is of; empty: the start.
func stepOf(path string) string {
	step, _, isStep := strings.Cut(path, "].")
	if !isStep || !strings.HasPrefix(step, "steps[") {
		return ""
	}
	return step
}

func show(fields cases.Fields, path string) string {
	value, ok := fields[path]
	if !ok {
		return "nothing"
	}
	const most = 300
	if len(value) > most {
		value = value[:most] + "…"
	}
	return fmt.Sprintf("%q", value)
}

// Summary are the two lines that a run ends with.
func Summary(verdicts []Verdict) string {
	equal, explained, failed := 0, 0, 0
	byMistake := map[int]int{}
	for i := range verdicts {
		switch v := &verdicts[i]; {
		case v.Equal:
			equal++
		case v.Failed():
			failed++
		default:
			explained++
			byMistake[v.Mistakes[0]]++
		}
	}
	numbers := make([]int, 0, len(byMistake))
	for number := range byMistake {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	list := ""
	for _, number := range numbers {
		if list != "" {
			list += ", "
		}
		list += fmt.Sprintf("N%d %d", number, byMistake[number])
	}
	if list != "" {
		list = " (" + list + ")"
	}
	return fmt.Sprintf("%d equal, %d explained%s, %d unexplained\n%d passed, %d failed\n", equal, explained, list, failed, equal+explained, failed)
}
