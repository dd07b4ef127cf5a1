package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/mattn/go-isatty"

	"stead.dev/stead/internal/app"
	"stead.dev/stead/internal/front/admin"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/oauth"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/page"
)

// adminCmd are the commands of administration.
type adminCmd struct {
	Hold        putHold     `cmd:"" help:"Put a database on hold that was restored by other means than stead restore, and let it give no id again. Servers must be stopped."`
	ReleaseHold releaseHold `cmd:"" help:"Let the servers of a restored installation work again."`

	Users struct {
		Create         userCreate         `cmd:"" help:"Make an account."`
		List           userList           `cmd:"" help:"List all accounts."`
		Show           userShow           `cmd:"" help:"Show an account."`
		SetPassword    userSetPassword    `cmd:"" help:"Give an account a new password and end its sessions and tokens."`
		ResetTwoFactor userResetTwoFactor `cmd:"" name:"reset-2fa" help:"Switch the second factor off for an owner who lost it."`
		Staff          userStaff          `cmd:"" help:"List the accounts of staff."`
		GrantAdmin     userGrantAdmin     `cmd:"" help:"Make an account one of staff, or change its role."`
		RevokeAdmin    userRevokeAdmin    `cmd:"" help:"Make it a customer's again."`
		Suspend        userSuspend        `cmd:"" help:"Let nobody in to an account and refuse its tokens."`
		Unsuspend      userUnsuspend      `cmd:"" help:"Open a suspended account."`
		Close          userClose          `cmd:"" help:"Remove for good what names a person from an account that has nothing left; its books stay."`
	} `cmd:"" help:"Accounts of customers and operators."`
	Import struct {
		WHMCS  importWHMCS  `cmd:"" name:"whmcs" help:"Make accounts of the clients of a WHMCS installation, with their balances, domain names and services."`
		Hestia importHestia `cmd:"" help:"Bring the account in a backup of HestiaCP into a service."`
		CPanel importCPanel `cmd:"" name:"cpanel" help:"Bring the account in a full backup of cPanel into a service."`
	} `cmd:"" help:"Customers of another system."`
	Wallet struct {
		Show     walletShow     `cmd:"" help:"Show an account's balance."`
		Credit   walletCredit   `cmd:"" help:"Give an account money; its owner sees the reason."`
		TakeBack walletTakeBack `cmd:"" help:"Take back a credit that was given by mistake."`
		Topups   walletTopups   `cmd:"" help:"List the top-ups that wait for their money."`
		Confirm  walletConfirm  `cmd:"" help:"Credit a top-up by bank transfer whose money has arrived."`
	} `cmd:"" help:"Customers' money."`
	Apps struct {
		List    appList    `cmd:"" help:"List all applications."`
		Create  appCreate  `cmd:"" help:"Register an application for an account."`
		Disable appDisable `cmd:"" help:"Refuse an application's tokens."`
		Enable  appEnable  `cmd:"" help:"Accept them again."`
	} `cmd:"" help:"OAuth applications."`
	Sections struct {
		List sectionList `cmd:"" help:"List the sections of the platform."`
		On   sectionOn   `cmd:"" help:"Switch sections on."`
		Off  sectionOff  `cmd:"" help:"Switch sections off: their operations answer 404."`
	} `cmd:"" help:"Sections of the platform."`
	Catalog struct {
		Import catalogImport `cmd:"" help:"Make the catalog what a YAML file says; plans it does not name are taken off sale."`
		Export catalogExport `cmd:"" help:"Print the catalog as YAML."`
	} `cmd:"" help:"Products, plans and prices."`
	Domains struct {
		Import domainsImport `cmd:"" help:"Make the price book of domains what a YAML file says; zones it does not name are taken off sale."`
		Export domainsExport `cmd:"" help:"Print the price book of domains as YAML."`

		Waiting domainsWaiting `cmd:"" help:"List the paid operations on domains that the registry has not answered."`
	} `cmd:"" help:"Zones of domains and their prices, and what waits for the registry."`
	Services struct {
		List      serviceList      `cmd:"" help:"List all customers' services."`
		Show      serviceShow      `cmd:"" help:"Show a service."`
		Suspend   serviceSuspend   `cmd:"" help:"Take a service offline."`
		Unsuspend serviceUnsuspend `cmd:"" help:"Bring a suspended service back."`
		Move      servicesMove     `cmd:"" help:"Move a service to another node while it lives."`
		Terminate serviceTerminate `cmd:"" help:"End a suspended service: a final backup is made, then its account is removed."`
		Restore   serviceRestore   `cmd:"" help:"Bring a terminated service back, with what its final backup has."`
		Health    serviceHealth    `cmd:"" help:"List the services that are due without an attempt, whose renewal fails, or whose end takes long."`
	} `cmd:"" help:"Customers' services."`
	Orders     ordersCmd     `cmd:"" help:"What customers bought."`
	Nodes      nodesCmd      `cmd:"" help:"Hosting machines of their own."`
	Moves      movesCmd      `cmd:"" help:"Moves of services from one node to another."`
	Resellers  resellersCmd  `cmd:"" help:"Accounts that sell on, and their keys."`
	Clocks     clocksCmd     `cmd:"" help:"Test clocks of sandboxes."`
	Addons     addonsCmd     `cmd:"" help:"Add-ons that operators make."`
	Coupons    couponsCmd    `cmd:"" help:"Codes that take something off an order."`
	Content    contentCmd    `cmd:"" help:"Articles of the knowledge base and the blog, and terms of the glossary."`
	Currencies currenciesCmd `cmd:"" help:"Rates by which prices are shown in other currencies."`
	Key        keyCmd        `cmd:"" help:"The key that seals stored secrets."`
	Status     statusCmd     `cmd:"" help:"What everybody is told of the platform's state."`
	SLA        slaCmd        `cmd:"" name:"sla" help:"What is given back for outages."`
	Reviews    reviewsCmd    `cmd:"" help:"What customers say of the company."`
	Tickets    ticketsCmd    `cmd:"" help:"Questions of customers."`
	Audit      auditCmd      `cmd:"" help:"What staff have done, from the panel, the API and this command."`
}

// paging are the flags of lists.
type paging struct {
	Page    int `help:"Page of the list." default:"1"`
	PerPage int `help:"Rows a page, at most 50." default:"50"`
}

func (p paging) params() page.Params { return page.Params{Page: p.Page, PerPage: p.PerPage} }

// administer opens the installation for f.
func (e *environment) administer(f func(*admin.Admin) error) error {
	cfg, err := e.load(nil)
	if err != nil {
		return err
	}
	if _, err := os.Stat(app.DatabaseFile(cfg)); cfg.SQLite() && errors.Is(err, fs.ErrNotExist) {
		// A mistyped or forgotten setting must not begin an installation.
		return fmt.Errorf("there is no installation in %s (data_dir, STEAD_DATA_DIR); stead migrate or stead serve begins one", cfg.DataDir)
	}
	a, done, err := app.Administer(e.ctx, cfg, e.version)
	if err != nil {
		return err
	}
	e.ctx = auth.WithActor(e.ctx, auth.Actor{Name: operator(), Via: auth.ViaCommand})
	return errors.Join(f(a), done())
}

// show prints v as JSON or calls text.
func (e *environment) show(v any, text func(w io.Writer)) error {
	if e.json {
		return e.printJSON(v)
	}
	table := tabwriter.NewWriter(e.stdout, 0, 8, 2, ' ', 0)
	text(table)
	return table.Flush()
}

// row prints one line of a table.
func row(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = io.WriteString(w, "\t")
		}
		_, _ = io.WriteString(w, printable(fmt.Sprint(c)))
	}
	_, _ = io.WriteString(w, "\n")
}

// printable replaces what could command a terminal: lines of logs and names are written by strangers.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// accountArg is the argument of commands about one account.
type accountArg struct {
	Account string `arg:"" help:"Its id or mail address."`
}

func (e *environment) showUser(u admin.User, err error) error {
	if err != nil {
		return err
	}
	return e.show(u, func(w io.Writer) { printUser(w, u) })
}

func printUser(w io.Writer, u admin.User) {
	row(w, "id", u.ID)
	row(w, "email", u.Email)
	row(w, "name", u.Name)
	row(w, "state", userState(u))
	row(w, "role of staff", cmp.Or(string(u.Role), "none"))
	row(w, "second factor", yesNo(u.TwoFactor))
	row(w, "locale, currency", u.Locale+", "+u.Currency)
	row(w, "created", u.CreatedAt.Format("2006-01-02 15:04 MST"))
}

func userState(u admin.User) string {
	switch {
	case u.ClosedAt != nil:
		return "closed"
	case u.SuspendedAt != nil && u.SuspendReason != "":
		return "suspended: " + u.SuspendReason
	case u.SuspendedAt != nil:
		return "suspended"
	default:
		return "open"
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type userCreate struct {
	Email         string `arg:"" help:"Mail address."`
	Name          string `help:"Name of the person; by default the first part of the address."`
	PasswordStdin bool   `help:"Read the password from standard input; by default one is generated and printed."`
	Admin         bool   `help:"Make it the account of an owner of the company; the same as --role owner."`
	Role          string `help:"Make it one of staff: owner, billing, support, technician or read_only."`
	Locale        string `help:"Language: uz, ru or en."`
	Currency      string `help:"Display currency."`
}

// withPassword is a user and the password that was generated for it.
type withPassword struct {
	admin.User
	Password string `json:"password,omitempty"`
}

func (e *environment) showWithPassword(u admin.User, password string) error {
	return e.show(withPassword{u, password}, func(w io.Writer) {
		printUser(w, u)
		if password != "" {
			row(w, "password", password)
		}
	})
}

// readPassword reads one line of standard input, so that the password is in no process list and no history.
func (e *environment) readPassword() (string, error) {
	line, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", errors.New("no password came on standard input")
	}
	return password, nil
}

// terminal reports whether standard input is a person's keyboard.
func (e *environment) terminal() bool {
	f, ok := e.stdin.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Run creates the account.
func (c *userCreate) Run(e *environment) error {
	n := account.NewAccount{Email: c.Email, Name: c.Name, Role: auth.Role(c.Role), Locale: c.Locale, Currency: c.Currency}
	if c.Admin && n.Role == "" {
		n.Role = auth.Owner
	}
	if n.Role != "" && !n.Role.Known() {
		return usageError{fmt.Errorf("%q is no role of staff: owner, billing, support, technician or read_only", c.Role)}
	}
	if c.PasswordStdin {
		var err error
		if n.Password, err = e.readPassword(); err != nil {
			return err
		}
	}
	return e.administer(func(a *admin.Admin) error {
		u, generated, err := a.CreateUser(e.ctx, n)
		if err != nil {
			return err
		}
		return e.showWithPassword(u, generated)
	})
}

type userList struct{ paging }

// Run lists accounts.
func (c *userList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.Users(e.ctx, c.params())
		if err != nil {
			return err
		}
		return e.show(list, func(w io.Writer) {
			row(w, "ID", "EMAIL", "NAME", "STATE", "ROLE", "CREATED")
			for _, u := range list.Data {
				row(w, u.ID, u.Email, u.Name, userState(u), u.Role, u.CreatedAt.Format("2006-01-02"))
			}
		})
	})
}

type userShow struct{ accountArg }

// Run shows an account.
func (c *userShow) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showUser(a.User(e.ctx, c.Account)) })
}

type userSetPassword struct {
	accountArg
	Generate      bool `help:"Generate a password and print it." xor:"password"`
	PasswordStdin bool `help:"Read the password from standard input, which is also done when that is no terminal." xor:"password"`
}

// Run sets a password.
func (c *userSetPassword) Run(e *environment) error {
	password := ""
	if !c.Generate {
		if !c.PasswordStdin && e.terminal() {
			return usageError{errors.New("give --generate, or --password-stdin with the password on standard input")}
		}
		var err error
		if password, err = e.readPassword(); err != nil {
			return err
		}
	}
	return e.administer(func(a *admin.Admin) error {
		u, generated, err := a.SetPassword(e.ctx, c.Account, password)
		if err != nil {
			return err
		}
		return e.showWithPassword(u, generated)
	})
}

type userResetTwoFactor struct{ accountArg }

// Run switches the second factor off.
func (c *userResetTwoFactor) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showUser(a.ResetTwoFactor(e.ctx, c.Account)) })
}

type userStaff struct{}

// Run lists staff.
func (c *userStaff) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		staff, err := a.Staff(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": staff}, func(w io.Writer) {
			row(w, "ID", "EMAIL", "NAME", "ROLE", "SECOND FACTOR", "STATE")
			for _, u := range staff {
				row(w, u.ID, u.Email, u.Name, u.Role, yesNo(u.TwoFactor), userState(u))
			}
		})
	})
}

type userGrantAdmin struct {
	accountArg
	Role string `help:"owner, billing, support, technician or read_only." enum:"owner,billing,support,technician,read_only" default:"owner"`
}

// Run gives a role.
func (c *userGrantAdmin) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showUser(a.SetRole(e.ctx, c.Account, auth.Role(c.Role))) })
}

type userRevokeAdmin struct{ accountArg }

// Run takes the role back.
func (c *userRevokeAdmin) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showUser(a.SetRole(e.ctx, c.Account, "")) })
}

type userSuspend struct {
	accountArg
	Reason string `help:"Why, for the records." required:""`
}

// Run suspends an account.
func (c *userSuspend) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showUser(a.SuspendUser(e.ctx, c.Account, c.Reason)) })
}

type userUnsuspend struct{ accountArg }

// Run lifts the suspension of an account.
func (c *userUnsuspend) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showUser(a.UnsuspendUser(e.ctx, c.Account)) })
}

type userClose struct {
	accountArg
	LeaveMoney bool `help:"Although there is money in its wallet, or a debt: it stays in the books."`
}

// Run closes an account.
func (c *userClose) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showUser(a.CloseUser(e.ctx, c.Account, c.LeaveMoney)) })
}

func (e *environment) showBalance(b admin.Balance, err error) error {
	if err != nil {
		return err
	}
	return e.show(b, func(w io.Writer) {
		row(w, "balance", b.Balance)
		row(w, "held for orders", b.Held)
		if b.Debt != 0 {
			row(w, "debt", b.Debt)
		}
	})
}

type walletShow struct{ accountArg }

// Run shows a balance.
func (c *walletShow) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showBalance(a.Balance(e.ctx, c.Account)) })
}

type walletCredit struct {
	accountArg
	USD    string `arg:"" name:"usd" help:"US dollars, such as 25 or 25.00."`
	Reason string `help:"Why; the owner sees it." required:""`
}

// Run credits a wallet.
func (c *walletCredit) Run(e *environment) error {
	amount, err := readAs(admin.ParseUSD, c.USD)
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		return e.showBalance(a.Credit(e.ctx, c.Account, amount, c.Reason))
	})
}

type walletTakeBack struct {
	accountArg
	Transaction int64  `arg:"" help:"Number of the credit's transaction, as the owner's statement shows it."`
	Reason      string `help:"Why; the owner sees it." required:""`
}

// Run takes back a credit.
func (c *walletTakeBack) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		return e.showBalance(a.TakeBackCredit(e.ctx, c.Account, c.Transaction, c.Reason))
	})
}

// operator is the person who runs the command, for the records.
func operator() string {
	host, _ := os.Hostname() // the records work without it
	u, err := user.Current()
	if err != nil {
		return "stead admin on " + host
	}
	return u.Username + "@" + host
}

type walletTopups struct{ paging }

// Run lists open top-ups.
func (c *walletTopups) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.OpenTopups(e.ctx, "", c.params())
		if err != nil {
			return err
		}
		return e.show(list, func(w io.Writer) {
			row(w, "ID", "EMAIL", "GATEWAY", "STATUS", "TO PAY", "CREATED")
			for _, t := range list.Data {
				row(w, t.ID, t.Email, t.Gateway, t.Status, t.Total, t.CreatedAt.Format("2006-01-02"))
			}
		})
	})
}

type walletConfirm struct {
	Topup int64  `arg:"" help:"Id of the top-up."`
	USD   string `arg:"" name:"usd" help:"US dollars that arrived; must be what was to be paid."`
}

// Run confirms a bank transfer.
func (c *walletConfirm) Run(e *environment) error {
	received, err := readAs(admin.ParseUSD, c.USD)
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		if err := a.ConfirmTopup(e.ctx, c.Topup, received); err != nil {
			return err
		}
		return e.show(map[string]any{"topup": c.Topup, "status": "succeeded"}, func(w io.Writer) { row(w, "credited") })
	})
}

type appList struct{ paging }

// Run lists applications.
func (c *appList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		apps, err := a.Applications(e.ctx, c.params())
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": apps}, func(w io.Writer) {
			row(w, "CLIENT ID", "NAME", "TYPE", "OWNER", "SANDBOX", "STATE")
			for _, app := range apps {
				state := "enabled"
				if app.Disabled {
					state = "disabled"
				}
				row(w, app.ClientID, app.Name, app.Type, app.OwnerID, yesNo(app.Sandbox), state)
			}
		})
	})
}

func (e *environment) showApp(app admin.Application, err error) error {
	if err != nil {
		return err
	}
	return e.show(app, func(w io.Writer) {
		row(w, "client id", app.ClientID)
		if app.ClientSecret != "" {
			row(w, "client secret", app.ClientSecret+"  (shown only now)")
		}
		row(w, "name", app.Name)
		row(w, "type", app.Type)
		row(w, "redirect URIs", strings.Join(app.RedirectURIs, " "))
		row(w, "scopes", strings.Join(app.Scopes, " "))
		row(w, "sandbox", yesNo(app.Sandbox))
		row(w, "disabled", yesNo(app.Disabled))
	})
}

type appCreate struct {
	Owner        string   `help:"Id or mail address of the account it belongs to." required:""`
	Name         string   `help:"Its name; customers see it when they are asked." required:""`
	Redirect     []string `help:"Where codes go; may be given more than once." required:""`
	Confidential bool     `help:"It keeps a secret on a server; by default it is public and uses PKCE."`
	Scope        []string `help:"Scopes it may ask for; by default all but admin."`
	Sandbox      bool     `help:"Its tokens read everything and write nothing."`
}

// Run registers an application.
func (c *appCreate) Run(e *environment) error {
	r := oauth.Registration{Name: c.Name, Type: oauth.Public, RedirectURIs: c.Redirect, Scopes: c.Scope, Sandbox: c.Sandbox}
	if c.Confidential {
		r.Type = oauth.Confidential
	}
	return e.administer(func(a *admin.Admin) error { return e.showApp(a.CreateApplication(e.ctx, c.Owner, r)) })
}

type clientID struct {
	ClientID string `arg:"" help:"Its client id."`
}

type appDisable struct{ clientID }

// Run disables an application.
func (c *appDisable) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showApp(a.DisableApplication(e.ctx, c.ClientID, true)) })
}

type appEnable struct{ clientID }

// Run enables an application.
func (c *appEnable) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error { return e.showApp(a.DisableApplication(e.ctx, c.ClientID, false)) })
}
