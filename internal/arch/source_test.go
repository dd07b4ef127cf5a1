package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "stead.dev/stead"
	root   = "../.."
)

// file is a parsed source file. Paths are relative to the root of the module, with slashes.
type file struct {
	path    string
	dir     string
	test    bool // a _test.go file
	syntax  *ast.File
	imports []string // of this module only, relative to its root
	lines   []string
}

// source is the whole module, parsed once for all tests.
var source = sync.OnceValues(func() ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch base := entry.Name(); {
		case entry.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(base, ".go"):
			return nil
		}
		f, err := parse(name)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

var positions = token.NewFileSet()

func parse(name string) (*file, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(positions, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	f := &file{
		path: filepath.ToSlash(relative), test: strings.HasSuffix(name, "_test.go"),
		syntax: syntax, lines: strings.Split(string(content), "\n"),
	}
	f.dir = path.Dir(f.path)
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if own, ok := strings.CutPrefix(imported, module+"/"); ok {
			f.imports = append(f.imports, own)
		}
	}
	return f, nil
}

func files(t *testing.T) []*file {
	t.Helper()
	all, err := source()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// at is the place of a node as editors understand it, and its line.
func (f *file) at(n ast.Node) (place, line string) {
	number := positions.Position(n.Pos()).Line
	return f.path + ":" + strconv.Itoa(number), f.lines[number-1]
}

// calls visits every call of a function of a package by its name there: calls(f, "time", ...) sees time.Now().
func (f *file) calls(pkg string, visit func(function string, call *ast.CallExpr)) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			if name, ok := selector.X.(*ast.Ident); ok && name.Name == pkg {
				visit(selector.Sel.Name, call)
			}
		}
		return true
	})
}

// literal returns the value of an argument that is written as a string.
func literal(call *ast.CallExpr, argument int) (string, bool) {
	if argument >= len(call.Args) {
		return "", false
	}
	basic, ok := call.Args[argument].(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(basic.Value)
	return value, err == nil
}
