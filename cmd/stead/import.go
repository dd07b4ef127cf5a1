package main

import (
	"fmt"
	"io"
	"os"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/admin/whmcs"
)

type importWHMCS struct {
	From          string `help:"DSN of its database, or better of a copy: user@tcp(127.0.0.1:3306)/whmcs, user@unix(/run/mysqld/mysqld.sock)/whmcs." required:"" placeholder:"DSN"`
	PasswordStdin bool   `help:"Read the password of the database's user from standard input."`
	Map           string `help:"YAML file: rates of currencies and plans for products." type:"existingfile" placeholder:"FILE"`
	Source        string `help:"Name of the installation, under which its ids are kept." default:"whmcs"`
	Reason        string `help:"What owners read of the posting of their balance." default:"Your balance from before"`
	Apply         bool   `help:"Do it; otherwise only the report is printed."`
}

// Run imports, or says what would be imported.
func (c *importWHMCS) Run(e *environment) error {
	var (
		password string
		mapping  admin.ImportMap
		err      error
	)
	if c.PasswordStdin {
		if password, err = e.readPassword(); err != nil {
			return err
		}
	}
	if c.Map != "" {
		f, err := os.Open(c.Map)
		if err != nil {
			return err
		}
		defer f.Close()
		if mapping, err = admin.ReadImportMap(f); err != nil {
			return usageError{err}
		}
	}
	in, err := whmcs.Read(e.ctx, c.From, password)
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		r, err := a.ImportWHMCS(e.ctx, in, mapping, admin.ImportOptions{Source: c.Source, Reason: c.Reason, Apply: c.Apply})
		if r != nil {
			if shown := e.show(r, func(w io.Writer) { printImport(w, r) }); err == nil {
				err = shown
			}
		}
		return err
	})
}

func printImport(w io.Writer, r *admin.ImportReport) {
	for _, left := range r.Left {
		row(w, fmt.Sprintf("client %d", left.ID), "LEFT OUT", left.What, left.Reason)
	}
	for _, note := range r.Notes {
		row(w, fmt.Sprintf("client %d", note.ID), "note", note.What, note.Reason)
	}
	for _, s := range r.Services {
		row(w, fmt.Sprintf("service %d", s.ID), "to be ordered", s.Email, fmt.Sprintf("%s, %d months, %s, due %s, %s", s.Plan, s.Months, s.Domain, s.NextDue, s.Status))
	}
	for _, s := range r.Refused {
		row(w, fmt.Sprintf("service %d", s.ID), "LEFT OUT", s.What, s.Reason)
	}
	row(w)
	row(w, "clients", fmt.Sprintf("%d found, %d imported, %d by an earlier import, %d left out", r.Clients.Found, r.Clients.Imported, r.Clients.Already, r.Clients.Left))
	for _, b := range r.Balances {
		row(w, "balances", fmt.Sprintf("%s %s are %v", b.Amount, b.Currency, b.Cents))
	}
	row(w, "postings", r.Sum)
	row(w, "services", fmt.Sprintf("%d to be ordered, %d left out, %d ended", len(r.Services), len(r.Refused), r.Ended))
	row(w, "not imported", fmt.Sprintf("%d unpaid invoices, %d domains", r.Unpaid, r.Domains))
	if !r.Applied {
		row(w, "", "Nothing was changed: say --apply to do it")
	}
}
