package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A failure ends a scenario, or the part of one that attempt runs. Each step of a scenario needs those before it, so that none
// could go on with an error. Only what runs beside the scenario returns its errors.
type failure struct{ error }

func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// got is a value that is needed.
func got[T any](value T, err error) T {
	must(err)
	return value
}

// attempt returns the error that ended a part of a scenario, if one did.
func attempt(part func()) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failure:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	part()
	return nil
}

// within says in which part of a scenario an error was.
func within(name string, part func()) {
	if err := attempt(part); err != nil {
		must(fmt.Errorf("%s: %w", name, err))
	}
}

// beside runs something while the scenario goes on. The function that it returns waits for the end of it.
func beside(work func() error) (join func()) {
	done := make(chan error, 1)
	go func() { done <- work() }()
	return func() { must(<-done) }
}

// until waits for something to be so, and returns whether it was before the patience was over.
func (env *Env) until(patience time.Duration, so func() bool) bool {
	for deadline := time.Now().Add(patience); !so(); must(pause(env.ctx, 100*time.Millisecond)) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}

// again repeats a request while the API server cannot be reached or has no time. A thing that is already there after a
// first try that seemed to fail was made by that try.
func again(ctx context.Context, request func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for try := 0; ; try++ {
		err := request()
		var status apierrors.APIStatus
		switch {
		case err == nil, try > 0 && apierrors.IsAlreadyExists(err):
			return nil
		case errors.As(err, &status) && !apierrors.IsServerTimeout(err) && !apierrors.IsTooManyRequests(err) &&
			!apierrors.IsInternalError(err) && !apierrors.IsServiceUnavailable(err) && !apierrors.IsForbidden(err):
			return err
		case time.Now().After(deadline):
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// create posts an object through the client of its kind.
func create[T metav1.Object](ctx context.Context, client interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
}, object T) error {
	if err := again(ctx, func() error {
		_, err := client.Create(ctx, object, metav1.CreateOptions{})
		return err
	}); err != nil {
		return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// remove deletes an object through the client of its kind, if it is there.
func remove(ctx context.Context, client interface {
	Delete(context.Context, string, metav1.DeleteOptions) error
}, name string) error {
	err := again(ctx, func() error { return client.Delete(ctx, name, metav1.DeleteOptions{}) })
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	return nil
}

// patch changes an object, or a part of it, through the client of its kind, if it is there.
func patch[T any](ctx context.Context, client interface {
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}, name string, change []byte, part ...string) error {
	err := again(ctx, func() error {
		_, err := client.Patch(ctx, name, types.StrategicMergePatchType, change, metav1.PatchOptions{}, part...)
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("changing %s: %w", name, err)
	}
	return nil
}

// inParallel calls work with 0 to count - 1, some at a time, and returns the first error.
func inParallel(count, atOnce int, work func(int) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range count {
		group.Go(func() error { return work(i) })
	}
	return group.Wait()
}
