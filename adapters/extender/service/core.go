package service

import (
	"time"

	"vgpualloc.example/adapters/kube"
	"vgpualloc.example/adapters/live"
	"vgpualloc.example/adapters/vga"
)

// nodeAnswers are what all nodes say to one pod, as live.Answers.
type nodeAnswers interface {
	Failure() error
	Knows(node string) bool
	Fits(node string) bool
	Refusal(node string) string
	Order(candidates []string) []string
}

// asker is asked where pods could go.
type asker interface {
	kube.ReadsResources
	WantsDevices(uid string) bool
	Ask(uid, pod string) (nodeAnswers, error)
	AskClosely(uid, pod string) (nodeAnswers, error)
	AskEmpty(uid string) (nodeAnswers, error)
	Victims(uid, node string, others, candidates []string) ([]string, bool)
	Explain(uid string) (string, error)
}

// booker keeps what pods have.
type booker interface {
	Pod(uid string) (vga.PodState, string)
	Reserve(uid, pod, node string, candidates []string, decided time.Time) (*live.Decision, error)
	Commit(uid string) error
	Rollback(uid string) error
	Release(uid string) error
	Annotations(uid string, decided time.Time) (map[string]string, error)
}

// follower is told what happens in the cluster, and writes it down.
type follower interface {
	kube.Told
	kube.Configured
	kube.ToldOfConfigMaps
	RemoveNode(name string) error
	RemovePod(uid string) error
	Learn() error
	Flush() error
	RotateLog() error
	Close() error
}

// core is all that the service needs of a cluster; tests have others than that of the library.
type core interface {
	asker
	booker
	follower
}

// libraryCore is the core in C.
type libraryCore struct{ *live.Cluster }

func (l libraryCore) Ask(uid, pod string) (nodeAnswers, error) {
	return asAnswers(l.Cluster.Ask(uid, pod))
}

func (l libraryCore) AskClosely(uid, pod string) (nodeAnswers, error) {
	return asAnswers(l.Cluster.AskClosely(uid, pod))
}

func (l libraryCore) AskEmpty(uid string) (nodeAnswers, error) {
	return asAnswers(l.Cluster.AskEmpty(uid))
}

func asAnswers(answers *live.Answers, err error) (nodeAnswers, error) {
	if err != nil {
		return nil, err
	}
	return answers, nil
}
