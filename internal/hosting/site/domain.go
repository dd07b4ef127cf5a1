package site

import (
	"time"

	"stead.dev/stead/internal/port/panel"
)

// Domain is a domain of a service, as the sections see it that give it a zone, certificates and mail.
type Domain struct {
	ID      int64
	Name    string // lower-case ASCII
	Primary bool   // the service is known by it
	Served  bool   // the panel has it, and it is not about to go
	// Usable tells that it may be given certificates and mail now. What it has of them stays the service's when it ceases to be:
	// one failed look into the DNS is enough for that.
	Usable     bool
	Displaced  bool   // another account owns the name that it had
	Elsewhere  bool   // the DNS led elsewhere when it was last looked at
	Root       string // the document root that it shows
	ForceHTTPS bool
	TLS        panel.TLS
	CreatedAt  time.Time
}

// Verification is whether a domain is known to be its account's.
type Verification struct {
	State       string   // as the interface says it
	Method      string   // how it was proven; none, or empty, when it was not
	Cleared     bool     // zone, certificates and mail may be had
	Record      *Record  // proves it; nil where nothing is to prove
	Nameservers []string // delegating the domain to these proves it too
	CheckedAt   *time.Time
	LosesAt     *time.Time // when another account takes it
}
