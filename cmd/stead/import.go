package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/admin/whmcs"
)

type importWHMCS struct {
	From          string `help:"DSN of its database, or better of a copy: user@tcp(127.0.0.1:3306)/whmcs, user@unix(/run/mysqld/mysqld.sock)/whmcs." required:"" placeholder:"DSN"`
	PasswordStdin bool   `help:"Read the password of the database's user from standard input."`
	Map           string `help:"YAML file: rates of currencies, plans for products, prices." type:"existingfile" placeholder:"FILE"`
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
	for _, i := range r.Rows {
		state := i.Becomes
		if state == admin.ImportLeft {
			state = "LEFT OUT"
		}
		row(w, fmt.Sprintf("%s %d", i.Kind, i.ID), state, i.What, importDetails(i), strings.Join(slices.Concat(nonEmpty(i.Reason), i.Notes), "; "))
	}
	row(w)
	for _, c := range []struct {
		what   string
		counts admin.ImportCounts
	}{{"clients", r.Clients}, {"domains", r.Domains}, {"services", r.Services}} {
		row(w, c.what, fmt.Sprintf("%d found, %d new, %d by an earlier import, %d left out, %d ended there",
			c.counts.Found, c.counts.New, c.counts.Already, c.counts.Left, c.counts.Ended))
	}
	for _, b := range r.Balances {
		row(w, "balances", fmt.Sprintf("%s %s are %v", b.Amount, b.Currency, b.Cents))
	}
	row(w, "postings", r.Sum)
	row(w, "not imported", fmt.Sprintf("%d unpaid invoices, %d add-ons", r.Unpaid, r.Addons))
	if !r.Applied {
		row(w, "", "Nothing was changed: say --apply to do it")
	}
}

// importDetails says what something is here.
func importDetails(i admin.ImportRow) string {
	var parts []string
	switch {
	case i.ServiceID != 0:
		parts = append(parts, fmt.Sprintf("service %d", i.ServiceID))
	case i.DomainID != 0:
		parts = append(parts, fmt.Sprintf("domain %d", i.DomainID))
	case i.Kind == "client" && i.AccountID != 0:
		parts = append(parts, fmt.Sprintf("account %d", i.AccountID))
	}
	if i.Plan != "" {
		period := "1 month"
		if i.Months != 1 {
			period = fmt.Sprintf("%d months", i.Months)
		}
		parts = append(parts, i.Plan+" for "+period)
	}
	if i.Renewal != nil {
		parts = append(parts, fmt.Sprintf("renews at %v", *i.Renewal))
	}
	if i.PaidUntil != "" {
		parts = append(parts, "paid until "+i.PaidUntil)
	}
	return strings.Join(slices.Concat(parts, nonEmpty(i.Status)), ", ")
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
