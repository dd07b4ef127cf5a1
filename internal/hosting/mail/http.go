package mail

import (
	"context"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// mailboxWire is a mailbox (resources, section 16).
type mailboxWire struct {
	ID           int64      `json:"id"`
	Address      string     `json:"address"`
	DomainID     *int64     `json:"domain_id" doc:"Of the hosted domain; null when it is no longer the service's"`
	Status       Status     `json:"status" enum:"pending,active,suspended,disabled,failed,removing" doc:"pending, failed and removing say how far the mail server has followed"`
	StatusReason *string    `json:"status_reason" doc:"Of failed: an error key. Of disabled: service_suspended or domain_removed"`
	QuotaMB      int64      `json:"quota_mb" doc:"Mebibytes; a full mailbox refuses mail"`
	UsedMB       int64      `json:"used_mb" doc:"Mebibytes, rounded up; the mail server's count as of measured_at"`
	Messages     int64      `json:"messages"`
	MeasuredAt   *time.Time `json:"measured_at"`

	Aliases          []string      `json:"aliases"`
	ForwardTo        []string      `json:"forward_to"`
	KeepCopy         bool          `json:"keep_copy" doc:"Forwarded mail is kept in the mailbox too"`
	CatchAll         bool          `json:"catch_all" doc:"Mail to addresses of the domain that nobody has comes here"`
	Autoresponder    replyWire     `json:"autoresponder"`
	Protocols        protocolsWire `json:"protocols"`
	SendLimitPerHour int           `json:"send_limit_per_hour" doc:"Recipients in an hour"`
	SpamThreshold    int           `json:"spam_threshold" doc:"Score from which on mail goes to the folder Junk; 0: none does"`
	LastLoginAt      *time.Time    `json:"last_login_at" doc:"By IMAP or POP3"`
	CreatedAt        time.Time     `json:"created_at"`

	Client *clientWire `json:"client" doc:"Settings for mail programs; null until the mail server has told them"`
	DNS    *healthWire `json:"dns" doc:"How the domain stands in the DNS; null while it has no working mailbox"`
}

type replyWire struct {
	Enabled  bool       `json:"enabled"`
	Subject  string     `json:"subject"`
	Body     string     `json:"body"`
	StartsAt *time.Time `json:"starts_at"`
	EndsAt   *time.Time `json:"ends_at"`
}

type protocolsWire struct {
	IMAP    bool `json:"imap"`
	POP3    bool `json:"pop3"`
	SMTPOut bool `json:"smtp_out" doc:"The mailbox may send"`
}

type clientWire struct {
	Username string      `json:"username"`
	IMAP     *serverWire `json:"imap"`
	POP3     *serverWire `json:"pop3"`
	SMTP     *serverWire `json:"smtp"`
}

type serverWire struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	TLS  string `json:"tls" enum:"tls,starttls" doc:"From the start, or by STARTTLS"`
}

type healthWire struct {
	MX        findingWire `json:"mx"`
	SPF       findingWire `json:"spf"`
	DKIM      findingWire `json:"dkim"`
	DMARC     findingWire `json:"dmarc"`
	PTR       findingWire `json:"ptr" doc:"The name of the mail server's address; its operator's business"`
	CheckedAt *time.Time  `json:"checked_at" doc:"The DNS is looked at every few minutes at most"`
}

type findingWire struct {
	Expected string   `json:"expected"`
	Found    []string `json:"found" nullable:"true" doc:"Null: the DNS did not answer"`
	OK       bool     `json:"ok"`
}

func findingOf(f finding) findingWire { return findingWire{f.expected, f.found, f.ok} }

func (v mailContext) wire(b box) mailboxWire {
	m := b.what
	const mebibyte = 1 << 20
	w := mailboxWire{
		ID: b.ID, Address: m.Address, QuotaMB: m.QuotaMB, UsedMB: (m.UsedBytes + mebibyte - 1) / mebibyte, Messages: m.Messages,
		MeasuredAt: b.measuredAt, Aliases: m.Aliases, ForwardTo: m.ForwardTo, KeepCopy: m.KeepCopy, CatchAll: m.CatchAll,
		Autoresponder: replyWire{
			m.Autoresponder.Enabled, m.Autoresponder.Subject, m.Autoresponder.Body,
			db.OrNull(m.Autoresponder.StartsAt), db.OrNull(m.Autoresponder.EndsAt),
		},
		Protocols: protocolsWire(m.Protocols), SendLimitPerHour: m.SendLimitPerHour, SpamThreshold: spamThreshold(m), LastLoginAt: db.OrNull(m.LastLoginAt), CreatedAt: b.createdAt,
	}
	w.Status, w.StatusReason = b.visibleStatus(v.on, v.domains)
	for _, d := range v.domains {
		if d.Name == b.domain() {
			w.DomainID = &d.ID
		}
	}
	if v.known {
		w.Client = clientOf(m, v.server)
	}
	if d, ok := v.mail[b.domain()]; ok && v.known {
		h := d.health(v.server)
		w.DNS = &healthWire{findingOf(h.mx), findingOf(h.spf), findingOf(h.dkim), findingOf(h.dmarc), findingOf(h.ptr), d.checkedAt}
	}
	return w
}

// spamThreshold is a mailbox's threshold as the interface has it.
func spamThreshold(m panel.Mailbox) int {
	switch m.SpamThreshold {
	case panel.NoSpamFilter:
		return 0
	case 0:
		return defaultSpamThreshold
	}
	return m.SpamThreshold
}

// clientOf is what a mail program is set up with: TLS from the start where it is, as RFC 8314 wants.
func clientOf(m panel.Mailbox, server panel.MailServer) *clientWire {
	choose := func(may bool, tls, starttls int) *serverWire {
		switch {
		case may && tls != 0:
			return &serverWire{server.Hostname, tls, "tls"}
		case may && starttls != 0:
			return &serverWire{server.Hostname, starttls, "starttls"}
		}
		return nil
	}
	return &clientWire{
		Username: m.Address,
		IMAP:     choose(m.Protocols.IMAP, server.IMAPS, server.IMAP),
		POP3:     choose(m.Protocols.POP3, server.POP3S, server.POP3),
		SMTP:     choose(m.Protocols.SMTPOut, server.Submissions, server.Submission),
	}
}

// Settings are the members that a mailbox is made and changed with alike.
type Settings struct {
	QuotaMB          *int64       `json:"quota_mb,omitempty" minimum:"1" maximum:"1048576" doc:"Mebibytes, at most the disk of the plan; 1024 when it is left out"`
	Aliases          *[]string    `json:"aliases,omitempty" maxItems:"100" doc:"Addresses of the service's domains"`
	ForwardTo        *[]string    `json:"forward_to,omitempty" maxItems:"20" doc:"Addresses anywhere"`
	KeepCopy         *bool        `json:"keep_copy,omitempty"`
	CatchAll         *bool        `json:"catch_all,omitempty"`
	Autoresponder    *replyIn     `json:"autoresponder,omitempty"`
	Protocols        *protocolsIn `json:"protocols,omitempty"`
	SendLimitPerHour *int         `json:"send_limit_per_hour,omitempty" minimum:"1" maximum:"500"`
	SpamThreshold    *int         `json:"spam_threshold,omitempty" minimum:"0" maximum:"14" doc:"Score from which on mail goes to the folder Junk; 6 when it is left out, and 0 for none"`
}

type replyIn struct {
	Enabled  bool       `json:"enabled"`
	Subject  string     `json:"subject,omitempty" maxLength:"200"`
	Body     string     `json:"body,omitempty" maxLength:"10000"`
	StartsAt *time.Time `json:"starts_at,omitempty" doc:"Left out: it has started"`
	EndsAt   *time.Time `json:"ends_at,omitempty" doc:"Left out: it does not end"`
}

type protocolsIn struct {
	IMAP    bool `json:"imap"`
	POP3    bool `json:"pop3"`
	SMTPOut bool `json:"smtp_out"`
}

func (s Settings) change() change {
	c := change{
		quotaMB: s.QuotaMB, aliases: s.Aliases, forwardTo: s.ForwardTo, keepCopy: s.KeepCopy, catchAll: s.CatchAll,
		sendLimit: s.SendLimitPerHour, spamThreshold: s.SpamThreshold,
	}
	if r := s.Autoresponder; r != nil {
		c.autoresponder = &panel.Autoresponder{Enabled: r.Enabled, Subject: r.Subject, Body: r.Body}
		set(&c.autoresponder.StartsAt, r.StartsAt)
		set(&c.autoresponder.EndsAt, r.EndsAt)
	}
	if p := s.Protocols; p != nil {
		all := panel.MailProtocols(*p)
		c.protocols = &all
	}
	return c
}

type createIn struct {
	site.ServiceIn
	Body struct {
		LocalPart string `json:"local_part" minLength:"1" maxLength:"64" doc:"Before the @: letters, digits, dots, hyphens and underscores" example:"info"`
		Domain    string `json:"domain" minLength:"1" maxLength:"255" doc:"One of the service's domains" example:"example.com"`
		Password  string `json:"password" minLength:"1" maxLength:"200" writeOnly:"true" doc:"10 to 72 characters; never shown again"`
		Settings
	}
}

type mailboxIn struct {
	site.ServiceIn
	Mailbox int64 `path:"mailbox" minimum:"1" doc:"Id of the mailbox"`
}

type updateIn struct {
	mailboxIn
	Body struct {
		Password  *string `json:"password,omitempty" minLength:"1" maxLength:"200" writeOnly:"true"`
		Suspended *bool   `json:"suspended,omitempty" doc:"Nobody signs in or sends, and mail for it is put off"`
		Settings
	}
}

const (
	base  = "/api/v1/services/{service}/mailboxes"
	named = base + "/{mailbox}"
)

// Operations are this section's part of the specification's section "Service management".
func (s *Service) Operations() []api.Route {
	placing := []*fault.Def{errAddress, errQuota, fault.AlreadyExists, fault.JobRunning}
	return []api.Route{
		// Specification, section "Service management": mailboxes; resources, section 16.
		site.Read(api.Operation[site.ListIn, page.List[mailboxWire]]{
			ID: "mail.mailboxes.list", Path: base, Summary: "List the mailboxes of a service",
			Description: "Each mailbox with its quota and use in MB, aliases, forwarding and limits, the settings for mail programs " +
				"(`client`), and how its domain stands in the DNS (`dns`). Passwords are never shown.",
			Handle: func(ctx context.Context, p auth.Principal, in *site.ListIn) (*page.List[mailboxWire], error) {
				rows, total, v, err := s.list(ctx, p.AccountID, in.Service, in.Params)
				if err != nil {
					return nil, err
				}
				return page.Map(in.Params, total, rows, v.wire), nil
			},
		}),
		site.Create(api.Operation[createIn, mailboxWire]{
			ID: "mail.mailboxes.create", OwnerOnly: true, Path: base, Summary: "Add a mailbox to a service",
			Example:     `{"local_part": "info", "domain": "shop.example.com", "password": "ample Cobalt 47 heron", "quota_mb": 1024}`,
			Description: "The answer is `pending`; the mail server follows within seconds. The records that the domain needs are put into its zone.",
			Errors:      append([]*fault.Def{fault.LimitReached, fault.DomainVerificationRequired}, placing...),
			Handle: func(ctx context.Context, p auth.Principal, in *createIn) (*mailboxWire, error) {
				c := in.Body.change()
				c.password = &in.Body.Password
				return answer(s.create(ctx, p.AccountID, in.Service, in.Body.LocalPart, in.Body.Domain, c))
			},
		}),
		site.Update(api.Operation[updateIn, mailboxWire]{
			ID: "mail.mailboxes.update", OwnerOnly: true, Path: named, Summary: "Change a mailbox of a service",
			Example:     `{"quota_mb": 2048, "forward_to": ["anna@elsewhere.example.com"], "keep_copy": true}`,
			Description: "Changes are `pending` until the mail server has followed. A change of a `failed` mailbox tries it again.",
			Errors:      placing,
			Handle: func(ctx context.Context, p auth.Principal, in *updateIn) (*mailboxWire, error) {
				c := in.Body.change()
				c.password, c.suspended = in.Body.Password, in.Body.Suspended
				return answer(s.update(ctx, p.AccountID, in.Service, in.Mailbox, c))
			},
		}),
		site.Delete(api.Operation[mailboxIn, api.Empty]{
			ID: "mail.mailboxes.delete", Path: named, Summary: "Delete a mailbox of a service with all its mail",
			Description: "The mailbox is `removing` until the mail server has followed. Its mail is deleted for good.",
		}, func(in *mailboxIn) int64 { return in.Mailbox }, s.collection().Remove),
	}
}

func answer(b box, v mailContext, err error) (*mailboxWire, error) {
	if err != nil {
		return nil, err
	}
	w := v.wire(b)
	return &w, nil
}
