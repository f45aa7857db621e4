package plugin

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
)

// pods are those of this node that have not ended.
type pods struct {
	client kubernetes.Interface
	node   string
	told   *ledger // of each change; nil: nobody

	mutex sync.Mutex
	byUID map[string]*v1.Pod
	known bool // all are there that were when it began
}

func newPods(client kubernetes.Interface, node string) *pods {
	return &pods{client: client, node: node, byUID: map[string]*v1.Pod{}}
}

func (p *pods) get(uid string) *v1.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.byUID[uid]
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
	p.byUID[string(pod.UID)] = pod
	if p.told != nil {
		p.told.tell(pod)
	}
}

func (p *pods) forget(pod *v1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.byUID, string(pod.UID))
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

// refresh reads the pods as they are now.
func (p *pods) refresh(ctx context.Context) error {
	read, err := p.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx,
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", p.node).String()})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for i := range read.Items {
		there[string(read.Items[i].UID)] = true
		p.hear(&read.Items[i])
	}
	before, _ := p.list()
	for _, pod := range before {
		if !there[string(pod.UID)] {
			p.forget(pod)
		}
	}
	return nil
}
