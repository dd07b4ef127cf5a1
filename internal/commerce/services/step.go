package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
)

// Payments tell of money that is on its way to an account.
type Payments interface {
	// InFlight tells whether a gateway is working on a payment of the account.
	InFlight(ctx context.Context, q db.Querier, accountID int64) (bool, error)
}

// errNotYet says that another service of the account is renewed first.
var errNotYet = errors.New("services: another service of the account is due before")

// Step does what is due in the life of one service, one thing in each transaction,
// until nothing more is. It may run twice, and die at any time: each thing is one
// commit with its event and its result, which it may share with what is done for other
// services at the same time.
//
// While another service of the account is renewed first, the error is errNotYet.
func (s *Service) Step(ctx context.Context, id int64) error { return s.steps(ctx, id, false) }

// steps is Step; one that has waited long enough lets no other go first.
func (s *Service) steps(ctx context.Context, id int64, waited bool) error {
	r, err := get(ctx, s.DB, id)
	if err != nil {
		return err
	}
	for {
		did, err := s.step(ctx, r.accountID, id, waited)
		if err != nil || did == "" {
			return err
		}
	}
}

func (s *Service) step(ctx context.Context, accountID, id int64, waited bool) (did act, err error) {
	err = s.together.InTx(ctx, accountID, id, func(ctx context.Context, tx *db.Tx) error {
		did = ""
		r, err := get(ctx, tx, id)
		if err != nil {
			return err
		}
		leave, err := s.enter(ctx, tx, r)
		if err != nil {
			return err
		}
		defer leave()
		terms, err := s.Plans.Terms(ctx, tx, r.planID)
		if err != nil {
			return err
		}
		if r.todo(terms, tx.Now).act == actRenew {
			did = actRenew
			return s.tryRenew(ctx, tx, r, terms, waited)
		}
		// The wallet's row comes before the service's, so what needs the wallet is done.
		if r, err = lock(ctx, tx, id); err != nil {
			return err
		}
		what := r.todo(terms, tx.Now)
		if what.act == actRenew {
			return errMoved // since the first look
		}
		if what.act == "" {
			return setStep(ctx, tx, id, what.next)
		}
		did, err = s.act(ctx, tx, r, terms, what)
		return err
	})
	return did, err
}

// planRenewal notes when the renewal of a service is tried, where it renews by itself and
// that is not known.
func (s *Service) planRenewal(ctx context.Context, tx *db.Tx, id int64) error {
	r, err := get(ctx, tx, id)
	if err != nil || !r.renewing() || r.nextRenewalAttemptAt != nil {
		return err
	}
	terms, err := s.Plans.Terms(ctx, tx, r.planID)
	if err != nil {
		return err
	}
	return setAttempt(ctx, tx, id, r.attemptAt(terms))
}

// act does one thing with a locked service and answers what it came to.
func (s *Service) act(ctx context.Context, tx *db.Tx, r record, terms sale.Terms, what todo) (act, error) {
	done := what.act
	var err error
	switch what.act {
	case actRemind:
		if err = setTold(ctx, tx, r.id, &what.days, r.warned); err == nil {
			err = s.emitWith(ctx, tx, "service.renewal_upcoming", r, map[string]any{"days": what.days})
		}
	case actExpire:
		if r.status == Suspended {
			err = s.runOut(ctx, tx, r, terms)
		} else if err = setPastDue(ctx, tx, r.id, graceOf(*r.expiresAt, terms, tx.Now)); err == nil {
			err = s.emitMove(ctx, tx, "service.past_due", r)
		}
	case actSuspend:
		done, err = s.suspendUnpaid(ctx, tx, r, terms)
	case actWarn:
		if err = setTold(ctx, tx, r.id, r.reminded, &what.days); err == nil {
			err = s.emitWith(ctx, tx, "service.termination_scheduled", r, map[string]any{"days": what.days})
		}
	case actTerminate:
		err = s.beginTermination(ctx, tx, r)
	default:
		err = fmt.Errorf("services: nobody does %q", what.act)
	}
	if err != nil {
		return "", err
	}
	if err := noteStep(ctx, tx, r.id, done, "", what.days); err != nil {
		return "", err
	}
	if done == actWait {
		return "", setStep(ctx, tx, r.id, tx.Now.Add(paymentAgain))
	}
	return done, nil
}

// runOut has a service end whose paid time is over while its owner keeps it suspended: no money renews it, and it would
// be kept for ever. It ends as late as one that was suspended for not being paid.
func (s *Service) runOut(ctx context.Context, tx *db.Tx, r record, terms sale.Terms) error {
	if err := setRunOut(ctx, tx, r.id, tx.Now.Add(days(terms.Suspended)), terms.Suspended); err != nil {
		return err
	}
	now, err := get(ctx, tx, r.id)
	if err != nil {
		return err
	}
	return s.emitWith(ctx, tx, "service.termination_scheduled", now, map[string]any{"days": terms.Suspended})
}

// suspendUnpaid takes a service offline, unless a payment is on its way.
func (s *Service) suspendUnpaid(ctx context.Context, tx *db.Tx, r record, terms sale.Terms) (act, error) {
	waiting, err := s.Payments.InFlight(ctx, tx, r.accountID)
	if err != nil {
		return "", err
	}
	if waiting {
		return actWait, nil
	}
	if err := setSuspendedUnpaid(ctx, tx, r.id, tx.Now.Add(days(terms.Suspended))); err != nil {
		return "", err
	}
	return actSuspend, s.followSuspension(ctx, tx, r, "service.suspended")
}

// tryRenew renews a service from the wallet. Services of one account are renewed in
// the order in which they expire, so that money which is not enough for all goes to
// those that need it first; but one whose renewal goes on failing is not waited for.
func (s *Service) tryRenew(ctx context.Context, tx *db.Tx, r record, terms sale.Terms, waited bool) error {
	if !waited {
		first, err := renewedBefore(ctx, tx, r, tx.Now)
		if err != nil {
			return err
		}
		if first {
			return errNotYet
		}
	}
	err := tx.Savepoint(ctx, func(ctx context.Context) error {
		_, _, err := s.sellRenewal(ctx, tx, r, renewalWish{})
		return err
	})
	if err == nil {
		return noteStep(ctx, tx, r.id, actRenew, "", 0)
	}
	refused := fault.From(err)
	if refused.Def.Kind != fault.KindUnprocessable {
		return err
	}
	before := r
	if r, err = lock(ctx, tx, r.id); err != nil {
		return err
	}
	if !r.renewing() || !r.attemptAt(terms).Equal(before.attemptAt(terms)) {
		return errMoved // its owner renewed it meanwhile, and that took the money; or money came in
	}
	if err := setRenewalFailed(ctx, tx, r.id, refused.Def.Key, tx.Now.Add(renewAgain)); err != nil {
		return err
	}
	if err := s.emitWith(ctx, tx, "service.renewal_failed", r, map[string]any{"error_key": refused.Def.Key}); err != nil {
		return err
	}
	return noteStep(ctx, tx, r.id, actRenew, refused.Def.Key, 0)
}

// Paid hears of money that came in, and has what it is for tried at once.
func (s *Service) Paid(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	switch e.Type {
	case "wallet.topup_succeeded", "wallet.adjusted", "order.refunded":
		leave, err := s.Enter(ctx, tx, e.AccountID)
		if err != nil {
			return err
		}
		defer leave()
		return attemptNow(ctx, tx, e.AccountID)
	default:
		return nil
	}
}

const stepBatch = 500

// Steps gives a job to every service of which a step is due; one that has a job keeps
// that. A periodic job calls it.
func (s *Service) Steps(ctx context.Context) error {
	for after, more := int64(0), true; more; {
		var next int64
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			next = after
			ids, err := stepsDue(ctx, tx, tx.Now, after, stepBatch)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := s.enqueueStep(ctx, tx, id); err != nil {
					return err
				}
				next = id
			}
			more = len(ids) == stepBatch
			return nil
		})
		if err != nil {
			return fmt.Errorf("services: steps: %w", err)
		}
		after = next
	}
	return s.stepsAhead(ctx)
}

// emitWith tells of r with members beside those of the service.
func (s *Service) emitWith(ctx context.Context, tx *db.Tx, eventType string, r record, more map[string]any) error {
	return s.emitChange(ctx, tx, eventType, r, nil, more)
}

type stepsArgs struct{}

func (stepsArgs) Kind() string { return "services.steps" }

type stepArgs struct {
	ServiceID int64 `json:"service_id"`
}

func (stepArgs) Kind() string { return "services.step" }

func (s *Service) enqueueStep(ctx context.Context, tx *db.Tx, id int64) error {
	return s.Queue.Enqueue(ctx, tx, stepArgs{ServiceID: id}, &river.InsertOpts{
		Queue:      jobs.TogetherQueue,
		UniqueOpts: jobs.Once(),
	})
}

type stepWorker struct {
	river.WorkerDefaults[stepArgs]
	services *Service
}

// How long a service lets others of its account be renewed first, and how often it looks.
const (
	mostWait = 10 * time.Minute
	minWait  = time.Second
)

// Work snoozes while another service of the account goes first, the longer the longer it has waited.
func (w *stepWorker) Work(ctx context.Context, job *river.Job[stepArgs]) error {
	waited := w.services.Clock.Now().Sub(job.CreatedAt)
	err := w.services.steps(ctx, job.Args.ServiceID, waited >= mostWait)
	if errors.Is(err, errNotYet) {
		return river.JobSnooze(max(minWait, waited/4))
	}
	return err
}
