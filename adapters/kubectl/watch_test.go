package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"vgpualloc.example/adapters/kubectl/apitest"
	"vgpualloc.example/adapters/kubectl/export"
)

// kept is what was written so far, while more is written.
type kept struct {
	mutex sync.Mutex
	text  bytes.Buffer
	times []time.Time // of each write
}

func (k *kept) Write(data []byte) (int, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.times = append(k.times, time.Now())
	return k.text.Write(data)
}

func (k *kept) String() string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.text.String()
}

func (k *kept) writes() []time.Time {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return append([]time.Time{}, k.times...)
}

// running is a program that answers again and again.
type running struct {
	out, complaints kept
	stop            context.CancelFunc
	code            chan int
}

// watching runs the program with -w, with this pause in place of 2 s.
func watching(t *testing.T, pause time.Duration, arguments ...string) *running {
	t.Helper()
	before := pauseLeast
	pauseLeast = pause
	ctx, stop := context.WithCancel(context.Background())
	result := &running{stop: stop, code: make(chan int, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result.code <- run(ctx, append(arguments, "-w"), strings.NewReader(manifest), &result.out, &result.complaints)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		pauseLeast = before
	})
	return result
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after 20 s: %s", what)
		}
	}
}

// listed waits until the cluster was listed this often from now on.
func listed(t *testing.T, server *apitest.Server, times int) {
	t.Helper()
	count := func() int { return strings.Count(strings.Join(server.Requests(), "\n")+"\n", "GET /apis\n") }
	expected := count() + times
	eventually(t, "the cluster is listed again", func() bool { return count() >= expected })
}

// without are the objects but for the pods of these names.
func without(objects []apitest.Object, names ...string) []apitest.Object {
	var result []apitest.Object
	for _, object := range objects {
		name := object["metadata"].(apitest.Object)["name"].(string)
		if object["kind"] != "Pod" || !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			result = append(result, object)
		}
	}
	return result
}

var heading = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n`)

func TestWatchAnswersAgainWhenSomethingChanged(t *testing.T) {
	for _, question := range []string{"show", "why", "whatif --add-pods -", "plan --pod train/llm-3"} {
		t.Run(question, func(t *testing.T) {
			items := apitest.Items(t, atlas)
			server := inFolder(t, atlas)
			_, once, _ := answered(manifest, strings.Fields(question)...)
			program := watching(t, time.Millisecond, strings.Fields(question)...)
			listed(t, server, 5)
			if answers := heading.Split(program.out.String(), -1); len(answers) != 2 || answers[0] != "" ||
				times.ReplaceAllString(answers[1], "") != times.ReplaceAllString(once, "") {
				t.Fatalf("of a cluster that does not change\n%s\nexpected a time and\n%s", program.out.String(), once)
			}
			server.Replace(without(items, "nb-0", "cv-0"))
			eventually(t, "there is a second answer", func() bool { return len(heading.FindAllString(program.out.String(), -1)) == 2 })
			listed(t, server, 3)
			_, changed, _ := answered(manifest, strings.Fields(question)...)
			answers := heading.Split(program.out.String(), -1)
			if len(answers) != 3 || times.ReplaceAllString(answers[2], "") != times.ReplaceAllString(changed, "") || changed == once {
				t.Errorf("%q, expected\n%s", answers, changed)
			}
			program.stop()
			if code := <-program.code; code != 0 || program.complaints.String() != "" {
				t.Errorf("code %d, %q", code, program.complaints.String())
			}
			for _, request := range server.Requests() {
				if !strings.HasPrefix(request, "GET ") || strings.Contains(request, "watch") {
					t.Errorf("request %q, expected get or list", request)
				}
			}
		})
	}
}

func TestWatchDoesNotRepeatAnAnswerThatStaysAsItWas(t *testing.T) {
	items := apitest.Items(t, atlas)
	server := inFolder(t, atlas)
	program := watching(t, time.Millisecond, "show")
	listed(t, server, 3)
	items[0]["metadata"].(apitest.Object)["annotations"] = apitest.Object{"beat": "1"}
	server.Replace(items)
	listed(t, server, 5)
	if number := len(heading.FindAllString(program.out.String(), -1)); number != 1 {
		t.Errorf("%d answers, expected 1\n%s", number, program.out.String())
	}
}

func TestWatchGoesOnAfterTheFirstAnswer(t *testing.T) {
	items := apitest.Items(t, atlas)
	server := inFolder(t, atlas)
	program := watching(t, time.Millisecond, "why", "train/llm-3")
	listed(t, server, 2)
	answers := func() int { return len(heading.FindAllString(program.out.String(), -1)) }
	lines := func() int { return strings.Count(program.complaints.String(), "\n") }
	for number, status := range []int{http.StatusInternalServerError, http.StatusForbidden} {
		before := lines()
		server.Refuse(status)
		listed(t, server, 5) // the first may have been on its way, and complains of another list
		after := lines()
		listed(t, server, 5)
		if after == before || lines() != after || answers() != number+1 {
			t.Fatalf("%d answers, %q, expected one line for each failure", answers(), program.complaints.String())
		}
		server.Refuse(0)
		eventually(t, "there is an answer again", func() bool { return answers() == number+2 })
	}
	server.Replace(without(items, "llm-3")) // what is asked about goes
	eventually(t, "the pod is missed", func() bool { return strings.Contains(program.complaints.String(), "train/llm-3") })
	missed := lines()
	listed(t, server, 3)
	if complaints := program.complaints.String(); lines() != missed || answers() != 3 {
		t.Errorf("%d answers, %q", answers(), complaints)
	}
	program.stop()
	if code := <-program.code; code != 0 {
		t.Errorf("code %d", code)
	}
}

func TestWatchWhoseFirstAnswerFailsEnds(t *testing.T) {
	server := inFolder(t, atlas)
	for status, expected := range map[int]int{http.StatusInternalServerError: 1, http.StatusUnauthorized: 2} {
		server.Refuse(status)
		program := watching(t, time.Millisecond, "show")
		if code := <-program.code; code != expected || program.out.String() != "" || strings.Count(program.complaints.String(), "\n") != 1 {
			t.Errorf("status %d: code %d, %q", status, code, program.complaints.String())
		}
	}
	server.Refuse(0)
	program := watching(t, time.Millisecond, "why", "train/nobody")
	if code := <-program.code; code != 2 || program.out.String() != "" {
		t.Errorf("code %d, %q", code, program.out.String())
	}
}

func TestSignalsEndAWatchWithCode0(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			inFolder(t, atlas)
			program := watching(t, time.Hour, "show")
			eventually(t, "there is an answer", func() bool { return program.out.String() != "" })
			if err := syscall.Kill(os.Getpid(), signal); err != nil {
				t.Fatal(err)
			}
			if code := <-program.code; code != 0 || program.complaints.String() != "" {
				t.Errorf("code %d, %q", code, program.complaints.String())
			}
		})
	}
}

// stuck is a pipe whose reader does not read.
type stuck struct{ until chan struct{} }

func (s stuck) Write(data []byte) (int, error) {
	<-s.until
	return len(data), nil
}

func TestWatchEndsWhoeverReads(t *testing.T) {
	inFolder(t, atlas)
	ctx, stop := context.WithCancel(context.Background())
	reader := stuck{make(chan struct{})}
	defer close(reader.until)
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"show", "-w"}, nil, reader, io.Discard) }()
	stop()
	if ended := <-code; ended != 0 {
		t.Errorf("code %d", ended)
	}
	var complaints kept
	if ended := run(context.Background(), []string{"show", "-w"}, nil, closed{syscall.EPIPE}, &complaints); ended != 0 || complaints.String() != "" {
		t.Errorf("code %d, %q", ended, complaints.String())
	}
	if ended := run(context.Background(), []string{"show", "-w"}, nil, closed{syscall.ENOSPC}, &complaints); ended != 1 || complaints.String() == "" {
		t.Errorf("code %d, %q", ended, complaints.String())
	}
}

func TestWatchPausesForTwoSeconds(t *testing.T) {
	if pauseLeast != 2*time.Second {
		t.Fatalf("a pause of %v", pauseLeast)
	}
	items := apitest.Items(t, atlas)
	server := inFolder(t, atlas)
	busy, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		for i := 0; busy.Err() == nil; i++ {
			server.Replace(without(items, []string{"nb-0", "cv-0", "embed-0"}[i%3]))
			time.Sleep(7 * time.Millisecond)
		}
	}()
	const pause = 300 * time.Millisecond
	program := watching(t, pause, "show")
	eventually(t, "there are 5 answers", func() bool { return len(program.out.writes()) >= 5 })
	written := program.out.writes()
	for i := 1; i < len(written); i++ {
		if between := written[i].Sub(written[i-1]); between < pause {
			t.Errorf("%v between two answers, expected %v", between, pause)
		}
	}
}

func TestHeadingsAreOfTheFormat(t *testing.T) {
	items := apitest.Items(t, atlas)
	server := inFolder(t, atlas)
	for format, line := range map[string]string{"json": `"%s"`, "yaml": `--- # %s`} {
		server.Replace(items)
		program := watching(t, time.Millisecond, "show", "-o", format)
		listed(t, server, 3)
		server.Replace(without(items, "nb-0"))
		at := regexp.MustCompile(`(?m)^` + fmt.Sprintf(line, `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`) + "\n")
		eventually(t, "there are 2 answers", func() bool { return len(at.FindAllString(program.out.String(), -1)) == 2 })
		program.stop()
		<-program.code
		if answers := schemas(t, format, program.out.String()); !slices.Equal(answers, []string{"vgpualloc.show/1", "vgpualloc.show/1"}) {
			t.Errorf("%s: %q", format, answers)
		}
	}
}

// schemas are those of the answers in a text, as who reads JSON or YAML one after the other finds them.
func schemas(t *testing.T, format, text string) []string {
	t.Helper()
	var result []string
	if format == "yaml" {
		for document := range strings.SplitSeq(strings.TrimPrefix(text, "---"), "\n---") {
			var answer struct{ Schema string }
			if err := yaml.Unmarshal([]byte(document), &answer); err != nil {
				t.Fatal(err)
			}
			result = append(result, answer.Schema)
		}
		return result
	}
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var at string
		var answer struct{ Schema string }
		if err := decoder.Decode(&at); err == io.EOF {
			return result
		} else if err != nil {
			t.Fatal(err)
		}
		if err := decoder.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		result = append(result, answer.Schema)
	}
}

func TestAnswersReplaceEachOtherOnATerminal(t *testing.T) {
	var screen kept
	repeated := watcher{out: &screen, complaints: &screen, isTerminal: true}
	for _, answer := range []outcome{
		{complaints: "warning\n", text: "first\n"}, {complaints: "warning\n", text: "second\n"}, {code: 1, complaints: "away\n"},
		{code: 1, complaints: "away\n"}, {text: "second\n"}, {text: "second\n"},
	} {
		if err := repeated.print(answer); err != nil {
			t.Fatal(err)
		}
	}
	expected := "\x1b[H\x1b[Jwarning\nfirst\n\x1b[H\x1b[Jwarning\nsecond\naway\n\x1b[H\x1b[Jsecond\n"
	if screen.String() != expected {
		t.Errorf("%q, expected %q", screen.String(), expected)
	}
	if isTerminal(&screen) {
		t.Error("a buffer is no terminal")
	}
}

// residentBytes is the memory of this process, of Go and of C.
func residentBytes(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc/self/statm here")
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// An hour of a busy cluster is 1800 answers at most.
func TestMemoryIsFlat(t *testing.T) {
	const answers, warmUp, most = 1800, 300, 24 << 20
	server := apitest.Serve(t, nil)
	items := apitest.Items(t, atlas)
	client, namespace, err := export.Connect(export.Access{Kubeconfig: server.Kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := readFlags([]string{"show", "-w"})
	if err != nil {
		t.Fatal(err)
	}
	question, err := newQuestion(chosen, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out kept
	repeated := watcher{session: session{client, namespace, question, chosen.output}, out: &out, complaints: &out}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := 0
	for i := range answers {
		items[0]["metadata"].(apitest.Object)["labels"].(apitest.Object)["pool"] = fmt.Sprint("pool-", i%100) // which the answer names
		server.Replace(items)
		if code, err := repeated.step(context.Background()); code != 0 || err != nil {
			t.Fatal(code, err, out.String())
		}
		if i == warmUp {
			start = residentBytes(t)
		}
		if number := len(out.times); number != i+1 {
			t.Fatalf("%d answers of %d clusters", number, i+1)
		}
		out.text.Reset()
		server.Forget()
	}
	end := residentBytes(t)
	t.Logf("%d MiB after %d answers, %d MiB after %d", start>>20, warmUp, end>>20, answers)
	if end-start > most {
		t.Errorf("%d MiB after %d answers, %d MiB after %d: expected at most %d MiB more", start>>20, warmUp, end>>20, answers, most>>20)
	}
}
