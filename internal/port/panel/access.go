package panel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// The capabilities of this file.
const (
	CapFTP      Capability = "ftp"      // FTP
	CapShell    Capability = "shell"    // Shell
	CapTerminal Capability = "terminal" // Terminal
)

// FTPAccount is a login for a directory of an account by FTP over TLS.
type FTPAccount struct {
	Username string `json:"username"` // for signing in: the account's name, "_" and a name of its own
	Home     string `json:"home"`     // directory that the login sees as "/"; path in the account's home
	QuotaMB  int64  `json:"quota_mb"` // mebibytes of files in Home; zero for none but the account's own
	ReadOnly bool   `json:"readonly"`
	// Password is passed to SetFTPAccount and never returned.
	Password string `json:"password,omitempty"`
	// PasswordVersion names the password that is in effect.
	PasswordVersion string `json:"password_version"`

	// The following is reported by the panel.
	Host        string     `json:"host"` // where it signs in
	Port        int        `json:"port"`
	UsedMB      int64      `json:"used_mb"` // mebibytes of files in Home when they were last counted
	LastLoginAt *time.Time `json:"last_login_at"`
}

// FTP manages logins for parts of an account's files. Their only separation from the account is their home: files that
// they create belong to the account.
type FTP interface {
	// FTPAccounts lists those of an account, by user name.
	FTPAccounts(ctx context.Context, ref string) ([]FTPAccount, error)
	// SetFTPAccount creates or changes a login. It creates Home when it is missing. A Password with a new version
	// replaces the present one; with the same version it is ignored. ErrInvalid: the user name does not begin with the
	// account's, or a new login has no password. ErrPathNotAllowed: Home is not within the account's home.
	SetFTPAccount(ctx context.Context, ref string, a FTPAccount) (FTPAccount, error)
	// RemoveFTPAccount ends one and its sessions; files stay. ErrNotFound when there is none.
	RemoveFTPAccount(ctx context.Context, ref, username string) error
}

// ShellAccess says where an account signs in by SSH, and what it gets. SFTP is always available, a shell only when
// enabled; both accept the account's keys and no password.
type ShellAccess struct {
	Enabled bool `json:"enabled"` // a shell, besides SFTP

	// The following is reported by the panel.
	Host        string `json:"host"`
	Port        int    `json:"port"`
	Username    string `json:"username"`
	Fingerprint string `json:"fingerprint"` // of the server's key: "SHA256:" and unpadded base64
}

// SSHKey is a public key that may sign in to an account.
type SSHKey struct {
	Name      string `json:"name"`       // one line
	PublicKey string `json:"public_key"` // type and key as in an authorized_keys file, without options and comment
	// LastUsedAt is reported by the panel; nil when the key was not used since it was set, or uses are not recorded.
	LastUsedAt *time.Time `json:"last_used_at"`
}

// Shell manages SSH access to accounts.
type Shell interface {
	ShellAccess(ctx context.Context, ref string) (ShellAccess, error)
	// SetShellAccess switches the shell on or off; off ends its open sessions.
	SetShellAccess(ctx context.Context, ref string, enabled bool) (ShellAccess, error)
	// SSHKeys lists the account's keys in the order in which they were set.
	SSHKeys(ctx context.Context, ref string) ([]SSHKey, error)
	// SetSSHKeys replaces all keys of the account. ErrInvalid: one is no public key.
	SetSSHKeys(ctx context.Context, ref string, keys []SSHKey) error
}

// TerminalSize is of a terminal's window, in characters. Each is 1 to MaxTerminalSize.
type TerminalSize struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// MaxTerminalSize bounds a window.
const MaxTerminalSize = 1000

// Valid reports whether a window can have the size.
func (s TerminalSize) Valid() bool {
	return 0 < s.Columns && s.Columns <= MaxTerminalSize && 0 < s.Rows && s.Rows <= MaxTerminalSize
}

// Terminal opens a shell of an account in a terminal.
type Terminal interface {
	// OpenTerminal starts the account's shell in a terminal of the given size. What is typed comes from
	// input, a stream of TerminalInput as TerminalWriter makes it, which is read until the shell ends; what
	// the terminal shows goes out, until the shell ends, the stream is closed or ctx ends: each of them
	// ends the shell and all that it started. The end of input hangs up. ErrUnsupported: the shell is not
	// enabled. ErrSuspended. ErrBusy: the account has as many terminals as it may.
	OpenTerminal(ctx context.Context, ref string, size TerminalSize, input io.Reader) (io.ReadCloser, error)
}

// TerminalInput is one input of a terminal: typed bytes, or a new size of the window.
type TerminalInput struct {
	Data   []byte        `json:"data,omitempty"`
	Resize *TerminalSize `json:"resize,omitempty"`
}

// TerminalWriter writes the input of a terminal: one JSON text per line. It is safe for concurrent use.
type TerminalWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewTerminalWriter writes to w.
func NewTerminalWriter(w io.Writer) *TerminalWriter { return &TerminalWriter{w: w} }

// Write implements io.Writer: p was typed.
func (t *TerminalWriter) Write(p []byte) (int, error) {
	if err := t.send(TerminalInput{Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Resize sends a new size of the window.
func (t *TerminalWriter) Resize(s TerminalSize) error { return t.send(TerminalInput{Resize: &s}) }

func (t *TerminalWriter) send(in TerminalInput) error {
	line, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err = t.w.Write(append(line, '\n'))
	return err
}

// ReadTerminalInput calls do with each input from r until r ends, which is no error.
func ReadTerminalInput(r io.Reader, do func(TerminalInput) error) error {
	d := json.NewDecoder(r)
	for {
		var in TerminalInput
		if err := d.Decode(&in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("terminal: input: %w", err)
		}
		if in.Resize != nil && !in.Resize.Valid() {
			return fmt.Errorf("%w: terminal of %d by %d", ErrInvalid, in.Resize.Columns, in.Resize.Rows)
		}
		if err := do(in); err != nil {
			return err
		}
	}
}
