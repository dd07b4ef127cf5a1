package redact_test

import (
	"strings"
	"testing"

	"stead.dev/stead/internal/platform/redact"
)

func TestSecretsOfConfigurationFilesAreMasked(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct{ text, want string }{
		"/public_html/wp-config.php": {
			"define( 'DB_NAME', 's1_wp' );\ndefine('DB_PASSWORD', 'hunter2-x');\n$table_prefix = 'wp_';",
			"define( 'DB_NAME', 's1_wp' );\ndefine('DB_PASSWORD', '⟦secret:db_password⟧');\n$table_prefix = 'wp_';",
		},
		"/.env.production": {
			"APP_NAME=Shop\nexport DB_PASSWORD=\"pa ss\"\nAPP_KEY=base64:abc=\nDEBUG=true # on",
			"APP_NAME=Shop\nexport DB_PASSWORD=\"⟦secret:db_password⟧\"\nAPP_KEY=⟦secret:app_key⟧\nDEBUG=true # on",
		},
		"/x/configuration.php": {"public $password = 'geheim12';\npublic $host = 'localhost';", "public $password = '⟦secret:password⟧';\npublic $host = 'localhost';"},
		"/auth.json":           {`{"http-basic": {"repo": {"username": "u", "password": "geheim12"}}}`, `{"http-basic": {"repo": {"username": "u", "password": "⟦secret:password⟧"}}}`},
		"/database.yml":        {"user: shop\npassword: geheim12\n", "user: shop\npassword: ⟦secret:password⟧\n"},
		"/.htpasswd":           {"anna:$apr1$x$y\nbob:z", "anna:⟦secret:password⟧\nbob:⟦secret:password⟧"},
		"/app/etc/local.xml":   {"<password><![CDATA[geheim12]]></password><host>h</host>", "<password><![CDATA[⟦secret:password⟧]]></password><host>h</host>"},
		"/index.php":           {"$password = $_POST['password'];", "$password = $_POST['password'];"},
	} {
		var m redact.Masker
		if got := m.Mask(file, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, c.want)
		}
		if again := m.Mask(file, c.want); again != c.want {
			t.Errorf("%s, masked twice: %s", file, again)
		}
	}
}

func TestSecretsAreKnownByTheirShape(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\nMIIEow without an end",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLW9m",
		"AKIAIOSFODNN7EXAMPLE",
		"sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
		"ghp_" + strings.Repeat("a1", 18),
		"xoxb-" + "1234567890-abcdef",
		"123456789:AA" + strings.Repeat("x", 33),
		"sta_" + strings.Repeat("a1", 16), "st_se_" + strings.Repeat("a1", 16), "whsec_" + strings.Repeat("a1", 16),
	}
	for _, s := range secrets {
		var m redact.Masker
		if got := m.Mask("", "before "+s+" after"); strings.Contains(got, s) || !strings.HasPrefix(got, "before ⟦secret:") {
			t.Errorf("%s: %s", s, got)
		}
	}
	var m redact.Masker
	got := m.Mask("", "GET /?q=1&token=abcdef123 mysql://shop:geheim12@db/x Authorization: Bearer abcdefgh.ijk curl https://x/heartbeat/abcdefgh12345678/0")
	want := "GET /?q=1&token=⟦secret:query_secret⟧ mysql://shop:⟦secret:url_password⟧@db/x Authorization: Bearer ⟦secret:bearer⟧ curl https://x/heartbeat/⟦secret:heartbeat⟧/0"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, plain := range []string{"https://example.com/a:b@c", "the token ring", "skeleton sk-1", "<h1>password</h1>"} {
		if got := m.Mask("/public_html/a.html", plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

func TestASecretThatWasFoundIsMaskedEverywhere(t *testing.T) {
	t.Parallel()
	var m redact.Masker
	m.Mask("/.env", "DB_PASSWORD=geh/eim+12\nSHORT_PASSWORD=abc")
	m.Learn("issued", "issued-password")
	got := m.Mask("/log", "geh/eim+12 geh%2Feim%2B12 Z2VoL2VpbSsxMg== issued-password abc")
	want := "⟦secret:db_password⟧ ⟦secret:db_password⟧ ⟦secret:db_password⟧ ⟦secret:issued⟧ abc"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !redact.Masked(got) || redact.Masked("⟦other⟧") || !redact.Sensitive("/a/WP-config.bak.php") || redact.Sensitive("/a/key.html") {
		t.Error("what is masked, or sensitive")
	}
}
