package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// about says what the operations of a section are for.
var about = map[Section]string{
	OAuth:             "How applications get access to an account with its owner's consent: the endpoints of OAuth 2.0 and their discovery documents.",
	Content:           "What the company publishes: articles, posts, terms, currencies, the state of its systems, reviews and site templates. Most of it needs no token.",
	Catalog:           "What is sold, with prices. No token is needed.",
	Account:           "The account itself: profile, billing identity, sessions, applications, devices, notifications, loyalty.",
	Services:          "Services that customers have bought, and servers that they have to themselves.",
	ServiceManagement: "What a service consists of: domains, certificates, databases, mailboxes, FTP and SSH, cron, DNS, PHP, logs and backups. Changes answer at once; `status` says how far the hosting machine has followed.",
	Files:             "Files of a service, as its account's user sees them. Paths begin at the account's home.",
	Addons:            "What a service can have beyond its plan.",
	Domains:           "Domain names: prices, availability, registration, transfer and settings at the registry.",
	Monitors:          "What is watched from outside, its history, and whom to tell.",
	Security:          "Scans of sites for weaknesses, and the uptime that plans promise.",
	Orders:            "Orders, invoices and payment from the wallet.",
	Wallet:            "The prepaid balance: its history, statements and top-ups. Amounts are USD in cents.",
	AI:                "The AI agent that works on a site's files, the audits that find what to improve, and the assistant that answers questions.",
	MCP:               "The same operations as tools of AI agents (Model Context Protocol).",
	Embeds:            "What other sites may show: badges, previews and pictures.",
	Reseller:          "What resellers call with an API key.",
}

// subject is what some of the operations of resellers are about.
type subject struct {
	name, about string
	of          []string // the second part of the operations' ids
}

// subjects are the tags of the operations of resellers, of which there are too many for one.
var subjects = []subject{
	{"terms and keys", "Your terms, limits, billing identity, keys, and what each did.", []string{"me", "account", "keys", "audit_log"}},
	{"catalogue and quotes", "What you can sell, at your prices and at the catalogue's, and the exact price of a basket.", []string{"catalog", "locations", "quotes"}},
	{"services", "Services of your clients: order, renew, change, suspend, end and restore them.", []string{"services", "renewals", "addons"}},
	{"hosting", "What a service consists of: domains, certificates, databases, mailboxes and backups.", []string{"hosting", "certificates", "databases", "mail", "backups"}},
	{"domains", "Registered names, and whether a domain is proven to be yours.", []string{"domains", "claims"}},
	{"orders and money", "Orders, invoices, the wallet and its top-ups.", []string{"orders", "invoices", "wallet"}},
	{"clients", "Your clients by the tag that you give them, what they see of you, and your business in numbers.", []string{"clients", "brand", "stats"}},
	{"events and webhooks", "What happened, and the addresses that are told of it.", []string{"events", "webhooks"}},
	{"sandbox", "The clock of a sandbox, to try renewals and ends in seconds.", []string{"clock"}},
	{"AI agents", "The reading operations as tools of AI agents (Model Context Protocol).", []string{"mcp"}},
}

func (s subject) tag() string { return Reseller.Title() + ": " + s.name }

// tag is the tag of an operation: its section, and of resellers' operations their subject.
func (d *declared) tag() string {
	if d.Section == Reseller {
		parts := strings.Split(d.ID, ".")
		for _, s := range subjects {
			if len(parts) > 1 && slices.Contains(s.of, parts[1]) {
				return s.tag()
			}
		}
	}
	return d.Section.Title()
}

// tagsOf describes the tags that are used, in the order of the sections.
func tagsOf(used map[string]bool) []*huma.Tag {
	var all []*huma.Tag
	add := func(name, about string) {
		if used[name] {
			all = append(all, &huma.Tag{Name: name, Description: about})
			delete(used, name)
		}
	}
	for _, s := range Sections() {
		add(s.Title(), about[s])
	}
	for _, s := range subjects {
		add(s.tag(), s.about)
	}
	add(Staff.Title(), "What the company's own people do, by their roles.")
	add(eventsTag, "Requests that Stead sends to the addresses of resellers.")
	for _, name := range slices.Sorted(maps.Keys(used)) {
		all = append(all, &huma.Tag{Name: name})
	}
	return all
}
