package htaccess

import (
	"slices"
	"strings"
	"testing"
)

func TestDirectoriesAreClosedAsTheirFilesSay(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want Access
	}{
		"nothing":                {"", Access{}},
		"comment":                {"# Require all denied\n", Access{}},
		"2.4":                    {"Require all denied\n", Access{Require: Denied}},
		"no line end, any case":  {"  REQUIRE ALL DENIED", Access{Require: Denied}},
		"continued":              {"Require all \\\n denied\n", Access{Require: Denied}},
		"Windows":                {"Order deny,allow\r\nDeny from all\r\n", Access{Order: Denied}},
		"2.2 alone":              {"Deny from all", Access{Order: Denied}},
		"2.2 with a blank":       {"order deny, allow\ndeny from all", Access{Order: Denied}},
		"2.2 by default":         {"Order allow,deny", Access{Order: Denied}},
		"2.2 all are allowed":    {"Order allow,deny\nAllow from all", Access{Order: Granted}},
		"2.2 the last word":      {"Order deny,allow\nDeny from all\nAllow from all", Access{Order: Granted}},
		"2.2 but one":            {"Order deny,allow\nDeny from all\nAllow from 192.0.2.1", Access{Order: Some}},
		"2.2 one is denied":      {"Order allow,deny\nAllow from all\nDeny from 192.0.2.1", Access{Order: Some}},
		"granted":                {"Require all granted", Access{Require: Granted}},
		"a password":             {"AuthType Basic\nRequire valid-user", Access{Require: Some}},
		"one of many":            {"Require all denied\nRequire ip 192.0.2.1", Access{Require: Some}},
		"all of":                 {"<RequireAll>\nRequire all denied\nRequire ip 192.0.2.1\n</RequireAll>", Access{Require: Denied}},
		"none of":                {"<RequireNone>\nRequire all granted\n</RequireNone>", Access{Require: Denied}},
		"the usual pair":         {"<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>", Access{Require: Denied}},
		"the pair the other way": {"<IfModule !mod_access_compat.c>\nRequire all denied\n</IfModule>\n<IfModule mod_access_compat.c>\nOrder Allow,Deny\nDeny from all\n</IfModule>", Access{Order: Denied}},
		"a former Apache only":   {"<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>", Access{}},
		"some files":             {"<Files \"config.php\">\nRequire all denied\n</Files>", Access{}},
		"all files":              {"<Files \"*\">\nRequire all denied\n</Files>", Access{Require: Denied}},
		"hidden files":           {"<Files \".*\">\nRequire all denied\n</Files>", Access{}},
		"all files by ~":         {"<Files ~ \".*\">\nRequire all denied\n</Files>", Access{Require: Denied}},
		"all files by a pattern": {"<FilesMatch \".*\">\nOrder allow,deny\nDeny from all\n</FilesMatch>", Access{Order: Denied}},
		"methods":                {"<Limit GET POST>\nDeny from all\n</Limit>", Access{Order: Denied}},
		"other methods":          {"<LimitExcept GET POST>\nDeny from all\n</LimitExcept>", Access{}},
		"either is enough":       {"Deny from all\nRequire all granted\nSatisfy any", Access{Require: Some, Order: Some}},
		"never ended":            {"<IfModule x>\nRequire all denied", Access{Require: Denied}},
		"never begun":            {"</Files>\nRequire all denied", Access{Require: Denied}},
		"deep":                   {strings.Repeat("<IfModule x>\n", 10_000) + "Require all denied", Access{Require: Denied}},
	} {
		if got := Parse(test.text); got.Access != test.want {
			t.Errorf("%s: %+v, want %+v", name, got.Access, test.want)
		}
	}
}

func TestADirectoryInAClosedOneIsOpenOnlyToAll(t *testing.T) {
	denied := Access{Require: Denied}
	for name, test := range map[string]struct {
		above, own Access
		closed     bool
	}{
		"says nothing":        {denied, Access{}, true},
		"is granted":          {denied, Access{Require: Granted}, false},
		"by the other module": {denied, Access{Order: Granted}, true},
		"to some":             {denied, Access{Require: Some}, true},
		"to some in an open":  {Access{}, Access{Require: Some}, false},
	} {
		if got := test.own.Below(test.above).Closed(); got != test.closed {
			t.Errorf("%s: closed %v", name, got)
		}
	}
}

func TestOwnersAreToldOfWhatHasNoEffect(t *testing.T) {
	wordpress := `# BEGIN WordPress
<IfModule mod_rewrite.c>
RewriteEngine On
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteBase /
RewriteRule ^index\.php$ - [L]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
</IfModule>
Options -Indexes
DirectoryIndex index.php index.html
`
	for name, test := range map[string]struct {
		text string
		want []Rule
	}{
		"WordPress":                {wordpress, nil},
		"WordPress and its cache":  {wordpress + "ExpiresActive On\nExpiresByType image/png A1\n", []Rule{{13, "ExpiresActive", false}, {14, "ExpiresByType", false}}},
		"closed":                   {"Require all denied", nil},
		"a password":               {"AuthType Basic\nAuthUserFile /x\nRequire valid-user", []Rule{{1, "AuthType", true}, {2, "AuthUserFile", true}, {3, "Require", true}}},
		"some files":               {"<FilesMatch \"\\.log$\">\nRequire all denied\n</FilesMatch>", []Rule{{1, "<FilesMatch>", true}}},
		"any case":                 {"header set X-A b\nHEADER set X-B b", []Rule{{1, "Header", false}, {2, "Header", false}}},
		"an address is forbidden":  {"Redirect 403 /private\nRedirect gone /old\nRedirect 301 /a /b", []Rule{{1, "Redirect", true}, {2, "Redirect", true}, {3, "Redirect", false}}},
		"a secret":                 {"hunter2 is the password\n<Filesx.php>\nDeny from all\n</Filesx.php>", []Rule{{1, Unknown, false}, {2, Unknown, true}}},
		"hidden files":             {"<Files \".user.ini\">\nRequire all denied\n</Files>\n<Files ~ \"^\\.ht\">\nDeny from all\n</Files>\n<FilesMatch \"^\\.\">\nDeny from all\n</FilesMatch>", nil},
		"hidden files by names":    {"<FilesMatch \"^\\.(htaccess|htpasswd)$\">\nRequire all denied\n</FilesMatch>\n<Files ~ \"^\\.(ht(access|passwd)|env)\">\nDeny from all\n</Files>", nil},
		"others with hidden names": {"<FilesMatch \"^\\.(a|b)|c\">\nDeny from all\n</FilesMatch>\n<FilesMatch \"^\\.[(]|c\">\nDeny from all\n</FilesMatch>\n<FilesMatch \"^\\.\\(|c\">\nDeny from all\n</FilesMatch>\n<FilesMatch \"^\\.\\Q(\\E|c\">\nDeny from all\n</FilesMatch>\n<FilesMatch \"^\\.(?#()|c)\">\nDeny from all\n</FilesMatch>\n<FilesMatch \"^\\.(a|b\">\nDeny from all\n</FilesMatch>\n<FilesMatch \"^\\.a)|(c\">\nDeny from all\n</FilesMatch>", []Rule{{1, "<FilesMatch>", true}, {4, "<FilesMatch>", true}, {7, "<FilesMatch>", true}, {10, "<FilesMatch>", true}, {13, "<FilesMatch>", true}, {16, "<FilesMatch>", true}, {19, "<FilesMatch>", true}}},
		"some files are granted":   {"<FilesMatch \"\\.css$\">\nRequire all granted\n</FilesMatch>\n<Files x>\nOrder deny,allow\nAllow from all\n</Files>", nil},
		"in a closed directory":    {"<Files x>\nRequire all granted\n</Files>\nRequire all denied", []Rule{{1, "<Files>", false}}},
		"others with hidden files": {"<FilesMatch \"^\\.|\\.log$\">\nDeny from all\n</FilesMatch>\n<FilesMatch \"^\\.*\">\nDeny from all\n</FilesMatch>\n<FilesMatch \".env\">\nDeny from all\n</FilesMatch>", []Rule{{1, "<FilesMatch>", true}, {4, "<FilesMatch>", true}, {7, "<FilesMatch>", true}}},
		"headers":                  {"<IfModule mod_headers.c>\nHeader set X-A b\n</IfModule>", []Rule{{2, "Header", false}}},
		"forbidden":                {"RewriteEngine on\nRewriteRule ^private/ - [F,L]", []Rule{{2, "RewriteRule", true}}},
		"moved":                    {"RewriteEngine on\nRewriteRule ^old$ /new [R=301,L]", []Rule{{2, "RewriteRule", false}}},
		"one address":              {"Order deny,allow\nDeny from all\nAllow from 192.0.2.1", []Rule{{3, "Allow", true}}},
		"other modules":            {"<IfModule !mod_headers.c>\nHeader set X-A b\n</IfModule>", nil},
	} {
		if got := Parse(test.text).Ignored; !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("<Files x>\nRequire all denied\n</Files>")
	f.Fuzz(func(t *testing.T, text string) {
		for _, rule := range Parse(text).Ignored {
			if rule.Line < 1 || !IsName(rule.Directive) {
				t.Errorf("%+v", rule)
			}
		}
	})
}
