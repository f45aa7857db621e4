package plugin

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// plugin is one session of the engine.
type plugin struct {
	engine    *Engine
	arguments framework.Arguments
	cluster   *live.Cluster
	failure   error // why the arguments are refused, if they never were good
	weight    float64

	nodes      map[string]*api.NodeInfo
	numbers    map[*api.NodeInfo]int // of nodes in answers of that version
	version    uint64
	asked      atomic.Pointer[question]   // the last one, until something is booked
	chosen     map[api.TaskID]choice      // of pods
	touched    map[api.TaskID]struct{}    // pods that were booked or suspended in this session
	leaving    map[string][]string        // by node: pods that are being deleted, by uid
	suspended  map[string][]string        // by node: pods that count for nothing in this session, by uid
	handedOver map[string]struct{}        // pods that were handed over to be bound in this session, by uid
	preempting atomic.Pointer[preempting] // where room is made at present; may be nil
	sums       sums
	parallel   bool     // nodes are tried for preemption in several goroutines
	trying     sync.Map // preemptors (*api.TaskInfo) for whom the other plugins are asked
}

// choice is a node that was settled here, and of which nodes.
type choice struct {
	node       string
	candidates []string // nil: all that take the pod
}

// question is a pod with what all nodes say to it.
type question struct {
	task    api.TaskID
	answers *live.Answers

	once   sync.Once
	coming []string // roomComing
}

// Name is of framework.Plugin.
func (p *plugin) Name() string { return Name }

// OnSessionOpen is of framework.Plugin: tells the core what is new and registers the functions.
func (p *plugin) OnSessionOpen(ssn *framework.Session) {
	p.chosen = map[api.TaskID]choice{}
	p.touched, p.handedOver = map[api.TaskID]struct{}{}, map[string]struct{}{}
	p.failure = p.engine.configure(p.arguments, ssn.Configurations, ssn.KubeClient())
	p.cluster = p.engine.cluster
	if p.cluster == nil {
		klog.ErrorS(p.failure, "Plugin vgpualloc cannot be used")
		return
	}
	p.leaving = p.engine.follow(ssn)
	ssn.AddPredicateFn(Name, p.predicate)
	if p.failure != nil {
		return
	}
	p.nodes, p.weight = ssn.Nodes, p.engine.settings.weight
	p.number()
	p.suspended = map[string][]string{}
	p.sums = leaveToTheCore(ssn, p.cluster)
	ssn.AddPrePredicateFn(Name, p.prePredicate)
	ssn.AddBatchNodeOrderFn(Name, p.batchNodeOrder)
	if p.weight == 0 {
		ssn.AddBestNodeFn(Name, p.bestNode)
	}
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: p.allocate, DeallocateFunc: p.deallocate})
	p.addPreemption(ssn)
	ssn.RegisterBinder(Name, &binder{engine: p.engine, client: ssn.KubeClient(),
		lockNodes: p.engine.settings.lockNodes})
}

// follow brings the core to the session's objects. It returns the uids of pods that are being deleted, by node.
func (e *Engine) follow(ssn *framework.Session) map[string][]string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.config != nil && !e.unusable { // what is told once is not told again to the cluster that follows on this one
		e.config.FollowNodes(e.cluster)
	}
	leaving := e.mirror.follow(ssn, e.cluster)
	var pending []string
	for _, job := range ssn.Jobs {
		for uid := range job.TaskStatusIndex[api.Pending] {
			pending = append(pending, string(uid))
		}
	}
	slices.Sort(pending)
	for _, uid := range pending {
		e.takeBack(uid)
	}
	e.decisions.Range(func(uid, _ any) bool {
		if e.mirror.pods[uid.(string)] == nil {
			e.decisions.Delete(uid)
		}
		return true
	})
	kube.Report(e.cluster.Learn(), "workload", "")
	return leaving
}

// takeBack frees the devices of a pod that Volcano considers pending: its earlier allocation was never bound.
func (e *Engine) takeBack(uid string) {
	switch state, _ := e.cluster.Pod(uid); state {
	case vga.PodReserved:
		kube.Report(e.cluster.Rollback(uid), "pod", uid)
	case vga.PodCommitted:
		kube.Report(e.cluster.Release(uid), "pod", uid)
	default:
		return
	}
	e.decisions.Delete(uid)
}

// OnSessionClose is of framework.Plugin: pods for which room is being made have nothing yet, and their victims still
// run.
func (p *plugin) OnSessionClose(*framework.Session) {
	if p.cluster == nil {
		return
	}
	touched := slices.Sorted(maps.Keys(p.touched))
	for _, task := range touched { // first those that got what others have
		uid := string(task)
		if state, _ := p.cluster.Pod(uid); state == vga.PodReserved {
			kube.Report(p.cluster.Rollback(uid), "pod", uid)
			p.engine.decisions.Delete(uid)
		}
	}
	for _, task := range touched {
		uid := string(task)
		if state, _ := p.cluster.Pod(uid); state == vga.PodSuspended {
			kube.Report(p.cluster.Resume(uid), "pod", uid)
		}
	}
	if err := p.cluster.RotateLog(); err != nil {
		klog.ErrorS(err, "The decision log is not as it should be")
	}
}

// wantsDevices: the core decides about these pods only. The others are booked on their nodes when they are bound.
func (p *plugin) wantsDevices(task *api.TaskInfo) bool {
	pod := p.engine.mirror.pods[string(task.Pod.UID)]
	return pod != nil && pod.wantsDevices
}

// number keeps the nodes' numbers: looking 1,000 nodes up by name for every pod is most of what a question costs.
func (p *plugin) number() {
	numbers, version := p.cluster.Numbers()
	p.numbers, p.version = make(map[*api.NodeInfo]int, len(p.nodes)), version
	for name, node := range p.nodes {
		if number, known := numbers[name]; known {
			p.numbers[node] = int(number)
		}
	}
}

// refusal is why a node refuses a pod; empty if it takes it. The node may be a copy of one of the session.
func (p *plugin) refusal(answers *live.Answers, node *api.NodeInfo) string {
	if number, known := p.numbers[node]; known && answers.Version() == p.version && answers.Failure() == nil {
		return answers.RefusalOf(number)
	}
	return answers.Refusal(node.Name)
}

// switchedOff is why a pod must not be bound that asks for devices which the configuration does not know; nil for others.
func (p *plugin) switchedOff(task *api.TaskInfo) error {
	if pod := p.engine.mirror.pods[string(task.Pod.UID)]; pod != nil {
		return pod.switchedOff
	}
	return nil
}

func fullName(task *api.TaskInfo) string { return task.Namespace + "/" + task.Name }

// answers asks all nodes about a pod, once as long as nothing is booked.
func (p *plugin) answers(task *api.TaskInfo) (*live.Answers, error) {
	question, err := p.ask(task)
	if err != nil {
		return nil, err
	}
	return question.answers, nil
}

func (p *plugin) ask(task *api.TaskInfo) (*question, error) {
	if last := p.asked.Load(); last != nil && last.task == task.UID {
		return last, nil
	}
	answers, err := p.cluster.Ask(string(task.Pod.UID), fullName(task))
	if err != nil {
		return nil, err
	}
	asked := &question{task: task.UID, answers: answers}
	p.asked.Store(asked)
	return asked, nil
}

func (p *plugin) prePredicate(task *api.TaskInfo) error {
	p.sums.letGo()
	if !p.wantsDevices(task) {
		return nil
	}
	_, err := p.answers(task)
	return err
}

// predicate is called from several goroutines at once.
func (p *plugin) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	if last := p.asked.Load(); last != nil && last.task == task.UID && p.refusal(last.answers, node) == "" {
		return nil
	}
	refuse := func(code int, why string) error {
		return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: why, Plugin: Name})
	}
	if !p.wantsDevices(task) && !p.mayWantDevices(task) {
		if off := p.switchedOff(task); off != nil {
			return refuse(api.UnschedulableAndUnresolvable, off.Error())
		}
		return nil
	}
	if p.failure != nil {
		return refuse(api.UnschedulableAndUnresolvable, p.failure.Error())
	}
	answers, err := p.answers(task)
	if err != nil {
		return refuse(api.Error, err.Error())
	}
	if answers.Failure() != nil {
		return refuse(api.UnschedulableAndUnresolvable, answers.Refusal(node.Name))
	}
	if why := p.refusal(answers, node); why != "" {
		return refuse(api.Unschedulable, why)
	}
	return nil
}

// bestNode settles the node: of all that the other plugins have left, as the policy prefers them.
func (p *plugin) bestNode(task *api.TaskInfo, scores map[float64][]*api.NodeInfo) *api.NodeInfo {
	if !p.wantsDevices(task) {
		return nil
	}
	answers, err := p.answers(task)
	if err != nil {
		return nil
	}
	count := 0
	for _, group := range scores {
		count += len(group)
	}
	if count == answers.Fitting() && len(p.suspended) == 0 { // all that fit
		best := answers.Best()
		p.chosen[task.UID] = choice{node: best}
		return p.nodes[best]
	}
	var best *api.NodeInfo
	candidates := make([]string, 0, count)
	for _, group := range scores {
		for _, node := range group {
			if len(p.suspended[node.Name]) > 0 { // what is free there may be so only when victims are gone
				continue
			}
			candidates = append(candidates, node.Name)
			if best == nil || answers.Before(node.Name, best.Name) {
				best = node
			}
		}
	}
	if best == nil || answers.Refusal(best.Name) != "" {
		return nil
	}
	p.chosen[task.UID] = choice{best.Name, candidates}
	return best
}

// batchNodeOrder is for clusters that weigh our score with those of other plugins. Without a weight it only has
// preemption look first at nodes where the pod fits, or will when pods are gone that are going.
func (p *plugin) batchNodeOrder(task *api.TaskInfo, nodes []*api.NodeInfo) (map[string]float64, error) {
	if !p.wantsDevices(task) {
		return map[string]float64{}, nil
	}
	answers, err := p.answers(task)
	if err != nil {
		return nil, err
	}
	if answers.Fitting() == 0 { // whom to evict is the question
		scores := map[string]float64{}
		for _, node := range p.roomComing(task) {
			scores[node] = plenty
		}
		return scores, nil
	}
	if p.weight == 0 {
		refuses := func(node *api.NodeInfo) bool { return p.refusal(answers, node) != "" }
		scores := map[string]float64{}
		if !slices.ContainsFunc(nodes, refuses) {
			return scores, nil // no preemption: which node it is does not matter here
		}
		for _, node := range nodes {
			if !refuses(node) {
				scores[node.Name] = plenty
			}
		}
		return scores, nil
	}
	ofAll, scores := answers.Scores(), make(map[string]float64, len(nodes))
	for _, node := range nodes {
		scores[node.Name] = p.weight * ofAll[node.Name]
	}
	return scores, nil
}

// allocate books a pod that the scheduler allocates or pipelines, and gives a victim what it has again that is not evicted
// after all.
func (p *plugin) allocate(event *framework.Event) {
	task := event.Task
	p.asked.Store(nil)
	p.sums.letGo()
	uid := string(task.Pod.UID)
	if state, _ := p.cluster.Pod(uid); state == vga.PodSuspended {
		event.Err = p.cluster.Resume(uid)
		p.suspended[task.NodeName] = slices.DeleteFunc(p.suspended[task.NodeName], func(other string) bool { return other == uid })
		return
	}
	if !p.wantsDevices(task) {
		return
	}
	p.touched[task.UID] = struct{}{}
	candidates := []string{task.NodeName}
	if choice := p.chosen[task.UID]; choice.node == task.NodeName && task.Status != api.Pipelined {
		candidates = choice.candidates // otherwise the scheduler did not ask which to take
	}
	if task.Status == api.Pipelined {
		for _, leaving := range p.leaving[task.NodeName] { // this is what it waits for
			p.suspend(leaving, task.NodeName)
		}
	} else { // it is bound at once: what is suspended runs still
		for _, running := range p.suspended[task.NodeName] {
			kube.Report(p.cluster.Resume(running), "pod", running)
		}
		defer func() {
			for _, running := range p.suspended[task.NodeName] {
				kube.Report(p.cluster.Suspend(running), "pod", running)
			}
		}()
	}
	decision, err := p.cluster.Reserve(uid, fullName(task), task.NodeName, candidates, time.Now())
	if err != nil {
		event.Err = fmt.Errorf("plugin %s: %w", Name, err)
		return
	}
	p.engine.decisions.Store(uid, decision)
}

// deallocate takes a booking back, and has a pod that is to be evicted count for nothing.
func (p *plugin) deallocate(event *framework.Event) {
	task := event.Task
	p.asked.Store(nil)
	uid := string(task.Pod.UID)
	switch state, _ := p.cluster.Pod(uid); state {
	case vga.PodReserved:
		event.Err = p.cluster.Rollback(uid)
		p.engine.decisions.Delete(uid)
	case vga.PodCommitted:
		if _, now := p.handedOver[uid]; now { // Volcano's cache did not take it
			event.Err = p.cluster.Release(uid)
			p.engine.decisions.Delete(uid)
			delete(p.handedOver, uid)
			return
		}
		p.suspend(uid, task.NodeName)
	}
}

// suspend has a pod that runs count for nothing until the session ends.
func (p *plugin) suspend(uid, node string) {
	if state, _ := p.cluster.Pod(uid); state != vga.PodCommitted {
		return
	}
	if err := p.cluster.Suspend(uid); err != nil {
		kube.Report(err, "pod", uid)
		return
	}
	p.touched[api.TaskID(uid)] = struct{}{}
	p.suspended[node] = append(p.suspended[node], uid)
}
