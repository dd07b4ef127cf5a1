package main

import (
	"fmt"
	"io"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/monitoring/sla"
)

// slaCmd has the commands for what is given back for outages.
type slaCmd struct {
	List    slaList    `cmd:"" help:"List closed months of services: those with a credit that is not paid yet, or those in another state."`
	Hold    slaHold    `cmd:"" help:"Keep a proposed credit until it is approved or rejected."`
	Approve slaApprove `cmd:"" help:"Pay a proposed credit now."`
	Reject  slaReject  `cmd:"" help:"Decide against a proposed credit; the customer reads why."`
}

type slaList struct {
	Status string `help:"proposed, credited, rejected or none." default:"proposed" enum:"proposed,credited,rejected,none"`
	paging
}

// Run lists months.
func (c *slaList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListSLA(e.ctx, c.Status, c.params())
		if err != nil {
			return err
		}
		return e.show(list, func(w io.Writer) {
			for i, m := range list.Data {
				if i > 0 {
					row(w)
				}
				printSLA(w, m)
			}
		})
	})
}

func printSLA(w io.Writer, m admin.SLAMonth) {
	row(w, "id", m.ID)
	row(w, "month", m.Month)
	row(w, "service, account", m.ServiceID, m.AccountID)
	state := m.Status
	if m.Held {
		state += ", held"
	}
	row(w, "state", state)
	if m.Note != "" {
		row(w, "note", m.Note)
	}
	row(w, "uptime", sla.Percent(m.Uptime)+" %")
	if m.Promised != nil {
		row(w, "promised", sla.Percent(*m.Promised)+" %")
	}
	row(w, "down, unknown", fmt.Sprintf("%d s, %d s", m.DownS, m.UnknownS))
	row(w, "paid", m.Paid)
	row(w, "credit", fmt.Sprintf("%v (%d %%)", m.Amount, m.Percent))
	if m.CreditAt != nil && m.Status == "proposed" && !m.Held {
		row(w, "is paid at", m.CreditAt.Format("2006-01-02 15:04 MST"))
	}
}

type slaHold struct {
	ID     int64  `arg:"" help:"Id of the month, as the list shows it."`
	Reason string `help:"Why, for your colleagues." required:""`
}

// Run holds a credit.
func (c *slaHold) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		m, err := a.HoldSLA(e.ctx, c.ID, c.Reason)
		return e.showSLA(m, err)
	})
}

type slaApprove struct {
	ID int64 `arg:"" help:"Id of the month, as the list shows it."`
}

// Run pays a credit.
func (c *slaApprove) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		m, err := a.ApproveSLA(e.ctx, c.ID)
		return e.showSLA(m, err)
	})
}

type slaReject struct {
	ID     int64  `arg:"" help:"Id of the month, as the list shows it."`
	Reason string `help:"Why; the customer reads it." required:""`
}

// Run rejects a credit.
func (c *slaReject) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		m, err := a.RejectSLA(e.ctx, c.ID, c.Reason)
		return e.showSLA(m, err)
	})
}

func (e *environment) showSLA(m admin.SLAMonth, err error) error {
	if err != nil {
		return err
	}
	return e.show(m, func(w io.Writer) { printSLA(w, m) })
}
