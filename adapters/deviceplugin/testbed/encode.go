package testbed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// encoded is an object as answers and events have it. Each form is written once, whoever wants it.
type encoded struct{ json, protobuf func() []byte }

// encode takes an object that is never changed; newTyped makes one of its Go type.
func encode(newTyped func() runtime.Object, content object) *encoded {
	result := &encoded{json: sync.OnceValue(func() []byte { return jsonOf(content) })}
	result.protobuf = sync.OnceValue(func() []byte {
		typed := newTyped()
		if err := json.Unmarshal(result.json(), typed); err != nil {
			panic(fmt.Sprintf("%s: %v", content.key(), err))
		}
		var text bytes.Buffer
		if err := protobufs.Encode(typed, &text); err != nil {
			panic(fmt.Sprintf("%s: %v", content.key(), err))
		}
		return text.Bytes()
	})
	return result
}

var (
	protobufs      = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	protobufEvents = protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
)

func jsonOf(content any) []byte {
	text, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("what came from JSON cannot be written as JSON: %v", err))
	}
	return text
}

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// takesProtobuf says whether the client of a request prefers protobuf, as typed clients do.
func takesProtobuf(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), protobufType)
}

// eventWriter writes the events of a watch.
type eventWriter struct {
	w          io.Writer
	isProtobuf bool
}

// contentType is that of the stream.
func (e eventWriter) contentType() string {
	if e.isProtobuf {
		return protobufType + ";stream=watch"
	}
	return jsonType
}

func (e eventWriter) write(event event) error {
	if !e.isProtobuf {
		_, err := e.w.Write(fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", event.kind, event.object.json()))
		return err
	}
	return protobufEvents.Encode(&metav1.WatchEvent{Type: event.kind, Object: runtime.RawExtension{Raw: event.object.protobuf()}},
		protobuf.LengthDelimitedFramer.NewFrameWriter(e.w))
}

// writeError ends a watch.
func (e eventWriter) writeError(status *metav1.Status) error {
	return e.write(event{"ERROR", &encoded{
		json: func() []byte { return jsonOf(status) },
		protobuf: func() []byte {
			var text bytes.Buffer
			if err := protobufs.Encode(status, &text); err != nil {
				panic(err)
			}
			return text.Bytes()
		},
	}})
}
