package live_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Who follows a cluster, as a device plugin, brings along neither a web server nor Prometheus.
func TestALiveClusterBringsNoServerAlong(t *testing.T) {
	listed, err := exec.Command("go", "list", "-deps", "vgpualloc.example/adapters/live").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(listed))
	if len(packages) < 10 {
		t.Fatal(packages)
	}
	for _, imported := range packages {
		if imported == "net" || strings.HasPrefix(imported, "net/") || strings.Contains(imported, "prometheus") ||
			strings.Contains(imported, "k8s.io") {
			t.Error(imported)
		}
	}
}
