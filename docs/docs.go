// Package docs embeds the guides beside it, which Stead serves at /docs/guides, and says for whom each is.
package docs

import "embed"

// Files has the guides and their pictures.
//
//go:embed *.md images runbooks
var Files embed.FS

// Group is the guides for one kind of reader.
type Group struct {
	Title  string
	Guides []string // names of files, without .md, in the order in which one reads them
}

// Groups are all guides that were put in an order. README.md has the same.
var Groups = []Group{
	{"For integrators", []string{
		"getting-started", "command-line", "pipelines", "terraform", "oauth", "orders", "services", "wallet", "invoices", "coupons", "addons", "loyalty", "devices", "events", "account-data", "files", "hosting", "web",
		"databases", "cron", "mail", "access", "backups", "dns", "tls", "domains", "templates", "monitors", "security-scans", "sla", "insights", "agent", "mcp", "sdk-go", "sdk-typescript",
	}},
	{"For resellers", []string{"reseller", "clocks", "webhooks"}},
	{"For operators", []string{
		"install", "operations", "backup", "admin", "sign-in", "content", "machine", "nodes", "hestia", "whmcs", "imports", "registrars", "catalog", "currencies", "status", "ai",
	}},
	{"For developers of Stead", []string{"architecture", "panel", "schema"}},
}
