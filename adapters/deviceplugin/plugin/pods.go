package plugin

import (
	"context"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/kube"
)

// pods are those of this node that have not ended. The watch and refresh tell of them, and either may be behind the other.
type pods struct {
	client kubernetes.Interface
	node   string
	told   *ledger // of each change; nil: nobody

	mutex sync.Mutex
	byUID map[string]*v1.Pod
	gone  map[string]time.Time // when a pod was forgotten; what comes of it later is old, as no pod has its uid again
	known bool                 // all are there that were when it began
}

// goneKept is how long a pod that is gone is remembered: longer than a list or a watch is behind.
const goneKept = 10 * time.Minute

func newPods(client kubernetes.Interface, node string) *pods {
	return &pods{client: client, node: node, byUID: map[string]*v1.Pod{}, gone: map[string]time.Time{}}
}

// get is the pod with this uid, nil if none is known, and whether it was forgotten.
func (p *pods) get(uid string) (pod *v1.Pod, isGone bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_, isGone = p.gone[uid]
	return p.byUID[uid], isGone
}

// list is all of them, and whether these are all.
func (p *pods) list() ([]*v1.Pod, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	list := make([]*v1.Pod, 0, len(p.byUID))
	for _, pod := range p.byUID {
		list = append(list, pod)
	}
	return list, p.known
}

func (p *pods) hear(pod *v1.Pod) {
	if pod.Spec.NodeName != p.node {
		return
	}
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		p.forget(pod)
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, isGone := p.gone[string(pod.UID)]; isGone {
		return
	}
	if known := p.byUID[string(pod.UID)]; known != nil && kube.IsOlder(pod.ResourceVersion, known.ResourceVersion) {
		return
	}
	p.byUID[string(pod.UID)] = pod
	if p.told != nil {
		p.told.tell(pod)
	}
}

func (p *pods) forget(pod *v1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.byUID, string(pod.UID))
	now := time.Now()
	maps.DeleteFunc(p.gone, func(_ string, since time.Time) bool { return now.Sub(since) > goneKept })
	p.gone[string(pod.UID)] = now
	if p.told != nil {
		p.told.tellGone(pod)
	}
}

// follows: all are known that there are.
func (p *pods) follows() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.known = true
}

// refresh reads the pods as they are now. Those that were known before and are not listed have gone.
func (p *pods) refresh(ctx context.Context) error {
	before, _ := p.list()
	read, err := p.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx,
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", p.node).String()})
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for i := range read.Items {
		listed[string(read.Items[i].UID)] = true
		p.hear(&read.Items[i])
	}
	for _, pod := range before {
		if !listed[string(pod.UID)] {
			p.forget(pod)
		}
	}
	return nil
}
