package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const metrics = `# HELP scheduler_pending_pods Number of pending pods
scheduler_pending_pods{queue="active"} 3
scheduler_pending_pods{queue="backoff"} 2
scheduler_pending_pods{queue="unschedulable"} 40
scheduler_pending_pods_other 5
go_goroutines 51
`

func TestFiguresOfMetrics(t *testing.T) {
	for _, example := range []struct {
		name     string
		labels   []string
		expected int
	}{
		{"go_goroutines", nil, 51},
		{"scheduler_pending_pods", nil, 45},
		{"scheduler_pending_pods", []string{`queue="active"`, `queue="backoff"`}, 5},
		{"scheduler_pending", nil, 0},
	} {
		if value, err := figure(metrics, example.name, example.labels...); err != nil || value != example.expected {
			t.Errorf("%s of %q: %d (%v), expected %d", example.name, example.labels, value, err, example.expected)
		}
	}
	if _, err := figure("go_goroutines many\n", "go_goroutines"); err == nil {
		t.Error("\"many\" is no number, and no error")
	}
}

// planeWith prepares a control plane with an extender of programs that are never started.
func planeWith(t *testing.T, config string) (*Plane, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(Options{Dir: dir, Etcd: path, APIServer: path, Scheduler: path, Extender: path, SchedulerConf: path})
}

func TestKubeSchedulerAndExtenderHaveUsersOfTheirOwn(t *testing.T) {
	text, err := os.ReadFile("../conf/extender.conf")
	if err != nil {
		t.Fatal(err)
	}
	plane, err := planeWith(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(plane.options.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	config := read("kube-scheduler.yaml")
	if !strings.Contains(config, plane.address(plane.Decider())) || strings.Contains(strings.SplitN(config, "apiVersion", 2)[1], "@") {
		t.Error(config)
	}
	users := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(read(tokensFile)), "\n") {
		fields := strings.Split(line, ",")
		users[fields[1]] = fields[0]
	}
	if len(users) != 3 || users["admin"] != plane.token {
		t.Fatal(users)
	}
	if !strings.Contains(read("vgpualloc-extender.kubeconfig"), users[ExtenderUser]) ||
		!strings.Contains(read("system-kube-scheduler.kubeconfig"), users[KubeSchedulerUser]) {
		t.Error("a kubeconfig has not the token of its user")
	}
	if plane.Decider() != plane.Extender || len(plane.Schedulers()) != 2 {
		t.Error("the extender is not who decides")
	}
}

func TestAConfigurationThatNamesNoExtender(t *testing.T) {
	if _, err := planeWith(t, "kubeconfig: @KUBECONFIG@\n"); err == nil || !strings.Contains(err.Error(), "@EXTENDER@") {
		t.Error(err)
	}
}

func TestSchedulersAreExchangedOnlyWhileNoneRuns(t *testing.T) {
	dir := t.TempDir()
	plane := &Plane{
		Scheduler: &Process{Name: "ours", Path: "/bin/sleep", Args: []string{"60"}, Dir: dir},
		other:     &Process{Name: "stock", Path: "/bin/sleep", Args: []string{"61"}, Env: []string{"A=b"}, Dir: dir},
	}
	scheduler := plane.Scheduler
	if err := scheduler.Start(); err != nil {
		t.Fatal(err)
	}
	err := plane.Exchange()
	scheduler.Kill()
	if err == nil || !strings.Contains(err.Error(), "ours runs, with pid") {
		t.Errorf("exchanged while it runs: %v", err)
	}
	for _, name := range []string{"stock", "ours"} {
		if err := plane.Exchange(); err != nil {
			t.Fatal(err)
		}
		isStock := name == "stock"
		if plane.Scheduler != scheduler || scheduler.Name != name || (scheduler.Args[0] == "61") != isStock || (len(scheduler.Env) == 1) != isStock {
			t.Errorf("%s %v %v, expected those of %s", scheduler.Name, scheduler.Args, scheduler.Env, name)
		}
	}
}
