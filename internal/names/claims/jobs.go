package claims

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/atonce"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
)

// How claims that are due are looked at.
const (
	lookEvery = time.Minute
	lookBatch = 50
	lookTurn  = 40 * time.Second // of a job, below what the queue gives it
	lookAgain = 5 * time.Minute  // after a look that was cut short
	lookFor   = 15 * time.Second // of one claim
)

// Register adds the section's workers.
func (s *Service) Register(w *river.Workers) {
	jobs.Work(w, func(ctx context.Context, _ lookArgs) error { return s.LookAll(ctx) })
}

// Schedule adds the section's periodic jobs; every is the queue's.
func (s *Service) Schedule(every func(interval time.Duration, args river.JobArgs)) {
	every(lookEvery, lookArgs{})
}

type lookArgs struct{}

func (lookArgs) Kind() string { return "claims.look" }

// LookAll looks at the claims that are due. A periodic job calls it.
func (s *Service) LookAll(ctx context.Context) error {
	turn, cancel := context.WithTimeout(ctx, lookTurn)
	defer cancel()
	var failed []error
	for turn.Err() == nil {
		var ids []int64
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			ids, err = takeDue(ctx, tx, tx.Now.Add(lookAgain), lookBatch)
			return err
		})
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		errs := make([]error, len(ids))
		atonce.Each(len(ids), lookBatch, func(i int) {
			if err := s.Look(turn, ids[i]); turn.Err() == nil { // what the end of the turn interrupts is due again by itself
				errs[i] = err
			}
		})
		failed = append(failed, errs...)
		if len(ids) < lookBatch {
			break
		}
	}
	return errors.Join(failed...)
}

// Look compares a claim with what uses the domain and with the DNS, and does what follows: the claim is proven, cleared,
// takes the domain from its holder, or ends. It may run twice, and die at any point.
func (s *Service) Look(ctx context.Context, id int64) error {
	c, err := get(ctx, s.DB, id)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	subject, err := s.subjectOf(c.domain)
	if err != nil {
		return err
	}
	var e evidence
	if !subject.trial && c.proof != ByRegistrar && (c.proof == NoProof || !c.holds) {
		asking, cancel := context.WithTimeout(ctx, lookFor)
		e = s.look(asking, c)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		// Of an order that uses the domain from now on, either all is seen here, or it finds what is left.
		if err := lockClaim(ctx, tx, c); err != nil {
			return err
		}
		now, err := get(ctx, tx, id)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.follow(ctx, tx, now, e)
	})
}

// follow does what a look has shown.
func (s *Service) follow(ctx context.Context, tx *db.Tx, c claim, e evidence) error {
	used, err := s.Names.Used(ctx, tx, c.accountID, c.domain)
	if err != nil {
		return err
	}
	if c.over(used, tx.Now) {
		if err := release(ctx, tx, c.accountID, c.domain); err != nil {
			return err
		}
		return deleteClaim(ctx, tx, c.id)
	}
	before := c
	if e.proof != "" {
		c.attempts++
		c.checkedAt = &tx.Now
	}
	if c.proof == NoProof && e.proof.strength() > 0 {
		if err := setProof(ctx, tx, c.accountID, c.domain, e.proof); err != nil {
			return err
		}
		c.proof, c.provenAt, c.attempts = e.proof, &tx.Now, 0
	}
	if err := s.lead(ctx, tx, &c, e); err != nil {
		return err
	}
	if !c.holds && c.proof != NoProof {
		if done, err := s.challenge(ctx, tx, &c, e); err != nil || done {
			return err
		}
	}
	c.checkAt = tx.Now.Add(settlePause)
	if c.proof == NoProof && e.proof != "" || c.takesAt != nil {
		c.checkAt = tx.Now.Add(pause(c.attempts))
	}
	if c.takesAt != nil && c.takesAt.Before(c.checkAt) {
		c.checkAt = *c.takesAt
	}
	if err := setChecked(ctx, tx, c); err != nil || before.cleared() == c.cleared() && (before.leadsHereAt == nil) == (c.leadsHereAt == nil) {
		return err
	}
	return s.Names.Changed(ctx, tx, c.accountID, c.domain)
}

// over tells whether nothing keeps a claim any more.
func (c claim) over(used bool, now time.Time) bool {
	switch {
	case used || c.proof == ByRegistrar:
		return false
	case c.holds:
		return c.heldUntil == nil || !now.Before(*c.heldUntil)
	default:
		return now.Sub(c.createdAt) > abandoned
	}
}

// lead notes whether the DNS leads here. It counts as leading elsewhere only after it has done so for a while.
func (s *Service) lead(ctx context.Context, tx *db.Tx, c *claim, e evidence) error {
	if !c.holds {
		return nil
	}
	here := e.delegated
	if !here {
		var err error
		if here, err = s.Names.LeadHere(ctx, tx, c.accountID, c.domain); err != nil {
			return err
		}
	}
	switch {
	case here:
		c.leadsHereAt = &tx.Now
	case e.known && c.leadsHereAt != nil && tx.Now.Sub(*c.leadsHereAt) > strayed:
		c.leadsHereAt = nil
	}
	switch {
	case e.delegated:
		c.delegatedAt = &tx.Now
	case e.known && c.delegatedAt != nil && tx.Now.Sub(*c.delegatedAt) > strayed:
		c.delegatedAt = nil
	}
	return nil
}

// challenge lets an account that has proven control take the domain as decide says; true when it holds the domain now.
func (s *Service) challenge(ctx context.Context, tx *db.Tx, c *claim, e evidence) (done bool, err error) {
	subject, err := s.subjectOf(c.domain)
	if err != nil {
		return false, err
	}
	h, proof, err := situation(ctx, tx, c.accountID, c.domain)
	if err != nil {
		return false, err
	}
	if e.proof != "" && e.proof.strength() == 0 && e.known { // the record is gone: the account controls it no longer
		c.takesAt = nil
		c.proof = NoProof
		return false, setLost(ctx, tx, c.accountID, c.domain)
	}
	if h != nil && h.accountID != c.accountID && (h.proof == ByTXT || h.proof == ByDelegation) && e.known {
		// Both have proven control. The domain may have changed hands: what the DNS says today counts.
		if s.shown(c.domain, tokenOf(s.Installation, h.accountID, c.domain), e) == NoProof {
			h.proof = NoProof
		}
	}
	verdict := decide(subject, h, c.accountID, proof)
	if verdict == waits && c.takesAt == nil {
		at := tx.Now.Add(noticePeriod)
		c.takesAt = &at
		if err := s.Names.Contested(ctx, tx, h.accountID, c.domain, at); err != nil {
			return false, err
		}
		return false, hasten(ctx, tx, h.accountID, c.domain)
	}
	if verdict == waits && tx.Now.Before(*c.takesAt) || verdict == needsProof || verdict == unavailable {
		return false, nil
	}
	c.takesAt, c.checkAt, c.holds = nil, tx.Now.Add(settlePause), true
	if err := setChecked(ctx, tx, *c); err != nil {
		return false, err
	}
	until := tx.Now.Add(unused)
	return true, s.giveTo(ctx, tx, c.accountID, c.domain, &until)
}
