// Program recordings feeds recorded cases of the node side to our device plugin and says which answers are equal, which differ by one
// of upstream's numbered mistakes, and which nothing explains. scripts/node_recordings.sh builds and runs it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"vgpualloc.example/adapters/deviceplugin/hardware/fake"
	"vgpualloc.example/adapters/deviceplugin/recordings/cases"
	"vgpualloc.example/adapters/deviceplugin/recordings/judge"
	"vgpualloc.example/adapters/deviceplugin/recordings/play"
)

func main() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "node_recordings: %v\n", err)
	}
	os.Exit(code)
}

// run is the program; its exit codes: 0 all passed, 1 some failed, 2 bad input.
func run(arguments []string, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("recordings", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	only := flags.String("case", "", "play the case with this id alone")
	workers := flags.Int("workers", runtime.NumCPU(), "processes that play cases")
	show := flags.Bool("show", false, "write our answers as JSON, one a line, instead of judging them")
	part := flags.Int("part", -1, "play every workers-th case from this one on and write verdicts as JSON")
	if err := flags.Parse(arguments); err != nil || flags.NArg() == 0 || *workers < 1 {
		return 2, errors.New("expected recording files: node_recordings.sh [-case ID] [-workers N] FILE…")
	}
	read, err := readAll(flags.Args(), *only)
	if err != nil {
		return 2, err
	}
	if *part >= 0 {
		return 0, playPart(read, *part, *workers, out)
	}
	if *show {
		return 0, playAndShow(read, out)
	}
	verdicts, err := playAll(arguments, len(read), *workers)
	if err != nil {
		return 1, err
	}
	code := 0
	for i := range verdicts {
		if verdicts[i].Failed() {
			code = 1
			fmt.Fprintf(out, "%s (%s): %s\n", verdicts[i].ID, verdicts[i].Place, verdicts[i].Complaint)
		}
	}
	fmt.Fprint(out, judge.Summary(verdicts))
	return code, nil
}

func readAll(files []string, only string) ([]cases.Case, error) {
	var result []cases.Case
	for _, file := range files {
		read, err := cases.Read(file)
		if err != nil {
			return nil, err
		}
		for i := range read {
			if only == "" || read[i].ID == only {
				result = append(result, read[i])
			}
		}
	}
	if len(result) == 0 {
		return nil, fmt.Errorf("no case has id %q", only)
	}
	return result, nil
}

// numbered is a verdict with the number of its case.
type numbered struct {
	Number  int           `json:"number"`
	Verdict judge.Verdict `json:"verdict"`
}

// playPart plays every workers-th case. A process has one fake NVML, so more cases at a time take more processes.
func playPart(read []cases.Case, part, workers int, out io.Writer) error {
	play.Quiet()
	encoder := json.NewEncoder(out)
	for number := part; number < len(read); number += workers {
		c := &read[number]
		ours, err := answer(c)
		if errors.Is(err, fake.ErrNoLibrary) {
			return err
		}
		if err := encoder.Encode(numbered{number, judge.Of(c, &ours, err)}); err != nil {
			return err
		}
	}
	return nil
}

// playAndShow writes our answers.
func playAndShow(read []cases.Case, out io.Writer) error {
	play.Quiet()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i := range read {
		ours, err := answer(&read[i])
		if err != nil {
			return fmt.Errorf("case %s: %w", read[i].ID, err)
		}
		if err := encoder.Encode(map[string]any{"id": read[i].ID, "output": ours}); err != nil {
			return err
		}
	}
	return nil
}

// answer is ours to a case.
func answer(c *cases.Case) (cases.Output, error) {
	if c.Input.Plugin == "ascend" {
		return play.Ascend(c)
	}
	library, err := fake.LibraryPath()
	if err != nil {
		return cases.Output{}, err
	}
	return play.VGPU(c, library)
}

// playAll runs the parts as processes of this program and collects their verdicts.
func playAll(arguments []string, count, workers int) ([]judge.Verdict, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	workers = min(workers, count)
	verdicts := make([]judge.Verdict, count)
	isKnown := make([]bool, count)
	failures := make([]error, workers)
	var running sync.WaitGroup
	var mu sync.Mutex
	for part := range workers {
		running.Add(1)
		go func() {
			defer running.Done()
			command := exec.Command(self, append([]string{"-part", fmt.Sprint(part), "-workers", fmt.Sprint(workers)}, withoutWorkers(arguments)...)...)
			var errors bytes.Buffer
			command.Stderr = &errors
			output, err := command.StdoutPipe()
			if err == nil {
				err = command.Start()
			}
			if err != nil {
				failures[part] = err
				return
			}
			lines := bufio.NewScanner(output)
			lines.Buffer(nil, 1<<24)
			for lines.Scan() {
				var one numbered
				if json.Unmarshal(lines.Bytes(), &one) == nil && one.Number >= 0 && one.Number < count {
					mu.Lock()
					verdicts[one.Number], isKnown[one.Number] = one.Verdict, true
					mu.Unlock()
				}
			}
			if err := command.Wait(); err != nil {
				text := errors.String()
				if len(text) > 2000 {
					text = text[:2000]
				}
				failures[part] = fmt.Errorf("part %d: %w: %s", part, err, text)
			}
		}()
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	for number := range isKnown {
		if !isKnown[number] {
			return nil, fmt.Errorf("case %d of %d was not played", number+1, count)
		}
	}
	return verdicts, nil
}

// withoutWorkers are the arguments without -workers, which parts are given anew.
func withoutWorkers(arguments []string) []string {
	var result []string
	for i := 0; i < len(arguments); i++ {
		switch {
		case arguments[i] == "-workers" || arguments[i] == "--workers":
			i++
		case len(arguments[i]) > 9 && arguments[i][:9] == "-workers=":
		default:
			result = append(result, arguments[i])
		}
	}
	return result
}
