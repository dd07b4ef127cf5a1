package paneltest

import (
	"encoding/base64"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// A hash of bcrypt, of nobody's password.
const (
	someHash  = "{BLF-CRYPT}$2a$04$7Zk0wPq0hQGqCkqS0nq0eOVj1yK7hD0b8oJH3jz7VYw0Xv8m8yqTe"
	otherHash = "{BLF-CRYPT}$2a$04$1Zk0wPq0hQGqCkqS0nq0eOVj1yK7hD0b8oJH3jz7VYw0Xv8m8yqTe"
)

func mailbox(address string) panel.Mailbox {
	return panel.Mailbox{
		Address: address, PasswordHash: someHash, QuotaMB: 10, SendLimitPerHour: 100, SpamThreshold: 4,
		Protocols: panel.MailProtocols{IMAP: true, POP3: true, SMTPOut: true},
	}
}

func mailboxes(t *testing.T, p panel.Panel) {
	mail := capability[panel.Mail](t, p)
	ctx := t.Context()
	create(t, p, spec)
	create(t, p, panel.AccountSpec{Ref: "2", Username: "bob", PrimaryDomain: "bob.example"})
	_, err := capability[panel.Sites](t, p).SetDomain(ctx, ref, panel.Domain{Name: "shop.example"})
	must(t, err)

	none, err := mail.MailDomains(ctx, ref)
	must(t, err)
	equal(t, "domains of mail before there are mailboxes", len(none), 0)
	for range 2 {
		m, err := mail.SetMailbox(ctx, ref, mailbox("Info@Alice.Example"))
		must(t, err)
		equal(t, "address", m.Address, "info@alice.example")
		equal(t, "hash in an answer", m.PasswordHash, "")
		equal(t, "tag", m.PasswordTag, panel.PasswordTag(someHash))
	}
	full := mailbox("all@alice.example")
	full.Aliases, full.ForwardTo, full.KeepCopy, full.CatchAll = []string{"sales@shop.example", "Sales@alice.example"}, []string{"me@elsewhere.example"}, true, true
	full.Autoresponder = panel.Autoresponder{
		Enabled: true, Subject: "Away", Body: "Back on \"Monday\".\r\n", StartsAt: time.Date(2026, 3, 1, 0, 0, 0, 5, time.UTC), EndsAt: time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC),
	}
	set, err := mail.SetMailbox(ctx, ref, full)
	must(t, err)
	equal(t, "first alias", set.Aliases[0], "sales@alice.example")
	all, err := mail.Mailboxes(ctx, ref)
	must(t, err)
	if len(all) != 2 || all[0].Address != "all@alice.example" || !panel.SameMailbox(all[0], set) {
		t.Errorf("mailboxes %+v, set %+v", all, set)
	}
	domains, err := mail.MailDomains(ctx, ref)
	must(t, err)
	equal(t, "domains of mail", len(domains), 2)
	for i, name := range []string{"alice.example", "shop.example"} {
		key, err := base64.StdEncoding.DecodeString(domains[i].DKIMPublicKey)
		if domains[i].Name != name || domains[i].DKIMSelector == "" || err != nil || len(key) < 256 {
			t.Errorf("domain %+v", domains[i])
		}
	}
	again, err := mail.MailDomains(ctx, ref)
	must(t, err)
	equal(t, "the key when asked again", again[0], domains[0])
	server, err := mail.MailServer(ctx, ref)
	must(t, err)
	if server.Hostname == "" || server.IMAPS == 0 {
		t.Errorf("server %+v", server)
	}

	for name, c := range map[string]struct {
		change func(*panel.Mailbox)
		kind   panel.Kind
	}{
		"another's domain":       {func(m *panel.Mailbox) { m.Address = "x@bob.example" }, panel.ErrInvalid},
		"no domain":              {func(m *panel.Mailbox) { m.Address = "x" }, panel.ErrInvalid},
		"a line in the address":  {func(m *panel.Mailbox) { m.Address = "x\nroot@alice.example" }, panel.ErrInvalid},
		"a path in the address":  {func(m *panel.Mailbox) { m.Address = "../x@alice.example" }, panel.ErrInvalid},
		"a tag in the address":   {func(m *panel.Mailbox) { m.Address = "x+y@alice.example" }, panel.ErrInvalid},
		"two dots":               {func(m *panel.Mailbox) { m.Address = "x..y@alice.example" }, panel.ErrInvalid},
		"a new one, no password": {func(m *panel.Mailbox) { m.PasswordHash = "" }, panel.ErrInvalid},
		"a clear password":       {func(m *panel.Mailbox) { m.PasswordHash = "{PLAIN}secret" }, panel.ErrInvalid},
		"a colon in the hash":    {func(m *panel.Mailbox) { m.PasswordHash = someHash + ":0:0" }, panel.ErrInvalid},
		"another's alias":        {func(m *panel.Mailbox) { m.Aliases = []string{"x@bob.example"} }, panel.ErrInvalid},
		"a program":              {func(m *panel.Mailbox) { m.ForwardTo = []string{"|/bin/sh@alice.example"} }, panel.ErrInvalid},
		"a list of forwards":     {func(m *panel.Mailbox) { m.ForwardTo = []string{"a@x.example, b@x.example"} }, panel.ErrInvalid},
		"itself":                 {func(m *panel.Mailbox) { m.ForwardTo = []string{"NEW@alice.example"} }, panel.ErrInvalid},
		"a subject of two lines": {func(m *panel.Mailbox) {
			m.Autoresponder = panel.Autoresponder{Enabled: true, Subject: "a\nb", Body: "x"}
		}, panel.ErrInvalid},
		"an empty answer":        {func(m *panel.Mailbox) { m.Autoresponder = panel.Autoresponder{Enabled: true} }, panel.ErrInvalid},
		"a negative quota":       {func(m *panel.Mailbox) { m.QuotaMB = -1 }, panel.ErrInvalid},
		"an alias that is taken": {func(m *panel.Mailbox) { m.Aliases = []string{"sales@alice.example"} }, panel.ErrExists},
		"an alias's address":     {func(m *panel.Mailbox) { m.Address = "sales@shop.example" }, panel.ErrExists},
		"a second catch-all":     {func(m *panel.Mailbox) { m.CatchAll = true }, panel.ErrExists},
	} {
		m := mailbox("new@alice.example")
		c.change(&m)
		_, err := mail.SetMailbox(ctx, ref, m)
		t.Log(name)
		refused(t, err, c.kind)
	}

	changed := mailbox("info@alice.example")
	changed.PasswordHash = ""
	changed.Suspended, changed.QuotaMB = true, 20
	m, err := mail.SetMailbox(ctx, ref, changed)
	must(t, err)
	equal(t, "tag when no password is given", m.PasswordTag, panel.PasswordTag(someHash))
	changed.PasswordHash = otherHash
	m, err = mail.SetMailbox(ctx, ref, changed)
	must(t, err)
	equal(t, "tag of another password", m.PasswordTag, panel.PasswordTag(otherHash))

	a := capability[panel.Accounts](t, p)
	must(t, a.SuspendAccount(ctx, ref))
	_, err = mail.SetMailbox(ctx, ref, mailbox("new@alice.example"))
	refused(t, err, panel.ErrSuspended)
	refused(t, mail.RemoveMailbox(ctx, ref, "info@alice.example"), panel.ErrSuspended)
	must(t, a.UnsuspendAccount(ctx, ref))

	must(t, mail.RemoveMailbox(ctx, ref, "ALL@alice.example"))
	refused(t, mail.RemoveMailbox(ctx, ref, "all@alice.example"), panel.ErrNotFound)
	domains, err = mail.MailDomains(ctx, ref)
	must(t, err)
	equal(t, "domains of mail after the last of one", len(domains), 1)
	theirs, err := mail.Mailboxes(ctx, "2")
	must(t, err)
	equal(t, "mailboxes of another account", len(theirs), 0)

	_, err = mail.Mailboxes(ctx, "nobody")
	refused(t, err, panel.ErrNotFound)
	_, err = mail.SetMailbox(ctx, "nobody", mailbox("new@alice.example"))
	refused(t, err, panel.ErrNotFound)
	refused(t, mail.RemoveMailbox(ctx, "nobody", "new@alice.example"), panel.ErrNotFound)
	_, err = mail.MailDomains(ctx, "nobody")
	refused(t, err, panel.ErrNotFound)
	_, err = mail.MailServer(ctx, "nobody")
	refused(t, err, panel.ErrNotFound)
	must(t, a.DeleteAccount(ctx, ref))
}

// Mailboxes is the suite's part about mail, for machines whose daemons take long to start.
func Mailboxes(t *testing.T, p panel.Panel) { mailboxes(t, p) }
