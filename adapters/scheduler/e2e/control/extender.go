package control

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Users of the API server beside who may do everything. Kubernetes itself says what its scheduler may.
const (
	KubeSchedulerUser = "system:kube-scheduler"
	ExtenderUser      = "vgpualloc-extender"
)

// prepareKubeScheduler makes the scheduler a kube-scheduler that asks our extender. Each has a user of its own, so that
// neither can do what it has no right to.
func (plane *Plane) prepareKubeScheduler() error {
	options := plane.options
	_, forScheduler, err := plane.addUser(KubeSchedulerUser)
	if err != nil {
		return err
	}
	_, forExtender, err := plane.addUser(ExtenderUser)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(options.SchedulerConf)
	if err != nil {
		return err
	}
	address := loopback("http", plane.extenderPort)
	for placeholder, value := range map[string]string{"@KUBECONFIG@": forScheduler, "@EXTENDER@": address} {
		if !strings.Contains(string(text), placeholder) {
			return fmt.Errorf("%s: no %s, expected it where %s is to stand", options.SchedulerConf, placeholder, value)
		}
		text = []byte(strings.ReplaceAll(string(text), placeholder, value))
	}
	config := filepath.Join(options.Dir, "kube-scheduler.yaml")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return err
	}
	plane.Scheduler = &Process{Name: "kube-scheduler", Path: options.Scheduler, Dir: options.Dir, Args: append([]string{
		"--config=" + config, "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(plane.schedulerPort),
		"--cert-dir=" + filepath.Join(options.Dir, "certificates"),
		// It serves its metrics to anybody, because it would have to ask the API server who may read them.
		"--authorization-always-allow-paths=/metrics", "--v=" + strconv.Itoa(options.Verbosity),
	}, options.SchedulerArgs...)}
	plane.Extender = &Process{Name: "extender", Path: options.Extender, Dir: options.Dir, Args: append([]string{
		"--listen=127.0.0.1:" + strconv.Itoa(plane.extenderPort), "--kubeconfig=" + forExtender,
		"--mindcluster", "--v=" + strconv.Itoa(options.Verbosity),
	}, options.ExtenderArgs...)}
	return nil
}

// addUser lets somebody into the API server, who has the rights that RBAC gives to user and groups, and writes what a client needs.
func (plane *Plane) addUser(name string, groups ...string) (token, kubeconfig string, err error) {
	token = rand.Text()
	tokens, err := os.OpenFile(filepath.Join(plane.options.Dir, tokensFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", "", err
	}
	defer tokens.Close()
	if _, err := fmt.Fprintln(tokens, strings.Join(append([]string{token, name, name}, groups...), ",")); err != nil {
		return "", "", err
	}
	kubeconfig, err = plane.WriteKubeconfig(name, token)
	return token, kubeconfig, err
}

// WriteKubeconfig writes what a client needs that has this token, and returns the path.
func (plane *Plane) WriteKubeconfig(name, token string) (string, error) {
	path := filepath.Join(plane.options.Dir, strings.ReplaceAll(name, ":", "-")+".kubeconfig")
	return path, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: e2e, user: {token: %q}}]
contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}]
current-context: e2e
`, loopback("https", plane.apiPort), token), 0o600)
}

// Queues counts the pods without a node that kube-scheduler knows and is not trying at the moment, and those of them that it
// has yet to try: of the others it has said that they fit nowhere, until something changes that may help them.
func (plane *Plane) Queues() (known, untried int, err error) {
	text, err := plane.get(plane.Scheduler, "/metrics")
	if err != nil {
		return 0, 0, err
	}
	if known, err = figure(text, "scheduler_pending_pods"); err != nil {
		return 0, 0, err
	}
	untried, err = figure(text, "scheduler_pending_pods", `queue="active"`, `queue="backoff"`)
	return known, untried, err
}
