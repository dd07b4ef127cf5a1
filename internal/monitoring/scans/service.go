package scans

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/page"
)

// Config is what the section works with; all is needed.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Queue   jobs.Enqueuer
	Events  outbox.Events
	Fetcher *Fetcher
	// BaseURL tells this installation's tokens from those of others.
	BaseURL string
}

// Owned is a name that a service of an account answers to.
type Owned struct {
	ServiceID int64
	// Addresses are where the service is; empty when that is not known.
	Addresses []string
}

// Sites knows what is hosted here.
type Sites interface {
	// Owner finds the service of an account that answers to a host; false when none does.
	Owner(ctx context.Context, q db.Querier, accountID int64, host string) (Owned, bool, error)
	// Primary is the domain of one of the account's services, and whether it is online; or fault.NotFound.
	Primary(ctx context.Context, q db.Querier, accountID, serviceID int64) (host string, online bool, err error)
	// Place is where the site of a host is. It may ask the panel and is not called inside a transaction.
	Place(ctx context.Context, accountID, serviceID int64, host string) (Place, error)
	// Conditions are what makes a service safe beside its site.
	Conditions(ctx context.Context, q db.Querier, accountID, serviceID int64) (Conditions, error)
}

// Insights turn findings into things to improve.
type Insights interface {
	// Scanned hands over the results of all checks of a service's site. What passes now and did not before has been mended;
	// of what was skipped nothing is known.
	Scanned(ctx context.Context, tx *db.Tx, accountID, serviceID int64, findings []Finding) error
}

// Needs are what the section asks of others.
type Needs struct {
	Sites    Sites
	Insights Insights
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others.
func (s *Service) Connect(n Needs) { s.Needs = n }

// lease is how long a scan may be running before it counts as killed; longer than scanTime and the writing of its result.
const lease = scanTime + 15*time.Second

// run scans an address for an account, and answers the finished scan.
func (s *Service) run(ctx context.Context, accountID int64, address string) (scan, error) {
	t, err := parseTarget(address)
	if err != nil {
		return scan{}, err
	}
	serviceID, err := s.prove(ctx, accountID, t.host)
	if err != nil {
		return scan{}, err
	}
	return s.perform(ctx, scan{accountID: accountID, serviceID: serviceID, url: t.url}, t)
}

// prove finds out whether the account controls a host: a service of its own answers to it and the host leads to that
// service, or the DNS has the account's token. It answers the service in the first case.
func (s *Service) prove(ctx context.Context, accountID int64, host string) (*int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	owned, ok, err := s.Sites.Owner(ctx, s.DB, accountID, host)
	if err != nil {
		return nil, err
	}
	if ok && s.leadsTo(ctx, host, owned.Addresses) {
		return &owned.ServiceID, nil
	}
	token := s.token(accountID)
	domain := registrable(host)
	for _, name := range slices.Compact([]string{host, domain}) {
		texts, err := s.Fetcher.Resolver.TXT(ctx, verifyLabel+name)
		if err != nil {
			continue // not proved by it
		}
		for _, text := range texts {
			if subtle.ConstantTimeCompare([]byte(text), []byte(token)) == 1 {
				return nil, nil
			}
		}
	}
	return nil, errNotOwned.With(fault.Fields{"record": map[string]any{"name": verifyLabel + domain, "type": "TXT", "value": token}})
}

const verifyLabel = "_stead-verify."

// token is what an account puts into the DNS of a name. It needs no secret: it names the account and this installation, and
// who can put it into the DNS controls the name.
func (s *Service) token(accountID int64) string {
	sum := sha256.Sum256([]byte("stead-verify\x00" + s.BaseURL + "\x00" + strconv.FormatInt(accountID, 10)))
	return "stead-verify=" + hex.EncodeToString(sum[:16])
}

// leadsTo tells whether a host has addresses, and none but those. The sites of a demonstration lead here.
func (s *Service) leadsTo(ctx context.Context, host string, expected []string) bool {
	if s.Fetcher.Local.Serves(host) {
		return true
	}
	found, err := s.Fetcher.Resolver.LookupNetIP(ctx, "ip", host)
	return err == nil && len(found) > 0 && !slices.ContainsFunc(found, func(a netip.Addr) bool {
		return !slices.Contains(expected, a.Unmap().String())
	})
}

// perform writes the scan, does it, and completes it.
func (s *Service) perform(ctx context.Context, sc scan, t target) (scan, error) {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if err := s.expireOf(ctx, tx, sc.accountID); err != nil {
			return err
		}
		sc.startedAt = tx.Now
		sc.id, err = insert(ctx, tx, sc, tx.Now.Add(lease))
		return err
	})
	if db.IsUnique(err) {
		return scan{}, errInProgress.Wrap(err)
	}
	if err != nil {
		return scan{}, err
	}
	findings, failure := s.look(ctx, sc, t)
	// The result is written even if who asked has left meanwhile.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if failure != nil {
		refused := fault.From(failure)
		if err := s.finish(end, &sc, nil, refused.Def.Key); err != nil {
			return scan{}, errors.Join(err, failure)
		}
		return scan{}, failure
	}
	err = s.finish(end, &sc, findings, "")
	return sc, err
}

const writeTime = 8 * time.Second

// look gathers the facts and judges them.
func (s *Service) look(ctx context.Context, sc scan, t target) ([]Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	var site *SiteFacts
	if sc.serviceID != nil {
		place, err := s.Sites.Place(ctx, sc.accountID, *sc.serviceID, t.host)
		if err == nil { // else the site is judged from outside alone
			site = inspect(ctx, place)
		}
	}
	var further []string
	if site != nil {
		further = site.Dumps
	}
	facts, err := s.Fetcher.Fetch(ctx, t.host, further)
	switch {
	case errors.Is(err, outgoing.ErrTarget):
		return nil, fault.TargetNotAllowed.Wrap(err)
	case err != nil:
		return nil, err
	}
	facts.Site = site
	return judge(facts), nil
}

// finish completes a scan, or notes why it failed, with its event. A scan whose lease ended meanwhile stays failed.
func (s *Service) finish(ctx context.Context, sc *scan, findings []Finding, errorKey string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		sc.finishedAt, sc.findings = &tx.Now, findings
		if errorKey != "" {
			sc.status, sc.errorKey = Failed, &errorKey
		} else {
			points := score(findings)
			letter := grade(points)
			sc.status, sc.score, sc.grade = Completed, &points, &letter
		}
		before, known, err := previous(ctx, tx, *sc)
		if err != nil {
			return err
		}
		written, err := complete(ctx, tx, *sc)
		if err != nil {
			return err
		}
		if !written {
			return errInterrupted.Wrapf("scan %d was given up meanwhile", sc.id)
		}
		if err := s.emit(ctx, tx, *sc); err != nil || sc.status == Failed {
			return err
		}
		if sc.serviceID != nil {
			if err := s.Insights.Scanned(ctx, tx, sc.accountID, *sc.serviceID, sc.findings); err != nil {
				return fmt.Errorf("scans: hand over: %w", err)
			}
		}
		if found := fresh(*sc, before); sc.weekly && known && len(found) > 0 {
			return s.Events.Emit(ctx, tx, outbox.Event{
				Type: FoundEvent, AccountID: sc.accountID, Subject: "scan", SubjectID: sc.id,
				Data: foundWire{ID: sc.id, ServiceID: sc.serviceID, Host: hostOf(sc.url), Count: len(found), Worst: found[0].Severity, Key: found[0].Key},
			})
		}
		return nil
	})
}

// FoundEvent is the internal event of weekly scans that found something new; its owner is notified of it.
const FoundEvent = "scan.found"

func (s *Service) emit(ctx context.Context, tx *db.Tx, sc scan) error {
	typ := "scan.completed"
	if sc.status == Failed {
		typ = "scan.failed"
	}
	return s.Events.Emit(ctx, tx, outbox.Event{
		Type: typ, AccountID: sc.accountID, Subject: "scan", SubjectID: sc.id,
		Data: eventWire{ID: sc.id, URL: sc.url, ServiceID: sc.serviceID, Status: sc.status, Score: sc.score, Grade: sc.grade},
	})
}

// expireOf ends scans of an account whose process was killed.
func (s *Service) expireOf(ctx context.Context, tx *db.Tx, accountID int64) error {
	killed, err := expire(ctx, tx, accountID, errInterrupted.Key)
	if err != nil {
		return err
	}
	return s.emitAll(ctx, tx, killed)
}

func (s *Service) emitAll(ctx context.Context, tx *db.Tx, all []scan) error {
	for _, sc := range all {
		if err := s.emit(ctx, tx, sc); err != nil {
			return err
		}
	}
	return nil
}

// Expire ends all scans whose process was killed; a periodic job calls it.
func (s *Service) Expire(ctx context.Context) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		killed, err := expireAll(ctx, tx, errInterrupted.Key)
		if err != nil {
			return err
		}
		return s.emitAll(ctx, tx, killed)
	})
}

// list answers a page of the account's scans, the newest first, and the number of all.
func (s *Service) list(ctx context.Context, accountID, serviceID int64, p page.Params) ([]scan, int, error) {
	rows, err := listOf(ctx, s.DB, accountID, serviceID, p)
	if err != nil {
		return nil, 0, err
	}
	total, err := countOf(ctx, s.DB, accountID, serviceID)
	return rows, total, err
}

// closed removes what is kept of an account.
func (s *Service) closed(ctx context.Context, tx *db.Tx, accountID int64) error {
	return removeOf(ctx, tx, accountID)
}
