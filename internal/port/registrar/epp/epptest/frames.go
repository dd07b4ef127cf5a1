package epptest

import (
	"bytes"
	"context"
	"embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

//go:embed schema/*.xsd
var schemas embed.FS

// ids are what is of its own in every frame: the ids of transactions, and codes of authorisation. Only well-formed
// ones match, so a frame with another is judged.
var ids = regexp.MustCompile(`<(clTRID|svTRID|pw|d:pw)>(stead[-.0-9A-Za-z]{1,50}|sv-[0-9]+|[0-9A-Z]{13}-s7)</`)

// judged are the frames that were found valid in this process, without their ids.
var judged sync.Map

// Judge has frames checked by xmllint against the schemas, and answers what is wrong with them. Of frames that differ
// in nothing but their ids it sees one.
func Judge(t testing.TB, all [][]byte) error {
	t.Helper()
	var frames [][]byte
	var kinds []string
	for _, frame := range all {
		kind := string(ids.ReplaceAll(frame, []byte("<$1></")))
		if _, known := judged.Load(kind); !known && !slices.Contains(kinds, kind) {
			frames, kinds = append(frames, frame), append(kinds, kind)
		}
	}
	if len(frames) == 0 {
		return nil
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, schemas); err != nil {
		t.Fatal(err)
	}
	const batch = 500
	var wrong []error
	for n := 0; n < len(frames); n += batch {
		arguments := []string{"--nonet", "--noout", "--schema", "schema/all.xsd"}
		for i, frame := range frames[n:min(n+batch, len(frames))] {
			file := fmt.Sprintf("%05d.xml", n+i)
			if err := os.WriteFile(filepath.Join(dir, file), frame, 0o600); err != nil {
				t.Fatal(err)
			}
			arguments = append(arguments, file)
		}
		var said bytes.Buffer
		command := exec.CommandContext(context.WithoutCancel(t.Context()), "xmllint", arguments...)
		command.Dir, command.Stderr = dir, &said // names that a test's could not spoil
		if err := command.Run(); err != nil {
			wrong = append(wrong, fmt.Errorf("%w: %s", err, failures(said.String())))
			continue
		}
		for _, kind := range kinds[n:min(n+batch, len(kinds))] {
			judged.Store(kind, true)
		}
	}
	return errors.Join(wrong...)
}

// failures are the lines of xmllint that are not about a valid frame.
func failures(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		if !strings.HasSuffix(line, " validates\n") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// node is an element.
type node struct {
	xml.Name
	attributes map[string]string
	nodes      []*node
	text       string
}

// parse reads a document.
func parse(content []byte) (*node, error) {
	in := xml.NewDecoder(bytes.NewReader(content))
	root := &node{}
	path := []*node{root}
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) && len(root.nodes) == 1 {
			return root.nodes[0], nil
		}
		if err != nil {
			return nil, err
		}
		here := path[len(path)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{Name: token.Name, attributes: map[string]string{}}
			for _, a := range token.Attr {
				n.attributes[a.Name.Local] = a.Value
			}
			here.nodes = append(here.nodes, n)
			path = append(path, n)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			here.text += string(token)
		}
	}
}

// first is the first element at a path below n, or an empty one.
func (n *node) first(path ...string) *node {
	for _, name := range path {
		all := n.all(name)
		if len(all) == 0 {
			return &node{attributes: map[string]string{}}
		}
		n = all[0]
	}
	return n
}

func (n *node) all(name string) (all []*node) {
	for _, one := range n.nodes {
		if one.Local == name {
			all = append(all, one)
		}
	}
	return all
}

func (n *node) there() bool { return n.Local != "" }

func (n *node) value(path ...string) string { return strings.TrimSpace(n.first(path...).text) }

func (n *node) values(name string) (all []string) {
	for _, one := range n.all(name) {
		all = append(all, strings.TrimSpace(one.text))
	}
	return all
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// write writes an element and its children as they were read, with the prefix of the namespace that ns declares.
func (n *node) write(prefix string) string {
	var b strings.Builder
	b.WriteString("<" + prefix + n.Local)
	for name, value := range n.attributes {
		if name != "xmlns" {
			fmt.Fprintf(&b, ` %s="%s"`, name, escape(value))
		}
	}
	b.WriteString(">" + escape(strings.TrimSpace(n.text)))
	for _, one := range n.nodes {
		b.WriteString(one.write(prefix))
	}
	b.WriteString("</" + prefix + n.Local + ">")
	return b.String()
}
