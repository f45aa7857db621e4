package service_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"vgpualloc.example/adapters/vga"
)

func TestABindingThatIsRefusedLeavesNothing(t *testing.T) {
	wants, next := pod("p", 9000), pod("q", 9000)
	a := newAPI(node("a", 16384), wants, next)
	s := open(t, a)
	a.set(func() {
		a.bindFailure = apierrors.NewForbidden(podsResource.GroupResource(), "p", errors.New("a webhook forbids it"))
		a.lookFailure = errors.New("nobody has to look")
	})
	if failure := s.bind(t, wants, "a"); !strings.Contains(failure, "a webhook forbids it") {
		t.Error(failure)
	}
	if left := a.present(t, "p"); left.Spec.NodeName != "" || len(left.Annotations) != 0 || s.state(wants) != vga.PodWaiting {
		t.Error(left, s.state(wants))
	}
	a.set(func() { a.bindFailure = nil })
	if failure := s.bind(t, next, "a"); failure != "" {
		t.Error("its device is free", failure)
	}
	if failure := s.bind(t, wants, "a"); !strings.Contains(failure, "does not fit") {
		t.Error(failure)
	}
}

func TestWhichAnswersMakeItCertainThatNothingWasDone(t *testing.T) {
	pods := podsResource.GroupResource()
	for _, answered := range []struct {
		err       error
		isCertain bool
	}{
		{apierrors.NewForbidden(pods, "p", errors.New("no right")), true},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Binding"}, "p", nil), true},
		{apierrors.NewNotFound(pods, "p"), true},
		{apierrors.NewTooManyRequests("too many", 1), true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{conflict("p", "etcdserver: request timed out"), false},
		{apierrors.NewServiceUnavailable("later"), false},
		{apierrors.NewInternalError(errors.New("oops")), false},
		{apierrors.NewTimeoutError("late", 1), false},
		{apierrors.NewServerTimeout(pods, "create", 1), false},
		{apierrors.NewGenericServerResponse(502, "create", pods, "p", "bad gateway", 0, true), false},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, false},
		{context.DeadlineExceeded, false},
	} {
		wants, next := pod("p", 9000), pod("q", 9000)
		a := newAPI(node("a", 16384), wants, next)
		s := open(t, a)
		a.set(func() { a.bindFailure = answered.err })
		if failure := s.bind(t, wants, "a"); failure == "" {
			t.Error(answered.err, "is no success")
		}
		a.set(func() { a.bindFailure = nil })
		if failure := s.bind(t, next, "a"); (failure == "") != answered.isCertain {
			t.Errorf("after %v (%T) the next pod is answered %q", answered.err, answered.err, failure)
		}
	}
}

// The API server answers a conflict where its storage does not say whether it has written, and when client-go has asked twice.
func TestABindingAnsweredWithAConflictMayHaveHappened(t *testing.T) {
	wants, next := pod("p", 9000), pod("q", 9000)
	a := newAPI(node("a", 16384), wants, next)
	s := open(t, a)
	a.set(func() {
		a.bindFailure, a.bindEvenSo, a.bindLate = conflict("p", "etcdserver: request timed out"), true, true
	})
	if failure := s.bind(t, wants, "a"); failure != "" || s.state(wants) != vga.PodCommitted {
		t.Error(failure, s.state(wants))
	}
	a.set(func() { a.bindFailure, a.bindEvenSo, a.bindLate = nil, false, false })
	if failure := s.bind(t, next, "a"); !strings.Contains(failure, "does not fit") {
		t.Error("its devices are taken, though no watch has shown that yet", failure)
	}
	a.showLate(t)
	eventually(t, "the binding is shown", func() bool {
		return strings.Contains(s.bind(t, wants, "a"), "bound to node a already")
	})
	if failure := s.bind(t, next, "a"); !strings.Contains(failure, "does not fit") || s.state(wants) != vga.PodCommitted {
		t.Error(failure, s.state(wants))
	}
}

// It is bound by nobody any more, and kube-scheduler does not ask about it again.
func TestAConflictOfAPodThatIsBeingDeletedLeavesNothing(t *testing.T) {
	wants, next := pod("p", 9000), pod("q", 9000)
	now := metav1.Now()
	wants.DeletionTimestamp, wants.Finalizers = &now, []string{"example.com/waits"}
	a := newAPI(node("a", 16384), wants, next)
	s := open(t, a)
	a.set(func() { a.bindFailure = conflict("p", "pod p is being deleted, cannot be assigned to a host") })
	if failure := s.bind(t, wants, "a"); !strings.Contains(failure, "is being deleted") {
		t.Error(failure)
	}
	a.set(func() { a.bindFailure = nil })
	if failure := s.bind(t, next, "a"); failure != "" {
		t.Error("its device is free", failure)
	}
}

func TestABindingOfWhichTheAnswerWasLostIsFound(t *testing.T) {
	wants := pod("p", 9000)
	a := newAPI(node("a", 16384), wants)
	s := open(t, a)
	a.set(func() { a.bindFailure, a.bindEvenSo = errors.New("connection reset by peer"), true })
	if failure := s.bind(t, wants, "a"); failure != "" {
		t.Error(failure)
	}
	if s.state(wants) != vga.PodCommitted {
		t.Error(s.state(wants))
	}
}

// It may happen still, so nobody else gets the devices until kube-scheduler asks about the pod again.
func TestABindingThatMayStillHappenKeepsItsDevices(t *testing.T) {
	wants, next := pod("p", 9000), pod("q", 9000)
	a := newAPI(node("a", 16384), wants, next)
	s := open(t, a)
	a.set(func() {
		a.bindFailure = errors.New("connection reset by peer")
		a.lookFailure = errors.New("no route to host")
	})
	if failure := s.bind(t, wants, "a"); !strings.Contains(failure, "connection reset") {
		t.Error(failure)
	}
	a.set(func() { a.bindFailure = nil })
	if failure := s.bind(t, next, "a"); !strings.Contains(failure, "does not fit") {
		t.Error(failure)
	}
	result := &extenderv1.ExtenderFilterResult{}
	s.ask(t, "filter", extenderv1.ExtenderArgs{Pod: wants, NodeNames: &[]string{"a"}}, result)
	if !strings.Contains(result.Error, "not known") {
		t.Error("nobody knows yet", result)
	}
	a.set(func() { a.lookFailure = nil })
	if result := s.filter(t, wants, "a"); result.Error != "" || len(*result.NodeNames) != 1 {
		t.Error(result)
	}
	if s.state(wants) != vga.PodWaiting {
		t.Error(s.state(wants))
	}
	if failure := s.bind(t, next, "a"); failure != "" {
		t.Error(failure)
	}
}

// The API server said so; its watch may be late.
func TestAPodThatIsBoundHasItsDevicesBeforeItsObjectSaysSo(t *testing.T) {
	wants, next := pod("p", 9000), pod("q", 9000)
	a := newAPI(node("a", 16384), wants, next)
	s := open(t, a)
	a.set(func() { a.bindUnseen = true })
	if failure := s.bind(t, wants, "a"); failure != "" || s.state(wants) != vga.PodCommitted {
		t.Error(failure, s.state(wants))
	}
	if failure := s.bind(t, wants, "a"); !strings.Contains(failure, "is being bound") {
		t.Error(failure)
	}
	if failure := s.bind(t, next, "a"); !strings.Contains(failure, "does not fit") {
		t.Error(failure)
	}
	if len(s.events(t, "commit")) != 1 {
		t.Error("the log does not say that it was bound")
	}
	a.remove(t, "p")
	eventually(t, "it is gone and gives back", func() bool { return s.bind(t, next, "a") == "" })
}
