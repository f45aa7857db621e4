package fakechips

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Ran is a program that was run.
type Ran struct {
	Argv   []string `json:"argv"`
	Code   int      `json:"code"`
	Stdin  string   `json:"stdin"`
	Stdout string   `json:"stdout,omitempty"`
}

// Programs is an chips.Exec that runs nothing and notes what was to be run.
type Programs struct {
	Fails  bool   // every program ends with status 1
	Output string // what a program that fails writes; empty: "Failed to set device-share"

	mutex sync.Mutex
	ran   []Ran
}

// Run is chips.Exec's.
func (p *Programs) Run(_ context.Context, argv []string, stdin string) (string, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	note := Ran{Argv: slices.Clone(argv), Stdin: stdin}
	var err error
	if p.Fails {
		note.Code, note.Stdout, err = 1, p.Output, errors.New("exit status 1")
		if note.Stdout == "" {
			note.Stdout = "Failed to set device-share"
		}
	}
	p.ran = append(p.ran, note)
	return note.Stdout, err
}

// Ran are the programs in the order in which they were run.
func (p *Programs) Ran() []Ran {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.ran)
}
