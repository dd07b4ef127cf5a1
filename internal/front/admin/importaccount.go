package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/hosting/cron"
	"stead.dev/stead/internal/hosting/databases"
	"stead.dev/stead/internal/hosting/dns"
	"stead.dev/stead/internal/hosting/mail"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/hosting/sitedomains"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/domainname"
	"stead.dev/stead/internal/platform/fault"
)

// Hosting is what an import of accounts works with.
type Hosting struct {
	Sites     *sitedomains.Service
	DNS       *dns.Service
	Databases *databases.Service
	Mail      *mail.Service
	Cron      *cron.Service
	Secrets   Secrets
	// Panels are the hosting machines, to which content is sent. The jobs of a server make what rows say.
	Panels site.Panels
}

// Secrets has the passwords of databases.
type Secrets interface {
	Secret(ctx context.Context, q db.Querier, kind string, subjectID int64) (password, version string, err error)
}

// AccountImport says how an archive is brought into a service.
type AccountImport struct {
	ServiceID int64
	// DryRun changes nothing: the report says what would be done.
	DryRun bool
	// Replace puts files and databases of the archive into the place of those that are there.
	Replace bool
	// Told hears what is being done.
	Told func(what string)
}

// The states of things in the report of an import.
const (
	importNew    = "new"    // brought along, or it would be
	importThere  = "there"  // the service had it already
	importLeft   = "left"   // it is not brought along, and why
	importFailed = "failed" // it could not be brought along now: another run may
)

// AccountReport says what an import of an account does, or would do.
type AccountReport struct {
	ServiceID int64          `json:"service_id"`
	Format    string         `json:"format"`
	User      string         `json:"user"`
	Applied   bool           `json:"applied"`
	Complete  bool           `json:"complete"` // nothing has failed
	Items     []AccountThing `json:"items"`
}

// AccountThing is a thing of an archive in the report.
type AccountThing struct {
	Kind   string `json:"kind"` // site, files, database, mailbox, mail, dns, cron, config, certificate, ftp
	Name   string `json:"name"` // there
	As     string `json:"as"`   // here, where that is another one
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Count  int64  `json:"count,omitempty"` // files, messages, records that were brought along
	There  int64  `json:"there,omitempty"` // and those that were there
	Bytes  int64  `json:"bytes,omitempty"`
}

// bringing is one import.
type bringing struct {
	*Admin
	inv    *archive.Inventory
	o      AccountImport
	on     site.Site
	report *AccountReport

	sites     map[string]string // names of the archive to names here
	databases []broughtDatabase
	mailboxes map[string]bool // addresses that are here
}

type broughtDatabase struct {
	archive.Database
	databases.Imported
	password, host string
}

func (b *bringing) add(t AccountThing) { b.report.Items = append(b.report.Items, t) }

func (b *bringing) told(format string, args ...any) {
	if b.o.Told != nil {
		b.o.Told(fmt.Sprintf(format, args...))
	}
}

// ImportAccount brings what an archive has of an account into a service. Domains, databases, mailboxes, records and cron jobs are made by the
// rules of their sections, within the limits of the plan; then the hosting machine takes the content, as the account's own user. What is there
// stays. A run that broke off is run again, and goes on.
func (a *Admin) ImportAccount(ctx context.Context, inv *archive.Inventory, o AccountImport) (*AccountReport, error) {
	b := &bringing{
		Admin: a, inv: inv, o: o, sites: map[string]string{}, mailboxes: map[string]bool{},
		report: &AccountReport{ServiceID: o.ServiceID, Format: inv.Format, User: inv.User, Applied: !o.DryRun, Items: []AccountThing{}},
	}
	s, err := a.Service(ctx, o.ServiceID)
	if errors.Is(err, fault.NotFound) {
		err = fault.NotFound.Wrapf("there is no service %d", o.ServiceID)
	}
	if err != nil {
		return b.report, err
	}
	if b.on, err = a.Services.Site(ctx, a.DB, s.AccountID, s.ID); err != nil {
		return b.report, err
	}
	if err := b.on.Changeable(); err != nil {
		return b.report, err
	}
	subject := serviceSubject(s.ID).of(s.AccountID)
	err = a.try(a.change(ctx, "service.import", fmt.Sprintf("%s archive of %s", inv.Format, inv.User), subject), o.DryRun, b.rows)
	if err != nil {
		return b.report, err
	}
	for _, l := range inv.Left {
		b.add(AccountThing{Kind: l.Kind, Name: l.Name, State: importLeft, Reason: l.Reason})
	}
	if o.DryRun {
		err = b.foresee(ctx)
	} else {
		err = b.content(ctx)
	}
	failed := slices.ContainsFunc(b.report.Items, func(t AccountThing) bool { return t.State == importFailed })
	b.report.Complete = err == nil && !failed
	if !o.DryRun {
		summary := b.summary()
		if err != nil {
			summary += "; it broke off"
		}
		ended := context.WithoutCancel(ctx)
		err = errors.Join(err, a.DB.InTx(ended, func(ctx context.Context, tx *db.Tx) error {
			return a.record(ctx, tx, "service.imported", summary, subject, func() error { return nil })
		}))
	}
	return b.report, err
}

// summary counts things by kind and state, for the audit log.
func (b *bringing) summary() string {
	counts := map[string]int{}
	for _, t := range b.report.Items {
		counts[t.Kind+" "+t.State]++
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[what], what))
	}
	return strings.Join(parts, ", ")
}

// rows makes the rows of what the archive has, each by itself: what is refused is reported, and the others are made.
func (b *bringing) rows(ctx context.Context, tx *db.Tx) error {
	for _, part := range []func(context.Context, *db.Tx) error{b.domains, b.databaseRows, b.mailboxRows, b.zones, b.cronRows} {
		if err := part(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// each makes one thing, or reports why not. Only what has nothing to do with the thing ends the import.
func (b *bringing) each(ctx context.Context, tx *db.Tx, t AccountThing, f func(ctx context.Context, t *AccountThing) (there bool, err error)) (bool, error) {
	var there bool
	err := tx.Savepoint(ctx, func(ctx context.Context) (err error) {
		there, err = f(ctx, &t)
		return err
	})
	t.State = importNew
	var refused *fault.Error
	switch {
	case errors.As(err, &refused) && refused.Def != fault.Internal:
		t.State, t.Reason, err = importLeft, reasonOf(refused), nil
	case err != nil:
		return false, err
	case there:
		t.State = importThere
	}
	b.add(t)
	return t.State != importLeft, err
}

// reasonOf names a refusal for operators.
func reasonOf(refused *fault.Error) string {
	text := refused.Def.Key
	if len(refused.Invalid) > 0 {
		text += ": " + strings.Join(slices.Sorted(maps.Keys(refused.Invalid)), ", ")
	}
	for _, field := range slices.Sorted(maps.Keys(refused.Fields)) {
		text += fmt.Sprintf("; %s %v", field, refused.Fields[field])
	}
	return text
}

// domains adds the domains, those above before those below them.
func (b *bringing) domains(ctx context.Context, tx *db.Tx) error {
	all := slices.Clone(b.inv.Domains)
	slices.SortStableFunc(all, func(x, y archive.Domain) int {
		return cmp.Or(cmp.Compare(strings.Count(x.Name, "."), strings.Count(y.Name, ".")), strings.Compare(x.Name, y.Name))
	})
	for _, d := range all {
		name := domainKey(d.Name)
		there, err := b.each(ctx, tx, AccountThing{Kind: "site", Name: d.Name, As: path.Join(b.base(name), d.Root)}, func(ctx context.Context, t *AccountThing) (bool, error) {
			if d.Suspended {
				t.Reason = "it was suspended there"
			}
			return b.Hosting.Sites.ImportOne(ctx, tx, b.on.AccountID, b.on.ServiceID, name, path.Join(b.base(name), d.Root))
		})
		if err != nil {
			return err
		}
		if there {
			b.sites[d.Name] = name
		}
		for _, alias := range d.Aliases {
			if err := b.alias(ctx, tx, d, alias, there); err != nil {
				return err
			}
		}
	}
	return nil
}

// alias adds another name of a site. Here only the primary domain has aliases; the others get the same document root.
func (b *bringing) alias(ctx context.Context, tx *db.Tx, d archive.Domain, alias string, site bool) error {
	if !site || strings.HasPrefix(alias, "*") {
		reason := "its site is not brought along"
		if site {
			reason = "names with a star are not served here"
		}
		b.add(AccountThing{Kind: "site", Name: alias, State: importLeft, Reason: reason})
		return nil
	}
	root := ""
	if domainKey(d.Name) != b.on.Domain {
		root = path.Join(b.base(domainKey(d.Name)), d.Root)
	}
	_, err := b.each(ctx, tx, AccountThing{Kind: "site", Name: alias, As: "another name of " + d.Name}, func(ctx context.Context, _ *AccountThing) (bool, error) {
		return b.Hosting.Sites.ImportOne(ctx, tx, b.on.AccountID, b.on.ServiceID, domainKey(alias), root)
	})
	return err
}

// domainKey is a name as it is compared; one that is none stays as it is, and is refused.
func domainKey(name string) string {
	if canonical, err := domainname.Host(name); err == nil {
		return canonical
	}
	return name
}

// base is the directory here of what was the directory of a site there.
func (b *bringing) base(domain string) string {
	if domain == b.on.Domain {
		return "/"
	}
	return "/sites/" + domain
}

func (b *bringing) databaseRows(ctx context.Context, tx *db.Tx) error {
	taken := map[string]bool{}
	for _, d := range b.inv.Databases {
		own := ownName(d.Own, taken)
		var made databases.Imported
		ok, err := b.each(ctx, tx, AccountThing{Kind: "database", Name: d.Name}, func(ctx context.Context, t *AccountThing) (_ bool, err error) {
			made, err = b.Hosting.Databases.ImportOne(ctx, tx, b.on.AccountID, b.on.ServiceID, own, d.Engine, d.Charset)
			t.As = made.Name
			return made.There, err
		})
		if err != nil {
			return err
		}
		if ok {
			b.databases = append(b.databases, broughtDatabase{Database: d, Imported: made})
		}
	}
	return nil
}

// ownName is a name that a database can have here (panel.DatabaseName), and that no other of the archive has.
func ownName(name string, taken map[string]bool) string {
	const most = 24
	form := func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_':
			return r
		default:
			return '_'
		}
	}
	own := strings.TrimLeft(strings.Map(form, strings.ToLower(name)), "_")
	own = cmp.Or(own[:min(len(own), most)], "db")
	for n, stem := 2, own; taken[own]; n++ {
		end := "_" + strconv.Itoa(n)
		own = stem[:min(len(stem), most-len(end))] + end
	}
	taken[own] = true
	return own
}

func (b *bringing) mailboxRows(ctx context.Context, tx *db.Tx) error {
	for _, m := range b.inv.Mailboxes {
		ok, err := b.each(ctx, tx, AccountThing{Kind: "mailbox", Name: m.Address}, func(ctx context.Context, t *AccountThing) (bool, error) {
			there, err := b.Hosting.Mail.ImportOne(ctx, tx, b.on.AccountID, b.on.ServiceID, mail.Imported{
				Address: m.Address, PasswordHash: m.Hash, QuotaMB: m.QuotaMB, Aliases: m.Aliases, ForwardTo: m.ForwardTo, KeepCopy: m.KeepCopy,
				CatchAll: m.CatchAll, Suspend: m.Suspended, Reply: m.Reply,
			})
			if err == nil && !there && m.Hash == "" {
				t.Reason = "its password is not kept: the owner has to set one"
			}
			return there, err
		})
		if err != nil {
			return err
		}
		if ok {
			b.mailboxes[m.Address] = true
		}
	}
	return nil
}

func (b *bringing) zones(ctx context.Context, tx *db.Tx) error {
	for _, z := range b.inv.Zones {
		keep, drop := archive.Foreign(z, b.inv.Addresses)
		for _, l := range drop {
			b.add(AccountThing{Kind: l.Kind, Name: l.Name, State: importLeft, Reason: l.Reason})
		}
		if b.sites[z.Name] == "" && domainKey(z.Name) != b.on.Domain {
			b.add(AccountThing{Kind: "dns", Name: z.Name, State: importLeft, Reason: "the domain is not brought along"})
			continue
		}
		var lines []string
		for _, r := range keep {
			if r.Disabled {
				b.add(AccountThing{Kind: "dns", Name: r.Name + " " + r.Type, State: importLeft, Reason: "it was switched off there"})
				continue
			}
			lines = append(lines, r.Text())
		}
		var merged dns.Merged
		_, err := b.each(ctx, tx, AccountThing{Kind: "dns", Name: z.Name}, func(ctx context.Context, t *AccountThing) (_ bool, err error) {
			merged, err = b.Hosting.DNS.Merge(ctx, tx, b.on.AccountID, b.on.ServiceID, domainKey(z.Name), lines)
			t.Count, t.There = int64(merged.Added), int64(merged.There)
			return merged.Added == 0, err
		})
		if err != nil {
			return err
		}
		for _, r := range merged.Refused {
			b.add(AccountThing{Kind: "dns", Name: r.Record, State: importLeft, Reason: r.Reason})
		}
	}
	return nil
}

func (b *bringing) cronRows(ctx context.Context, tx *db.Tx) error {
	for _, c := range b.inv.Cron {
		command := b.moved(c.Command)
		_, err := b.each(ctx, tx, AccountThing{Kind: "cron", Name: c.Expression + " " + c.Command}, func(ctx context.Context, t *AccountThing) (bool, error) {
			if command != c.Command {
				t.As = command
			}
			return b.Hosting.Cron.ImportOne(ctx, tx, b.on.AccountID, b.on.ServiceID, c.Expression, command, !c.Disabled)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moved names directories of sites as they are here: a command runs in the home, whose path it knows as $HOME.
func (b *bringing) moved(command string) string {
	all := slices.Clone(b.inv.Domains)
	slices.SortFunc(all, func(x, y archive.Domain) int { return len(y.Home) - len(x.Home) })
	for _, d := range all {
		name := b.sites[d.Name]
		if name == "" || d.Home == "" {
			continue
		}
		command = strings.ReplaceAll(command, d.Home+"/", path.Join("$HOME", b.base(name), d.Below)+"/")
	}
	return command
}

// settling is how long an import waits for the server to make what it has written.
const (
	settling = 5 * time.Minute
	looks    = 250 * time.Millisecond
)

// settle waits until the server has made the rows, and reports what the machine refuses.
func (b *bringing) settle(ctx context.Context, kind string, followed func(ctx context.Context, q db.Querier, serviceID int64) (site.Progress, error)) (map[string]bool, error) {
	for left := settling / looks; ; left-- {
		p, err := followed(ctx, b.DB, b.on.ServiceID)
		if err != nil {
			return nil, err
		}
		if !p.Pending || left == 0 {
			refused := map[string]bool{}
			for name, key := range p.Failed {
				refused[name] = true
				b.add(AccountThing{Kind: kind, Name: name, State: importFailed, Reason: key})
			}
			if p.Pending {
				return refused, fault.PanelBusy.Wrapf("the server has not made each %s: is stead serve running? Run the import again", kind)
			}
			return refused, nil
		}
		if err := clock.Sleep(ctx, looks); err != nil {
			return nil, err
		}
	}
}
