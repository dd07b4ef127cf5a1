package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// ignored waits until the machine reports the rules without effect that is accepts.
func ignored(t *testing.T, n *Node, what string, is func(r panel.IgnoredRules) bool) panel.IgnoredRules {
	t.Helper()
	var last *panel.IgnoredRules
	until(t, what, func() bool {
		u, err := n.Usage(t.Context(), "1")
		must(t, err)
		last = u.Ignored
		return last != nil && is(*last)
	})
	return *last
}

func TestRulesWithoutEffectAreReported(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "rules.example")
	_ = serve(t, n)
	rec, err := n.accounts.Get("1")
	must(t, err)
	home := n.accounts.Home(rec)
	nothing := func(r panel.IgnoredRules) bool { return r.IsEmpty() && len(r.Files) == 0 }
	have := func(others ...string) func(panel.IgnoredRules) bool {
		return func(r panel.IgnoredRules) bool {
			return slices.Equal(r.Protecting, []string{"AuthType", "AuthUserFile", "Require"}) && slices.Equal(r.Others, others)
		}
	}

	// What the web server does anyway is no news.
	write(t, n, "1", "/public_html/.htaccess", "# BEGIN WordPress\n<IfModule mod_rewrite.c>\nRewriteEngine On\nRewriteBase /\n"+
		"RewriteRule ^index\\.php$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.php [L]\n</IfModule>\n")
	write(t, n, "1", "/public_html/private/.htaccess", "Require all denied\n")
	ignored(t, n, "a site of WordPress has no rules without effect", nothing)

	// Written through the machine; names come without arguments.
	write(t, n, "1", "/public_html/admin/.htaccess", "AuthType Basic\nAuthUserFile /home/secret\nRequire valid-user\n")
	r := ignored(t, n, "a file that is written is found", have())
	if len(r.Files) != 1 || r.Files[0].Path != "/public_html/admin/.htaccess" || strings.Contains(fmt.Sprint(r), "secret") {
		t.Errorf("%+v", r)
	}

	// Written by others, and found by the walk.
	must(t, os.WriteFile(filepath.Join(home, "public_html", ".htaccess"), []byte("Header set X-Key secret\n"), 0o644))
	must(t, n.Files.Measure(t.Context(), "1"))
	ignored(t, n, "the walk finds a file", have("Header"))

	must(t, n.Files.Remove(t.Context(), "1", "/public_html/admin", true))
	must(t, n.Files.Remove(t.Context(), "1", "/public_html/.htaccess", false))
	ignored(t, n, "nothing is left", nothing)
	must(t, n.DeleteAccount(t.Context(), "1"))
	if n.closures.ignoredOf("1") != nil {
		t.Error("rules of a deleted account are kept")
	}
}

// akismet is what WordPress brings as wp-content/plugins/akismet/.htaccess.
const akismet = `# Only allow direct access to specific Web-available files.

# Apache 2.2
<IfModule !mod_authz_core.c>
	Order Deny,Allow
	Deny from all
</IfModule>

# Apache 2.4
<IfModule mod_authz_core.c>
	Require all denied
</IfModule>

# Akismet CSS and JS
<FilesMatch "^(form\.js|akismet\.js|akismet-frontend\.js|akismet\.css)$">
	<IfModule !mod_authz_core.c>
		Allow from all
	</IfModule>
	
	<IfModule mod_authz_core.c>
		Require all granted
	</IfModule>
</FilesMatch>

# Akismet images
<FilesMatch "^logo-(a|full)-2x\.png$">
	<IfModule !mod_authz_core.c>
		Allow from all
	</IfModule>
	
	<IfModule mod_authz_core.c>
		Require all granted
	</IfModule>
</FilesMatch>`

// What Drupal writes for its private files.
const drupalPrivate = `<IfModule mod_authz_core.c>
  Require all denied
</IfModule>
<IfModule !mod_authz_core.c>
  Deny from all
</IfModule>
Options -Indexes -ExecCGI -Includes -MultiViews
SetHandler Drupal_Security_Do_Not_Remove_See_SA_2006_006
<Files *>
  SetHandler Drupal_Security_Do_Not_Remove_See_SA_2013_003
</Files>
<IfModule mod_php.c>
  php_flag engine off
</IfModule>
`

// Rules in a closed directory are told when one below it is open: they would hold there.
func TestRulesWhereNobodyMayVisitAreNoNews(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "rules.example")
	write(t, n, "1", "/public_html/wp-content/plugins/akismet/.htaccess", akismet)
	write(t, n, "1", "/public_html/private/.htaccess", drupalPrivate)
	write(t, n, "1", "/public_html/private/deep/.htaccess", "AuthType Basic\n")
	look := func(roots ...string) panel.IgnoredRules {
		t.Helper()
		looked, err := n.Files.Closed(t.Context(), "1", roots)
		must(t, err)
		return looked.Ignored
	}
	if got := look("/public_html"); len(got.Files) > 0 || !got.IsEmpty() {
		t.Errorf("in closed directories: %+v", got)
	}
	if got := look("/public_html/private/deep"); len(got.Files) > 0 {
		t.Errorf("in a document root below a closed one: %+v", got)
	}
	write(t, n, "1", "/public_html/private/deep/open/.htaccess", "Require all granted\n")
	write(t, n, "1", "/public_html/private/deep/next/.htaccess", "Require all granted\nHeader set A b\n")
	got := look("/public_html")
	var paths []string
	for _, f := range got.Files {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	if want := []string{"/public_html/private/.htaccess", "/public_html/private/deep/.htaccess", "/public_html/private/deep/next/.htaccess"}; !slices.Equal(paths, want) {
		t.Errorf("above open directories: %q, want %q", paths, want)
	}
}

// An account may be deleted while it is looked at.
func TestALookRestoresNothingOfADeletedAccount(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "rules.example")
	write(t, n, "1", "/public_html/.htaccess", "AuthType Basic\n")
	write(t, n, "1", "/public_html/private/.htaccess", "Require all denied\n")
	rec, err := n.accounts.Get("1")
	must(t, err)
	looked, err := n.Files.Closed(t.Context(), "1", []string{"/public_html"})
	must(t, err)
	must(t, n.DeleteAccount(t.Context(), "1"))
	if err := n.found(t.Context(), rec, looked); !errors.Is(err, panel.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if got := n.closures.ignoredOf("1"); got != nil {
		t.Errorf("rules of a deleted account: %+v", got)
	}
	if got := n.closed.Get(rec.Name); len(got) > 0 {
		t.Errorf("closed directories of a deleted account: %+v", got)
	}
}

// A customer may name anything .htaccess, and may have as many as there is room for.
func TestStrangeRuleFilesHarmNobody(t *testing.T) {
	n := open(t, t.TempDir())
	defer n.Close()
	create(t, n, "1", "rules.example")
	_ = serve(t, n)
	rec, err := n.accounts.Get("1")
	must(t, err)
	root := filepath.Join(n.accounts.Home(rec), "public_html")
	outside := filepath.Join(t.TempDir(), "x")
	must(t, os.WriteFile(outside, []byte("SetEnv FROM outside"), 0o600))
	at := func(dir string) string {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		return filepath.Join(root, dir, ".htaccess")
	}
	must(t, syscall.Mkfifo(at("pipe"), 0o644))
	must(t, os.Symlink(outside, at("link")))
	must(t, os.Symlink(".htaccess", at("loop")))
	must(t, os.Mkdir(at("folder"), 0o755))
	must(t, os.WriteFile(at("huge"), []byte("ExpiresActive On\n"), 0o644))
	must(t, os.Truncate(at("huge"), 1<<30)) // sparse
	must(t, os.WriteFile(at("closed"), []byte("SetEnv A b\n"), 0o000))
	must(t, os.WriteFile(at("bytes"), []byte("\xff\x00\xfe secret\nhunter2 x\n"), 0o644))
	const many = 2000
	for i := range many {
		must(t, os.WriteFile(at(fmt.Sprintf("many/%d\n\x01", i)), []byte("Header set A b\nHeader set C d\n"), 0o644))
	}
	must(t, n.Files.Measure(t.Context(), "1"))
	r := ignored(t, n, "all are looked at", func(r panel.IgnoredRules) bool { return len(r.Files)+r.More >= many+2 })
	for _, name := range slices.Concat(r.Protecting, r.Others) {
		if !slices.Contains([]string{"ExpiresActive", "Header", "…", "SetEnv"}, name) {
			t.Errorf("%q is reported", name)
		}
	}
	if len(r.Files) != panel.MostIgnoredFiles {
		t.Errorf("%d files are named", len(r.Files))
	}
	for _, f := range r.Files {
		if strings.ContainsAny(f.Path, "\n\x01") {
			t.Errorf("%q is named", f.Path)
		}
	}
	looked, err := n.Files.Closed(t.Context(), "1", []string{"/public_html/link", "/public_html/loop", "/public_html/pipe", "/public_html/folder"})
	must(t, err)
	if !looked.Ignored.IsEmpty() {
		t.Errorf("%+v is read of what is no file of the account", looked.Ignored)
	}
}
