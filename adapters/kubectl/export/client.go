// Package export reads a cluster from its API server and writes it as `kubectl get -o json` prints it. It only ever gets and lists.
package export

import (
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // how kubeconfigs of cloud providers log in
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Access says how to reach the API server: kubectl's flags of these names.
type Access struct {
	Kubeconfig     string
	Context        string
	RequestTimeout time.Duration // 0: none
	UserAgent      string
}

// getOnly sends requests that read, and no others.
type getOnly struct{ next http.RoundTripper }

// RoundTrip refuses every verb but GET before anything is sent.
func (g getOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, fmt.Errorf("%s %s: kubectl vgpu only reads, expected GET", request.Method, request.URL.Path)
	}
	return g.next.RoundTrip(request)
}

// ReadOnly makes every client of this configuration refuse what is no GET.
func ReadOnly(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return getOnly{next} })
}

// Connect reads the kubeconfig, without a request. The namespace is that of the context.
func Connect(access Access) (client *rest.RESTClient, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules() // $KUBECONFIG, or ~/.kube/config
	rules.ExplicitPath = access.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: access.Context})
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", fmt.Errorf("no kubeconfig: expected --kubeconfig, $KUBECONFIG or ~/.kube/config")
	case err != nil && access.Kubeconfig != "":
		return nil, "", fmt.Errorf("--kubeconfig %q: %w", access.Kubeconfig, err)
	case err != nil:
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	client, err = newClient(config, access)
	return client, namespace, err
}

func newClient(config *rest.Config, access Access) (*rest.RESTClient, error) {
	known := runtime.NewScheme() // of errors alone: objects stay the texts that they are
	metav1.AddToGroupVersion(known, schema.GroupVersion{Version: "v1"})
	ReadOnly(config)
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	config.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	config.QPS = -1 // pages come one after the other
	config.Timeout = access.RequestTimeout
	config.UserAgent = access.UserAgent
	config.WarningHandler = rest.NoWarnings{}
	return rest.RESTClientFor(config)
}
