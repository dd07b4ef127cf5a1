package oauth

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
)

// reasonsInSource are the reasons that calls of refuse name, and what misuse
// answers.
func reasonsInSource(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && s != "" {
				reasons = append(reasons, s)
			}
		}
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "refuse" && len(n.Args) == 2 {
					add(n.Args[1])
				}
			case *ast.FuncDecl:
				if n.Name.Name == "misuse" {
					ast.Inspect(n, func(n ast.Node) bool {
						if r, ok := n.(*ast.ReturnStmt); ok {
							add(r.Results[0])
						}
						return true
					})
				}
			}
			return true
		})
	}
	if len(reasons) < 40 {
		t.Fatalf("only %d reasons found", len(reasons))
	}
	return reasons
}

func TestEveryScopeHasItsTextForTheConsentPage(t *testing.T) {
	for _, s := range auth.Scopes {
		for _, lang := range i18n.Supported() {
			if !i18n.Has(lang, "oauth.scope."+s) {
				t.Errorf("scope %s has no text in %s", s, lang)
			}
		}
	}
}
