package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
)

// The steps of services are done in batches: most services are due in the same hour of the night. Each service is in the
// share of its account. One job at a time works at a share: it lists the services that are due, the first to expire first,
// and takes up to batchSize of them into one transaction, in which everything is read and written with lists (step). All
// services of a batch have the same time: they are of the live world, or of one sandbox.
//
// A wallet that does not pay is found before anything is written of the service and is no failure. When something else
// fails, the transaction is undone, and each half is tried by itself, until the service at fault is alone (stepAll).

const (
	// Shares is how many jobs do the steps of services side by side.
	Shares = 8
	// batchSize is how many services are one transaction at most.
	batchSize = 64
	// dueAtOnce is how many services that are due are listed at once.
	dueAtOnce = 16 * batchSize
	// turn is how long one job works at a share before it lets others have theirs.
	turn = 20 * time.Second
	// failedAgain is when a service is tried again whose step failed.
	failedAgain = 5 * time.Minute
	// mostWait is how long a service lets another one of its account be renewed first whose renewal goes on failing.
	mostWait = 10 * time.Minute
)

// errNotYet says that another service of the account is renewed first.
var errNotYet = errors.New("services: another service of the account is due before")

// Step does what is due in the life of one service, one thing in each transaction, until nothing more is. It may run twice,
// and die at any time: each thing is one commit with its event and its result.
//
// While another service of the account is renewed first, the error is errNotYet; errMoved says to look again.
func (s *Service) Step(ctx context.Context, id int64) error {
	var failed error
	s.stepAll(ctx, []int64{id}, func(_ int64, err error) { failed = err })
	return failed
}

// StepShare does what is due with the services of a share. more reports that its turn was over before all was done. The
// error joins those of services whose step failed; they are tried again later and hold up no other.
func (s *Service) StepShare(ctx context.Context, share int) (more bool, err error) {
	var errs []error
	failed := func(id int64, err error) {
		if errors.Is(err, errNotYet) || errors.Is(err, errMoved) {
			return // the next job looks again
		}
		errs = append(errs, fmt.Errorf("services: step of service %d: %w", id, err), s.postpone(ctx, id))
	}
	end := s.Clock.Now().Add(turn)
	for after, last := (dueStep{}), false; !last; {
		due, err := stepsDue(ctx, s.DB, s.Clock.Now(), share, after, dueAtOnce)
		if err != nil {
			return false, errors.Join(append(errs, err)...)
		}
		for _, batch := range batches(due) {
			if ctx.Err() != nil || s.Clock.Now().After(end) {
				return true, errors.Join(append(errs, ctx.Err())...)
			}
			s.stepAll(ctx, batch, failed)
		}
		if last = len(due) < dueAtOnce; !last {
			after = due[len(due)-1]
		}
	}
	ahead, err := s.Clocks.Ahead(ctx, s.DB)
	for accountID, now := range ahead {
		if err == nil && shareOf(accountID) == share {
			var ids []int64
			ids, err = dueOf(ctx, s.DB, accountID, now)
			for batch := range slices.Chunk(ids, batchSize) {
				s.stepAll(ctx, batch, failed)
			}
		}
	}
	return false, errors.Join(append(errs, err)...)
}

// postpone has a service whose step failed tried again later, so that it does not take the time of others.
func (s *Service) postpone(ctx context.Context, id int64) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return s.Change(ctx, tx, id, func(Row) error {
			return setSteps(ctx, tx, []dueStep{{id: id, at: tx.Now.Add(failedAgain)}})
		})
	})
}

// batches cuts services into batches, each of one time, and keeps their order.
func batches(due []dueStep) (all [][]int64) {
	var worlds []int64 // 0: the live world; else the sandbox's account
	in := map[int64][]int64{}
	for _, d := range due {
		var world int64
		if d.sandbox {
			world = d.accountID
		}
		if in[world] == nil {
			worlds = append(worlds, world)
		}
		in[world] = append(in[world], d.id)
	}
	for _, world := range worlds {
		all = slices.AppendSeq(all, slices.Chunk(in[world], batchSize))
	}
	return all
}

// stepAll does what is due with the services of a batch until nothing more is. When something fails, it tries each half
// by itself. failed is told of each service that was not done, and why.
func (s *Service) stepAll(ctx context.Context, ids []int64, failed func(id int64, err error)) {
	for len(ids) > 0 {
		again, waiting, err := s.step(ctx, ids)
		switch {
		case err == nil:
			for _, id := range waiting {
				failed(id, errNotYet)
			}
			ids = again
		case len(ids) == 1:
			failed(ids[0], err)
			return
		case ctx.Err() != nil:
			return
		default:
			s.stepAll(ctx, ids[:len(ids)/2], failed)
			ids = ids[len(ids)/2:]
		}
	}
}

// step does one thing with each of the services of a batch, in one transaction. again are those with which there may be
// more to do, and waiting those that let another service of their account be renewed first.
func (s *Service) step(ctx context.Context, ids []int64) (again, waiting []int64, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		all, err := getAll(ctx, tx, ids)
		if err != nil {
			return err
		}
		leave, err := s.enterAll(ctx, tx, all)
		if err != nil {
			return err
		}
		defer leave()
		terms, err := s.terms(ctx, tx, all...)
		if err != nil {
			return err
		}
		var renewing, others []Row
		for _, r := range all {
			if r.todo(terms[r.PlanID], tx.Now).act == actRenew {
				renewing = append(renewing, r)
			} else {
				others = append(others, r)
			}
		}
		// The wallets' rows come before the services', so what needs wallets is done first.
		if again, waiting, err = s.renewDue(ctx, tx, renewing, terms); err != nil {
			return err
		}
		more, err := s.actAll(ctx, tx, others, terms)
		again = append(again, more...)
		return err
	})
	return again, waiting, err
}

// actAll locks services and does with each what is due but a renewal, or notes when to look again. more are those with
// which there may be more to do.
func (s *Service) actAll(ctx context.Context, tx *db.Tx, all []Row, terms map[int64]sale.Terms) (more []int64, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	locked, err := lockAll(ctx, tx, idsOf(all))
	if err != nil {
		return nil, err
	}
	var idle []dueStep
	for i, r := range locked {
		if r.PlanID != all[i].PlanID { // since it was read: the terms are another plan's
			more = append(more, r.ID)
			continue
		}
		switch what := r.todo(terms[r.PlanID], tx.Now); what.act {
		case actRenew: // since it was read
			more = append(more, r.ID)
		case "":
			idle = append(idle, dueStep{id: r.ID, at: what.next})
		default:
			did, err := s.act(ctx, tx, r, terms[r.PlanID], what)
			if err != nil {
				return nil, err
			}
			if did != "" {
				more = append(more, r.ID)
			}
		}
	}
	return more, setSteps(ctx, tx, idle)
}

// renewDue renews services from their wallets. Services of one account are renewed in the order in which they expire, so
// that money which is not enough for all goes to those that need it first; but one whose renewal goes on failing is not
// waited for. tried are those that were paid or refused.
func (s *Service) renewDue(ctx context.Context, tx *db.Tx, all []Row, terms map[int64]sale.Terms) (tried, waiting []int64, err error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	if waiting, err = renewedBefore(ctx, tx, idsOf(all), tx.Now); err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(r Row) bool { return slices.Contains(waiting, r.ID) })
	if len(all) == 0 {
		return nil, waiting, nil
	}
	var renewals []error // nil: paid
	err = tx.Savepoint(ctx, func(ctx context.Context) (err error) {
		renewals, err = s.Billing.RenewAll(ctx, tx, all)
		return err
	})
	if err != nil && len(all) == 1 && fault.IsRefusal(err) { // when something of it was written already, which is undone
		renewals, err = []error{err}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var (
		refused []Row
		reasons []string
	)
	for i, r := range all {
		key := ""
		if refusal := renewals[i]; refusal != nil {
			if !fault.IsRefusal(refusal) {
				return nil, nil, refusal
			}
			key = fault.From(refusal).Def.Key
			refused, reasons = append(refused, r), append(reasons, key)
		}
		noteStep(tx, r.ID, actRenew, key, 0)
	}
	return idsOf(all), waiting, s.renewalsFailed(ctx, tx, refused, reasons, terms)
}

// renewalsFailed notes of services why their renewals were refused, and tells of it. The error is errMoved when the owner
// of one renewed it meanwhile and that took the money, or money came in.
func (s *Service) renewalsFailed(ctx context.Context, tx *db.Tx, all []Row, reasons []string, terms map[int64]sale.Terms) error {
	if len(all) == 0 {
		return nil
	}
	locked, err := lockAll(ctx, tx, idsOf(all))
	if err != nil {
		return err
	}
	for i, r := range locked {
		before := all[i]
		if !r.renewing() || r.PlanID != before.PlanID || !r.attemptAt(terms[r.PlanID]).Equal(before.attemptAt(terms[r.PlanID])) {
			return errMoved
		}
		if err := setRenewalFailed(ctx, tx, r.ID, reasons[i], tx.Now.Add(renewAgain)); err != nil {
			return err
		}
		if err := s.emitWith(ctx, tx, "service.renewal_failed", r, map[string]any{"error_key": reasons[i]}); err != nil {
			return err
		}
	}
	return nil
}
