package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"vgpualloc.example/adapters/vga"
)

// line is one of the decision log: docs/decision-log.md explains its members.
type line struct {
	Event       string            `json:"event"`
	Log         string            `json:"log,omitempty"`
	Version     int               `json:"version,omitempty"`
	Library     string            `json:"library,omitempty"`
	Options     *lineOptions      `json:"options,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Pod         string            `json:"pod,omitempty"`
	Node        string            `json:"node,omitempty"`
	Name        string            `json:"name,omitempty"`
	Time        int64             `json:"time,omitempty"`
	Except      []string          `json:"except,omitempty"`
	Only        []string          `json:"only,omitempty"`
	Reasons     map[string]int    `json:"reasons,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Object      json.RawMessage   `json:"object,omitempty"`
}

type lineOptions struct {
	Policy          string `json:"policy"`
	DevicePolicy    string `json:"device_policy"`
	Catalog         string `json:"catalog"`
	DeviceConfig    string `json:"device_config"`
	SchedulerConfig string `json:"scheduler_config"`
}

func optionsOf(options vga.Options) *lineOptions {
	written := lineOptions(options)
	return &written
}

func startLine(options vga.Options) line {
	return line{Event: "start", Log: "vgpualloc-decisions", Version: 1, Library: vga.Version(),
		Time: time.Now().UnixNano(), Options: optionsOf(options)}
}
func configureLine(options vga.Options) line {
	return line{Event: "configure", Options: optionsOf(options)}
}
func tellLine(object []byte) line          { return line{Event: "tell", Object: object} }
func removeNodeLine(name string) line      { return line{Event: "remove_node", Node: name} }
func removePodLine(uid string) line        { return line{Event: "remove_pod", UID: uid} }
func removeConfigMapLine(name string) line { return line{Event: "remove_config_map", Name: name} }

// bufferMax is what of a log may wait for Flush: a session of a large cluster has less.
const bufferMax = 4 << 20

// Log writes what a Cluster is told and what is decided on it into a file, one line of JSON each. A decision that is
// taken back before it was written leaves nothing there: a scheduler tries gangs out several times.
type Log struct {
	file    *os.File
	written *bufio.Writer
	pending []pendingLine
	size    int
	failure error
}

type pendingLine struct {
	text     []byte
	decision string // uid of the pod that was decided; empty for other lines
}

// OpenLog appends to a file, which is made if need be. A line that was cut off in the middle, as of a program that was
// killed, is ended first.
func OpenLog(path string) (*Log, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	if information, err := file.Stat(); err == nil && information.Size() > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, information.Size()-1); err == nil && !bytes.Equal(last, []byte("\n")) {
			if _, err := file.WriteString("\n"); err != nil {
				return nil, err
			}
		}
	}
	return &Log{file: file, written: bufio.NewWriter(file)}, nil
}

func (l *Log) add(entry line) { l.append(entry, "") }

func (l *Log) addDecision(entry line) { l.append(entry, entry.UID) }

func (l *Log) append(entry line, decision string) {
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
		_ = l.flush() // kept in failure
	}
}

// takeBackDecision drops the last line if it is the decision about this pod and nobody can have read it.
func (l *Log) takeBackDecision(uid string) bool {
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

// flush writes what is pending. After an error nothing more is written: a log with a gap could not be run again.
func (l *Log) flush() error {
	if l == nil {
		return nil
	}
	if l.failure == nil {
		for _, entry := range l.pending {
			if _, err := l.written.Write(entry.text); err != nil {
				l.failure = fmt.Errorf("decision log: %w", err)
				break
			}
		}
		if err := l.written.Flush(); err != nil && l.failure == nil {
			l.failure = fmt.Errorf("decision log: %w", err)
		}
	}
	l.pending = l.pending[:0]
	l.size = 0
	return l.failure
}

// Close writes what is pending and closes the file.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	failure := l.flush()
	if err := l.file.Close(); failure == nil {
		failure = err
	}
	return failure
}
