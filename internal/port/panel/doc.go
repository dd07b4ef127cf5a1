// Package panel is the port to whatever really hosts accounts: this project's own node, a
// company's existing panels, or a simulated world for sandbox customers.
//
// A panel is a value of type Panel; what else it can do is found by type assertion on the small
// capability interfaces of this package (Accounts, Usages, Sites, Files, Archives). An operation
// whose capability is missing is answered as ErrUnsupported by the caller.
//
// Rules that hold for every method of every capability:
//
//   - An account is named by its ref: the platform's own id of the service, kept by the panel as a
//     remote tag. Nothing else identifies it, so a job that runs twice finds what it made before.
//   - Every method may be called again with the same arguments. A repeated change is a no-op that
//     answers as the first call did.
//   - Every failure is an *Error with a Kind, or the context's own error. An unknown ref is
//     ErrNotFound everywhere.
//   - Domain names are lower-case ASCII (CanonicalDomain). File paths are slash-separated and
//     rooted at the account's home: "/public_html/index.html".
//   - Arguments and answers are plain structs and streams, so that the same calls work in-process
//     and over a wire.
//
// The suite in paneltest states these contracts as tests; every adapter passes it.
package panel
