package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"vgpualloc.example/adapters/kubectl/apitest"
)

const (
	atlas  = "scenarios/clusters/atlas.json"
	harbor = "scenarios/clusters/harbor.json"
)

// answered runs the program.
func answered(in string, arguments ...string) (code int, out, complaints string) {
	var text, errors bytes.Buffer
	code = run(context.Background(), arguments, strings.NewReader(in), &text, &errors)
	return code, text.String(), errors.String()
}

// vgpusim is the program of the build that the library is of.
func vgpusim(t *testing.T) string {
	t.Helper()
	path := os.Getenv("VGPUALLOC_VGPUSIM")
	if path == "" && os.Getenv("CI") == "" {
		t.Skip("VGPUALLOC_VGPUSIM names no vgpusim to compare with")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("VGPUALLOC_VGPUSIM: %v", err)
	}
	return path
}

const manifest = `apiVersion: v1
kind: Pod
metadata: {name: new, namespace: train}
spec:
  containers:
  - {name: main, image: x, resources: {limits: {nvidia.com/gpu: 2}, requests: {cpu: 4}}}
`

// times are how long a search took, the only words that two runs print differently.
var times = regexp.MustCompile(`(planned in |"plan_s": )[0-9.e-]+`)

const prices = `{"currency": "EUR", "models": {"A100-80GB": {"gpu_hour": 2.5}, "T4": {"gpu_hour": 0.4}}}`

// inFolder makes a folder the working directory, with the cluster as kubectl exports it and the files that flags name.
func inFolder(t *testing.T, cluster string) *apitest.Server {
	t.Helper()
	items := apitest.Items(t, cluster)
	folder := t.TempDir()
	for name, text := range map[string]string{"cluster.json": string(apitest.Exported(t, items)), "pod.yaml": manifest, "prices.json": prices} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := apitest.Serve(t, items)
	t.Setenv("KUBECONFIG", server.Kubeconfig(t))
	t.Chdir(folder)
	return server
}

func TestAnswersAreVgpusimsOnTheExport(t *testing.T) {
	program := vgpusim(t)
	for _, example := range []struct{ cluster, ours, theirs string }{
		{atlas, "show", "show cluster.json"},
		{atlas, "show -A --all", "show cluster.json --all"},
		{atlas, "show -o wide", "show cluster.json -o wide"},
		{atlas, "show -o yaml", "show cluster.json -o yaml"},
		{atlas, "show -o json", "show cluster.json -o json"},
		{atlas, "show -l a100-*,t4-1 --by node -n train", "show cluster.json -l a100-*,t4-1 --by node -n train"},
		{atlas, "show --by rak", "show cluster.json --by rak"},
		{atlas, "show -l zone=z", "show cluster.json -l zone=z"},
		{atlas, "show --prices prices.json", "show cluster.json --prices prices.json"},
		{atlas, "why", "why cluster.json"},
		{atlas, "why --json", "why cluster.json --json"},
		{atlas, "why train/llm-3", "why cluster.json --pod train/llm-3"},
		{atlas, "why llm-3 -n train --json", "why cluster.json --pod train/llm-3 --json"},
		{atlas, "why -n train -o yaml", "why cluster.json -n train -o yaml"},
		{atlas, "why -n nobody", "why cluster.json -n nobody"},
		{atlas, "why --all", "why cluster.json --all"},
		{atlas, "why llm-3 -n train -o json", "why cluster.json --pod train/llm-3 -o json"},
		{atlas, "whatif --uncordon a100-3 -o yaml", "whatif cluster.json --uncordon a100-3 -o yaml"},
		{atlas, "plan --pod train/llm-3 --moves 3 -o table", "plan cluster.json --pod train/llm-3 --moves 3 -o table"},
		{atlas, "why train/nobody", "why cluster.json --pod train/nobody"},
		{atlas, "whatif", "whatif cluster.json"},
		{atlas, "whatif --uncordon a100-3 --set-mode mig-2=mig:all-balanced", "whatif cluster.json --uncordon a100-3 --set-mode mig-2=mig:all-balanced"},
		{atlas, "whatif --add-pods pod.yaml --drain a100-1 --fail t4-1 --policy binpack --json",
			"whatif cluster.json --add-pods pod.yaml --drain a100-1 --fail t4-1 --policy binpack --json"},
		{atlas, "whatif --add-nodes a100-1=1 --add-nodes t4-1=2 --seed 3", "whatif cluster.json --add-nodes a100-1=1 --add-nodes t4-1=2 --seed 3"},
		{atlas, "whatif --find-nodes a100-1", "whatif cluster.json --find-nodes a100-1"},
		{atlas, "whatif --find-layout mig-* --all", "whatif cluster.json --find-layout mig-* --all"},
		{atlas, "whatif --anew --policy best_fit", "whatif cluster.json --anew --policy best_fit"},
		{atlas, "whatif --set-mode mig-*=mig:nonsense", "whatif cluster.json --set-mode mig-*=mig:nonsense"},
		{atlas, "plan --pod train/llm-3 --moves 3", "plan cluster.json --pod train/llm-3 --moves 3"},
		{atlas, "plan --add-pod pod.yaml --json", "plan cluster.json --add-pod pod.yaml --json"},
		{atlas, "plan --consolidate nodes", "plan cluster.json --consolidate nodes"},
		{harbor, "show", "show cluster.json"},
		{harbor, "why", "why cluster.json"},
		{harbor, "whatif --anew", "whatif cluster.json --anew"},
		{harbor, "plan --consolidate devices --keep-namespace lab", "plan cluster.json --consolidate devices --keep-namespace lab"},
	} {
		t.Run(example.cluster+" "+example.ours, func(t *testing.T) {
			server := inFolder(t, example.cluster)
			code, out, complaints := answered("", strings.Fields(example.ours)...)
			command := exec.Command(program, strings.Fields(example.theirs)...)
			var theirs, theirComplaints bytes.Buffer
			command.Stdout, command.Stderr = &theirs, &theirComplaints
			err := command.Run()
			if failure := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failure) {
				t.Fatal(err)
			}
			out = times.ReplaceAllString(out, "")
			expected := strings.ReplaceAll(theirComplaints.String(), "vgpusim: ", "kubectl-vgpu: ")
			if code != command.ProcessState.ExitCode() || out != times.ReplaceAllString(theirs.String(), "") || complaints != expected {
				t.Errorf("code %d, %q\n%s\nexpected %d, %q\n%s", code, complaints, out, command.ProcessState.ExitCode(), expected, theirs.String())
			}
			if code == 0 && len(out) < 100 {
				t.Errorf("%q, expected an answer", out)
			}
			for _, request := range server.Requests() {
				if !strings.HasPrefix(request, "GET ") {
					t.Errorf("request %q, expected GET", request)
				}
			}
		})
	}
}

func TestFilesMayBeStandardInputAndCalledAsTheClusterIs(t *testing.T) {
	inFolder(t, atlas)
	_, expected, _ := answered("", "whatif", "--add-pods", "pod.yaml")
	if code, out, complaints := answered(manifest, "whatif", "--add-pods", "-"); code != 0 || out != expected || expected == "" {
		t.Errorf("code %d, %s%s\nexpected\n%s", code, complaints, out, expected)
	}
	if err := os.WriteFile("cluster.json", []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, complaints := answered("", "whatif", "--add-pods", "cluster.json"); code != 0 || out != expected {
		t.Errorf("code %d, %s%s\nexpected\n%s", code, complaints, out, expected)
	}
}

func TestBadFlagsAreOneLineAndCode2(t *testing.T) {
	server := inFolder(t, atlas)
	for _, arguments := range [][]string{
		{}, {"shwo"}, {"show", "--bye=pool"}, {"show", "cluster.json"}, {"show", "--by="}, {"show", "-o", "html"}, {"show", "-o", "html="}, {"show", "-o", "html=-"}, {"show", "-o", "html=."}, {"show", "-o", "html=a/"},
		{"show", "-o", "html=page.html", "--json"}, {"show", "-o", "html=prices.json", "--prices=prices.json"}, {"show", "-o", "html=page.html", "-w"}, {"show", "-o", "pdf"}, {"show", "--json", "-o", "yaml"}, {"show", "--prices=nothing.json"},
		{"why", "a", "b"}, {"why", ""}, {"why", "-o", "wide"}, {"why", "--namespace="}, {"why", "--json", "-o", "yaml"}, {"why", "train/llm-3", "-n", "train"}, {"plan", "-n", "train", "--consolidate=nodes"},
		{"whatif", "--find-nodes=a100-1", "--find-layout=mig-1"}, {"whatif", "--add-pods=-", "--node-template=-"},
		{"show", "--request-timeout=soon"}, {"show", "--request-timeout=-1s"}, {"show", "--kubeconfig=nothing"}, {"show", "--context=other"},
	} {
		code, out, complaints := answered("", arguments...)
		named, _, _ := strings.Cut(strings.Join(arguments, " "), "=")
		if code != 2 || out != "" || strings.Count(complaints, "\n") != 1 || !strings.HasPrefix(complaints, "kubectl-vgpu: ") {
			t.Errorf("%s: code %d, %q, %q", named, code, out, complaints)
		}
	}
	if requests := server.Requests(); len(requests) != 0 {
		t.Errorf("%q was sent", requests)
	}
	for _, arguments := range [][]string{{"plan", "--moves=many"}, {"whatif", "--policy=best"}, {"plan", "--consolidate=racks"}} {
		flag, value, _ := strings.Cut(strings.TrimLeft(arguments[1], "-"), "=")
		code, out, complaints := answered("", arguments...)
		if code != 2 || out != "" || strings.Count(complaints, "\n") != 1 || !strings.Contains(complaints, flag) || !strings.Contains(complaints, value) {
			t.Errorf("%q: code %d, %q, %q", arguments, code, out, complaints)
		}
	}
}

func TestPageIsVgpusims(t *testing.T) {
	program := vgpusim(t)
	inFolder(t, atlas)
	if output, err := exec.Command(program, "show", "cluster.json", "-o", "html=theirs.html", "--by", "kind").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	theirs, err := os.ReadFile("theirs.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"new/page.html", "new/page.html"} {
		code, out, complaints := answered("", "show", "-o", "html="+path, "--by", "kind")
		if code != 0 || complaints != "" || !strings.HasPrefix(out, "36 GPUs on 6 nodes: ") || !strings.HasSuffix(out, "\nwritten: "+path+"\n") {
			t.Errorf("code %d, %q, %q", code, out, complaints)
		}
		ours, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(ours, theirs) {
			t.Errorf("%v, %d bytes, expected vgpusim's %d", err, len(ours), len(theirs))
		}
	}
	if entries, err := os.ReadDir("new"); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v, expected the page alone", err, entries)
	}
	if code, out, _ := answered("", "show", "-o", "html=prices.json/page.html"); code == 0 || out != "" {
		t.Errorf("code %d, %q", code, out)
	}
}

func TestWhoMayNotReadIsTold(t *testing.T) {
	server := inFolder(t, atlas)
	server.Status["/api/v1/pods"] = http.StatusForbidden
	expected := "kubectl-vgpu: free cannot be known: you may list pods in team-a, not in all namespaces; the role vgpu-view (get, list) allows it\n"
	if code, out, complaints := answered("", "show"); code != 2 || out != "" || complaints != expected {
		t.Errorf("code %d, %q, %q", code, out, complaints)
	}
	server.Status = map[string]int{"/apis/batch/v1/jobs": http.StatusForbidden}
	expected = "kubectl-vgpu: not looked at, as you may not list them: jobs.batch\n"
	if code, out, complaints := answered("", "show"); code != 0 || !strings.HasPrefix(out, "36 GPUs on 6 nodes") || complaints != expected {
		t.Errorf("code %d, %q, %q", code, out, complaints)
	}
	server.Status = map[string]int{"*": http.StatusUnauthorized}
	if code, out, complaints := answered("", "show"); code != 2 || out != "" || !strings.Contains(complaints, "credentials") {
		t.Errorf("code %d, %q, %q", code, out, complaints)
	}
	server.Close()
	if code, out, complaints := answered("", "show"); code != 1 || out != "" || strings.Count(complaints, "\n") != 1 {
		t.Errorf("code %d, %q, %q", code, out, complaints)
	}
}

func TestWithoutKubeconfig(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nothing"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	expected := "kubectl-vgpu: no kubeconfig: expected --kubeconfig, $KUBECONFIG or ~/.kube/config\n"
	if code, out, complaints := answered("", "show"); code != 2 || out != "" || complaints != expected {
		t.Errorf("code %d, %q, %q", code, out, complaints)
	}
}

func TestHelpAndVersionNeedNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nothing"))
	for arguments, expected := range map[string]string{"--help": "why [POD]", "show --help": "--prices FILE", "plan -h": "--moves N", "version": "vgpualloc "} {
		if code, out, complaints := answered("", strings.Fields(arguments)...); code != 0 || complaints != "" || !strings.Contains(out, expected) {
			t.Errorf("%s: code %d, %q, %q", arguments, code, out, complaints)
		}
	}
}

// closed is a pipe that nobody reads, or a disk without space.
type closed struct{ failure error }

func (c closed) Write([]byte) (int, error) { return 0, c.failure }

func TestReaderThatClosesThePipeIsNoError(t *testing.T) {
	inFolder(t, atlas)
	var complaints bytes.Buffer
	if code := run(context.Background(), []string{"show"}, nil, closed{syscall.EPIPE}, &complaints); code != 0 || complaints.Len() != 0 {
		t.Errorf("code %d, %q", code, complaints.String())
	}
	if code := run(context.Background(), []string{"show"}, nil, closed{syscall.ENOSPC}, &complaints); code != 1 || complaints.Len() == 0 {
		t.Errorf("code %d, %q", code, complaints.String())
	}
}
