package plugin

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/objects"
)

// mirror is what the core was told of a session's objects. The cache gives an object a new pointer when it changes, so
// that what is the same need not be looked at.
type mirror struct {
	nodes    map[string]*mirroredNode
	pods     map[string]*mirroredPod
	byObject map[*v1.Pod]*mirroredPod
	uids     map[podName]string
	sessions uint64
	seen     struct{ nodes, pods int } // how many of them this session has had so far
	reread   bool                      // what pods ask for may read otherwise: the configuration has changed
	reading  uint64                    // the core's version of that
}

type podName struct{ namespace, name string }

type mirroredNode struct {
	object *v1.Node
	told   *v1.Node
	seen   uint64 // the last session that had it
}

type mirroredPod struct {
	object       *v1.Pod
	told         *v1.Pod
	status       api.TaskStatus
	wantsDevices bool
	switchedOff  error // why it would get no devices though it asks for them: kube.SwitchedOff
	seen         uint64
}

func newMirror() mirror {
	return mirror{nodes: map[string]*mirroredNode{}, pods: map[string]*mirroredPod{},
		byObject: map[*v1.Pod]*mirroredPod{}, uids: map[podName]string{}}
}

func (m *mirror) uid(namespace, name string) (string, bool) {
	uid, known := m.uids[podName{namespace, name}]
	return uid, known
}

// follow tells the core what is new since the last session. It returns the uids of pods that are being deleted, by node.
func (m *mirror) follow(ssn *framework.Session, cluster *live.Cluster) map[string][]string {
	m.sessions++
	m.seen.nodes, m.seen.pods = 0, 0
	m.tellNodes(ssn.Nodes, cluster)
	if m.seen.nodes < len(m.nodes) {
		m.removeUnseenNodes(cluster)
	}
	leaving := map[string][]string{}
	var changed []*api.TaskInfo
	for name, node := range ssn.Nodes { // also pods of other schedulers
		for _, task := range node.Tasks {
			changed = m.addChanged(changed, task)
			if task.Status == api.Releasing {
				leaving[name] = append(leaving[name], string(task.Pod.UID))
			}
		}
	}
	for _, pods := range leaving {
		slices.Sort(pods)
	}
	m.tellPods(changed, cluster)
	changed = nil
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			changed = m.addChanged(changed, task)
		}
	}
	m.tellPods(changed, cluster)
	if version := cluster.ReadingVersion(); version != m.reading || m.reread {
		m.reading = version
		for uid, pod := range m.pods {
			pod.read(uid, cluster)
		}
		m.reread = false
	}
	if m.seen.pods < len(m.pods) {
		m.removeUnseenPods(cluster)
	}
	return leaving
}

func (m *mirror) removeUnseenNodes(cluster *live.Cluster) {
	var gone []string
	for name, node := range m.nodes {
		if node.seen != m.sessions {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		delete(m.nodes, name)
		kube.Report(cluster.RemoveNode(name), "node", name)
	}
}

func (m *mirror) removeUnseenPods(cluster *live.Cluster) {
	var gone []string
	for uid, pod := range m.pods {
		if pod.seen != m.sessions {
			gone = append(gone, uid)
		}
	}
	slices.Sort(gone)
	for _, uid := range gone {
		object := m.pods[uid].object
		delete(m.pods, uid)
		delete(m.byObject, object)
		if name := (podName{object.Namespace, object.Name}); m.uids[name] == uid {
			delete(m.uids, name)
		}
		kube.Report(cluster.RemovePod(uid), "pod", uid)
	}
}

// tellNodes tells the core of nodes that are new or have changed, in the order of their names: of nodes with equal scores the
// one that the core has known longer goes first, and a map of Go has no order.
func (m *mirror) tellNodes(nodes map[string]*api.NodeInfo, cluster *live.Cluster) {
	var changed []string
	for name, node := range nodes {
		if node.Node == nil {
			continue
		}
		known := m.nodes[name]
		if known == nil {
			known = &mirroredNode{}
			m.nodes[name] = known
		}
		m.seen.nodes++ // a session has a node once
		known.seen = m.sessions
		if known.object != node.Node {
			known.object = node.Node
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	for _, name := range changed {
		m.nodes[name].tell(cluster)
	}
}

func (known *mirroredNode) tell(cluster *live.Cluster) {
	reduced := objects.Node(known.object)
	if known.told != nil && objects.Equal(known.told, reduced) {
		return // a heartbeat
	}
	known.told = reduced
	kube.TellNode(cluster, reduced)
}

// saw notes that the session has the pod, which it may have twice: on its node and in its job.
func (m *mirror) saw(pod *mirroredPod) {
	if pod.seen != m.sessions {
		pod.seen = m.sessions
		m.seen.pods++
	}
}

// isBound: Volcano writes the node into the pod's object when it allocates, before the pod is bound.
func isBound(task *api.TaskInfo) bool {
	switch task.Status {
	case api.Bound, api.Running, api.Releasing, api.Succeeded, api.Failed, api.Unknown:
		return task.Pod.Spec.NodeName != ""
	}
	return false
}

// addChanged appends the task if the core may not know its pod as it is.
func (m *mirror) addChanged(changed []*api.TaskInfo, task *api.TaskInfo) []*api.TaskInfo {
	if task.Pod == nil {
		return changed
	}
	if known := m.byObject[task.Pod]; known != nil && known.status == task.Status { // so are nearly all
		m.saw(known)
		return changed
	}
	return append(changed, task)
}

// tellPods tells the core of pods in the order of their names, which the decision log keeps.
func (m *mirror) tellPods(changed []*api.TaskInfo, cluster *live.Cluster) {
	slices.SortFunc(changed, func(a, b *api.TaskInfo) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	for _, task := range changed {
		m.tellPod(task, cluster)
	}
}

func (m *mirror) tellPod(task *api.TaskInfo, cluster *live.Cluster) {
	uid := string(task.Pod.UID)
	known := m.pods[uid]
	if known == nil {
		known = &mirroredPod{}
		m.pods[uid] = known
		m.uids[podName{task.Pod.Namespace, task.Pod.Name}] = uid
	}
	delete(m.byObject, known.object)
	m.byObject[task.Pod] = known
	m.saw(known)
	known.object, known.status = task.Pod, task.Status
	reduced := objects.Pod(task.Pod, isBound(task))
	if known.told != nil && objects.Equal(known.told, reduced) {
		return // a condition of its, or that it runs now
	}
	known.told = reduced
	kube.TellPod(cluster, reduced)
	known.read(uid, cluster)
}

// read notes what the core reads in the pod under its present configuration.
func (p *mirroredPod) read(uid string, cluster *live.Cluster) {
	p.wantsDevices = cluster.WantsDevices(uid)
	p.switchedOff = nil
	if !p.wantsDevices {
		p.switchedOff = kube.SwitchedOff(cluster, p.object)
	}
}
