package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"stead.dev/stead/internal/front/admin"
)

// resellersCmd has the commands for resellers.
type resellersCmd struct {
	Appoint   resellersAppoint   `cmd:"" help:"Make an account a reseller, or change the terms of one."`
	List      resellersList      `cmd:"" help:"List all resellers."`
	Keys      resellersKeys      `cmd:"" help:"List a reseller's keys."`
	AddKey    resellersAddKey    `cmd:"" help:"Make a key of the reseller API; it is shown only now."`
	RevokeKey resellersRevokeKey `cmd:"" help:"End a key: the next request that bears it is refused."`
}

type resellersAppoint struct {
	accountArg
	Tier     string `help:"Name of the tier, such as gold." required:""`
	Discount string `help:"Percent that wholesale is below retail, such as 12.5." required:""`
}

// Run appoints a reseller.
func (c *resellersAppoint) Run(e *environment) error {
	basisPoints, err := readAs(admin.ParsePercent, c.Discount)
	if err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		r, err := a.AppointReseller(e.ctx, c.Account, c.Tier, basisPoints)
		if err != nil {
			return err
		}
		return e.show(r, func(w io.Writer) {
			row(w, "account", fmt.Sprintf("%s (%d)", r.Email, r.AccountID))
			row(w, "sandbox", r.SandboxID)
			row(w, "tier", r.Tier)
			row(w, "discount", percent(r.DiscountBasisPoints))
		})
	})
}

func percent(basisPoints int) string {
	return fmt.Sprintf("%d.%02d %%", basisPoints/100, basisPoints%100)
}

type resellersList struct{}

// Run lists resellers.
func (resellersList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListResellers(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": list}, func(w io.Writer) {
			row(w, "ID", "EMAIL", "TIER", "DISCOUNT", "SANDBOX", "SINCE")
			for _, r := range list {
				row(w, r.AccountID, r.Email, r.Tier, percent(r.DiscountBasisPoints), r.SandboxID, r.CreatedAt.Format("2006-01-02"))
			}
		})
	})
}

type resellersKeys struct{ accountArg }

// Run lists keys.
func (c *resellersKeys) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ResellerKeys(e.ctx, c.Account)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": list}, func(w io.Writer) {
			row(w, "ID", "NAME", "KEY", "WORLD", "MAY", "ADDRESSES", "LAST USED", "STATE")
			for _, k := range list {
				state := "good"
				if k.RevokedAt != nil {
					state = "revoked"
				}
				row(w, k.ID, k.Name, "…"+k.Hint, worldOf(k), mayOf(k), addressesOf(k), seen(k.LastUsedAt), state)
			}
		})
	})
}

func worldOf(k admin.ResellerKey) string {
	if k.Sandbox {
		return "sandbox"
	}
	return "live"
}

func mayOf(k admin.ResellerKey) string {
	if k.ReadOnly {
		return "read"
	}
	return "all"
}

func addressesOf(k admin.ResellerKey) string {
	if len(k.Addresses) == 0 {
		return "any"
	}
	all := make([]string, len(k.Addresses))
	for i, a := range k.Addresses {
		all[i] = a.String()
	}
	return strings.Join(all, " ")
}

type resellersAddKey struct {
	accountArg
	Name     string   `help:"What the key is for." required:""`
	Sandbox  bool     `help:"A key of the reseller's sandbox: no money, no real machines."`
	ReadOnly bool     `help:"It may read only."`
	Address  []string `help:"Network that it may be used from, such as 192.0.2.0/24; may be given more than once. By default any."`
}

// withSecret is a key with its secret, which is shown once.
type withSecret struct {
	admin.ResellerKey
	Key string `json:"key"`
}

// Run creates a key.
func (c *resellersAddKey) Run(e *environment) error {
	n := admin.NewResellerKey{Name: c.Name, Sandbox: c.Sandbox, ReadOnly: c.ReadOnly}
	for _, text := range c.Address {
		network, err := readAs(parseNetwork, text)
		if err != nil {
			return err
		}
		n.Addresses = append(n.Addresses, network)
	}
	return e.administer(func(a *admin.Admin) error {
		k, secret, err := a.AddResellerKey(e.ctx, c.Account, n)
		if err != nil {
			return err
		}
		return e.show(withSecret{k, secret}, func(w io.Writer) {
			row(w, "id", k.ID)
			row(w, "name", k.Name)
			row(w, "key", secret+"  (shown only now)")
			row(w, "world", worldOf(k))
			row(w, "may", mayOf(k))
			row(w, "addresses", addressesOf(k))
		})
	})
}

// parseNetwork parses a network, or a single address as a network.
func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a.WithZone(""), a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%q is no network such as 192.0.2.0/24", text)
	}
	return p, nil
}

type resellersRevokeKey struct {
	Key int64 `arg:"" help:"Id of the key."`
}

// Run revokes a key.
func (c *resellersRevokeKey) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		if err := a.RevokeResellerKey(e.ctx, c.Key); err != nil {
			return err
		}
		return e.show(map[string]any{"id": c.Key, "revoked": true}, func(w io.Writer) { row(w, "revoked", c.Key) })
	})
}
