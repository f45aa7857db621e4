//go:build tools

// Package tools names the programs that scripts/e2e.sh builds of modules, so that go.mod keeps what they need.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver/app"
	_ "k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "k8s.io/kubernetes/cmd/kubelet/app"
	_ "volcano.sh/volcano/cmd/scheduler/app"
	_ "volcano.sh/volcano/pkg/scheduler/uthelper"
)
