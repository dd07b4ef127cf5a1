// Command testsum reads the output of `go test -json` and writes what a person wants to see of it: a line for each
// package, everything that a failed or skipped test said, and last, alone on its line,
//
//	N passed, N failed, N skipped
//
// It exits with 1 when a test failed, when one was skipped and when none ran.
//
// Its arguments are a command that runs tests and writes the same kind of output. When a few tests failed, it runs that
// command once more for each of their packages, with `-run` and the package added: a test that fails on a busy machine
// and passes alone is unsteady, which is told in capitals, and counts as passed; the exit status then is 3. Without
// arguments nothing runs again.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	r := newReport(os.Stdout)
	err := r.read(os.Stdin)
	if command := os.Args[1:]; err == nil && len(command) > 0 {
		err = r.again(func(pkg, pattern string) (io.Reader, error) { return output(command, "-run", pattern, pkg) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	total := r.total()
	fmt.Println(total)
	switch {
	case !total.good():
		os.Exit(1)
	case r.unsteady:
		os.Exit(3)
	}
}

// output is what a command writes. That it fails is no error: its output says of what.
func output(command []string, more ...string) (io.Reader, error) {
	c := exec.CommandContext(context.Background(), command[0], slices.Concat(command[1:], more)...) //nolint:gosec // the command of scripts/test
	c.Stderr = os.Stderr
	text, err := c.Output()
	if c.ProcessState == nil {
		return nil, err
	}
	return strings.NewReader(string(text)), nil
}

// event is a line of `go test -json` (go doc test2json); ImportPath is there for the output of builds.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string
	FailedBuild string
	Elapsed     float64
}

// tally counts tests; a subtest is a test.
type tally struct {
	passed, failed, skipped int
}

func (t tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

func (t tally) good() bool { return t.failed == 0 && t.skipped == 0 && t.passed > 0 }

// test identifies a test or a subtest. The one without a name is its package, where that failed by itself: it does not
// build, it exits early, it leaks goroutines.
type test struct {
	pkg, name string
}

// report is what is known of all tests.
type report struct {
	out     io.Writer
	output  map[test]*strings.Builder // what running tests have said, until it is known whether they pass
	results map[test]string           // pass, fail or skip; of what ran twice at first, the worse one
	second  bool                      // what comes is of tests that run again

	final    bool // something failed that no second run excuses
	unsteady bool // something passed in the second run only
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[test]*strings.Builder{}, results: map[test]string{}}
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(r.out, "%s", line) // the go command itself, in plain words
			} else {
				r.handle(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) handle(e event) {
	id := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if r.output[id] == nil {
			r.output[id] = &strings.Builder{}
		}
		r.output[id].WriteString(e.Output)
	case "pass", "fail", "skip":
		text := ""
		if r.output[id] != nil {
			text = r.output[id].String()
			delete(r.output, id)
		}
		if e.Test == "" {
			r.finish(e, text)
			return
		}
		if r.second || r.results[id] != "fail" { // the tests of the whole program run with and without the race detector
			r.results[id] = e.Action
		}
		if e.Action != "pass" {
			fmt.Fprintf(r.out, "%s\n%s", e.Package, text)
		}
		if e.Action == "fail" && (strings.Contains(text, "DATA RACE") || strings.Contains(text, "race detected") || strings.Contains(text, "panic:")) {
			r.final = true
		}
	}
}

// finish writes the line of a package. One that fails without a failed test counts as one failure. A package without
// test files is "skipped" by go test and is no test.
func (r *report) finish(e event, text string) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.out, "ok    %s  %.1fs\n", e.Package, e.Elapsed)
	case "fail":
		if len(r.failed(e.Package)) == 0 {
			r.results[test{pkg: e.Package}] = "fail"
			r.final = true
		}
		fmt.Fprintf(r.out, "%sFAIL  %s  %.1fs\n", text, e.Package, e.Elapsed)
	}
}

// failed lists the tests of a package that failed, or had a subtest that did.
func (r *report) failed(pkg string) (names []string) {
	for id, result := range r.results {
		if id.pkg == pkg && result == "fail" && id.name != "" {
			name, _, _ := strings.Cut(id.name, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mostAgain is how many failed tests run again at most: where more failed, it is not the machine.
const mostAgain = 5

// again runs the failed tests once more and tells which of them pass then. A race, a panic and a package that failed by
// itself are never excused, so nothing runs again beside them.
func (r *report) again(run func(pkg, pattern string) (io.Reader, error)) error {
	failed := map[string][]string{}
	count := 0
	for id := range r.results {
		if _, known := failed[id.pkg]; !known {
			failed[id.pkg] = r.failed(id.pkg)
			count += len(failed[id.pkg])
		}
	}
	if r.final || count == 0 || count > mostAgain {
		return nil
	}
	r.second = true
	var unsteady []string
	for pkg, names := range failed {
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(r.out, "=== again, alone: %s of %s\n", strings.Join(names, ", "), pkg)
		in, err := run(pkg, "^("+strings.Join(names, "|")+")$")
		if err != nil {
			return err
		}
		if err := r.read(in); err != nil {
			return err
		}
		still := r.failed(pkg)
		for _, name := range names {
			if !slices.Contains(still, name) {
				unsteady = append(unsteady, pkg+" "+name)
			}
		}
	}
	r.unsteady = len(unsteady) > 0
	slices.Sort(unsteady)
	for _, name := range unsteady {
		fmt.Fprintf(r.out, "UNSTEADY: %s failed beside the others and passed when it ran again alone: this is an open bug\n", name)
	}
	return nil
}

func (r *report) total() (t tally) {
	for _, result := range r.results {
		switch result {
		case "pass":
			t.passed++
		case "fail":
			t.failed++
		case "skip":
			t.skipped++
		}
	}
	return t
}
