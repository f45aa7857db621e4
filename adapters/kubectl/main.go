// kubectl-vgpu is kubectl's plugin `kubectl vgpu`: what vgpusim answers, of the cluster as it is now (docs/kubectl.md).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"

	"vgpualloc.example/adapters/kubectl/ask"
	"vgpualloc.example/adapters/kubectl/export"
	"vgpualloc.example/adapters/vga"
)

// clusterName is what messages, and commands that an answer prints, call the cluster.
const clusterName = "cluster.json"

// largeText is a size in bytes of which two copies are felt.
const largeText = 32 << 20

func main() {
	signal.Ignore(syscall.SIGPIPE) // a reader that closes the pipe is an error of the write, and none of ours
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: 0 when it answered, 2 for bad input and for what the user may not read, 1 for anything else that fails.
func run(ctx context.Context, arguments []string, in io.Reader, out, complaints io.Writer) int {
	fail := func(code int, err error) int {
		_, _ = fmt.Fprintln(complaints, "kubectl-vgpu:", err)
		return code
	}
	if slices.Equal(arguments, []string{"version"}) || slices.Equal(arguments, []string{"--version"}) {
		return printed(out, fail, "vgpualloc "+vga.Version()+"\n")
	}
	chosen, err := readFlags(arguments)
	if err != nil {
		return fail(2, err)
	}
	if chosen.helpText != "" {
		return printed(out, fail, chosen.helpText)
	}
	question, err := newQuestion(chosen, in)
	if err != nil {
		return fail(2, err)
	}
	if err := checkPage(chosen); err != nil {
		return fail(2, err)
	}
	chosen.access.UserAgent = "kubectl-vgpu/" + vga.Version()
	client, namespace, err := export.Connect(chosen.access)
	if err != nil {
		return fail(2, err)
	}
	asking := session{client, namespace, question, chosen.output}
	if chosen.isWatched {
		return watch(ctx, asking, out, complaints)
	}
	cluster, answer := asking.read(ctx)
	if answer.code == 0 {
		answer = asking.answer(cluster)
	}
	_, _ = io.WriteString(complaints, answer.complaints)
	if answer.code != 0 {
		return answer.code
	}
	if chosen.output == "html" {
		if err := writePage(chosen.page, answer.page); err != nil {
			return fail(1, fmt.Errorf("--output html=%q: %w", chosen.page, err))
		}
		answer.text += "written: " + shown(chosen.page) + "\n"
	}
	return printed(out, fail, answer.text)
}

// session is a question about a cluster that is still to be read.
type session struct {
	client    rest.Interface
	namespace string
	question  ask.Question
	output    string // as of the flag
}

// outcome is what the program prints, and its exit code. Without 0 there is no text.
type outcome struct {
	code             int
	complaints, text string
	page             []byte // to be written; nil: none
}

func failure(code int, err error) outcome {
	return outcome{code: code, complaints: fmt.Sprintln("kubectl-vgpu:", err)}
}

// read lists the cluster, or says why it cannot.
func (s session) read(ctx context.Context) (export.Cluster, outcome) {
	cluster, err := export.Read(ctx, s.client, s.namespace)
	switch {
	case errors.Is(err, export.ErrNotAllowed):
		return cluster, failure(2, err)
	case err != nil:
		return cluster, failure(1, err)
	}
	return cluster, outcome{}
}

// answer asks the library; the words of errors are vgpusim's, under this program's name.
func (s session) answer(cluster export.Cluster) outcome {
	result := outcome{}
	if len(cluster.Unlisted) > 0 {
		result.complaints = fmt.Sprintln("kubectl-vgpu: not looked at, as you may not list them:", strings.Join(cluster.Unlisted, ", "))
	}
	question := s.question
	question.Texts = append(slices.Clip(question.Texts), ask.Text{Name: clusterName, Data: cluster.Text})
	if len(cluster.Text) > largeText {
		debug.FreeOSMemory() // for the library
	}
	reply, err := ask.Ask(question)
	if err != nil {
		return failure(1, err)
	}
	for line := range strings.Lines(reply.Errors) {
		result.complaints += "kubectl-vgpu: " + strings.TrimPrefix(line, "vgpusim: ")
	}
	result.code = reply.Code
	switch {
	case reply.Code != 0:
	case s.output == "json":
		result.text = reply.JSON
	case s.output == "html":
		result.text, result.page = reply.Text, reply.Files[0].Data
	default:
		result.text = reply.Text
	}
	return result
}

// printed is the exit code after a text was printed.
func printed(out io.Writer, fail func(int, error) int, text string) int {
	if _, err := io.WriteString(out, text); err != nil && !errors.Is(err, syscall.EPIPE) {
		return fail(1, err)
	}
	return 0
}

// newQuestion reads the files that flags name.
func newQuestion(chosen *values, in io.Reader) (ask.Question, error) {
	question := ask.Question{Command: chosen.command, Options: []ask.Option{{Name: "cluster", Value: clusterName}}}
	if chosen.output == "wide" || chosen.output == "yaml" || chosen.output == "html" {
		question.Options = append(question.Options, ask.Option{Name: "output", Value: chosen.output})
	}
	standardInput := "" // the flag that reads it
	for _, set := range chosen.options {
		if set.isFile {
			if set.value == "-" && standardInput != "" {
				return question, fmt.Errorf("%s -: expected a file, as standard input is read by %s", set.flag, standardInput)
			}
			if set.value == "-" {
				standardInput = set.flag
			}
			input, err := readInput(set, in)
			if err != nil {
				return question, err
			}
			set.value = input.Name
			question.Texts = append(question.Texts, input)
		}
		question.Options = append(question.Options, ask.Option{Name: set.name, Value: set.value})
	}
	return question, nil
}

func readInput(set option, in io.Reader) (ask.Text, error) {
	name := set.value
	if name == clusterName {
		name = "./" + name // the other one is the cluster
	}
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(in)
	} else {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return ask.Text{}, fmt.Errorf("%s %q: %w", set.flag, set.value, err)
	}
	return ask.Text{Name: name, Data: data}, nil
}
