// Command testsum reads the output of `go test -json` and writes what a person wants to see of it: a line for each
// package, everything that a failed or skipped test said, and last, alone on its line,
//
//	N passed, N failed, N skipped
//
// It exits with 1 when a test failed, when one was skipped and when none ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	total, err := summarize(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	fmt.Println(total)
	if !total.good() {
		os.Exit(1)
	}
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

// test identifies whose output is kept; a package's own has no name.
type test struct {
	pkg, name string
}

func summarize(in io.Reader, out io.Writer) (tally, error) {
	var total tally
	kept := map[test]*strings.Builder{} // what running tests have said, until it is known whether they pass
	failed := map[string]int{}          // failed tests of a package

	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil || e.Action == "" {
				fmt.Fprintf(out, "%s", line) // the go command itself, in plain words
			} else {
				handle(e, out, &total, kept, failed)
			}
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

func handle(e event, out io.Writer, total *tally, kept map[test]*strings.Builder, failed map[string]int) {
	id := test{e.Package, e.Test}
	said := func() string {
		defer delete(kept, id)
		if kept[id] == nil {
			return ""
		}
		return kept[id].String()
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(out, e.Output)
	case "output":
		if kept[id] == nil {
			kept[id] = &strings.Builder{}
		}
		kept[id].WriteString(e.Output)
	case "pass", "fail", "skip":
		text := said()
		if e.Test == "" {
			finish(e, text, out, total, failed)
			return
		}
		switch e.Action {
		case "pass":
			total.passed++
		case "fail":
			total.failed++
			failed[e.Package]++
			fmt.Fprintf(out, "%s\n%s", e.Package, text)
		case "skip":
			total.skipped++
			fmt.Fprintf(out, "%s\n%s", e.Package, text)
		}
	}
}

// finish writes the line of a package. One that fails without a failed test (it does not build, it exits early, it
// leaks goroutines) counts as one failure. A package without test files is "skipped" by go test and is no test.
func finish(e event, text string, out io.Writer, total *tally, failed map[string]int) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(out, "ok    %s  %.1fs\n", e.Package, e.Elapsed)
	case "fail":
		if failed[e.Package] == 0 {
			total.failed++
		}
		fmt.Fprintf(out, "%sFAIL  %s  %.1fs\n", text, e.Package, e.Elapsed)
	}
}
