package access

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// sshKey is a row of access_ssh_keys.
type sshKey struct {
	site.Owned

	name, kind, publicKey, fingerprint string

	lastUsedAt *time.Time
	createdAt  time.Time
}

const (
	maxKeys    = 50    // of a service
	maxKey     = 16384 // bytes that are read; the longest key in use is a tenth of it
	maxKeyName = 100   // letters
	leastRSA   = 2048  // bits
)

// kinds are the types of keys that the server takes, in the order in which they are recommended. DSA is not
// among them, which OpenSSH no longer takes, nor are certificates, which would let others in.
var kinds = map[string]bool{
	ssh.KeyAlgoED25519: true, ssh.KeyAlgoSKED25519: true, ssh.KeyAlgoECDSA256: true, ssh.KeyAlgoECDSA384: true, ssh.KeyAlgoECDSA521: true,
	ssh.KeyAlgoSKECDSA256: true, ssh.KeyAlgoRSA: true,
}

// parseKey reads a public key as people paste it: one line of an authorized_keys or .pub file. Where no name
// is given it is the line's comment.
func parseKey(name, text string) (k sshKey, err error) {
	refuse := func(reason string) (sshKey, error) {
		return sshKey{}, &fault.Error{Def: ErrKeyInvalid, Fields: fault.Fields{"reason": reason}}
	}
	text = strings.TrimSpace(text)
	switch {
	case len(text) > maxKey || !utf8.ValidString(text):
		return refuse("malformed")
	case strings.Contains(text, "PRIVATE KEY"):
		return refuse("private_key")
	case strings.ContainsFunc(text, unicode.IsControl):
		return refuse("several_lines")
	}
	parsed, comment, options, rest, err := ssh.ParseAuthorizedKey([]byte(text))
	switch {
	case err != nil || len(bytes.TrimSpace(rest)) > 0:
		return refuse("malformed")
	case len(options) > 0:
		return refuse("options")
	case !kinds[parsed.Type()]:
		return refuse("type")
	}
	if c, ok := parsed.(ssh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < leastRSA {
			return refuse("too_short")
		}
	}
	if name = strings.TrimSpace(name); name == "" {
		name = strings.TrimSpace(comment)
	}
	if name == "" {
		name = parsed.Type()
	}
	if utf8.RuneCountInString(name) > maxKeyName || strings.ContainsFunc(name, unicode.IsControl) {
		return k, fault.Invalid("name", "access_key_name")
	}
	return sshKey{
		name: name, kind: parsed.Type(), fingerprint: ssh.FingerprintSHA256(parsed),
		publicKey: parsed.Type() + " " + base64.StdEncoding.EncodeToString(parsed.Marshal()),
	}, nil
}

// wantedKeys are the rows in the words of the panel.
func wantedKeys(keys []sshKey) []panel.SSHKey {
	all := make([]panel.SSHKey, len(keys))
	for i, k := range keys {
		all[i] = panel.SSHKey{Name: k.name, PublicKey: k.publicKey}
	}
	return all
}

// shell is a row of access_shells: whether a service has a shell, and where the panel says that it is.
type shell struct {
	site.Item
	enabled     bool
	host        string
	port        int
	username    string
	fingerprint string
	terminal    bool // the panel has terminals; known when the shell is switched
}

// onlyShell is the name on the panel of the one shell that a service has.
const onlyShell = "shell"

// PanelName implements site.Row.
func (shell) PanelName() string { return onlyShell }
