package decisionlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"vgpualloc.example/adapters/vga"
)

// Name is how an object is known: a node by its name, a ConfigMap by namespace/name, a pod by its uid.
type Name struct{ Kind, Name string }

// The kinds of objects that the core is told of.
const Pod, Node, ConfigMap = "Pod", "Node", "ConfigMap"

type keptObject struct {
	text  []byte
	since uint64 // what was there before another one has less
}

// Objects are those that a core was told of last, for logs that may begin anew.
type Objects struct {
	objects map[Name]keptObject
	told    uint64
	// Pods that have devices which their object does not show yet, though the core was told so when the log began: with
	// the object itself.
	Early map[string][]byte
}

// NewObjects has none.
func NewObjects() Objects {
	return Objects{objects: map[Name]keptObject{}, Early: map[string][]byte{}}
}

// Head is what has to be known of an object besides its text.
type Head struct {
	Kind     string
	Metadata struct{ Name, Namespace, UID string }
	Spec     struct{ NodeName string }
}

// HeadOf reads the head of an object.
func HeadOf(text []byte) (Head, error) {
	var of Head
	if err := json.Unmarshal(text, &of); err != nil {
		return of, fmt.Errorf("an object for the decision log: %w", err)
	}
	return of, nil
}

// ObjectName is how the object is known.
func (h *Head) ObjectName() Name {
	full := cmp.Or(h.Metadata.Namespace, "default") + "/" + h.Metadata.Name
	switch h.Kind {
	case Pod:
		return Name{Pod, cmp.Or(h.Metadata.UID, full)}
	case ConfigMap:
		return Name{ConfigMap, full}
	}
	return Name{h.Kind, h.Metadata.Name}
}

// Keep has the object as it is now.
func (k *Objects) Keep(name Name, text []byte) {
	since := k.objects[name].since
	if since == 0 {
		k.told++
		since = k.told
	}
	k.objects[name] = keptObject{bytes.Clone(text), since}
}

// Forget has an object no more.
func (k *Objects) Forget(kind, name string) {
	delete(k.objects, Name{kind, name})
	if kind == Pod {
		delete(k.Early, name)
	}
}

// Of is all that are there of a kind, in the order in which they came.
func (k *Objects) Of(kind string) []Name {
	var names []Name
	for name := range k.objects {
		if name.Kind == kind {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b Name) int { return cmp.Compare(k.objects[a].since, k.objects[b].since) })
	return names
}

// boundTo is the object of a pod that says what it has, as the API server will show it when the pod is bound.
func boundTo(text []byte, node string, annotations map[string]string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	member := func(of map[string]any, name string) map[string]any {
		inner, isThere := of[name].(map[string]any)
		if !isThere {
			inner = map[string]any{}
			of[name] = inner
		}
		return inner
	}
	member(object, "spec")["nodeName"] = node
	present := member(member(object, "metadata"), "annotations")
	for name, value := range annotations {
		present[name] = value
	}
	return json.Marshal(object)
}

// Bound is the object of a pod that says what it has on a core.
func Bound(core *vga.Cluster, uid string, node vga.Node, text []byte) ([]byte, error) {
	name, err := core.NodeName(node)
	if err != nil {
		return nil, err
	}
	annotations, err := core.Annotations(uid, time.Now())
	if err != nil {
		return nil, err
	}
	return boundTo(text, name, annotations)
}
