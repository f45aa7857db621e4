package plugin

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// sessionOf has nodes with what runs there, which is all of one job, and a job of pods that wait.
func sessionOf(nodes []*v1.Node, runs map[string][]*v1.Pod, wait []*v1.Pod) *framework.Session {
	ssn := &framework.Session{Nodes: map[string]*api.NodeInfo{}, Jobs: map[api.JobID]*api.JobInfo{}}
	running := api.NewJobInfo("running")
	for _, node := range nodes {
		info := api.NewNodeInfo(node)
		for _, pod := range runs[node.Name] {
			task := api.NewTaskInfo(pod)
			info.Tasks[api.TaskID(pod.UID)] = task
			running.AddTaskInfo(task)
		}
		ssn.Nodes[node.Name] = info
	}
	job := api.NewJobInfo("waiting")
	for _, pod := range wait {
		job.AddTaskInfo(api.NewTaskInfo(pod))
	}
	ssn.Jobs["running"], ssn.Jobs["waiting"] = running, job
	return ssn
}

// What a session of a large cluster takes here: 10,000 nodes of 8 cards, 20,000 pods that run, 1 node in 100 changed, 100
// pods decided on, for which every node is asked. Volcano's own part is left out, and so is the collection of the garbage
// that making its snapshot leaves here. What a start costs, where everything is new, is reported as s-first.
func BenchmarkSessionOf10000Nodes(b *testing.B) {
	const nodeCount, podsOfNode, deciding = 10000, 2, 100
	cluster, err := live.New(vga.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	memory := []int{40960, 40960, 40960, 40960, 40960, 40960, 40960, 40960}
	var nodes []*v1.Node
	runs := map[string][]*v1.Pod{}
	for n := range nodeCount {
		name := fmt.Sprintf("n%05d", n)
		nodes = append(nodes, node(name, memory...))
		for p := range podsOfNode {
			runs[name] = append(runs[name], running(fmt.Sprintf("r%05d-%d", n, p), "pg", name, fmt.Sprintf("GPU-%s-%d", name, p), 20000))
		}
	}
	seen := newMirror()
	began := time.Now()
	seen.follow(sessionOf(nodes, runs, nil), cluster)
	if err := cluster.Learn(); err != nil {
		b.Fatal(err)
	}
	first := time.Since(began)
	turn := 0
	var longest time.Duration
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		turn++
		for n := turn % 100; n < nodeCount; n += 100 {
			changed := nodes[n].DeepCopy()
			changed.Labels = map[string]string{"turn": fmt.Sprint(turn)}
			nodes[n] = changed
		}
		var wait []*v1.Pod
		for p := range deciding {
			wait = append(wait, pod(fmt.Sprintf("w%d-%d", turn, p), "pg", 10000))
		}
		ssn := sessionOf(nodes, runs, wait)
		runtime.GC()
		b.StartTimer()
		started := time.Now()
		seen.follow(ssn, cluster)
		if err := cluster.Learn(); err != nil {
			b.Fatal(err)
		}
		p := &plugin{engine: &Engine{mirror: seen, cluster: cluster}, cluster: cluster, nodes: ssn.Nodes}
		p.sums = leaveToTheCore(ssn, cluster)
		p.number()
		for _, task := range ssn.Jobs["waiting"].Tasks {
			if err := p.prePredicate(task); err != nil {
				b.Fatal(err)
			}
			for _, node := range ssn.Nodes {
				if err := p.predicate(task, node); err != nil {
					b.Fatal(err)
				}
			}
			uid := string(task.Pod.UID)
			if _, err := cluster.Reserve(uid, fullName(task), p.asked.Load().answers.Best(), nil, started); err != nil {
				b.Fatal(err)
			}
			if err := cluster.Commit(uid); err != nil {
				b.Fatal(err)
			}
			p.asked.Store(nil)
		}
		longest = max(longest, time.Since(started))
	}
	b.ReportMetric(first.Seconds(), "s-first")
	b.ReportMetric(longest.Seconds()*1000, "ms-longest")
	if err := cluster.Close(); err != nil {
		b.Fatal(err)
	}
}
