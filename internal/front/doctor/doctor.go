// Package doctor examines an installation from outside, and says what is wrong and what to do about it. It changes
// nothing, needs no running server, and continues after a failure, so that one report has all findings.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
)

// Status is the result of a check.
type Status string

// The results, from good to bad. A check is skipped when its object does not exist, or could not be reached for a
// reason that another check reports.
const (
	OK   Status = "ok"
	Skip Status = "skip"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is one finding.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is the observation, Do the remedy.
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

// Report is all findings in the order of the checks.
type Report struct {
	Checks []Check `json:"checks"`
	// Worst of the findings; a skipped check counts as good.
	Worst Status `json:"worst"`
}

// Ledger recomputes the money of the wallet from its postings: an error says what does not add up.
type Ledger func(ctx context.Context, d *db.DB) error

// Installation is the examined installation.
type Installation struct {
	Config config.Config
	Clock  clock.Clock
	// DatabaseFile and KeyFile are where the server would look for them.
	DatabaseFile, KeyFile, NodeDir string
	Ledger                         Ledger
	// Invoices checks that the numbers of invoices have no gap.
	Invoices Ledger
	// Registry checks that the registry of domain names accepts our login; nil when none is configured.
	Registry func(ctx context.Context) error
	// OwnCertificate tells when the certificate ends that Stead got itself for one of its hosts; nil where it gets none.
	OwnCertificate func(ctx context.Context, host string) (time.Time, error)
	// MailGuard checks that the users of accounts reach no mail servers, on a hosting machine of the kind linux; nil
	// elsewhere.
	MailGuard func(ctx context.Context) error
	// Adminer reports whether this hosting machine, of the kind linux and with databases, has what opens them in browsers; nil
	// elsewhere.
	Adminer func() bool
	// Nodes lists the hosting machines that have joined, and calls each.
	Nodes func(ctx context.Context, d *db.DB) ([]Node, error)
	// Strays counts the accounts about which the hosting machines that answer and the database disagree; nil: they are not compared.
	Strays func(ctx context.Context, d *db.DB) (int, error)
	// Rooms tells for each plan on sale how many more services the nodes have room for; nil where services go to one panel.
	Rooms func(ctx context.Context, d *db.DB) ([]Room, error)
	// Unfulfillable lists the plans on sale that promise what no server has, each with what lacks.
	Unfulfillable func(ctx context.Context, d *db.DB) ([]string, error)
	// NoSandboxes is set where no process has the simulated machine on which the services of sandboxes are.
	NoSandboxes bool
	// Version of this program.
	Version string
}

// patience bounds each check: a service that does not answer is a finding, not a reason to wait. What reads all rows of the
// books may take as long as bookPatience.
const (
	patience     = 5 * time.Second
	bookPatience = 2 * time.Minute
)

// Examine makes the report.
func Examine(ctx context.Context, in Installation) Report {
	e := &examination{Installation: in}
	e.look(ctx, "configuration", e.configuration)
	e.look(ctx, "data directory", e.dataDir)
	e.look(ctx, "disk space", e.disk)
	e.look(ctx, "key file", e.key)
	e.look(ctx, "database", e.database)
	if e.db != nil {
		defer func() { _ = e.db.Close() }()
	}
	e.look(ctx, "connections", e.connections)
	e.look(ctx, "replicas", e.replicas)
	e.look(ctx, "migrations", e.migrations)
	e.look(ctx, "stored secrets", e.sealed)
	e.lookFor(ctx, bookPatience, "ledger", e.ledger)
	e.lookFor(ctx, bookPatience, "invoices", e.invoices)
	e.look(ctx, "failed jobs", e.jobs)
	e.look(ctx, "backups", e.backups)
	e.look(ctx, "control plane backup", e.controlBackup)
	e.look(ctx, "hold", e.hold)
	e.look(ctx, "base URL", e.baseURL)
	e.look(ctx, "server", e.server)
	e.look(ctx, "certificate", e.certificate)
	e.look(ctx, "mail", e.mail)
	if e.Registry != nil {
		e.look(ctx, "registry", e.registry)
	}
	e.look(ctx, "node", e.node)
	if e.MailGuard != nil {
		e.look(ctx, "mail guard", e.mailGuard)
	}
	if e.Adminer != nil {
		e.look(ctx, "adminer", e.adminer)
	}
	e.lookAll(ctx, "nodes", e.nodes)
	if e.Strays != nil {
		e.look(ctx, "accounts", e.strays)
	}
	if e.Rooms != nil {
		e.look(ctx, "room", e.room)
	}
	if e.Unfulfillable != nil {
		e.look(ctx, "plans", e.plans)
	}
	if e.NoSandboxes {
		e.look(ctx, "sandboxes", e.sandboxes)
	}
	e.look(ctx, "clock", e.clockOffset)
	return e.report()
}

// Unreadable is the report of an installation whose configuration cannot be read; nothing else can be checked.
func Unreadable(err error) Report {
	return Report{Worst: Fail, Checks: []Check{{
		Name: "configuration", Status: Fail, Found: err.Error(), Do: "correct the settings; `stead config` explains them",
	}}}
}

type examination struct {
	Installation
	db     *db.DB
	checks []Check
}

// look runs one check with its own timeout.
func (e *examination) look(ctx context.Context, name string, check func(context.Context) Check) {
	e.lookAll(ctx, name, func(ctx context.Context) []Check { return []Check{check(ctx)} })
}

// lookAll runs one check that may have several findings.
func (e *examination) lookAll(ctx context.Context, name string, check func(context.Context) []Check) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e.note(name, check(ctx)...)
}

// lookFor is look with another timeout.
func (e *examination) lookFor(ctx context.Context, timeout time.Duration, name string, check func(context.Context) Check) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	e.note(name, check(ctx))
}

func (e *examination) note(name string, all ...Check) {
	for _, c := range all {
		c.Name = name
		e.checks = append(e.checks, c)
	}
}

func (e *examination) report() Report {
	r := Report{Checks: e.checks, Worst: OK}
	for _, worse := range []Status{Warn, Fail} {
		if slices.ContainsFunc(e.checks, func(c Check) bool { return c.Status == worse }) {
			r.Worst = worse
		}
	}
	return r
}

func ok(format string, args ...any) Check { return found(OK, "", format, args) }

func skip(found string) Check { return Check{Status: Skip, Found: found} }

func warn(do, format string, args ...any) Check {
	return found(Warn, do, format, args)
}

func fail(do, format string, args ...any) Check {
	return found(Fail, do, format, args)
}

// found formats an observation as one line; drivers' errors may have several.
func found(status Status, do, format string, args []any) Check {
	return Check{Status: status, Found: strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "), Do: do}
}

// Write prints the report for people.
func (r Report) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, c := range r.Checks {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", c.Status, c.Name, c.Found) // tabwriter reports errors at Flush
		if c.Do != "" {
			_, _ = fmt.Fprintf(table, "\t\t→ %s\n", c.Do)
		}
	}
	return table.Flush()
}
