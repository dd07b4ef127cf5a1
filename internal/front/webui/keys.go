package webui

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

// Keys manages the keys by which a reseller's programs call the interface.
type Keys interface {
	// Resells reports whether the account is a reseller's.
	Resells(ctx context.Context, accountID int64) (bool, error)
	// Keys lists those that are not revoked, the newest first.
	Keys(ctx context.Context, accountID int64) ([]Key, error)
	// CreateKey creates one and returns its secret, which is never returned again.
	CreateKey(ctx context.Context, accountID int64, k NewKey) (secret string, err error)
	// RevokeKey revokes one of the account's keys from the next request on; fault.NotFound when there is none.
	RevokeKey(ctx context.Context, accountID, id int64) error
	// Principal is the reseller who calls the interface from the panel, in the live world or the sandbox; fault.Forbidden
	// when the account is no reseller's.
	Principal(ctx context.Context, accountID int64, sandbox bool) (auth.Principal, error)
}

// Key is a key without its secret.
type Key struct {
	ID         int64
	NewKey     NewKey
	Hint       string // the end of the key
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// NewKey is the input for a key.
type NewKey struct {
	Name              string
	Sandbox, ReadOnly bool
	// Addresses are the networks from which it may be used; none means all.
	Addresses []netip.Prefix
}

// keysData is the data of the page "keys".
type keysData struct {
	Keys []Key
	// Secret is the secret of a key that was just created; it is in no other answer.
	Secret string
	Form   *form
}

// Wrong returns the mistakes of an input.
func (d keysData) Wrong(name string) []string { return d.Form.errors[name] }

func (ui *UI) keyRoutes(mux *http.ServeMux) {
	if ui.Keys == nil {
		return
	}
	page := func(h http.HandlerFunc) http.HandlerFunc {
		return ui.requireSession(func(w http.ResponseWriter, r *http.Request) {
			if !ui.Sections.Enabled(api.Reseller) {
				ui.fail(w, r, fault.SectionDisabled.New())
				return
			}
			resells, err := ui.Keys.Resells(r.Context(), ui.session(r).Account.ID)
			if err == nil && !resells {
				err = fault.NotFound.New()
			}
			if err != nil {
				ui.fail(w, r, err)
				return
			}
			h(w, r)
		})
	}
	ui.handle(mux, "GET /account/keys", page(func(w http.ResponseWriter, r *http.Request) {
		ui.showKeys(w, r, http.StatusOK, emptyForm(), "")
	}))
	ui.handle(mux, "POST /account/keys", page(ui.requireRecentForm(ui.createKey)))
	// Revoking a leaked key needs no recent sign-in.
	ui.handle(mux, "POST /account/keys/{key}/revoke", page(ui.revokeKey))
	ui.handle(mux, "GET /account/keys/{key}/revoke", func(w http.ResponseWriter, r *http.Request) { ui.redirect(w, r, "/account/keys") })
}

// resells reports whether the visitor is a reseller. When the answer is unknown it says no.
func (ui *UI) resells(r *http.Request) bool {
	s := ui.session(r)
	if s == nil || ui.Keys == nil || !ui.Sections.Enabled(api.Reseller) {
		return false
	}
	resells, err := ui.Keys.Resells(r.Context(), s.Account.ID)
	return resells && err == nil
}

func (ui *UI) showKeys(w http.ResponseWriter, r *http.Request, status int, f *form, secret string) {
	keys, err := ui.Keys.Keys(r.Context(), ui.session(r).Account.ID)
	if err != nil {
		ui.fail(w, r, err)
		return
	}
	ui.render(w, r, status, "keys", keysData{Keys: keys, Secret: secret, Form: f})
}

func (ui *UI) createKey(w http.ResponseWriter, r *http.Request) {
	f := readForm(r)
	k := NewKey{Name: f.Get("name"), Sandbox: f.Get("world") != "live", ReadOnly: f.Get("read_only") != ""}
	var (
		secret string
		err    error
	)
	if k.Addresses, err = networks(f.Get("addresses")); err == nil {
		secret, err = ui.Keys.CreateKey(r.Context(), ui.session(r).Account.ID, k)
	}
	if err != nil {
		status, ok := f.refused(r, err)
		if !ok {
			ui.fail(w, r, err)
			return
		}
		ui.showKeys(w, r, status, f, "")
		return
	}
	ui.note(r, account.EventKeyCreated)
	ui.showKeys(w, r, http.StatusCreated, emptyForm(), secret)
}

// networks parses networks and single addresses, separated by blanks or commas.
func networks(text string) (all []netip.Prefix, err error) {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == ',' }) {
		p, err := netip.ParsePrefix(one)
		if err != nil {
			a, err := netip.ParseAddr(one)
			if err != nil {
				return nil, fault.Invalid("addresses", "key_networks")
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		all = append(all, p)
	}
	return all, nil
}

func (ui *UI) revokeKey(w http.ResponseWriter, r *http.Request) {
	id, err := pathID(r, "key")
	if err == nil {
		err = ui.Keys.RevokeKey(r.Context(), ui.session(r).Account.ID, id)
	}
	if err == nil {
		ui.note(r, account.EventKeyRevoked)
	}
	ui.done(w, r, err, "webui.flash.key_revoked", "/account/keys")
}
