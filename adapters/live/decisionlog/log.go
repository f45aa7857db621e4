// Package decisionlog is the decision log of schedulers: written while they decide, begun anew when a file has become too long, and
// read. docs/decision-log.md has its format; vgpusim replay decides again what a log says.
package decisionlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// bufferMax is what of a log may wait for Flush: a session of a large cluster has less.
const bufferMax = 4 << 20

// Log writes what a cluster is told and what is decided on it into a file, one line of JSON each. A nil Log writes nothing. A
// decision that is taken back before it was written leaves nothing there: a scheduler tries gangs out several times.
type Log struct {
	file    *os.File
	written *bufio.Writer
	pending []pendingLine
	size    int
	failure error

	path    string
	limit   int64 // length from which on a file is followed by another one; 0: never
	length  int64 // of the file
	full    int64 // length from which on that is tried
	follows int   // how many files came before this one since the beginning
}

type pendingLine struct {
	text     []byte
	decision string // uid of the pod that was decided; empty for other lines
}

// LimitMiB is how long a file of a decision log gets that nobody has given a limit, in MiB.
const LimitMiB = 1024

// Open appends to a file, which is made if need be. A line that was cut off in the middle, as of a program that was
// killed, is ended first. A file that is longer than `limit` bytes, unless that is 0, becomes path.1 in place of the one
// of that name, and the log begins anew.
func Open(path string, limit int64) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	length := int64(0)
	if information, err := file.Stat(); err == nil && information.Size() > 0 {
		length = information.Size()
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, information.Size()-1); err == nil && !bytes.Equal(last, []byte("\n")) {
			if _, err := file.WriteString("\n"); err != nil {
				return nil, err
			}
		}
	}
	return &Log{file: file, written: bufio.NewWriter(file), path: path, limit: limit, length: length, full: limit}, nil
}

// Add writes a line, before the next Flush returns.
func (l *Log) Add(entry Line) { l.append(entry, "") }

// AddDecision is Add of a decision about the line's pod, for TakeBackDecision.
func (l *Log) AddDecision(entry Line) { l.append(entry, entry.UID) }

func (l *Log) append(entry Line, decision string) {
	if l == nil || l.failure != nil {
		return
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text) // ends a line
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(entry); err != nil {
		l.failure = fmt.Errorf("decision log: %w", err)
		return
	}
	l.pending = append(l.pending, pendingLine{text.Bytes(), decision})
	l.size += text.Len()
	if l.size > bufferMax {
		_ = l.Flush() // kept in failure
	}
}

// TakeBackDecision drops the last line if it is the decision about this pod and nobody can have read it. False if it stays.
func (l *Log) TakeBackDecision(uid string) bool {
	if l == nil {
		return true
	}
	last := len(l.pending) - 1
	if last < 0 || l.pending[last].decision != uid {
		return false
	}
	l.size -= len(l.pending[last].text)
	l.pending = l.pending[:last]
	return true
}

// Flush writes what is pending. After an error nothing more is written: a log with a gap could not be run again.
func (l *Log) Flush() error {
	if l == nil {
		return nil
	}
	if l.failure == nil {
		for _, entry := range l.pending {
			if _, err := l.written.Write(entry.text); err != nil {
				_ = l.Fail(err)
				break
			}
			l.length += int64(len(entry.text))
		}
		if err := l.written.Flush(); err != nil && l.failure == nil {
			_ = l.Fail(err)
		}
	}
	l.pending = l.pending[:0]
	l.size = 0
	return l.failure
}

// Fail ends the log here, as it could not be run again with what follows.
func (l *Log) Fail(why error) error {
	l.failure = fmt.Errorf("nothing more is written into the decision log: %w", why)
	return l.failure
}

// Rotates is whether the log may begin anew.
func (l *Log) Rotates() bool { return l != nil && l.limit > 0 }

// IsFull is whether the log has become so long that it is to begin anew.
func (l *Log) IsFull() bool { return l.Rotates() && l.failure == nil && l.length >= l.full }

// File is the number of the present file of this log: how many came before it.
func (l *Log) File() int {
	if l == nil {
		return 0
	}
	return l.follows
}

// Next is an empty log beside this one.
func (l *Log) Next() (*Log, error) {
	path := l.path + ".new"
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	return &Log{file: file, written: bufio.NewWriter(file), path: path}, nil
}

// Discard takes a log away that was not written to its end.
func (l *Log) Discard() {
	_ = l.file.Close()
	_ = os.Remove(l.path)
}

// ReplaceBy has the log go on in the file of another one. After an error it goes on in its own, and that is gone.
func (l *Log) ReplaceBy(next *Log) error {
	former := l.path + ".1"
	if err := os.Rename(l.path, former); err != nil {
		next.Discard()
		return err
	}
	if err := os.Rename(next.path, l.path); err != nil {
		next.Discard()
		return errors.Join(err, os.Rename(former, l.path))
	}
	_ = l.file.Close() // all of it is written
	l.file, l.written, l.length = next.file, next.written, next.length
	l.full = max(l.limit, 2*l.length) // what a file begins with may be longer than the limit
	l.follows++
	return nil
}

// RefuseToRotate has the log go on as it is for a while.
func (l *Log) RefuseToRotate(why error) error {
	l.full = l.length + l.limit
	return fmt.Errorf("the decision log %s goes on beyond %d bytes: %w", l.path, l.length, why)
}

// Close writes what is pending and closes the file.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	failure := l.Flush()
	if err := l.file.Close(); failure == nil {
		failure = err
	}
	return failure
}
