package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"stead.dev/stead/internal/front/customer"
	"stead.dev/stead/internal/platform/atomicfile"
	"stead.dev/stead/internal/platform/clock"
	stead "stead.dev/stead/sdk/go"
)

// sitesCmd has the commands about a customer's services.
type sitesCmd struct {
	List     sitesList     `cmd:"" default:"withargs" help:"List your services, the newest first."`
	Show     sitesShow     `cmd:"" help:"Show a service, its domains and what it uses of its plan."`
	Releases sitesReleases `cmd:"" help:"List what was deployed; stead deploy --rollback brings one back."`
	Backup   sitesBackup   `cmd:"" help:"Make a backup of a service."`
	Backups  sitesBackups  `cmd:"" help:"List its backups."`
	Download sitesDownload `cmd:"" help:"Download a backup: a tar.gz with a directory for each part."`
	Restore  sitesRestore  `cmd:"" help:"Restore a backup, or parts of it."`
}

type sitesList struct {
	Status string `help:"Only those in this state, such as active." placeholder:"STATE"`
	Query  string `help:"Only those whose domain or label contains it." short:"q" placeholder:"TEXT"`
	atServer
}

// Run lists services.
func (c *sitesList) Run(e *environment) error {
	return c.with(e, func(s *customer.Session) error {
		all, err := s.AllSites(e.ctx, stead.ServicesQuery{Status: c.Status, Q: c.Query})
		if err != nil {
			return err
		}
		return e.show(all, func(w io.Writer) {
			row(w, "ID", "DOMAIN", "STATUS", "PLAN", "PAID UNTIL", "LABEL")
			for _, s := range all {
				row(w, s.ID, domainOf(s), s.Status, s.Plan.Name, day(s.ExpiresAt), s.Label)
			}
		})
	})
}

func domainOf(s stead.Service) string {
	if s.UnicodeDomain != nil {
		return *s.UnicodeDomain
	}
	return text(s.Domain)
}

// text is an optional value in a table.
func text[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

func day(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Format(time.DateOnly)
}

func moment(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.Format("2006-01-02 15:04")
}

type sitesShow struct{ siteArg }

// shownSite is a service with what belongs to it.
type shownSite struct {
	stead.Service
	Domains []stead.HostingDomain `json:"domains"`
	Usage   *stead.HostingUsage   `json:"usage"`
}

// Run shows a service.
func (c *sitesShow) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		shown := shownSite{Service: site.Service, Domains: []stead.HostingDomain{}}
		if site.Type == "hosting" && (site.Status == stead.ServiceStatusActive || site.Status == stead.ServiceStatusPastDue) {
			for d, err := range s.Hosting.Domains.All(e.ctx, site.ID, stead.HostingDomainsQuery{PerPage: 50}) {
				if err != nil {
					return err
				}
				shown.Domains = append(shown.Domains, d)
			}
			var err error
			if shown.Usage, err = s.Hosting.Usage(e.ctx, site.ID); err != nil {
				return err
			}
		}
		return e.show(shown, func(w io.Writer) { printSite(w, shown) })
	})
}

func printSite(w io.Writer, s shownSite) {
	row(w, "id", s.ID)
	row(w, "domain", domainOf(s.Service))
	row(w, "label", s.Label)
	row(w, "status", s.Status)
	if s.SuspendReason != nil {
		row(w, "suspended because", *s.SuspendReason)
	}
	if s.FailureKey != nil {
		row(w, "failed because", *s.FailureKey)
	}
	row(w, "plan", s.Plan.Name)
	row(w, "paid until", day(s.ExpiresAt))
	row(w, "renews by itself", yesNo(s.AutoRenew))
	row(w, "addresses", strings.TrimSpace(strings.Trim(text(s.IPv4)+" "+text(s.IPv6), "- ")))
	row(w, "name servers", strings.Join(s.Nameservers, " "))
	if s.OriginURL != nil {
		row(w, "preview", *s.OriginURL)
	}
	for _, d := range s.Domains {
		row(w, "domain, "+d.Kind, d.Name+" "+cmp.Or(deref(d.RedirectTo), deref(d.DocumentRoot)))
	}
	if s.Usage != nil {
		row(w, "disk", meterText(s.Usage.DiskMB, "MB"))
		row(w, "files", meterText(s.Usage.Inodes, ""))
		row(w, "databases", meterText(s.Usage.Databases, ""))
		row(w, "mailboxes", meterText(s.Usage.Mailboxes, ""))
	}
}

// meterText is what is used of a limit.
func meterText(m stead.HostingMeter, unit string) string {
	limit := "no limit"
	if m.Limit >= 0 {
		limit = strings.TrimSpace(fmt.Sprint(m.Limit, " ", unit))
	}
	return text(m.Used) + " of " + limit
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

type sitesReleases struct{ siteArg }

// Run lists releases.
func (c *sitesReleases) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		all, err := s.Releases(e.ctx, site)
		if err != nil {
			return err
		}
		return e.show(all, func(w io.Writer) {
			row(w, "RELEASE", "AT", "FILES", "CHANGED", "NEW", "REMOVED", "BRINGS BACK")
			for _, r := range all {
				row(w, r.ID, moment(&r.CreatedAt), r.Files, r.Changed, r.Added, r.Removed, text(r.Restores))
			}
		})
	})
}

type sitesBackups struct{ siteArg }

// Run lists backups.
func (c *sitesBackups) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		all, err := s.AllBackups(e.ctx, site.ID)
		if err != nil {
			return err
		}
		return e.show(all, func(w io.Writer) {
			row(w, "ID", "AT", "KIND", "STATUS", "MB", "KEPT UNTIL", "NOTE")
			for _, b := range all {
				row(w, b.ID, moment(&b.CreatedAt), b.Kind, b.Status, b.SizeMB, day(b.ExpiresAt), deref(b.Note))
			}
		})
	})
}

// pollPause is how often a command asks whether a task has ended.
const pollPause = time.Second

type sitesBackup struct {
	siteArg
	Note   string   `help:"What it is for."`
	Parts  []string `help:"Only these parts: files, databases, mail, dns, cron." placeholder:"PART"`
	NoWait bool     `help:"Do not wait until it is complete."`
}

// Run makes a backup.
func (c *sitesBackup) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		body := stead.BackupsCreateBody{Parts: c.Parts}
		if c.Note != "" {
			body.Note = &c.Note
		}
		b, err := s.Backups.Create(e.ctx, site.ID, body)
		for err == nil && !c.NoWait && (b.Status == stead.BackupStatusQueued || b.Status == stead.BackupStatusRunning) {
			if err = clock.Sleep(e.ctx, pollPause); err == nil {
				b, err = s.Backup(e.ctx, site.ID, b.ID)
			}
		}
		if err != nil {
			return err
		}
		err = e.show(b, func(w io.Writer) { row(w, fmt.Sprintf("Backup %d of %s: %s", b.ID, site.Name, b.Status)) })
		if err == nil && b.Status == stead.BackupStatusFailed {
			return &stead.Error{Status: 422, Key: cmp.Or(deref(b.ErrorKey), "backup_failed"), Message: "the backup failed"}
		}
		return err
	})
}

type sitesDownload struct {
	siteArg
	Backup int64  `arg:"" help:"Id of the backup, as stead sites backups shows it."`
	To     string `help:"New file, or - for standard output; by default SITE-BACKUP.tar.gz." placeholder:"FILE"`
}

// Run downloads a backup. A file is there whole or not at all, and nobody else can read it.
func (c *sitesDownload) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) (err error) {
		name := c.To
		if name == "" {
			name = fmt.Sprintf("%s-%d.tar.gz", strings.ReplaceAll(site.Name, "/", "-"), c.Backup)
		}
		if name != "-" {
			if _, err := os.Lstat(name); err == nil {
				return usageError{fmt.Errorf("%s is there already: name another file by --to", name)}
			}
		}
		d, err := s.Backups.Download(e.ctx, site.ID, c.Backup)
		if err != nil {
			return err
		}
		defer d.Close()
		if name == "-" {
			_, err = io.Copy(e.stdout, d)
			return err
		}
		var size int64
		err = atomicfile.WriteStream(name, 0o600, func(w io.Writer) (err error) {
			size, err = io.Copy(w, d)
			return err
		})
		if err != nil {
			return err
		}
		return e.show(map[string]any{"file": name, "bytes": size}, func(w io.Writer) { row(w, fmt.Sprintf("%s: %s", name, customer.Bytes(size))) })
	})
}

type sitesRestore struct {
	siteArg
	Backup int64    `arg:"" help:"Id of the backup, as stead sites backups shows it."`
	Parts  []string `help:"Only these parts: files, databases, mail, dns, cron." placeholder:"PART"`
	Items  []string `help:"With one part: only these files and directories, databases or mailboxes." placeholder:"ITEM"`
	Target string   `help:"With files: a directory to put them into, beside what is there." placeholder:"DIRECTORY"`
	Yes    bool     `help:"Do not ask."`
	NoWait bool     `help:"Do not wait until it is complete."`
}

// Run restores a backup.
func (c *sitesRestore) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		what := "everything that it has"
		if len(c.Parts) > 0 {
			what = strings.Join(append(c.Parts, c.Items...), ", ")
		}
		if err := e.confirm(c.Yes, fmt.Sprintf("Backup %d replaces %s of %s. What is there now is backed up before.", c.Backup, what, site.Name)); err != nil {
			return err
		}
		body := stead.BackupsRestoreBody{Parts: c.Parts, Items: c.Items}
		if c.Target != "" {
			body.Target = &c.Target
		}
		b, err := s.Backups.Restore(e.ctx, site.ID, c.Backup, body)
		for err == nil && !c.NoWait && b.Restore != nil && b.Restore.FinishedAt == nil {
			if err = clock.Sleep(e.ctx, pollPause); err == nil {
				b, err = s.Backup(e.ctx, site.ID, b.ID)
			}
		}
		if err != nil {
			return err
		}
		state, key := b.Status, ""
		if b.Restore != nil {
			state, key = b.Restore.Status, deref(b.Restore.ErrorKey)
		}
		err = e.show(b, func(w io.Writer) { row(w, fmt.Sprintf("Restore of backup %d to %s: %s", b.ID, site.Name, state)) })
		if err == nil && state == stead.BackupsRestoreStatusFailed {
			return &stead.Error{Status: 422, Key: cmp.Or(key, "restore_failed"), Message: "the restore failed"}
		}
		return err
	})
}

// confirm asks the person at the terminal; without one only yes will do.
func (e *environment) confirm(yes bool, what string) error {
	if yes {
		return nil
	}
	if !e.terminal() {
		return usageError{fmt.Errorf("%s Say --yes when nobody can be asked", what)}
	}
	_, _ = fmt.Fprintf(e.stderr, "%s Continue? [y/N] ", what)
	answer, err := e.readLine("answer")
	if err != nil || !strings.EqualFold(answer, "y") && !strings.EqualFold(answer, "yes") {
		return exitError(exitRefused)
	}
	return nil
}

type logsCmd struct {
	siteArg
	Follow bool          `short:"f" help:"Go on with lines as they are written, until you stop it."`
	Type   string        `help:"Which log: ${enum}." enum:"access,error,php,mail,cron" default:"access"`
	Lines  int64         `short:"n" help:"How many lines, at most 500." default:"100"`
	Query  string        `short:"q" help:"Only lines that contain it." placeholder:"TEXT"`
	Since  time.Duration `help:"Only lines of the last while, such as 2h."`
}

// Run prints a log, the oldest line first.
func (c *logsCmd) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		lines := customer.Lines{Type: c.Type, Text: c.Query, Since: c.Since, Most: min(c.Lines, 500)}
		found, cursor, err := s.LogLines(e.ctx, site.ID, lines)
		if err != nil {
			return err
		}
		if !c.Follow {
			return e.show(found, func(w io.Writer) {
				for _, l := range found {
					_, _ = io.WriteString(w, logLine(l))
				}
			})
		}
		tell := func(l stead.LogsLine) error {
			if e.json {
				return e.printLine(l)
			}
			_, err := io.WriteString(e.stdout, logLine(l))
			return err
		}
		for _, l := range found {
			if err := tell(l); err != nil {
				return err
			}
		}
		err = s.Follow(e.ctx, site.ID, lines, cursor, tell)
		if errors.Is(err, context.Canceled) {
			err = nil // this is how one stops it
		}
		return err
	})
}

// logLine is a line of a log as people read it. Visitors write what is in it, so nothing of it may command the terminal.
func logLine(l stead.LogsLine) string {
	message := strings.NewReplacer("\n", " ", "\t", " ").Replace(printable(l.Message))
	return fmt.Sprintf("%s  %-8s  %s\n", l.At.Format(time.DateTime), l.Level, message)
}
