// Package web answers over HTTP what all schedulers are asked alike.
package web

import (
	"encoding/json"
	"net/http"
	"strings"
)

// ServeExplanation answers GET /explain?pod=namespace/name as `vgpusim explain --json` does. `explain` gives the text, and
// false if there is no such pod.
func ServeExplanation(to http.ResponseWriter, request *http.Request,
	explain func(namespace, name string) (string, bool, error)) {
	fail := func(status int, why string) {
		to.Header().Set("Content-Type", "application/json")
		to.WriteHeader(status)
		_ = json.NewEncoder(to).Encode(map[string]string{"error": why})
	}
	pod := request.URL.Query().Get("pod")
	namespace, name, two := strings.Cut(pod, "/")
	if !two || namespace == "" || name == "" || strings.Contains(name, "/") {
		fail(http.StatusBadRequest, "parameter pod is \""+pod+"\": expected namespace/name")
		return
	}
	text, known, err := explain(namespace, name)
	switch {
	case err != nil:
		fail(http.StatusUnprocessableEntity, err.Error())
	case !known:
		fail(http.StatusNotFound, "the scheduler knows no pod "+pod)
	default:
		to.Header().Set("Content-Type", "application/json")
		_, _ = to.Write([]byte(text))
	}
}
