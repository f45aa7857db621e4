package testbed

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"k8s.io/client-go/kubernetes/scheme"
)

// serve carries out a request that is not a watch: the HTTP code and what to answer.
func (a *API) serve(of *resource, request Request, r *http.Request) (int, any) {
	a.fillNamespace(of, &request)
	key := request.Namespace + "/" + request.Name
	switch request.Verb {
	case "LIST":
		wanted, err := newSelection(of, request.Namespace, request.Selector, r.URL.Query().Get("labelSelector"))
		if err != nil {
			return http.StatusBadRequest, failure(http.StatusBadRequest, "BadRequest", err.Error())
		}
		objects, version := a.store.list(of, wanted)
		return http.StatusOK, encode(of.newList, object{
			"kind": of.kind + "List", "apiVersion": of.apiVersion,
			"metadata": map[string]any{"resourceVersion": strconv.FormatUint(version, 10)}, "items": objects,
		})
	case http.MethodGet:
		match, ok := a.store.get(of, key)
		if !ok {
			return notFound(of, request)
		}
		return http.StatusOK, match
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	before, exists := a.store.objects[of][key]
	if !exists && request.Verb != http.MethodPost {
		return notFound(of, request)
	}
	switch request.Verb {
	case http.MethodDelete:
		removed, _ := a.store.remove(of, key)
		return http.StatusOK, removed
	case http.MethodPatch:
		return a.patch(of, request, before)
	case http.MethodPut:
		return a.replace(of, request, before)
	case http.MethodPost:
		return a.create(of, request)
	}
	return http.StatusMethodNotAllowed, failure(http.StatusMethodNotAllowed, "MethodNotAllowed", request.Verb)
}

func (a *API) fillNamespace(of *resource, request *Request) {
	if of.namespaced && request.Namespace == "" && request.Verb != "LIST" {
		request.Namespace = "default"
	}
}

func notFound(of *resource, request Request) (int, any) {
	message := fmt.Sprintf("%s %q not found", of.plural, request.Name)
	return http.StatusNotFound, failure(http.StatusNotFound, "NotFound", message)
}

func conflict(of *resource, request Request) (int, any) {
	message := fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified; "+
		"please apply your changes to the latest version and try again", of.plural, request.Name)
	return http.StatusConflict, failure(http.StatusConflict, "Conflict", message)
}

// isOf says whether the version and the uid that a writer names, if any, are those of an object.
func isOf(written, before object) bool {
	if version := written.text("metadata", "resourceVersion"); version != "" && version != before.text("metadata", "resourceVersion") {
		return false
	}
	uid := written.text("metadata", "uid")
	return uid == "" || uid == before.text("metadata", "uid")
}

func (a *API) patch(of *resource, request Request, before object) (int, any) {
	contentType, _, _ := mime.ParseMediaType(request.ContentType)
	if contentType != strategicMerge && contentType != mergePatch {
		return http.StatusUnsupportedMediaType, failure(http.StatusUnsupportedMediaType, "UnsupportedMediaType",
			fmt.Sprintf("%q: expected %s or %s", contentType, strategicMerge, mergePatch))
	}
	var written object
	if err := json.Unmarshal(request.Body, &written); err != nil {
		return http.StatusBadRequest, failure(http.StatusBadRequest, "BadRequest", err.Error())
	}
	if !isOf(written, before) {
		return conflict(of, request)
	}
	after, err := patched(of, before, contentType, request.Body)
	if err != nil {
		return http.StatusUnprocessableEntity, failure(http.StatusUnprocessableEntity, "Invalid", err.Error())
	}
	return a.write(of, request, before, after)
}

func (a *API) replace(of *resource, request Request, before object) (int, any) {
	written, err := read(of, request.Body)
	if err != nil {
		return http.StatusUnsupportedMediaType, failure(http.StatusUnsupportedMediaType, "UnsupportedMediaType", err.Error())
	}
	if !isOf(written, before) {
		return conflict(of, request)
	}
	return a.write(of, request, before, written)
}

func (a *API) create(of *resource, request Request) (int, any) {
	if request.Name != "" {
		return http.StatusMethodNotAllowed, failure(http.StatusMethodNotAllowed, "MethodNotAllowed", "POST of "+request.Name)
	}
	written, err := read(of, request.Body)
	if err != nil {
		return http.StatusUnsupportedMediaType, failure(http.StatusUnsupportedMediaType, "UnsupportedMediaType", err.Error())
	}
	metadata := written.metadata()
	if metadata == nil {
		return http.StatusUnprocessableEntity, failure(http.StatusUnprocessableEntity, "Invalid", "metadata: expected")
	}
	if of.namespaced {
		metadata["namespace"] = request.Namespace
	}
	if metadata["name"] == nil || metadata["name"] == "" {
		metadata["name"] = fmt.Sprintf("%s%d", written.text("metadata", "generateName"), a.store.version+1)
	}
	if a.store.objects[of][written.key()] != nil {
		message := fmt.Sprintf("%s %q already exists", of.plural, written.text("metadata", "name"))
		return http.StatusConflict, failure(http.StatusConflict, "AlreadyExists", message)
	}
	return http.StatusCreated, a.store.put(of, written)
}

// write stores what became of an object. Through the subresource "status" only the status changes, and elsewhere it does not, where
// the object has that subresource.
func (a *API) write(of *resource, request Request, before, after object) (int, any) {
	if err := typed(of, after); err != nil {
		return http.StatusUnprocessableEntity, failure(http.StatusUnprocessableEntity, "Invalid", err.Error())
	}
	after = after.clone()
	if of.plural == "pods" || of.plural == "nodes" {
		if request.Subresource == "status" {
			metadata := after.metadata()
			status := after["status"]
			after = before.clone()
			after["status"] = status
			if metadata != nil && metadata["annotations"] != nil {
				after.metadata()["annotations"] = metadata["annotations"]
			}
		} else if status, ok := before["status"]; ok {
			after["status"] = status
		} else {
			delete(after, "status")
		}
	}
	for _, field := range []string{"uid", "name", "namespace", "creationTimestamp"} {
		if value, ok := before.metadata()[field]; ok {
			after.metadata()[field] = value
		}
	}
	return http.StatusOK, a.store.put(of, after)
}

// typed says whether an object is one of its Go type.
func typed(of *resource, content object) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, of.newObject())
}

// read is an object from JSON or from protobuf, which typed clients send.
func read(of *resource, body []byte) (object, error) {
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	kind, content := fromTyped(decoded)
	if kind != of {
		return nil, fmt.Errorf("kind %s: expected %s", kind.kind, of.kind)
	}
	return content, nil
}
