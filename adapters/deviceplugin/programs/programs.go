// Package programs runs tools of a driver.
package programs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Runner runs programs.
type Runner interface {
	// Run runs a program to its end, with this text as its standard input. Output is what it wrote to both outputs, also where it
	// failed; the error says how it ended, such as "exit status 1".
	Run(ctx context.Context, argv []string, stdin string) (output string, err error)
}

// OfMachine runs programs of this machine.
type OfMachine struct {
	Limit time.Duration // how long each may take; 0: 30 s
	Env   []string      // "NAME=value", beside this process's
}

// Run is Runner's.
func (p OfMachine) Run(ctx context.Context, argv []string, stdin string) (string, error) {
	if len(argv) == 0 {
		return "", errors.New("no program to run was named")
	}
	limit := p.Limit
	if limit <= 0 {
		limit = 30 * time.Second
	}
	ctx, end := context.WithTimeout(ctx, limit)
	defer end()
	var output bytes.Buffer
	program := exec.CommandContext(ctx, argv[0], argv[1:]...)
	program.Env = append(program.Environ(), p.Env...)
	program.Stdin = strings.NewReader(stdin)
	program.Stdout, program.Stderr = &output, &output
	program.WaitDelay = time.Second
	err := program.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end in time: %w", ctx.Err())
	}
	return output.String(), err
}
