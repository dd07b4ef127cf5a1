package catalog

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/outbox"
)

//go:embed demo.yaml
var demo []byte

// Config is what the section works with; all is needed.
type Config struct {
	DB     *db.DB
	Events outbox.Events
}

// Audience knows whom changes of the catalog are told to.
type Audience interface {
	// Audience lists the accounts that events are sent to.
	Audience(ctx context.Context, q db.Querier) ([]int64, error)
}

// Worlds distinguishes sandboxes of resellers from the live world.
type Worlds interface {
	Sandbox(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Audience Audience
	Rates    sale.Rates
	Worlds   Worlds
}

// Service reads and fills the catalog.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others, before anything else is asked of it.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Offer returns a plan at the price of a period; 0 months stand for the shortest. A plan that does not exist, or that is not
// sold for this period, is refused with validation_failed. One that is off sale or sold out is returned with Available false,
// and the caller decides.
func (s *Service) Offer(ctx context.Context, q db.Querier, planID int64, months int) (sale.Offer, error) {
	pl, pr, err := findPlan(ctx, q, planID)
	if errors.Is(err, db.ErrNoRows) {
		return sale.Offer{}, fault.Invalid("plan_id", "plan_unknown")
	}
	if err != nil {
		return sale.Offer{}, fmt.Errorf("catalog: read plan %d: %w", planID, err)
	}
	if months == 0 && len(pl.Prices) > 0 {
		months = pl.Prices[0].PeriodMonths // the shortest comes first
	}
	limits, err := json.Marshal(pl.Limits)
	if err != nil {
		return sale.Offer{}, err
	}
	lang := i18n.Lang(ctx)
	o := sale.Offer{
		PlanID: pl.ID, PlanSlug: pl.Slug, PlanName: pl.Name.In(lang), ProductID: pr.ID, ProductSlug: pr.Slug,
		ProductName: pr.Name.In(lang), ProductType: pr.Type, PeriodMonths: months, Limits: limits,
		Available: pl.OnSale && !pl.soldOut(), SoldOut: pl.OnSale && pl.soldOut(),
	}
	p, ok := pl.price(months)
	if !ok {
		return sale.Offer{}, fault.InvalidData("period_months", "period_not_sold", map[string]any{"Periods": periods(pl.Prices)})
	}
	o.Price, o.FirstPeriodPrice, o.Setup = p.Price, p.FirstPeriodPrice, p.Setup
	return o, nil
}

// Changes lists the plans to which a service of a plan may move, at the price of the same period: those that the plan names,
// or, where it names none, the other plans of its product. Plans that are not sold for the period are left out.
func (s *Service) Changes(ctx context.Context, q db.Querier, planID int64, months int) ([]sale.Offer, error) {
	pl, _, err := findPlan(ctx, q, planID)
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: read plan %d: %w", planID, err)
	}
	ids, err := siblings(ctx, q, pl)
	if err != nil {
		return nil, fmt.Errorf("catalog: plans beside %d: %w", planID, err)
	}
	offers := make([]sale.Offer, 0, len(ids))
	for _, id := range ids {
		o, err := s.Offer(ctx, q, id, months)
		if errors.Is(err, fault.Validation) {
			continue
		}
		if err != nil {
			return nil, err
		}
		offers = append(offers, o)
	}
	return offers, nil
}

func periods(prices []price) string {
	months := make([]string, len(prices))
	for i, p := range prices {
		months[i] = strconv.Itoa(p.PeriodMonths)
	}
	return strings.Join(months, ", ")
}

// Take counts the sale of a plan to a service against its stock and returns whether one was left. One statement checks and
// counts, so the last one is sold once. Plans without a stock are not counted: all buyers would wait for the lock of one row. Nor
// are services of sandboxes: they take nothing from who pays.
func (s *Service) Take(ctx context.Context, tx *db.Tx, accountID, planID, serviceID int64) (bool, error) {
	var sandbox bool
	unbounded, taken := 0, int64(0)
	err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM catalog_plans WHERE id = $1 AND available AND stock IS NULL`, planID).Scan(&unbounded)
	if err == nil && unbounded == 0 {
		sandbox, err = s.Worlds.Sandbox(ctx, tx, accountID)
	}
	if err == nil && sandbox {
		err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM catalog_plans WHERE id = $1 AND available`, planID).Scan(&unbounded)
	} else if err == nil && unbounded == 0 {
		taken, err = tx.Exec(ctx, `UPDATE catalog_plans SET sold = sold + 1 WHERE id = $1 AND available AND sold < stock`, planID)
	}
	if err == nil && taken == 1 {
		_, err = tx.Exec(ctx, `INSERT INTO catalog_sales (service_id, plan_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, serviceID, planID)
	}
	if err != nil {
		return false, fmt.Errorf("catalog: take of plan %d: %w", planID, err)
	}
	return unbounded == 1 || taken == 1, nil
}

// Return undoes the Take of a plan for a service that came to nothing, or has another plan now. One that was not counted
// changes nothing.
func (s *Service) Return(ctx context.Context, tx *db.Tx, planID, serviceID int64) error {
	counted, err := tx.Exec(ctx, `DELETE FROM catalog_sales WHERE service_id = $1 AND plan_id = $2`, serviceID, planID)
	if err == nil && counted == 1 {
		_, err = tx.Exec(ctx, `UPDATE catalog_plans SET sold = sold - 1 WHERE id = $1 AND sold > 0`, planID)
	}
	if err != nil {
		return fmt.Errorf("catalog: return of plan %d: %w", planID, err)
	}
	return nil
}

// SeedDemo fills the catalog of `stead serve --demo`.
func (s *Service) SeedDemo(ctx context.Context, tx *db.Tx) error {
	_, err := s.Import(ctx, tx, demo)
	return err
}

// Asks is what a plan asks of hosting machines, on sale or not; of one that does not exist it is nothing.
func (s *Service) Asks(ctx context.Context, q db.Querier, planID int64) (Sold, error) {
	pl, _, err := findPlan(ctx, q, planID)
	if errors.Is(err, db.ErrNoRows) {
		return Sold{}, nil
	}
	if err != nil {
		return Sold{}, fmt.Errorf("catalog: read plan %d: %w", planID, err)
	}
	return pl.asks(), nil
}

// Unknown returns those of the given slugs that no product and no plan has, whether it is on sale or not.
func (s *Service) Unknown(ctx context.Context, q db.Querier, slugs []string) (unknown []string, err error) {
	for _, slug := range slugs {
		var known bool
		err := q.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM catalog_products WHERE slug = $1) OR EXISTS (SELECT 1 FROM catalog_plans WHERE slug = $1)`,
			slug).Scan(&known)
		if err != nil {
			return nil, fmt.Errorf("catalog: is there %s: %w", slug, err)
		}
		if !known {
			unknown = append(unknown, slug)
		}
	}
	return unknown, nil
}
