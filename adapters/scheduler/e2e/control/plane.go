package control

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

// Options say which programs a control plane is made of.
type Options struct {
	Dir           string // private folder for data, logs, keys; made if it is missing
	Etcd          string // paths of programs
	APIServer     string
	Scheduler     string
	SchedulerConf string   // volcano-scheduler.conf, or with an extender a KubeSchedulerConfiguration
	SchedulerArgs []string // further flags
	// Extender is our extender, and then Scheduler is a kube-scheduler that asks it. Empty: Scheduler is a Volcano.
	Extender     string
	ExtenderArgs []string // further flags
	Period       time.Duration
	Verbosity    int
	// InCluster lets the scheduler see the files and variables of a pod with a service account, which upstream's
	// deviceshare needs to read its device configuration. It takes root.
	InCluster bool
	// Audited is a user of whose requests Plane.Requests tells. Empty: nobody.
	Audited string
	// Stock is Volcano's own scheduler, which may take the place of Scheduler (Plane.Exchange), with its configuration. It is in a
	// cluster as by InCluster. Empty: there is none.
	Stock     string
	StockConf string
}

// tokensFile has a line for each user, the first that of who may do everything.
const tokensFile = "tokens.csv"

// Plane is a control plane. Every address is on 127.0.0.1.
type Plane struct {
	Etcd, APIServer, Scheduler *Process
	Extender                   *Process // of a kube-scheduler; nil with Volcano
	other                      *Process // that may take the scheduler's place; nil: none

	options       Options
	token         string
	kubeconfig    string
	apiPort       int
	schedulerPort int
	extenderPort  int
}

// New prepares a control plane, without starting anything.
func New(options Options) (*Plane, error) {
	for what, path := range map[string]string{"etcd": options.Etcd, "kube-apiserver": options.APIServer} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("program %s: %w", what, err)
		}
	}
	certificates := filepath.Join(options.Dir, "certificates")
	if err := os.MkdirAll(certificates, 0o700); err != nil {
		return nil, err
	}
	ports, err := freePorts(5)
	if err != nil {
		return nil, err
	}
	plane := &Plane{options: options, apiPort: ports[2], schedulerPort: ports[3], extenderPort: ports[4]}
	key := filepath.Join(certificates, "service-account.key")
	if _, _, err := keyutil.LoadOrGenerateKeyFile(key); err != nil {
		return nil, err
	}
	if plane.token, plane.kubeconfig, err = plane.addUser("admin", "system:masters"); err != nil {
		return nil, err
	}
	clients := loopback("http", ports[0])
	peers := loopback("http", ports[1])
	plane.Etcd = &Process{Name: "etcd", Path: options.Etcd, Dir: options.Dir, Args: []string{
		"--data-dir", filepath.Join(options.Dir, "etcd-data"),
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default=" + peers,
		// The data are thrown away with the folder, so nobody has to wait for a disk.
		"--unsafe-no-fsync",
	}}
	plane.APIServer = &Process{Name: "kube-apiserver", Path: options.APIServer, Dir: options.Dir, Args: []string{
		"--etcd-servers=" + clients, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(plane.apiPort), "--cert-dir=" + certificates, "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key, "--token-auth-file=" + filepath.Join(options.Dir, tokensFile), "--authorization-mode=RBAC",
		// Nobody makes service accounts here, and nobody takes the taint from a node that became ready.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--endpoint-reconciler-type=none",
		"--max-requests-inflight=0", "--max-mutating-requests-inflight=0", "--enable-priority-and-fairness=false",
		"--event-ttl=30m", "--profiling=false",
	}}
	if err := plane.prepareAudit(); err != nil {
		return nil, err
	}
	if options.Extender != "" {
		return plane, plane.prepareKubeScheduler()
	}
	return plane, plane.prepareVolcano()
}

// volcano is a scheduler with the flags of vc-scheduler.
func (plane *Plane) volcano(name, program, config string) *Process {
	options := plane.options
	return &Process{Name: name, Path: program, Dir: options.Dir, Args: append([]string{
		"--kubeconfig=" + plane.kubeconfig, "--scheduler-conf=" + config, "--leader-elect=false",
		"--schedule-period=" + options.Period.String(), "--enable-metrics=true", "--enable-pprof=true",
		"--listen-address=127.0.0.1:" + strconv.Itoa(plane.schedulerPort), "--enable-healthz=false", "--cache-dumper=false",
		// All nodes are looked at, or two schedulers could not be compared.
		"--percentage-nodes-to-find=100", "--kube-api-qps=5000", "--kube-api-burst=5000",
		"--v=" + strconv.Itoa(options.Verbosity),
	}, options.SchedulerArgs...)}
}

// prepareVolcano makes the scheduler a Volcano, and another one that may take its place.
func (plane *Plane) prepareVolcano() error {
	options := plane.options
	plane.Scheduler = plane.volcano("scheduler", options.Scheduler, options.SchedulerConf)
	if options.InCluster {
		return plane.enterCluster(plane.Scheduler)
	}
	if options.Stock == "" {
		return nil
	}
	plane.other = plane.volcano("stock-scheduler", options.Stock, options.StockConf)
	return plane.enterCluster(plane.other)
}

// Exchange puts the other scheduler into the place of the one that is there, which must have been stopped. Neither is started.
func (plane *Plane) Exchange() error {
	if pid := plane.Scheduler.Pid(); pid != 0 {
		return fmt.Errorf("%s runs, with pid %d: two schedulers at once would give the same device twice", plane.Scheduler.Name, pid)
	}
	plane.Scheduler.exchange(plane.other)
	return nil
}

// Config is what a client needs. Requests are not held back on the client's side.
func (plane *Plane) Config() *rest.Config {
	return &rest.Config{
		Host: loopback("https", plane.apiPort), BearerToken: plane.token, QPS: -1, Timeout: 0,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, UserAgent: "vgpualloc-e2e",
	}
}

// Kubeconfig is the path of the file by which clients that read one may do everything.
func (plane *Plane) Kubeconfig() string { return plane.kubeconfig }

// Decider is the program that decides on devices: the extender if there is one, or else the scheduler.
func (plane *Plane) Decider() *Process {
	if plane.Extender != nil {
		return plane.Extender
	}
	return plane.Scheduler
}

// Schedulers are the programs that are needed for pods to be scheduled, in the order in which they are started.
func (plane *Plane) Schedulers() []*Process {
	if plane.Extender != nil {
		return []*Process{plane.Extender, plane.Scheduler}
	}
	return []*Process{plane.Scheduler}
}

func (plane *Plane) address(scheduler *Process) string {
	switch {
	case scheduler == plane.Extender:
		return loopback("http", plane.extenderPort)
	case plane.Extender != nil:
		return loopback("https", plane.schedulerPort)
	default:
		return loopback("http", plane.schedulerPort)
	}
}

// Start begins etcd and kube-apiserver and waits until requests are answered. The scheduler is started apart, when
// the cluster has what it looks for.
func (plane *Plane) Start(ctx context.Context) error {
	if err := plane.Etcd.Start(); err != nil {
		return err
	}
	return plane.StartAPIServer(ctx)
}

// StartAPIServer begins kube-apiserver, for the first time or again, and waits until it is ready.
func (plane *Plane) StartAPIServer(ctx context.Context) error {
	if err := plane.APIServer.Start(); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		return err
	}
	ready := func() bool {
		ask, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		answer, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ask)
		return err == nil && string(answer) == "ok"
	}
	return plane.await(ctx, plane.APIServer, 2*time.Minute, ready)
}

// StartScheduler begins the scheduler, and its extender if it has one, as far as they do not run, and waits until they serve.
func (plane *Plane) StartScheduler(ctx context.Context) error {
	for _, process := range plane.Schedulers() {
		if process.Pid() != 0 {
			continue
		}
		if _, err := os.Stat(process.Path); err != nil {
			return fmt.Errorf("program %s: %w", process.Name, err)
		}
		if err := process.Start(); err != nil {
			return err
		}
		ready := "/metrics"
		if process == plane.Extender {
			ready = "/healthz" // its metrics are there before it knows the cluster
		}
		serves := func() bool {
			_, err := plane.get(process, ready)
			return err == nil
		}
		if err := plane.await(ctx, process, time.Minute, serves); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends everything, what depends on others first.
func (plane *Plane) Stop() {
	for _, process := range []*Process{plane.Scheduler, plane.Extender, plane.APIServer, plane.Etcd} {
		if process != nil {
			process.Stop(15 * time.Second)
		}
	}
}

// Goroutines are those of the decider, by its profile where it serves one, which costs it less than all of its metrics.
func (plane *Plane) Goroutines() (int, error) {
	if profile, err := plane.get(plane.Decider(), "/debug/pprof/goroutine?debug=1"); err == nil {
		var count int
		if _, err := fmt.Sscanf(profile, "goroutine profile: total %d", &count); err == nil {
			return count, nil
		}
	}
	text, err := plane.Metrics()
	if err != nil {
		return 0, err
	}
	count, err := figure(text, "go_goroutines")
	if err == nil && count == 0 {
		err = fmt.Errorf("metrics of %s: no go_goroutines, expected them", plane.Decider().Name)
	}
	return count, err
}

// Metrics is the text that the decider serves for Prometheus.
func (plane *Plane) Metrics() (string, error) { return plane.get(plane.Decider(), "/metrics") }

// Explanation is what the decider says of a pod's chances, as `vgpusim explain --json` prints it.
func (plane *Plane) Explanation(namespace, name string) (string, error) {
	return plane.get(plane.Decider(), "/explain?pod="+namespace+"/"+name)
}

// Sessions counts the finished sessions of Volcano's scheduler.
func (plane *Plane) Sessions() (int, error) {
	text, err := plane.Metrics()
	if err != nil {
		return 0, err
	}
	return figure(text, "volcano_e2e_scheduling_latency_milliseconds_count") // 0 before the first
}

// figure sums up what metrics say of a name: the series with one of the labels, or all if none is named. It is 0 where
// they say nothing.
func figure(metrics, name string, labels ...string) (int, error) {
	var sum int
	for _, line := range strings.Split(metrics, "\n") {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		if !slices.ContainsFunc(labels, func(label string) bool { return strings.Contains(rest, label) }) && len(labels) > 0 {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %q: %w", line, err)
		}
		sum += int(value)
	}
	return sum, nil
}

// Whoever is asked is on loopback, and kube-scheduler makes its own certificate.
var client = http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// Profile has the decider write down for that long, in whole seconds, where its CPU time goes.
func (plane *Plane) Profile(span time.Duration) (string, error) {
	patient := client
	patient.Timeout += span
	return plane.getWith(&patient, plane.Decider(), fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(span.Seconds())))
}

func (plane *Plane) get(process *Process, path string) (string, error) {
	return plane.getWith(&client, process, path)
}

func (plane *Plane) getWith(client *http.Client, process *Process, path string) (string, error) {
	answer, err := client.Get(plane.address(process) + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s of %s: status %d, expected 200; answer %.300s", path, process.Name, answer.StatusCode, text)
	}
	return string(text), nil
}

// await asks until the answer is yes, the program has ended or time is up.
func (plane *Plane) await(ctx context.Context, process *Process, patience time.Duration, ready func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		if process.Pid() == 0 {
			return false, errors.New("it has ended")
		}
		return ready(), nil
	})
	if err != nil {
		return fmt.Errorf("%s is not ready in %v: %w; its log ends with:\n%s", process.Name, patience, err, tail(process.LogPath(), 15))
	}
	return nil
}

func loopback(scheme string, port int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port) }
