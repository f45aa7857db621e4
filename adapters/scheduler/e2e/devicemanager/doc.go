//go:build tier2

// Package devicemanager has tests in which the kubelet's own device manager is the client of our device plugin: the plugin runs as a
// process on the fake NVML, and the API server is a stub. They run inside (package isolate), as the device manager's folder is fixed. They
// are apart from ./... by tag tier2: `scripts/adapters.sh BUILD tier2 -C scheduler ./e2e/devicemanager` runs them.
package devicemanager
