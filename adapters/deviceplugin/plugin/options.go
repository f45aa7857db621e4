// Package plugin is the device plugin for NVIDIA's GPUs as a whole: it reads its configuration, registers the cards with the
// kubelet and with schedulers, answers Allocate, and follows health and MIG layouts. Several may run in one process.
package plugin

import (
	"context"
	"io"
	"net"
	"time"

	"k8s.io/client-go/kubernetes"

	"vgpualloc.example/adapters/deviceplugin/config"
	"vgpualloc.example/adapters/deviceplugin/hardware"
)

// Options are what a plugin is run with. Arguments, Env, Client and either Library or Open are needed.
type Options struct {
	Arguments []string                    // the command line after the program's name
	Env       func(string) (string, bool) // as os.LookupEnv
	Root      string                      // a folder put before every path that is touched on this machine; empty: none
	Client    kubernetes.Interface

	// Library is asked about the GPUs and stays the caller's. Open opens one that Run closes.
	Library hardware.Library
	// Listen opens the socket of the metrics; nil: they are not served.
	Listen func(address string) (net.Listener, error)

	Open func(ctx context.Context, flags config.Flags) (hardware.Library, error)

	// AskMPS asks the control daemon of MPS whose pipes are in a folder; an error says why it does not answer. Nil: mps.Ask.
	AskMPS func(ctx context.Context, folder string) error

	Intervals Intervals
	// Observe, if not nil, is called synchronously with: "registered" (the kubelet took all resources), "annotated" (a round of
	// registration with schedulers is over), "idle" (there is no device to register), "health" (one event was handled),
	// "updated RESOURCE" (one message of ListAndWatch was sent).
	Observe func(event string)
	Now     func() time.Time // nil: time.Now
	Random  io.Reader        // of names of cache files; nil: crypto/rand
}

// Intervals are how long the plugin waits for what; 0 is the default.
type Intervals struct {
	Register      time.Duration // between rounds of registration with schedulers; 30 s
	RegisterRetry time.Duration // after one that failed; 5 s
	KubeletRetry  time.Duration // first pause after the kubelet refused to register a resource, doubled up to 30 s; 1 s
	KubeletPoll   time.Duration // between looks at the kubelet's socket, beside the kernel's notices; 5 s
	EventWait     time.Duration // for one event of the driver; 5 s
	Recheck       time.Duration // between looks at cards that are not healthy; 30 s
	Quiet         time.Duration // without an event until such a card may be healthy again; 5 min
	API           time.Duration // until the API server is asked again that could not be reached; 5 s
	Lists         time.Duration // at most, for the kubelet to ask for the lists before health is watched; 5 s
	Repair        time.Duration // between looks whether MIG layouts agree with the pods; 1 min
	MPS           time.Duration // between looks whether the control daemons of MPS answer; 10 s
	Feedback      time.Duration // between rounds of --core-feedback; 5 s
	Patience      time.Duration // for instances in use to be given back before a pod is refused; 2 s, below 0: none
}

func (i Intervals) withDefaults() Intervals {
	for _, interval := range []struct {
		value    *time.Duration
		default_ time.Duration
	}{
		{&i.Register, 30 * time.Second}, {&i.RegisterRetry, 5 * time.Second}, {&i.KubeletRetry, time.Second},
		{&i.KubeletPoll, 5 * time.Second}, {&i.EventWait, 5 * time.Second}, {&i.Recheck, 30 * time.Second},
		{&i.Quiet, 5 * time.Minute}, {&i.API, 5 * time.Second}, {&i.Lists, 5 * time.Second},
		{&i.Repair, time.Minute}, {&i.MPS, 10 * time.Second}, {&i.Feedback, 5 * time.Second},
	} {
		if *interval.value <= 0 {
			*interval.value = interval.default_
		}
	}
	switch {
	case i.Patience == 0:
		i.Patience = 2 * time.Second
	case i.Patience < 0:
		i.Patience = 0
	}
	return i
}
