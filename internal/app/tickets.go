package app

import (
	"context"

	"stead.dev/stead/internal/commerce/services"
	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/support/tickets"
)

// people adapts the accounts to the tickets.
type people struct{ accounts *account.Service }

// Person implements tickets.People.
func (p people) Person(ctx context.Context, q db.Querier, accountID int64) (tickets.Person, error) {
	found, err := p.accounts.Profile(ctx, q, accountID)
	return personOf(found), err
}

// Writer implements tickets.People.
func (p people) Writer(ctx context.Context, email string) (tickets.Person, error) {
	found, err := p.accounts.Find(ctx, email)
	return personOf(found), err
}

func personOf(p account.Profile) tickets.Person {
	return tickets.Person{
		ID: p.ID, Email: p.Email, Name: p.Name, Locale: p.Locale, Staff: p.Role != "", Verified: p.EmailVerified, Closed: !p.Open() || p.Sandbox,
	}
}

// serviceOwners adapts the services to the tickets.
type serviceOwners struct{ services *services.Service }

// Owns implements tickets.Services.
func (s serviceOwners) Owns(ctx context.Context, q db.Querier, accountID, serviceID int64) error {
	_, err := s.services.OwnedOne(ctx, q, accountID, serviceID)
	return err
}
