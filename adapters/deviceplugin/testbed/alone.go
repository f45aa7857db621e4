package testbed

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"k8s.io/client-go/rest"
)

// ServeAlone is a process that is a stub of the API server and nothing else: it says on out where the stub is, and serves until in
// ends.
func ServeAlone(in io.Reader, out io.Writer) error {
	api := NewAPI()
	defer api.Close()
	if _, err := fmt.Fprintln(out, api.server.URL); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	return err
}

// Alone is a stub in a process of its own: what it takes of memory and locks is not its user's.
type Alone struct {
	url     string
	command *exec.Cmd
	in      io.Closer
}

// StartAlone runs a program that calls ServeAlone with its standard input and output. The caller closes the stub.
func StartAlone(command *exec.Cmd) (*Alone, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("the stub's process: %w", err)
	}
	stub := &Alone{command: command, in: in}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = stub.Close()
		return nil, fmt.Errorf("the stub's process: expected its URL: %w", err)
	}
	stub.url = strings.TrimSpace(line)
	return stub, nil
}

// Close ends the process.
func (a *Alone) Close() error {
	_ = a.in.Close()
	return a.command.Wait()
}

// Config is how to reach the stub, without a limit on the rate of requests.
func (a *Alone) Config() *rest.Config { return configOf(a.url) }
