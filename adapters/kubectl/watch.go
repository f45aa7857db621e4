package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"vgpualloc.example/adapters/kubectl/export"
)

// pauseLeast is the least time from one answer to the next list. A variable for tests.
var pauseLeast = 2 * time.Second

// endWithin is how long an answer that is being printed may take after Ctrl-C.
const endWithin = 200 * time.Millisecond

// eraseScreen moves a terminal's cursor to the first place, and erases what is after it.
const eraseScreen = "\x1b[H\x1b[J"

// watcher answers again and again.
type watcher struct {
	session
	out, complaints io.Writer
	isTerminal      bool // answers replace each other, instead of following each other

	input     [sha256.Size]byte // of what was asked about last; zeros: nothing, or the cluster could not be read since
	text      string            // the answer that was printed last; empty: there is none, or an error came after it
	complaint string            // what was complained about last
}

// watch answers now, and again when something changed, until SIGINT or SIGTERM, which are exit code 0. Only the first answer may
// fail: later ones are tried again.
func watch(ctx context.Context, asking session, out, complaints io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	repeated := watcher{session: asking, out: out, complaints: complaints, isTerminal: isTerminal(out)}
	ended := make(chan int, 1)
	go func() { ended <- repeated.repeat(ctx) }()
	select {
	case code := <-ended:
		return code
	case <-ctx.Done(): // a long answer, or a reader that does not read, is not waited for
	}
	select {
	case <-ended:
	case <-time.After(endWithin):
	}
	return 0
}

func isTerminal(out io.Writer) bool {
	file, isFile := out.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}

// repeat is the exit code in the end. The pause is at least as long as the answer took, so that large clusters are not listed
// all the time.
func (w *watcher) repeat(ctx context.Context) int {
	runtime.LockOSThread() // as the C library keeps freed memory for each thread that asked
	for isFirst := true; ; isFirst = false {
		begin := time.Now()
		code, err := w.step(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, syscall.EPIPE):
			return 0
		case err != nil:
			_, _ = io.WriteString(w.complaints, failure(1, err).complaints)
			return 1
		case code != 0 && isFirst:
			return code
		}
		select {
		case <-ctx.Done():
			return 0
		case <-time.After(max(pauseLeast, time.Since(begin))):
		}
	}
}

// step prints an answer if it is another one than before. An error is one of writing it.
func (w *watcher) step(ctx context.Context) (code int, err error) {
	cluster, answer := w.read(ctx)
	if answer.code != 0 {
		w.input = [sha256.Size]byte{}
	} else {
		input := digest(cluster)
		if input == w.input {
			return 0, nil
		}
		w.input = input
		answer = w.session.answer(cluster)
	}
	if ctx.Err() != nil {
		return 0, nil
	}
	return answer.code, w.print(answer)
}

// print complains of the same only once, and again on a terminal whose screen was erased.
func (w *watcher) print(answer outcome) error {
	isOther := answer.code == 0 && answer.text != w.text
	if isOther {
		w.erase()
	}
	if answer.complaints != w.complaint {
		_, _ = io.WriteString(w.complaints, answer.complaints)
	}
	w.complaint, w.text = answer.complaints, answer.text
	if !isOther {
		return nil
	}
	text := answer.text
	if !w.isTerminal {
		text = w.heading(time.Now()) + text
	}
	_, err := io.WriteString(w.out, text)
	return err
}

// erase is before what is complained of, as both are on the screen.
func (w *watcher) erase() {
	if w.isTerminal {
		w.complaint = ""
		_, _ = io.WriteString(w.out, eraseScreen)
	}
}

// heading tells answers that follow each other apart, in a line that programs for the format read past.
func (w *watcher) heading(now time.Time) string {
	line := now.UTC().Format(time.RFC3339)
	switch w.output {
	case "json":
		return `"` + line + "\"\n"
	case "yaml":
		return "--- # " + line + "\n"
	}
	return line + "\n"
}

func digest(cluster export.Cluster) [sha256.Size]byte {
	hash := sha256.New()
	_, _ = io.WriteString(hash, strings.Join(cluster.Unlisted, ",")+"\n")
	_, _ = hash.Write(cluster.Text)
	return [sha256.Size]byte(hash.Sum(nil))
}
