package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"stead.dev/stead/internal/front/customer"
	stead "stead.dev/stead/sdk/go"
)

// dnsCmd has the commands for the DNS records of a site.
type dnsCmd struct {
	List   dnsList   `cmd:"" help:"List the records of a zone."`
	Set    dnsSet    `cmd:"" help:"Make the records of a name and a type those with these values."`
	Delete dnsDelete `cmd:"" help:"Delete your records of a name and a type."`
	Import dnsImport `cmd:"" help:"Add what a zone file has; nothing is removed."`
	Export dnsExport `cmd:"" help:"Print the zone as a zone file."`
}

// zoneArg are the arguments of commands about one zone of a site.
type zoneArg struct {
	siteArg
	Zone string `help:"Name of a zone of the site: an addon or alias domain. By default that of its primary domain." placeholder:"DOMAIN"`
}

type dnsList struct {
	zoneArg
	Type string `help:"Only records of this type."`
	Name string `help:"Only records of this name; @ is the zone itself."`
}

// Run lists records.
func (c *dnsList) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		all, err := s.AllRecords(e.ctx, site.ID, stead.DNSQuery{Zone: c.Zone, Type: strings.ToUpper(c.Type), Name: c.Name})
		if err != nil {
			return err
		}
		return e.show(all, func(w io.Writer) {
			row(w, "NAME", "TYPE", "TTL", "VALUE", "KEPT BY")
			for _, r := range all {
				by := ""
				if r.ManagedBy != nil {
					by = *r.ManagedBy
				}
				if r.Disabled {
					by = "disabled"
				}
				row(w, r.Name, r.Type, r.TTL, recordValue(r), by)
			}
		})
	})
}

// recordValue is a value as zone files have it.
func recordValue(r stead.DNSRecord) string {
	var parts []string
	for _, n := range []*int64{r.Priority, r.Weight, r.Port, r.Flags} {
		if n != nil {
			parts = append(parts, fmt.Sprint(*n))
		}
	}
	if r.Tag != nil {
		parts = append(parts, *r.Tag)
	}
	return strings.Join(append(parts, r.Value), " ")
}

// recordArg are the arguments that name records.
type recordArg struct {
	zoneArg
	Name string `arg:"" help:"Relative to the zone, or absolute; @ is the zone itself."`
	Type string `arg:"" help:"Such as A, CNAME, MX or TXT."`
}

type dnsSet struct {
	recordArg
	Values []string `arg:"" name:"value" help:"As in a zone file: 192.0.2.7, \"10 mail.example.com\" of MX, \"0 issue letsencrypt.org\" of CAA."`
	TTL    int64    `name:"ttl" help:"In seconds, 60 to 86400; by default that of the record, or 3600."`
}

// Run sets records.
func (c *dnsSet) Run(e *environment) error {
	kind := strings.ToUpper(c.Type)
	var values []customer.Record
	for _, text := range c.Values {
		v, err := customer.ParseRecord(kind, text)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		done, err := s.SetRecords(e.ctx, site.ID, c.Zone, c.Name, kind, values, c.TTL)
		return e.showChanges(done, err)
	})
}

func (e *environment) showChanges(c customer.Changes, err error) error {
	if err != nil {
		return err
	}
	return e.show(c, func(w io.Writer) {
		row(w, fmt.Sprintf("%d added, %d changed, %d deleted, %d unchanged", c.Added, c.Changed, c.Deleted, c.Unchanged))
	})
}

type dnsDelete struct {
	recordArg
	Value string `arg:"" optional:"" help:"Only the one with this value; all when it is left out."`
}

// Run deletes records.
func (c *dnsDelete) Run(e *environment) error {
	kind := strings.ToUpper(c.Type)
	var value *customer.Record
	if c.Value != "" {
		v, err := customer.ParseRecord(kind, c.Value)
		if err != nil {
			return err
		}
		value = &v
	}
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		done, err := s.DeleteRecords(e.ctx, site.ID, c.Zone, c.Name, kind, value)
		return e.showChanges(done, err)
	})
}

type dnsImport struct {
	zoneArg
	File   string `arg:"" help:"A zone file; - is standard input."`
	DryRun bool   `help:"Only say what would be added."`
}

// mostZone bounds what is read of a zone file, in bytes.
const mostZone = 4 << 20

// Run imports records.
func (c *dnsImport) Run(e *environment) error {
	in := e.stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	zone, err := io.ReadAll(io.LimitReader(in, mostZone))
	if err != nil {
		return err
	}
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		text := string(zone)
		r, err := s.DNS.Create(e.ctx, site.ID, stead.DNSCreateBody{Bind: &text}, stead.DNSCreateQuery{Zone: c.Zone, ValidateOnly: c.DryRun})
		if err != nil {
			return err
		}
		done := stead.DNSImport{}
		if r.DNSImport != nil {
			done = *r.DNSImport
		}
		err = e.show(done, func(w io.Writer) {
			verb := "added"
			if c.DryRun {
				verb = "would be added"
			}
			for _, x := range done.Added {
				row(w, verb, x.Name, x.Type, x.Value)
			}
			for _, x := range done.Skipped {
				row(w, "skipped", x.Name, x.Type, x.Reason)
			}
			for _, x := range done.Conflicts {
				row(w, "refused", x.Name, x.Type, x.Message)
			}
		})
		if err == nil && len(done.Conflicts) > 0 {
			return &stead.Error{Status: 422, Key: stead.KeyDNSRecordConflict, Message: "nothing was imported: records that cannot be added are listed"}
		}
		return err
	})
}

type dnsExport struct{ zoneArg }

// Run prints the zone.
func (c *dnsExport) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		zone, err := s.DNS.ListBIND(e.ctx, site.ID, stead.DNSQuery{Zone: c.Zone})
		if err != nil {
			return err
		}
		defer zone.Close()
		_, err = io.Copy(e.stdout, zone)
		return err
	})
}

// dbCmd has the commands for the databases of a site.
type dbCmd struct {
	List   dbList   `cmd:"" help:"List its databases."`
	Create dbCreate `cmd:"" help:"Create a database and its user; the panel shows the password."`
	Delete dbDelete `cmd:"" help:"Delete a database with all that is in it."`
}

type dbList struct{ siteArg }

// Run lists databases.
func (c *dbList) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		all, err := s.AllDatabases(e.ctx, site.ID)
		if err != nil {
			return err
		}
		return e.show(all, func(w io.Writer) {
			row(w, "ID", "NAME", "ENGINE", "STATUS", "MB", "HOST", "PORT")
			for _, d := range all {
				row(w, d.ID, d.Name, d.Engine, d.Status, text(d.SizeMB), text(d.Host), text(d.Port))
			}
		})
	})
}

type dbCreate struct {
	siteArg
	Name   string `arg:"" help:"1 to 24 of a-z, 0-9 and the underscore; the name of the account is put before it."`
	Engine string `help:"${enum}." enum:"mariadb,mysql,postgresql" default:"mariadb"`
	NoWait bool   `help:"Do not wait until it is there."`
}

// Run creates a database.
func (c *dbCreate) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		d, err := s.CreateDatabase(e.ctx, site.ID, stead.DatabasesCreateBody{Name: c.Name, Engine: c.Engine}, !c.NoWait)
		if err != nil {
			return err
		}
		err = e.show(d, func(w io.Writer) {
			row(w, "database and user", d.Name)
			row(w, "engine", d.Engine)
			row(w, "status", d.Status)
			row(w, "host", text(d.Host))
			row(w, "port", text(d.Port))
			row(w, "password", "in the panel, under Databases, once")
		})
		if err == nil && d.Status == stead.DatabaseStatusFailed {
			return &stead.Error{Status: 422, Key: cmp.Or(deref(d.FailureKey), "database_failed"), Message: "the server could not create it yet; it tries again"}
		}
		return err
	})
}

type dbDelete struct {
	siteArg
	Database string `arg:"" help:"Its name, with or without the account's before it, or its id. A number is a name first."`
	Yes      bool   `help:"Do not ask."`
}

// Run deletes a database.
func (c *dbDelete) Run(e *environment) error {
	return c.with(e, func(s *customer.Session, site *customer.Site) error {
		d, err := s.Database(e.ctx, site.ID, c.Database)
		if err != nil {
			return err
		}
		if err := e.confirm(c.Yes, fmt.Sprintf("The database %s of %s and all that is in it are deleted.", d.Name, site.Name)); err != nil {
			return err
		}
		if err := s.Databases.Delete(e.ctx, site.ID, d.ID); err != nil {
			return err
		}
		return e.show(map[string]any{"id": d.ID, "deleted": true}, func(w io.Writer) { row(w, "deleted", d.Name) })
	})
}
