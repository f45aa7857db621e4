package layout

import (
	"errors"
	"fmt"
	"strings"
)

// Refusal is a layout that cannot be made now. Nothing was touched.
type Refusal struct {
	GPU    string // uuid
	Reason string
	// InUse: instances in use stand in the way, so that the same may be possible later.
	InUse bool
	Cause error // may be nil
}

func (r *Refusal) Error() string {
	if r.Cause != nil {
		return fmt.Sprintf("GPU %s: %s: %v", r.GPU, r.Reason, r.Cause)
	}
	return fmt.Sprintf("GPU %s: %s", r.GPU, r.Reason)
}

// Unwrap is the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

func refuse(gpu string, cause error, format string, values ...any) *Refusal {
	return &Refusal{GPU: gpu, Reason: fmt.Sprintf(format, values...), Cause: cause}
}

func isInUse(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.InUse
}

// ChangeError is a change whose step failed.
type ChangeError struct {
	GPU        string   // uuid
	Step       string   // "create 3g.20gb@4"
	RolledBack bool     // the GPU holds what it held before the change
	Reached    []string // what it holds now, PROFILE@START; nil: it could not be read
	Cause      error
}

func (e *ChangeError) Error() string {
	state := "it could not be read afterwards"
	switch {
	case e.RolledBack:
		state = "the layout is as it was"
	case e.Reached != nil:
		state = "it holds now: " + strings.Join(e.Reached, ", ")
		if len(e.Reached) == 0 {
			state = "it holds no instance now"
		}
	}
	return fmt.Sprintf("GPU %s: %s: %v; %s", e.GPU, e.Step, e.Cause, state)
}

// Unwrap is why the step failed: hardware.ErrInUse, hardware.ErrNoRoom, hardware.ErrLost, …
func (e *ChangeError) Unwrap() error { return e.Cause }
