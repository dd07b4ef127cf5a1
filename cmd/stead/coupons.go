package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"stead.dev/stead/internal/front/admin"
)

// couponsCmd has the commands for coupons.
type couponsCmd struct {
	Create  couponsCreate  `cmd:"" help:"Make a coupon."`
	List    couponsList    `cmd:"" help:"List all coupons, with what they have taken off."`
	Disable couponsDisable `cmd:"" help:"End a coupon: no order is made or paid with it from now on."`
}

type couponsCreate struct {
	Code       string   `arg:"" help:"3 to 40 letters, digits, - and _; large and small letters are the same."`
	Percent    string   `help:"Percent that it takes off the first period, such as 12.5; this or --usd." xor:"off" required:""`
	USD        string   `name:"usd" help:"US dollars that it takes off the first period, such as 5.00; this or --percent." xor:"off" required:""`
	MaxTotal   int      `help:"How often it can be redeemed in all."`
	MaxEach    int      `help:"How often an account can redeem it." default:"1"`
	FirstOrder bool     `help:"Only for accounts that have bought nothing yet."`
	Products   []string `help:"Slugs of the products and plans that it is for; all when left out."`
	MinMonths  int      `help:"The shortest period that it is for." default:"1"`
	Starts     string   `help:"From when it can be used: a date, or a moment of RFC 3339."`
	Ends       string   `help:"Until when it can be used: the date on which it can no longer be, or a moment of RFC 3339."`
	Note       string   `help:"For operators."`
}

// Run creates a coupon.
func (c *couponsCreate) Run(e *environment) (err error) {
	n := admin.NewCoupon{
		Code: c.Code, MaxTotal: c.MaxTotal, MaxEach: c.MaxEach, FirstOrder: c.FirstOrder, Products: c.Products, MinMonths: c.MinMonths, Note: c.Note,
	}
	if c.Percent != "" {
		n.PercentBasisPoints, err = readAs(admin.ParsePercent, c.Percent)
	} else {
		n.Amount, err = readAs(admin.ParseUSD, c.USD)
	}
	if err != nil {
		return err
	}
	if n.StartsAt, err = momentOf(c.Starts); err != nil {
		return err
	}
	if n.EndsAt, err = momentOf(c.Ends); err != nil {
		return err
	}
	return e.administer(func(a *admin.Admin) error {
		made, err := a.CreateCoupon(e.ctx, n)
		if err != nil {
			return err
		}
		return e.show(made, func(w io.Writer) { printCoupon(w, made) })
	})
}

// momentOf returns nil for an empty text.
func momentOf(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := readAs(admin.ParseMoment, text)
	return &t, err
}

func printCoupon(w io.Writer, c admin.Coupon) {
	row(w, "code", c.Code)
	row(w, "takes off", takesOff(c))
	row(w, "for", couponFor(c))
	row(w, "time", couponTime(c))
	row(w, "redeemed", redeemedOf(c))
}

func takesOff(c admin.Coupon) string {
	if c.Amount > 0 {
		return c.Amount.String()
	}
	return percent(c.PercentBasisPoints)
}

func couponFor(c admin.Coupon) string {
	var all []string
	if c.FirstOrder {
		all = append(all, "first orders")
	}
	if len(c.Products) > 0 {
		all = append(all, strings.Join(c.Products, " "))
	}
	if c.MinMonths > 1 {
		all = append(all, fmt.Sprintf("from %d months", c.MinMonths))
	}
	if len(all) == 0 {
		return "all"
	}
	return strings.Join(all, ", ")
}

func couponTime(c admin.Coupon) string {
	day := func(t *time.Time) string {
		if t == nil {
			return "…"
		}
		return t.Format("2006-01-02 15:04")
	}
	if c.DisabledAt != nil {
		return "disabled " + day(c.DisabledAt)
	}
	return day(c.StartsAt) + " to " + day(c.EndsAt)
}

func redeemedOf(c admin.Coupon) string {
	text := fmt.Sprint(c.Redeemed)
	if c.MaxTotal > 0 {
		text += fmt.Sprintf(" of %d", c.MaxTotal)
	}
	if c.MaxEach > 0 {
		text += fmt.Sprintf(", %d an account", c.MaxEach)
	}
	return text
}

type couponsList struct{}

// Run lists coupons.
func (couponsList) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		list, err := a.ListCoupons(e.ctx)
		if err != nil {
			return err
		}
		return e.show(map[string]any{"data": list}, func(w io.Writer) {
			row(w, "CODE", "TAKES OFF", "FOR", "TIME", "REDEEMED", "IN ALL")
			for _, c := range list {
				row(w, c.Code, takesOff(c), couponFor(c), couponTime(c), redeemedOf(c), c.Discount)
			}
		})
	})
}

type couponsDisable struct {
	Code string `arg:"" help:"Its code."`
}

// Run ends a coupon.
func (c *couponsDisable) Run(e *environment) error {
	return e.administer(func(a *admin.Admin) error {
		ended, err := a.DisableCoupon(e.ctx, c.Code)
		if err != nil {
			return err
		}
		return e.show(ended, func(w io.Writer) { printCoupon(w, ended) })
	})
}
