package testbed

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// object is one object as JSON has it. Objects in the store are never changed, only replaced.
type object map[string]any

func (o object) metadata() map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	return metadata
}

func (o object) text(path ...string) string {
	var value any = map[string]any(o)
	for _, key := range path {
		level, _ := value.(map[string]any)
		value = level[key]
	}
	text, _ := value.(string)
	return text
}

func (o object) key() string {
	return o.text("metadata", "namespace") + "/" + o.text("metadata", "name")
}

func (o object) version() uint64 {
	version, _ := strconv.ParseUint(o.text("metadata", "resourceVersion"), 10, 64)
	return version
}

// clone is a copy that shares nothing with o.
func (o object) clone() object { return object(copyOf(map[string]any(o)).(map[string]any)) }

// copyOf copies what came from JSON.
func copyOf(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for key, part := range value {
			result[key] = copyOf(part)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, part := range value {
			result[i] = copyOf(part)
		}
		return result
	}
	return value
}

// change is what happened to one object.
type change struct {
	before  object // nil: it was not there
	after   object // nil: it has gone
	version uint64 // of the store after it
	last    *encoded
}

// event is one event of a watch.
type event struct {
	kind   string // ADDED, MODIFIED or DELETED
	object *encoded
}

// historyMax is how many changes of a resource are remembered at least. A watch that begins before them has to list again.
const historyMax = 1000

// store holds the objects of all resources with one count of versions.
type store struct {
	mu      sync.Mutex
	version uint64
	objects map[*resource]map[string]object
	encoded map[*resource]map[string]*encoded // the same objects
	history map[*resource][]change
	dropped map[*resource]uint64 // the version of the newest change that is not remembered any more
	news    chan struct{}        // closed and replaced at each change
}

func newStore() *store {
	return &store{
		version: 1,
		objects: map[*resource]map[string]object{},
		encoded: map[*resource]map[string]*encoded{},
		history: map[*resource][]change{},
		dropped: map[*resource]uint64{},
		news:    make(chan struct{}),
	}
}

func (s *store) get(of *resource, key string) (*encoded, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, ok := s.encoded[of][key]
	return result, ok
}

// put writes an object under the lock. It gives it a version and, if it is new, a uid.
func (s *store) put(of *resource, written object) *encoded {
	s.version++
	written = written.clone()
	written["apiVersion"], written["kind"] = of.apiVersion, of.kind
	metadata := written.metadata()
	metadata["resourceVersion"] = strconv.FormatUint(s.version, 10)
	if metadata["uid"] == nil || metadata["uid"] == "" {
		metadata["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.version)
	}
	if s.objects[of] == nil {
		s.objects[of], s.encoded[of] = map[string]object{}, map[string]*encoded{}
	}
	key := written.key()
	before := s.objects[of][key]
	result := encode(of.newObject, written)
	s.objects[of][key], s.encoded[of][key] = written, result
	s.tell(of, change{before, written, s.version, result})
	return result
}

func (s *store) tell(of *resource, news change) {
	history := append(s.history[of], news)
	if len(history) >= 2*historyMax {
		kept := len(history) - historyMax
		s.dropped[of] = history[kept-1].version
		history = slices.Clone(history[kept:])
	}
	s.history[of] = history
	close(s.news)
	s.news = make(chan struct{})
}

// remove takes an object away under the lock.
func (s *store) remove(of *resource, key string) (*encoded, bool) {
	removed, ok := s.objects[of][key]
	if !ok {
		return nil, false
	}
	result := s.encoded[of][key]
	delete(s.objects[of], key)
	delete(s.encoded[of], key)
	s.version++
	last := removed.clone()
	last.metadata()["resourceVersion"] = strconv.FormatUint(s.version, 10)
	s.tell(of, change{removed, nil, s.version, encode(of.newObject, last)})
	return result, true
}

// list is what a selection has, by namespace and name, and the version of the list.
func (s *store) list(of *resource, wanted selection) ([]object, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.selected(of, wanted), s.version
}

// selected is list under the lock.
func (s *store) selected(of *resource, wanted selection) []object {
	result := []object{}
	for _, candidate := range s.objects[of] {
		if wanted.has(candidate) {
			result = append(result, candidate)
		}
	}
	sort.Slice(result, func(i, j int) bool {
		a, b := result[i], result[j]
		if x, y := a.text("metadata", "namespace"), b.text("metadata", "namespace"); x != y {
			return x < y
		}
		return a.text("metadata", "name") < b.text("metadata", "name")
	})
	return result
}

// errExpired is why a watch ends that begins before all remembered changes.
var errExpired = errors.New("too old resource version")

// since are the changes of a selection after a version, as a watch with that selection sees them, the version up to which they go,
// and a channel that is closed when there are more. Version 0 is none: all that is there now is new.
func (s *store) since(of *resource, wanted selection, version uint64) ([]event, uint64, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var result []event
	if version == 0 {
		for _, present := range s.selected(of, wanted) {
			result = append(result, event{"ADDED", s.encoded[of][present.key()]})
		}
		return result, s.version, s.news, nil
	}
	if version < s.dropped[of] {
		return nil, s.version, s.news, errExpired
	}
	history := s.history[of]
	first := sort.Search(len(history), func(i int) bool { return history[i].version > version })
	for _, news := range history[first:] {
		was := news.before != nil && wanted.has(news.before)
		is := news.after != nil && wanted.has(news.after)
		switch {
		case was && is:
			result = append(result, event{"MODIFIED", news.last})
		case is:
			result = append(result, event{"ADDED", news.last})
		case was:
			result = append(result, event{"DELETED", news.last})
		}
	}
	return result, s.version, s.news, nil
}

// selection is a namespace (empty: all), a field selector and a label selector.
type selection struct {
	namespace string
	fields    fields.Selector
	labels    labels.Selector
}

// selectable are the fields that a selector may name, as the API server allows them.
func selectable(of *resource) map[string][]string {
	result := map[string][]string{"metadata.name": {"metadata", "name"}}
	if of.namespaced {
		result["metadata.namespace"] = []string{"metadata", "namespace"}
	}
	switch of.plural {
	case "pods":
		result["spec.nodeName"] = []string{"spec", "nodeName"}
		result["status.phase"] = []string{"status", "phase"}
	case "events":
		for _, field := range []string{"name", "namespace", "kind", "uid"} {
			result["involvedObject."+field] = []string{"involvedObject", field}
		}
		result["reason"] = []string{"reason"}
	}
	return result
}

func newSelection(of *resource, namespace, fieldText, labelText string) (selection, error) {
	byField, err := fields.ParseSelector(fieldText)
	if err != nil {
		return selection{}, err
	}
	known := selectable(of)
	for _, requirement := range byField.Requirements() {
		if known[requirement.Field] == nil {
			return selection{}, fmt.Errorf("field label not supported: %s", requirement.Field)
		}
	}
	byLabel, err := labels.Parse(labelText)
	if err != nil {
		return selection{}, err
	}
	return selection{namespace, fieldsOf{byField, known}, byLabel}, nil
}

// fieldsOf is a field selector that knows where the fields stand.
type fieldsOf struct {
	fields.Selector
	paths map[string][]string
}

func (s selection) has(candidate object) bool {
	if s.namespace != "" && candidate.text("metadata", "namespace") != s.namespace {
		return false
	}
	if byField, ok := s.fields.(fieldsOf); ok && !byField.Empty() {
		values := fields.Set{}
		for name, path := range byField.paths {
			values[name] = candidate.text(path...)
		}
		if !byField.Matches(values) {
			return false
		}
	}
	if s.labels.Empty() {
		return true
	}
	values := labels.Set{}
	written, _ := candidate.metadata()["labels"].(map[string]any)
	for key, value := range written {
		values[key], _ = value.(string)
	}
	return s.labels.Matches(values)
}

// The kinds of patches that the stub takes.
const (
	strategicMerge = "application/strategic-merge-patch+json"
	mergePatch     = "application/merge-patch+json"
)

// patched is an object after a patch of one of these kinds.
func patched(of *resource, before object, contentType string, patch []byte) (object, error) {
	if contentType == strategicMerge {
		text, err := json.Marshal(before)
		if err != nil {
			return nil, err
		}
		text, err = strategicpatch.StrategicMergePatch(text, patch, of.newObject())
		if err != nil {
			return nil, err
		}
		var result object
		return result, json.Unmarshal(text, &result)
	}
	var change any
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	result, ok := merged(map[string]any(before.clone()), change).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the patch is no object")
	}
	return result, nil
}

// merged is RFC 7396: null removes a key, objects are merged, everything else replaces.
func merged(value, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result, ok := value.(map[string]any)
	if !ok {
		result = map[string]any{}
	}
	for key, change := range changes {
		if change == nil {
			delete(result, key)
		} else {
			result[key] = merged(result[key], change)
		}
	}
	return result
}
