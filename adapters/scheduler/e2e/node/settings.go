package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// The settings of containerd. There is no docker and no GPU here, the kernel has no AppArmor profiles for these containers, and
// pods use the node's network, so that the loopback plugin only has to be named.
const containerdSettings = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{{.ContainerdSocket}}"
[ttrpc]
  address = "{{.ContainerdSocket}}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{{.PauseImage}}"
  stream_server_address = "127.0.0.1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{{.Debs}}/usr/lib/cni"
    conf_dir = "/var/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{{.Debs}}/usr/sbin/runc"
        SystemdCgroup = false
`

const cniSettings = `{"cniVersion":"0.4.0","name":"lo","plugins":[{"type":"loopback"}]}
`

// The settings of the kubelet: nothing but 127.0.0.1, and nothing that a machine has to be prepared for.
const kubeletSettings = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: {{.KubeletPort}}
readOnlyPort: 0
healthzBindAddress: 127.0.0.1
healthzPort: {{.HealthPort}}
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://{{.ContainerdSocket}}
cgroupDriver: cgroupfs
failCgroupV1: false
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
makeIPTablesUtilChains: false
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi}
clusterDNS: []
resolvConf: ""
registerNode: true
nodeStatusUpdateFrequency: 1s
cpuManagerPolicy: none
topologyManagerPolicy: none
maxPods: 250
containerLogMaxSize: 10Mi
volumeStatsAggPeriod: 0s
volumePluginDir: /var/lib/kubelet/volume-plugins
serializeImagePulls: false
`

// What the kubelet wants of the kernel. It sees these values instead of the machine's, which stay as they are.
var kernelSettings = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// values are what the settings are filled with.
type values struct {
	ContainerdSocket, PauseImage, Debs string
	KubeletPort, HealthPort            int
}

func fill(path, text string, with values) error {
	parsed, err := template.New(filepath.Base(path)).Option("missingkey=error").Parse(text)
	if err != nil {
		return err
	}
	var result bytes.Buffer
	if err := parsed.Execute(&result, with); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, result.Bytes(), 0o600)
}
