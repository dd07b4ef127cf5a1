package ssh

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"

	"stead.dev/stead/internal/port/panel"
)

// parse parses a key in the form of panel.SSHKey: type and base64, and nothing else.
func parse(k panel.SSHKey) (ssh.PublicKey, error) {
	kind, encoded, ok := strings.Cut(k.PublicKey, " ")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return nil, fmt.Errorf("%w: not a public key", panel.ErrInvalid)
	}
	key, err := ssh.ParsePublicKey(data)
	if err != nil || key.Type() != kind {
		return nil, fmt.Errorf("%w: not a public key", panel.ErrInvalid)
	}
	if len(k.Name) > 255 || strings.ContainsFunc(k.Name, unicode.IsControl) {
		return nil, fmt.Errorf("%w: name of a key", panel.ErrInvalid)
	}
	return key, nil
}

// mostKeys bounds the keys of an account; sshd reads all of them at every sign-in.
const mostKeys = 200

// lines are the keys as sshd reads them, each with the options. What goes in was parsed and is written anew:
// nothing of a customer's text reaches the file.
func lines(keys []key, options string) (string, error) {
	var b strings.Builder
	b.WriteString("# Written by the machine's agent; changes are undone.\n")
	for _, k := range keys {
		parsed, err := parse(panel.SSHKey{PublicKey: k.PublicKey})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s %s\n", options, parsed.Type(), base64.StdEncoding.EncodeToString(parsed.Marshal()))
	}
	return b.String(), nil
}
