// Command sbom writes what a Go program consists of as a CycloneDX document: the modules that the program itself names, with
// their versions and hashes.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type document struct {
	Format      string `json:"bomFormat"`
	SpecVersion string `json:"specVersion"`
	Version     int    `json:"version"`
	Metadata    struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("usage: sbom PROGRAM VERSION")
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	doc := document{Format: "CycloneDX", SpecVersion: "1.5", Version: 1}
	doc.Metadata.Component = of("application", info.Main.Path, os.Args[2], "")
	doc.Components = append(doc.Components, of("library", "std", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		doc.Components = append(doc.Components, of("library", m.Path, m.Version, m.Sum))
	}
	slices.SortFunc(doc.Components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(doc)
}

func of(kind, path, version, sum string) component {
	purl := "pkg:golang/" + path + "@" + version
	c := component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
	// The hash of go.sum is a SHA-256 of the module's files.
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(raw) == 32 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}
