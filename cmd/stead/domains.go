package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"stead.dev/stead/internal/front/admin"
)

type domainsImport struct {
	File string `arg:"" help:"YAML file; - is standard input."`
}

// Run imports a price book.
func (c *domainsImport) Run(e *environment) error {
	var (
		content []byte
		err     error
	)
	if c.File == "-" {
		content, err = io.ReadAll(e.stdin)
	} else {
		content, err = os.ReadFile(c.File)
	}
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		report, err := a.ImportDomains(e.ctx, content)
		if err != nil {
			return fmt.Errorf("nothing was imported:\n%w", err)
		}
		return e.show(report, func(w io.Writer) {
			row(w, "zones", report.TLDs)
			if len(report.Withdrawn) > 0 {
				row(w, "taken off sale", strings.Join(report.Withdrawn, " "))
			}
		})
	})
}

type domainsExport struct{}

// Run exports the price book.
func (c *domainsExport) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		file, err := a.ExportDomains(e.ctx)
		if err != nil {
			return err
		}
		if e.json {
			return e.printJSON(map[string]string{"yaml": string(file)})
		}
		_, err = e.stdout.Write(file)
		return err
	})
}

type domainsWaiting struct{}

// Run lists the operations that wait for the registry.
func (domainsWaiting) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.Domains.ListWaiting(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": list}, func(w io.Writer) {
			row(w, "OPERATION", "DOMAIN", "KIND", "ORDER", "ACCOUNT", "ASKED", "SANDBOX", "SINCE")
			for _, o := range list {
				row(w, o.ID, o.Domain, o.Kind, o.OrderID, o.AccountID, o.Asked, o.Sandbox, o.Since.Format(time.RFC3339))
			}
		})
	})
}
