// Command sdkgen writes the generated part of the SDKs from the OpenAPI document: types and methods of the Go SDK and
// methods of the TypeScript SDK, whose types are made by openapi-typescript. Run it by `make sdk`; the same document
// gives the same files.
package main

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sdkgen OPENAPI.JSON DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sdkgen:", err)
		os.Exit(1)
	}
}

func run(source, dir string) error {
	data, err := os.ReadFile(source) //nolint:gosec // the command line names it
	if err != nil {
		return err
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	all := d.operations()
	g := &golang{d: &d, enums: map[string]bool{}}
	t := &typescript{d: &d}
	for name, write := range map[string]func([]*operation) ([]byte, error){
		"go/types.gen.go":                  g.types,
		"go/operations.gen.go":             g.operations,
		"typescript/src/operations.gen.ts": t.operations,
	} {
		code, err := write(all)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		formatted := code
		if strings.HasSuffix(name, ".go") {
			if formatted, err = format.Source(code); err != nil {
				return fmt.Errorf("%s: %w\n%s", name, err, code)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), formatted, 0o644); err != nil { //nolint:gosec // the command line names the directory
			return err
		}
	}
	return nil
}
