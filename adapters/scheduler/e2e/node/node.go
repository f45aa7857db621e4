// Package node starts and ends the programs of a real node: containerd with runc, a kubelet and our device plugin on the fake NVML; and
// reads what containers were given. Everything is done inside (package isolate), so that nothing stays.
package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/mps"
	"vgpualloc.example/adapters/scheduler/e2e/control"
	"vgpualloc.example/adapters/scheduler/e2e/isolate"
)

// Options say what a node is made of.
type Options struct {
	Name       string
	Number     int      // from 1 on; no two nodes have the same
	Dir        string   // private folder; made
	Keep       []string // folders that the programs are in, which have to stay visible
	Debs       string   // where Debian's packages containerd and runc are unpacked
	Kubelet    string   // program
	Plugin     string   // program
	Programs   string   // folder of the compiled programs of container/
	NVML       string   // the fake libnvidia-ml.so.1
	Kubeconfig string
	// PluginKubeconfig is the device plugin's, which has rights of its own.
	PluginKubeconfig string
	Machine          fake.State
	NodeFile         string // text of config.json of ConfigMap volcano-vgpu-node-config; empty: none
	Labels           string // of the node: "a=b,c=d"
	Verbosity        int
}

// Node is one.
type Node struct {
	Options
	Containerd, Kubelet, Plugin *control.Process
	Machine                     *fake.Machine
	view                        isolate.View
}

const containerdSocket = "/run/containerd/containerd.sock"

// New prepares a node, without starting anything.
func New(options Options) (*Node, error) {
	node := &Node{Options: options}
	for what, path := range map[string]string{"containerd": node.deb("usr/bin/containerd"), "runc": node.deb("usr/sbin/runc"),
		"kubelet": options.Kubelet, "device plugin": options.Plugin, "fake NVML": options.NVML} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	for _, folder := range []string{"run", "run/containerd", "tmp", "var-lib", "var-lib/kubelet/device-plugins", "var-lib/cni", "var-log", "var-lib/driver/lib", "vgpu", "kernel", "config", "bin", mpsPipe} {
		if err := os.MkdirAll(node.path(folder), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(node.path("tmp"), os.ModeSticky|0o777); err != nil {
		return nil, err
	}
	for name, value := range kernelSettings {
		file := node.path("kernel/" + strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return nil, err
		}
		node.view.Binds = append(node.view.Binds, isolate.Bind{Source: file, Target: "/proc/sys/" + name})
	}
	// Every place outside of its own folder that one of the programs writes to.
	for own, everybodys := range map[string]string{"run": "/run", "tmp": "/tmp", "var-lib": "/var/lib", "var-log": "/var/log"} {
		node.view.Binds = append(node.view.Binds, isolate.Bind{Source: node.path(own), Target: everybodys})
	}
	node.view.Keep = append([]string{options.Dir}, options.Keep...)
	if err := node.installDriver(); err != nil {
		return nil, err
	}
	with := values{ContainerdSocket: containerdSocket, PauseImage: pauseImage, Debs: options.Debs,
		KubeletPort: 10250 + 10*options.Number, HealthPort: 10248 + 10*options.Number}
	for file, text := range map[string]string{"config/containerd.toml": containerdSettings, "var-lib/cni/10-lo.conflist": cniSettings, "config/kubelet.yaml": kubeletSettings} {
		if err := fill(node.path(file), text, with); err != nil {
			return nil, err
		}
	}
	return node, node.preparePrograms(with)
}

// The control daemon of MPS as the device plugin sees it: the folder of its pipes, and the driver's tool, which answers for any daemon.
const (
	mpsPipe    = "run/nvidia/mps/volcano.sh/vgpu-number/pipe"
	mpsControl = "#!/bin/sh\ntest -d \"$CUDA_MPS_PIPE_DIRECTORY\" && echo 100.0\n"
)

// installDriver puts there what the driver and HAMi-core's image would: the library of NVML with its machine, and libvgpu.so.
func (node *Node) installDriver() error {
	for target, source := range map[string]string{"var-lib/driver/lib/libnvidia-ml.so.1": node.NVML, "vgpu/libvgpu.so": filepath.Join(node.Programs, "libvgpu.so")} {
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(node.path(target), content, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(node.path("bin/"+mps.Program), []byte(mpsControl), 0o755); err != nil {
		return err
	}
	// One line without an end, as HAMi-core's image has it.
	if err := os.WriteFile(node.path("vgpu/ld.so.preload"), []byte("/usr/local/vgpu/libvgpu.so"), 0o644); err != nil {
		return err
	}
	if node.NodeFile != "" {
		if err := os.WriteFile(node.path("config/config.json"), []byte(node.NodeFile), 0o644); err != nil {
			return err
		}
	}
	machine, err := fake.New(node.path("var-lib/driver/gpus.json"), node.Options.Machine)
	node.Machine = machine
	return err
}

func (node *Node) preparePrograms(with values) error {
	path := "PATH=" + node.deb("usr/bin") + ":" + node.deb("usr/sbin") + ":" + os.Getenv("PATH")
	address := [4]byte{192, 0, 2, byte(node.Number)} // TEST-NET-1, on loopback
	if err := isolate.AddAddress(node.Number, address); err != nil {
		return err
	}
	var err error
	if node.Containerd, err = node.process("containerd", []string{path}, node.deb("usr/bin/containerd"), "--config", node.path("config/containerd.toml")); err != nil {
		return err
	}
	arguments := []string{"--config=" + node.path("config/kubelet.yaml"), "--kubeconfig=" + node.Kubeconfig, "--hostname-override=" + node.Name,
		"--node-ip=" + fmt.Sprintf("%d.%d.%d.%d", address[0], address[1], address[2], address[3]), "--cert-dir=" + node.path("var-lib/pki"),
		"--v=" + fmt.Sprint(node.Verbosity)}
	if node.Labels != "" {
		arguments = append(arguments, "--node-labels="+node.Labels)
	}
	if node.Kubelet, err = node.process("kubelet", []string{path}, node.Options.Kubelet, arguments...); err != nil {
		return err
	}
	node.Plugin, err = node.process("device-plugin",
		[]string{"NODE_NAME=" + node.Name, "PATH=" + node.path("bin") + ":" + os.Getenv("PATH"), "HOOK_PATH=" + node.path("vgpu"), "LD_LIBRARY_PATH=" + node.path("var-lib/driver/lib"), fake.Variable + "=" + node.Machine.Path()},
		node.Options.Plugin, "--kubeconfig="+node.PluginKubeconfig, "--node-config-file="+node.path("config/config.json"),
		fmt.Sprintf("--metrics-listen=127.0.0.1:%d", node.metricsPort()), "--v=4")
	return err
}

func (node *Node) metricsPort() int { return 9390 + node.Number }

// process is one of the node, which sees the node's folders where others see the machine's.
func (node *Node) process(name string, environment []string, program string, arguments ...string) (*control.Process, error) {
	path, all, err := node.view.Command(program, arguments...)
	if err != nil {
		return nil, err
	}
	return &control.Process{Name: name, Path: path, Args: all, Env: append(os.Environ(), environment...), Dir: node.Dir}, nil
}

// StartRuntime begins containerd, waits until it answers and imports the images.
func (node *Node) StartRuntime(ctx context.Context) error {
	archive := node.path("images.tar")
	program := func(name string) string { return filepath.Join(node.Programs, name) }
	if err := writeImages(archive, image{name: pauseImage, programs: []string{program("pause")}},
		image{name: ShowImage, programs: []string{program("show"), program("nvidia-smi"), program("cuda")},
			alsoLinked: []string{node.NVML, program("libvgpu.so")}}); err != nil {
		return err
	}
	if err := node.Containerd.Start(); err != nil {
		return err
	}
	if err := node.await(ctx, node.Containerd, func() error { _, err := node.ctr(ctx, "version"); return err }); err != nil {
		return err
	}
	_, err := node.ctr(ctx, "images", "import", archive)
	return err
}

// ctr runs containerd's own client.
func (node *Node) ctr(ctx context.Context, arguments ...string) (string, error) {
	path, all, err := node.view.Command(node.deb("usr/bin/ctr"), append([]string{"--address", containerdSocket, "--namespace", "k8s.io"}, arguments...)...)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, path, all...)
	var failure bytes.Buffer
	command.Stderr = &failure
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(failure.String()))
	}
	return string(output), nil
}

// StartKubelet begins the kubelet, for the first time or again, and waits until it says that it is well.
func (node *Node) StartKubelet(ctx context.Context) error {
	if err := node.Kubelet.Start(); err != nil {
		return err
	}
	address := fmt.Sprintf("http://127.0.0.1:%d/healthz", 10248+10*node.Number)
	return node.await(ctx, node.Kubelet, func() error { _, err := get(ctx, address); return err })
}

// Metrics is what the device plugin serves for Prometheus.
func (node *Node) Metrics(ctx context.Context) (string, error) {
	return get(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", node.metricsPort()))
}

func get(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	answer, err := (&http.Client{Timeout: 2 * time.Second}).Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d", address, answer.StatusCode)
	}
	return string(text), err
}

// Stop ends everything but the containers, which end with the processes' namespace.
func (node *Node) Stop() {
	for _, process := range []*control.Process{node.Plugin, node.Kubelet, node.Containerd} {
		process.Stop(10 * time.Second)
	}
}

func (node *Node) await(ctx context.Context, process *control.Process, ready func() error) error {
	deadline := time.Now().Add(time.Minute)
	for {
		err := ready()
		switch {
		case err == nil:
			return nil
		case process.Pid() == 0:
			return fmt.Errorf("%s of node %s has ended: %s", process.Name, node.Name, process.Crash())
		case time.Now().After(deadline):
			return fmt.Errorf("%s of node %s is not ready in a minute: %w", process.Name, node.Name, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (node *Node) deb(path string) string { return filepath.Join(node.Debs, path) }

// path is one in the node's own folder.
func (node *Node) path(below string) string { return filepath.Join(node.Dir, below) }
