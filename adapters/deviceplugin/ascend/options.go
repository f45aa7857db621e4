package ascend

import (
	"time"

	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/deviceplugin/ascend/chips"
)

// Options are what a Plugin works with. Nothing is read from the process beside them.
type Options struct {
	Arguments []string                         // of the command line, after the program's name; Flags has them
	Env       func(name string) (string, bool) // NODE_NAME, HOOK_PATH, HAMI_VNPU_ASSETS_PATH; nil: none is set
	Root      string                           // before every path that is touched on this machine; empty in production
	Client    kubernetes.Interface
	Library   chips.Library
	Exec      chips.Exec       // nil: chips.Programs
	Now       func() time.Time // nil: time.Now

	Register    time.Duration // from one registration to the next; 0: 30 s
	FirstAfter  time.Duration // from the start to the first; 0: 1 s; below 0: at once
	RetryAfter  time.Duration // after one that failed; 0: 5 s
	IdleEvery   time.Duration // from one look for idle vNPUs to the next; 0: as the flag says
	ReleaseWait time.Duration // between attempts to release a node's lock; 0: 100 ms, doubled each time

	KubeletRetry time.Duration // after the first registration that the kubelet refused, doubled each time; 0: package kubelet's
	KubeletPoll  time.Duration // between looks at the sockets; 0: package kubelet's

	// Observe is called for what happened, in the goroutine that it happened in: "registered" (the kubelet took the registration),
	// "updated <resource>" (a list went to the kubelet), "annotated" (a round of registration is over, whatever came of it), "health"
	// (a chip's health has changed). Nil: nobody looks.
	Observe func(event string)
}
