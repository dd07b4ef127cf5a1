package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/content/announcements"
	"stead.dev/stead/internal/front/reseller"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/identity/notifications"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// audiences adapts accounts, services and resellers to the announcements.
type audiences struct {
	accounts  *account.Service
	services  *services.Service
	resellers *reseller.Service
	nodes     *nodes.Service
}

// panels that are no machines which have joined, by the names that staff see.
var unjoined = []string{config.PanelNode, config.PanelHestia, config.PanelSandbox}

// held is what the customers of an audience have.
func (a audiences) held(ctx context.Context, q db.Querier, of announcements.Audience) (services.Held, error) {
	if of.Kind == announcements.OfPlan {
		return services.Held{Plan: of.Of}, nil
	}
	n, err := a.nodes.Named(ctx, q, of.Of)
	switch {
	case err == nil:
		return services.Held{Panel: nodes.PanelName(n.ID)}, nil
	case !errors.Is(err, fault.NotFound):
		return services.Held{}, err
	case slices.Contains(unjoined, of.Of):
		return services.Held{Panel: of.Of}, nil
	default:
		return services.Held{}, fault.Invalid("audience_of", "announcement_node")
	}
}

// Check implements announcements.Accounts.
func (a audiences) Check(ctx context.Context, q db.Querier, of announcements.Audience) error {
	if of.Kind != announcements.OnNode {
		return nil
	}
	_, err := a.held(ctx, q, of)
	return err
}

// Count implements announcements.Accounts.
func (a audiences) Count(ctx context.Context, q db.Querier, of announcements.Audience) (int, error) {
	switch of.Kind {
	case announcements.Everybody:
		return a.accounts.CountOpen(ctx, q)
	case announcements.Resellers:
		all, err := a.resold(ctx, q)
		return len(all), err
	}
	held, err := a.held(ctx, q, of)
	if errors.Is(err, fault.Validation) { // the machine has been removed meanwhile
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return a.services.CountHolders(ctx, q, held)
}

// resold are the resellers' accounts that are open.
func (a audiences) resold(ctx context.Context, q db.Querier) ([]int64, error) {
	all, err := a.resellers.List(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(all))
	for i, r := range all {
		ids[i] = r.AccountID
	}
	return a.accounts.OpenOf(ctx, q, ids)
}

// After implements announcements.Accounts.
func (a audiences) After(ctx context.Context, q db.Querier, of announcements.Audience, id int64, limit int) (page []int64, next int64, err error) {
	switch of.Kind {
	case announcements.Everybody:
		page, err = a.accounts.OpenAfter(ctx, q, id, limit)
	case announcements.Resellers:
		if page, err = a.resold(ctx, q); err == nil {
			page = slices.DeleteFunc(page, func(one int64) bool { return one <= id })
			page = page[:min(len(page), limit)]
		}
	default:
		held, found := a.held(ctx, q, of)
		if errors.Is(found, fault.Validation) {
			return nil, 0, nil
		}
		if found != nil {
			return nil, 0, found
		}
		page, err = a.services.Holders(ctx, q, held, id, limit)
	}
	if err != nil {
		return nil, 0, err
	}
	if len(page) == limit {
		next = page[limit-1]
	}
	page, err = a.accounts.OpenOf(ctx, q, page)
	return page, next, err
}

// Belongs implements announcements.Accounts.
func (a audiences) Belongs(ctx context.Context, q db.Querier, accountID int64) ([]announcements.Audience, error) {
	held, err := a.services.HeldBy(ctx, q, accountID)
	if err != nil {
		return nil, err
	}
	var all []announcements.Audience
	for _, h := range held {
		name := h.Panel
		switch n, err := a.nodes.Machine(ctx, q, h.Panel); {
		case err == nil:
			name = n.Name
		case !errors.Is(err, fault.NotFound):
			return nil, err
		}
		all = append(all, announcements.Audience{Kind: announcements.OnNode, Of: name}, announcements.Audience{Kind: announcements.OfPlan, Of: h.Plan})
	}
	resells, sandbox, err := a.resellers.World(ctx, q, accountID)
	if err == nil && resells && !sandbox {
		all = append(all, announcements.Audience{Kind: announcements.Resellers})
	}
	return all, err
}

// news adapts the notifications to the announcements.
type news struct{ *notifications.Service }

// Notify implements announcements.Notifier.
func (n news) Notify(ctx context.Context, tx *db.Tx, a announcements.Announcement, accounts []int64) (int, error) {
	severity := notifications.Info
	if a.Level == announcements.Warning {
		severity = notifications.Warning
	}
	return n.Tell(ctx, tx, notifications.News{
		Key: fmt.Sprintf("announcement-%d", a.ID), ID: a.ID, Severity: severity, Title: a.Title, Text: a.Body, Link: a.Link, Mail: a.Mail,
	}, accounts)
}
