package panel

import (
	"context"
	"errors"
	"strings"
)

// Kind classifies failures in the same way for every panel. A Kind is itself an error, so that callers write
// errors.Is(err, panel.ErrNotFound).
type Kind string

// The kinds of failure. Callers map them one to one to the keys that customers see.
const (
	ErrNotFound       Kind = "not_found"        // no such account, domain, file
	ErrExists         Kind = "exists"           // the name is taken and may not be replaced
	ErrSuspended      Kind = "suspended"        // the account is suspended and takes no changes
	ErrInUse          Kind = "in_use"           // something else still needs it
	ErrLimit          Kind = "limit"            // a limit of the account, or a guard, was reached
	ErrDiskFull       Kind = "disk_full"        // the account's or the machine's disk is full
	ErrUnreachable    Kind = "unreachable"      // the panel did not answer; try again
	ErrBusy           Kind = "busy"             // the panel refuses work for now; try again
	ErrPathNotAllowed Kind = "path_not_allowed" // the path leads out of the account, or to something that it may not change
	ErrETagMismatch   Kind = "etag_mismatch"    // the file is not the named version
	ErrFileTooLarge   Kind = "file_too_large"   // larger than the caller's limit
	ErrNotText        Kind = "not_text"         // lines were requested of a file that has none
	ErrInvalid        Kind = "invalid"          // the request is invalid
	ErrUnsupported    Kind = "unsupported"      // this panel cannot do it
	ErrInternal       Kind = "internal"         // the panel failed for a reason of its own
)

func (k Kind) Error() string { return string(k) }

// mostKind is longer than any kind, in bytes.
const mostKind = 64

// UnmarshalText implements encoding.TextUnmarshaler. A kind comes from other machines, and is stored and shown, so what has not the
// form of one is ErrInternal. One of a later release is kept as it is.
func (k *Kind) UnmarshalText(text []byte) error {
	*k = Kind(text)
	if len(text) > mostKind || strings.ContainsFunc(string(*k), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		*k = ErrInternal
	}
	return nil
}

// Temporary reports whether the same call may succeed later without any change.
func (k Kind) Temporary() bool { return k == ErrUnreachable || k == ErrBusy }

// Error is the failure of one call on a panel.
type Error struct {
	Kind Kind
	Op   string // the method, for the log: "files.write"
	Ref  string // the account
	Err  error  // the cause, for the log only; nil when the kind says it all
}

func (e *Error) Error() string {
	s := "panel: " + e.Op
	if e.Ref != "" {
		s += " " + e.Ref
	}
	switch cause := e.Err; {
	case cause == nil:
		return s + ": " + string(e.Kind)
	case errors.Is(cause, e.Kind): // the cause itself says the kind
		return s + ": " + cause.Error()
	default:
		return s + ": " + string(e.Kind) + ": " + cause.Error()
	}
}

// Unwrap gives both the kind and the cause to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// KindOf is the kind of err: that of the *Error or Kind within it, ErrInternal for any other
// error, and empty for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var k Kind
	if errors.As(err, &k) {
		return k
	}
	return ErrInternal
}

// Wrap adds the operation and the account to err. It leaves nil, an *Error, and the context's errors unchanged: the
// latter say that the caller left, not that the panel failed.
func Wrap(op, ref string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Kind: KindOf(err), Op: op, Ref: ref, Err: err}
}
