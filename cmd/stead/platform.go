package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/front/demo"
)

type sectionList struct{}

// Run lists sections.
func (c *sectionList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showSections(a) })
}

func (e *environment) showSections(a *admin.Admin) error {
	sections := a.ListSections()
	return e.show(map[string]any{"data": sections}, func(w io.Writer) {
		for _, s := range sections {
			state := "on"
			if !s.Enabled {
				state = "OFF"
			}
			row(w, s.Key, state, s.Title)
		}
	})
}

type sectionKeys struct {
	Sections []string `arg:"" help:"Keys of sections, such as orders."`
}

func (c *sectionKeys) set(e *environment, on bool) error {
	return e.administer(func(a *admin.Admin) error {
		if err := a.SetSections(e.ctx, c.Sections, on); err != nil {
			return err
		}
		return e.showSections(a)
	})
}

type sectionOn struct{ sectionKeys }

// Run switches sections on.
func (c *sectionOn) Run(e *environment) error { return c.set(e, true) }

type sectionOff struct{ sectionKeys }

// Run switches sections off.
func (c *sectionOff) Run(e *environment) error { return c.set(e, false) }

type catalogImport struct {
	File string `arg:"" help:"YAML file; - is standard input."`
}

// Run imports a catalog.
func (c *catalogImport) Run(e *environment) error {
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
		report, err := a.ImportCatalog(e.ctx, content)
		if err != nil {
			return fmt.Errorf("nothing was imported:\n%w", err)
		}
		return e.show(report, func(w io.Writer) {
			row(w, "categories", report.Categories)
			row(w, "products", report.Products)
			row(w, "plans", report.Plans)
			row(w, "add-ons", report.Addons)
			if len(report.Withdrawn) > 0 {
				row(w, "taken off sale", strings.Join(report.Withdrawn, " "))
			}
			for _, u := range report.Unfulfillable {
				row(w, "CANNOT BE SOLD", fmt.Sprintf("%s: no server has %s", u.Plan, strings.Join(u.Missing, ", ")))
			}
		})
	})
}

type catalogExport struct{}

// Run exports the catalog.
func (c *catalogExport) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		file, err := a.ExportCatalog(e.ctx)
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

type serviceList struct {
	paging
	Status string `help:"Only those in this state." enum:",pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled" default:""`
	Node   string `help:"Only those on this hosting machine, or panel."`
}

// Run lists services.
func (c *serviceList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListServices(e.ctx, admin.Services{Status: c.Status, Node: c.Node}, c.params())
		if err != nil {
			return err
		}
		return e.show(list, func(w io.Writer) {
			row(w, "ID", "CUSTOMER", "DOMAIN", "PLAN", "STATUS", "NODE", "EXPIRES")
			for _, s := range list.Data {
				row(w, s.ID, s.Email, orDash(s.Domain), s.Plan, s.Status, dash(nodeOf(s)), expiry(s))
			}
		})
	})
}

// nodeOf names the hosting machine of a service, or else its panel.
func nodeOf(s admin.Service) string {
	if s.Node == nil {
		return s.Panel
	}
	return *s.Node
}

func expiry(s admin.Service) string {
	if s.ExpiresAt == nil {
		return "-"
	}
	return s.ExpiresAt.Format("2006-01-02")
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func (e *environment) showService(s admin.Service, err error) error {
	if err != nil {
		return err
	}
	return e.show(s, func(w io.Writer) {
		row(w, "id", s.ID)
		row(w, "customer", fmt.Sprintf("%s (%d)", s.Email, s.AccountID))
		row(w, "label", s.Label)
		row(w, "domain", orDash(s.Domain))
		row(w, "plan", s.Plan)
		row(w, "status", s.Status)
		if s.SuspendReason != nil {
			row(w, "suspended because", *s.SuspendReason)
		}
		row(w, "panel", s.Panel)
		row(w, "order", s.OrderID)
		row(w, "expires", expiry(s))
	})
}

type serviceID struct {
	Service int64 `arg:"" help:"Id of the service."`
}

type serviceShow struct{ serviceID }

// Run shows a service.
func (c *serviceShow) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showService(a.Service(e.ctx, c.Service)) })
}

type serviceSuspend struct {
	serviceID
	Reason string `help:"Why: abuse, manual or resource_limit." enum:"abuse,manual,resource_limit" default:"manual"`
}

// Run suspends a service.
func (c *serviceSuspend) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showService(a.SuspendService(e.ctx, c.Service, c.Reason)) })
}

type serviceUnsuspend struct{ serviceID }

// Run lifts the suspension of a service.
func (c *serviceUnsuspend) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showService(a.UnsuspendService(e.ctx, c.Service)) })
}

type serviceTerminate struct {
	serviceID
	WithoutBackup bool `help:"Of a service that is terminating and whose final backup cannot be made: remove its account nevertheless. It cannot be restored then."`
}

// Run ends a service.
func (c *serviceTerminate) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		end := a.TerminateService
		if c.WithoutBackup {
			end = a.EndServiceUnkept
		}
		return e.showService(end(e.ctx, c.Service))
	})
}

type serviceRestore struct{ serviceID }

// Run restores a terminated service.
func (c *serviceRestore) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showService(a.RestoreService(e.ctx, c.Service)) })
}

type demoCmd struct {
	URL           string `arg:"" help:"Address of the installation, such as http://127.0.0.1:8080."`
	Site          string `help:"Folder of the web site to publish; by default the documentation of Git when Debian has it." type:"existingdir"`
	Email         string `help:"Sign in to this account instead of registering a new one."`
	PasswordStdin bool   `help:"Read its password from standard input."`
	ClientID      string `help:"Use this public application instead of registering a new one."`
	NodeURL       string `help:"Where the sites can be reached from here, when not where the service says."`
}

// Run does the main job as a client of the API.
func (c *demoCmd) Run(e *environment) error {
	o := demo.Options{URL: c.URL, Out: e.stdout, JSON: e.json, SiteDir: c.Site, Email: c.Email, ClientID: c.ClientID, NodeURL: c.NodeURL}
	if c.PasswordStdin {
		var err error
		if o.Password, err = e.readPassword(); err != nil {
			return err
		}
	}
	return demo.Run(e.ctx, o)
}
