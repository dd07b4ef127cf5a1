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
	if !subject.trial && c.proof != ByRegistrar && (c.proof == NoProof || !c.holds || c.losesAt != nil) {
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
	if c.losesAt != nil && e.proof.strength() > 0 { // who was to take it perhaps does so no longer
		if err := hastenOthers(ctx, tx, c.accountID, c.domain); err != nil {
			return err
		}
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
	if c.takesAt != nil && c.takesAt.After(tx.Now) && c.takesAt.Before(c.checkAt) {
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

// challenge lets an account that has proven control take the domain as decide says, after its holder was notified; true when it
// holds the domain now. What both have shown is judged by the look that was made just now.
func (s *Service) challenge(ctx context.Context, tx *db.Tx, c *claim, e evidence) (done bool, err error) {
	if e.proof.strength() == 0 && !e.known {
		return false, nil
	}
	if e.proof == NoProof { // the record is gone: the account controls it no longer
		c.takesAt, c.proof = nil, NoProof
		return false, setLost(ctx, tx, c.accountID, c.domain)
	}
	if e.proof != c.proof {
		if err := setProof(ctx, tx, c.accountID, c.domain, e.proof); err != nil {
			return false, err
		}
		c.proof = e.proof
	}
	subject, err := s.subjectOf(c.domain)
	if err != nil {
		return false, err
	}
	h, _, err := situation(ctx, tx, c.accountID, c.domain)
	if err != nil {
		return false, err
	}
	if h != nil {
		if err := s.judgeHolder(ctx, tx, h, c.domain, e); err != nil {
			return false, err
		}
	}
	switch decide(subject, h, c.accountID, e.proof) {
	case needsProof, unavailable:
		c.takesAt = nil // should the holder lose its proof, it is notified anew
		return false, nil
	case waits:
		if c.takesAt == nil {
			at := tx.Now.Add(s.notice(*h))
			c.takesAt = &at
			if err := s.Names.Contested(ctx, tx, h.accountID, c.domain, at); err != nil {
				return false, err
			}
			return false, hasten(ctx, tx, h.accountID, c.domain)
		}
		if tx.Now.Before(*c.takesAt) {
			return false, nil
		}
	case granted, displaces:
	}
	c.takesAt, c.checkAt, c.holds = nil, tx.Now.Add(settlePause), true
	if err := setChecked(ctx, tx, *c); err != nil {
		return false, err
	}
	until := tx.Now.Add(unused)
	return true, s.giveTo(ctx, tx, c.accountID, c.domain, &until)
}

// notice is how long a holder has to prove control, once it was notified that another account has.
func (s *Service) notice(h holding) time.Duration {
	if h.proof == NoProof && !h.leadsHere {
		return min(s.Notice, idleNotice)
	}
	return s.Notice
}

// judgeHolder compares what the holder of a domain has shown with what the DNS says now. The domain may have changed hands since
// the holder proved control, or the holder proves it since the last look.
func (s *Service) judgeHolder(ctx context.Context, tx *db.Tx, h *holding, domain string, e evidence) error {
	held, err := getDomain(ctx, tx, h.accountID, domain)
	if errors.Is(err, fault.NotFound) || err == nil && held.proof == ByRegistrar {
		return nil
	}
	if err != nil {
		return err
	}
	shown := s.shown(held, e)
	if shown.strength() >= held.proof.strength() || e.known {
		h.proof = shown
	}
	if shown.strength() <= held.proof.strength() {
		return nil
	}
	if err := setProof(ctx, tx, h.accountID, domain, shown); err != nil {
		return err
	}
	return s.Names.Changed(ctx, tx, h.accountID, domain)
}
