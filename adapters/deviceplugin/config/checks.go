package config

import (
	"fmt"
	"math"
	"net"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// What numbers may be at most: those of the registration are read into 32 bits.
const (
	numberMax  = 1 << 20
	scalingMax = 1000
)

// checkResource says whether Kubernetes takes this as the name of a device plugin's resource.
func checkResource(field, name string) error {
	domain, _, hasDomain := strings.Cut(name, "/")
	if !hasDomain || domain == "" {
		return fmt.Errorf("%s %q: expected a domain, a slash and a name, as volcano.sh/vgpu-number", field, name)
	}
	if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
		return fmt.Errorf("%s %q: expected the name of a resource: %s", field, name, wrong[0])
	}
	if domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		return fmt.Errorf("%s %q: expected a domain other than kubernetes.io, which is Kubernetes' own", field, name)
	}
	if wrong := validation.IsQualifiedName("requests." + name); len(wrong) > 0 {
		return fmt.Errorf("%s %q: expected a name that a quota can name: %s", field, name, wrong[0])
	}
	return nil
}

func checkAnnotation(field, name string) error {
	if wrong := validation.IsQualifiedName(strings.ToLower(name)); len(wrong) > 0 {
		return fmt.Errorf("%s %q: expected the key of an annotation: %s", field, name, wrong[0])
	}
	return nil
}

// checkScaling: compute is counted in percent, so that less than 0.01 is none.
func checkScaling(field string, value float64, ofCores bool) error {
	least, text := 0.0, "above 0"
	if ofCores {
		least, text = 0.01, "at least 0.01"
	}
	if math.IsNaN(value) || value <= 0 || value < least || value > scalingMax {
		return fmt.Errorf("%s %s: expected a number %s and at most %d", field, number(value), text, scalingMax)
	}
	return nil
}

// checkListen: a port of this machine, perhaps at one address.
func checkListen(value string) error {
	if value == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("--metrics-listen %q: expected an address and a port, as :9394", value)
	}
	return nil
}

// cleanPath takes double and last slashes away.
func cleanPath(name string, value *string) error {
	if *value == "" {
		return nil
	}
	if !strings.HasPrefix(*value, "/") {
		return fmt.Errorf("%s %q: expected an absolute path", name, *value)
	}
	*value = path.Clean(*value)
	return nil
}
