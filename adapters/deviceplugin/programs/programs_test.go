package programs

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestProgramsAreRunToTheirEnd(t *testing.T) {
	ctx := context.Background()
	if output, err := (OfMachine{}).Run(ctx, []string{"sh", "-c", "cat; echo err >&2"}, "Y\n"); err != nil || output != "Y\nerr\n" {
		t.Errorf("output %q (%v), expected the input and what was written as an error", output, err)
	}
	if output, err := (OfMachine{}).Run(ctx, []string{"sh", "-c", "echo no; exit 3"}, ""); err == nil || err.Error() != "exit status 3" || output != "no\n" {
		t.Errorf("output %q, error %v", output, err)
	}
	if output, err := (OfMachine{Env: []string{"FOLDER=/a b"}}).Run(ctx, []string{"sh", "-c", "echo $FOLDER"}, ""); err != nil || output != "/a b\n" {
		t.Errorf("output %q (%v), expected the environment", output, err)
	}
	began := time.Now()
	_, err := (OfMachine{Limit: 50 * time.Millisecond}).Run(ctx, []string{"sleep", "20"}, "")
	if err == nil || !strings.Contains(err.Error(), "in time") || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v, expected an end after 50 ms", time.Since(began), err)
	}
	if _, err = (OfMachine{}).Run(ctx, nil, ""); err == nil {
		t.Error("no program is run without an error")
	}
}
