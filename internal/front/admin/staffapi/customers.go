package staffapi

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/db"
	usd "stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/page"
)

type searchIn struct {
	Query string `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"An id, a name, an address, a domain, a number of an invoice, an IP address or a request id."`
}

type customersIn struct {
	page.Params
	Query string `query:"q" maxLength:"200" doc:"A part of the address or the name."`
	State string `query:"state" enum:"open,suspended,closed" doc:"Only accounts in this state."`
}

type accountPageIn struct {
	accountIn
	page.Params
}

type reasonBody struct {
	Reason string `json:"reason" minLength:"1" maxLength:"300" doc:"Why; it stands in the audit log."`
}

type accountReasonIn struct {
	accountIn
	Body reasonBody
}

type moneyIn struct {
	accountIn
	Body struct {
		Amount int64  `json:"amount_usd_cents" minimum:"1" maximum:"100000000"`
		Reason string `json:"reason" minLength:"1" maxLength:"200" doc:"The customer sees it."`
	}
}

type takeBackIn struct {
	accountIn
	Transaction int64 `path:"transaction" minimum:"1" doc:"Id of the ledger's transaction that is taken back."`
	Body        struct {
		Reason string `json:"reason" minLength:"1" maxLength:"200" doc:"The customer sees it."`
	}
}

type noteIn struct {
	accountIn
	Body struct {
		Text string `json:"text" minLength:"1" maxLength:"5000"`
	}
}

type noteOneIn struct {
	accountIn
	Note int64 `path:"note" minimum:"1" doc:"Id of the note."`
}

// customers are the operations about customers.
func (s *Service) customers() []api.Route {
	a := s.Admin
	note := change[noteIn, admin.Note]("customers.add_note", http.MethodPost, "/customers/{account}/notes", "Write a note about a customer, who does not see it",
		[]auth.Role{auth.Owner, auth.Billing, auth.Support, auth.Technician}, nil)
	note.Status = http.StatusCreated
	note.Handle = func(ctx context.Context, p auth.Principal, in *noteIn) (*admin.Note, error) {
		return pointer(a.AddNote(ctx, in.who(), in.Body.Text, p.AccountID))
	}
	enter := change[accountReasonIn, admin.SignIn]("customers.sign_in_as", http.MethodPost, "/customers/{account}/sign-in",
		"Sign in as a customer", care, nil)
	enter.Description = "The address is opened in the same browser within a minute, once. The session is marked, shows no secrets, ends after an hour, and " +
		"stands in the customer's security log; what is changed in it is recorded in the audit log."
	enter.Handle = func(ctx context.Context, _ auth.Principal, in *accountReasonIn) (*admin.SignIn, error) {
		return pointer(a.SignInAs(ctx, in.who(), in.Body.Reason))
	}
	return []api.Route{
		read("dashboard", "/dashboard", "How the company is doing, and what is stuck", everyone, func(ctx context.Context, _ *struct{}) (*admin.Dashboard, error) {
			return pointer(a.Dashboard(ctx))
		}),
		read("search", "/search", "Find anything by its id, name, address, number or request id", everyone, func(ctx context.Context, in *searchIn) (*list[admin.Hit], error) {
			return listed(a.Search(ctx, in.Query))
		}),
		read("customers.list", "/customers", "The customers, the newest first", everyone, func(ctx context.Context, in *customersIn) (*page.List[admin.Customer], error) {
			return a.Customers(ctx, admin.CustomerFilter{Query: in.Query, State: in.State}, in.Params)
		}),
		read("customers.get", "/customers/{account}", "A customer, with balance, counts and notes", everyone, func(ctx context.Context, in *accountIn) (*admin.CustomerView, error) {
			return pointer(a.Customer(ctx, in.who()))
		}),
		read("customers.ledger", "/customers/{account}/ledger", "The movements of a customer's money, the newest first", everyone,
			func(ctx context.Context, in *accountPageIn) (*page.List[admin.Movement], error) {
				return a.Ledger(ctx, in.who(), in.Params)
			}),
		change("customers.suspend", http.MethodPost, "/customers/{account}/suspend", "Let nobody in to an account, and refuse its tokens", care,
			func(ctx context.Context, in *accountReasonIn) (*admin.User, error) {
				return pointer(a.SuspendUser(ctx, in.who(), in.Body.Reason))
			}),
		change("customers.unsuspend", http.MethodPost, "/customers/{account}/unsuspend", "Open a suspended account", care,
			func(ctx context.Context, in *accountReasonIn) (*admin.User, error) {
				return pointer(a.UnsuspendUser(admin.Because(ctx, in.Body.Reason), in.who()))
			}),
		dangerous(change("customers.reset_two_factor", http.MethodPost, "/customers/{account}/reset-two-factor", "Switch the second factor off for an owner who lost it", care,
			func(ctx context.Context, in *accountReasonIn) (*admin.User, error) {
				return pointer(a.ResetTwoFactor(admin.Because(ctx, in.Body.Reason), in.who()))
			})),
		pay("customers.credit", "/customers/{account}/credit", "Give a customer money", money, func(ctx context.Context, tx *db.Tx, in *moneyIn) (*admin.Balance, error) {
			return pointer(a.CreditIn(ctx, tx, in.Account, usd.USDCents(in.Body.Amount), in.Body.Reason))
		}),
		pay("customers.debit", "/customers/{account}/debit", "Take money from a customer, no more than can be spent", money,
			func(ctx context.Context, tx *db.Tx, in *moneyIn) (*admin.Balance, error) {
				return pointer(a.DebitIn(ctx, tx, in.Account, usd.USDCents(in.Body.Amount), in.Body.Reason))
			}),
		pay("customers.take_back", "/customers/{account}/ledger/{transaction}/take-back", "Take back a credit that was given by mistake", money,
			func(ctx context.Context, tx *db.Tx, in *takeBackIn) (*admin.Balance, error) {
				return pointer(a.TakeBackCreditIn(ctx, tx, in.Account, in.Transaction, in.Body.Reason))
			}),
		note,
		change("customers.remove_note", http.MethodDelete, "/customers/{account}/notes/{note}", "Remove a note about a customer", care,
			func(ctx context.Context, in *noteOneIn) (*api.Empty, error) {
				return nil, a.RemoveNote(ctx, in.who(), in.Note)
			}),
		dangerous(enter),
	}
}
