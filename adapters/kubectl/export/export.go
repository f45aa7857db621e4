package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// pageSize is how many objects are listed at once, as by kubectl.
const pageSize = 500

// ErrNotAllowed is what an error is if the API server does not let the user read what every answer needs.
var ErrNotAllowed = errors.New("not allowed")

// notAllowed is an error whose words are for the user.
type notAllowed struct{ words string }

func (e *notAllowed) Error() string        { return e.words }
func (e *notAllowed) Is(target error) bool { return target == ErrNotAllowed }

// Cluster is what there is at one moment.
type Cluster struct {
	Text     []byte   // as `kubectl get -o json` prints it
	Unlisted []string // kinds that there are and that the user may not list
}

// isPassedOver: the API server has no such kind, or the user may not list it.
func isPassedOver(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

// Read lists the cluster. The namespace is where the user may list pods, if anywhere.
func Read(ctx context.Context, client rest.Interface, namespace string) (Cluster, error) {
	listed, err := served(ctx, client, kinds)
	if err != nil {
		return Cluster{}, described(err)
	}
	reader := reader{client: client}
	if err := reader.listAll(ctx, listed, namespace); err != nil {
		return Cluster{}, err
	}
	if reader.hasChips {
		if err := reader.listAll(ctx, chipKinds, namespace); err != nil {
			return Cluster{}, err
		}
	}
	return Cluster{Text: listText(reader.items, reader.isLarge()), Unlisted: reader.unlisted}, nil
}

// reader gathers objects.
type reader struct {
	client   rest.Interface
	items    [][]byte // without spaces
	size     int      // of the items, in bytes
	hasChips bool     // some node offers chips of MindCluster
	unlisted []string
}

func (r *reader) listAll(ctx context.Context, wanted []kind, namespace string) error {
	for _, resource := range wanted {
		err := r.list(ctx, resource)
		switch {
		case err == nil:
		case resource.isNeeded && apierrors.IsForbidden(err):
			return r.refusal(ctx, resource, namespace)
		case !resource.isNeeded && apierrors.IsForbidden(err):
			r.unlisted = append(r.unlisted, resource.name())
		case !resource.isNeeded && apierrors.IsNotFound(err):
		default:
			return described(fmt.Errorf("listing %s: %w", resource.name(), err))
		}
	}
	return nil
}

// list reads all objects of a kind. Where a list changed too much between two pages, it is read again as a whole.
func (r *reader) list(ctx context.Context, resource kind) error {
	before, size := len(r.items), r.size
	err := r.pages(ctx, resource, pageSize)
	if apierrors.IsResourceExpired(err) {
		r.items, r.size = r.items[:before], size
		err = r.pages(ctx, resource, 0)
	}
	return err
}

func (r *reader) pages(ctx context.Context, resource kind, size int) error {
	next := ""
	for {
		page, err := r.page(ctx, resource, size, next)
		if err != nil {
			return err
		}
		for _, object := range page.Items {
			if err := r.add(object, page.APIVersion, strings.TrimSuffix(page.Kind, "List")); err != nil {
				return err
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return nil
		}
	}
}

// page is a part of a list.
type page struct {
	APIVersion string
	Kind       string
	Metadata   struct{ Continue string }
	Items      []json.RawMessage
}

func (r *reader) page(ctx context.Context, resource kind, size int, next string) (page, error) {
	request := r.client.Get().AbsPath(resource.path()).SetHeader("Accept", "application/json")
	if size > 0 {
		request.Param("limit", strconv.Itoa(size))
	}
	if next != "" {
		request.Param("continue", next)
	}
	var result page
	text, err := body(request.Do(ctx))
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	return result, err
}

// body is the text of an answer, or the error with the words of the API server, which Raw alone leaves out.
func body(answer rest.Result) ([]byte, error) {
	if err := answer.Error(); err != nil {
		return nil, err
	}
	return answer.Raw()
}

// add takes an object as kubectl prints it: with its kind, keys in order, and nothing of who manages which field.
func (r *reader) add(text []byte, apiVersion, kind string) error {
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return err
	}
	object["apiVersion"], object["kind"] = apiVersion, kind
	if metadata, isMap := object["metadata"].(map[string]any); isMap {
		delete(metadata, "managedFields")
	}
	if r.isLarge() {
		leaveOutUnread(object)
	}
	item, err := json.Marshal(object)
	if err != nil {
		return err
	}
	r.hasChips = r.hasChips || kind == "Node" && bytes.Contains(item, []byte(chipResources))
	r.items = append(r.items, item)
	r.size += len(item)
	return nil
}

// refusal says what the user may not list, and where pods may be listed.
func (r *reader) refusal(ctx context.Context, resource kind, namespace string) error {
	words := "you may not list " + resource.name()
	if resource.resource == "pods" {
		words = "you may not list pods of all namespaces"
		own := kind{version: "v1", resource: "pods", namespace: namespace}
		if _, err := r.page(ctx, own, 1, ""); err == nil {
			words = fmt.Sprintf("you may list pods in %s, not in all namespaces", namespace)
		}
	}
	return &notAllowed{"free cannot be known: " + words + "; the role vgpu-view (get, list) allows it"}
}

// described is an error of the API server; one that says who the user is not is the user's.
func described(err error) error {
	if apierrors.IsUnauthorized(err) {
		return &notAllowed{"the API server does not accept the credentials of the kubeconfig: " + err.Error()}
	}
	return err
}
