// Package redact removes secrets from the texts of a customer's files and logs before a model or its client sees them.
//
// A secret is found in three ways: by the file, in whose lines the values of members such as DB_PASSWORD are secret; by
// its shape, such as a private key or a token of a known service; and by its value, once one of the first two has found
// it. What is found is replaced by a token that names it, ⟦secret:db_password⟧, so that a reader still sees where it
// stands.
//
// It is a net, not a wall: a secret without a name, in a file with any name, is not found. So texts are redacted beside
// all other limits, never instead of them.
package redact

import (
	"encoding/base64"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Masker redacts the texts of one conversation and remembers the secrets that it has found. The zero value is ready.
// It is not for use by several goroutines at once.
type Masker struct {
	seen map[string]string // the forms of a secret, to its token
	// forms are the keys of seen, the longest first, so that a secret that holds another one goes first.
	forms []string
}

// minSecret is the length from which a value is looked for elsewhere: shorter ones are words of any text.
const minSecret = 6

// Learn adds a secret that is known otherwise, such as a password that this platform has issued.
func (m *Masker) Learn(name, value string) {
	if len(value) < minSecret || isToken(value) {
		return
	}
	for _, form := range []string{
		value, url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
	} {
		if m.seen[form] == "" {
			if m.seen == nil {
				m.seen = map[string]string{}
			}
			m.seen[form] = token(name)
			m.forms = append(m.forms, form)
		}
	}
	slices.SortStableFunc(m.forms, func(a, b string) int { return len(b) - len(a) })
}

// Mask returns a text without its secrets. file is the path that it is from; empty when it is from no file.
func (m *Masker) Mask(file, text string) string {
	if Sensitive(file) {
		text = m.maskMembers(file, text)
	}
	for _, s := range shapes {
		text = s.find.ReplaceAllStringFunc(text, func(found string) string {
			parts := s.find.FindStringSubmatch(found)
			secret := parts[len(parts)-1]
			if isToken(secret) {
				return found
			}
			m.Learn(s.name, secret)
			return strings.Replace(found, secret, token(s.name), 1)
		})
	}
	for _, form := range m.forms {
		text = strings.ReplaceAll(text, form, m.seen[form])
	}
	return text
}

// maskMembers masks the values of members whose names sound secret.
func (m *Masker) maskMembers(file, text string) string {
	if path.Base(strings.ToLower(file)) == ".htpasswd" {
		return htpasswd.ReplaceAllString(text, "${1}"+token("password"))
	}
	for _, form := range members {
		text = form.ReplaceAllStringFunc(text, func(found string) string {
			at := form.FindStringSubmatchIndex(found)
			name, value := found[at[2]:at[3]], found[at[4]:at[5]]
			if !secretName.MatchString(name) || value == "" || isToken(value) {
				return found
			}
			m.Learn(name, value)
			return found[:at[4]] + token(name) + found[at[5]:]
		})
	}
	return text
}

// token is what stands in the place of a secret.
func token(name string) string {
	return open + strings.ToLower(strings.Trim(notName.ReplaceAllString(name, "_"), "_")) + shut
}

const open, shut = "⟦secret:", "⟧"

func isToken(s string) bool { return strings.HasPrefix(s, open) }

// Masked tells whether a text has the token of a secret in it. Such a text must never be written back into a file: the
// secret would be lost.
func Masked(text string) bool { return strings.Contains(text, open) }

// Sensitive tells whether a file is known to hold secrets: it may be read redacted, and is never moved, replaced or
// deleted by a program that does not see all of it.
func Sensitive(file string) bool {
	name := strings.ToLower(path.Base(file))
	return sensitiveNames[name] || strings.HasPrefix(name, ".env") || strings.HasPrefix(name, "wp-config") ||
		sensitiveEnds.MatchString(name)
}

var sensitiveNames = map[string]bool{
	"configuration.php": true, "auth.json": true, ".htpasswd": true, ".npmrc": true, ".pgpass": true, ".my.cnf": true, ".netrc": true,
	"settings.php": true, "settings.local.php": true, "local_settings.py": true, "database.yml": true, "database.php": true, "secrets.yml": true,
	"secrets.json": true, "credentials.json": true, "parameters.yml": true, "config.inc.php": true, "local.xml": true, "env.php": true,
	"id_rsa": true, "id_ecdsa": true, "id_ed25519": true,
}

var (
	sensitiveEnds = regexp.MustCompile(`\.(key|pem|p12|pfx|env)$`)
	secretName    = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|pwd|secret|token|salt|api_?key|auth_?key|private_?key|access_?key|app_?key|logged_in_key|secure_auth_key|nonce_key|credential|dsn|_url$)`)
	notName       = regexp.MustCompile(`[^A-Za-z0-9]+`)
	htpasswd      = regexp.MustCompile(`(?m)^([^:\n]+:).+$`)
)

// members are the forms in which configuration files name a value: each finds a name and a value.
var members = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*"([^"\n]*)"`),               // .env, ini
	regexp.MustCompile(`(?m)^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*'([^'\n]*)'`),               //
	regexp.MustCompile(`(?m)^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*([^\s"'#;][^\s#;]*)`), //
	regexp.MustCompile(`define\s*\(\s*["']([^"']+)["']\s*,\s*["']((?:[^"'\\]|\\.)*)["']`),                 // define('NAME', 'value')
	regexp.MustCompile(`["']([^"'\n]+)["']\s*=>\s*["']((?:[^"'\\\n]|\\.)*)["']`),                          // 'name' => 'value'
	regexp.MustCompile(`["']([^"'\n]+)["']\s*:\s*["']((?:[^"'\\\n]|\\.)*)["']`),                           // "name": "value"
	regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)\s*=\s*["']((?:[^"'\\\n]|\\.)*)["']`),                   // $name = 'value'
	regexp.MustCompile(`(?m)^\s*([A-Za-z_][A-Za-z0-9_-]*):[ \t]+["']?([^\s"'#]+)`),                        // YAML
	regexp.MustCompile(`<([a-z_]+)>(?:<!\[CDATA\[)?([^<\]]+)`),                                            // XML
}

// shapes are secrets that are known by how they look; the last group is the secret.
var shapes = []struct {
	name string
	find *regexp.Regexp
}{
	{"private_key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
	{"jwt", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
	{"url_password", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/@"']+:([^\s/@"']+)@`)},
	{"bearer", regexp.MustCompile(`(?i)\bauthorization:\s*(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})`)},
	{"query_secret", regexp.MustCompile(`(?i)[?&](?:[a-z_]*(?:password|passwd|token|secret|api_?key|signature))=([^\s&"']{6,})`)},
	{"aws_key", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"stripe_key", regexp.MustCompile(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`)},
	{"github_token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`)},
	{"slack_token", regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`)},
	{"google_key", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`)},
	{"llm_key", regexp.MustCompile(`\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}`)},
	{"telegram_token", regexp.MustCompile(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`)},
	{"stead_token", regexp.MustCompile(`\b(?:sta|str|sts|stc|st_[a-z]{2})_[A-Za-z0-9_-]{20,}`)}, // of this platform's interface and sessions
	{"webhook_secret", regexp.MustCompile(`\bwhsec_[A-Za-z0-9_+/=-]{16,}`)},
	{"heartbeat", regexp.MustCompile(`/heartbeat/([A-Za-z0-9_-]{16,})`)},
	{"reseller_key", regexp.MustCompile(`\brsk_(?:test_)?[A-Za-z0-9]{16,}`)},
}
