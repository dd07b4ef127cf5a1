package moves

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/outgoing"
	"stead.dev/stead/internal/platform/page"
	"stead.dev/stead/internal/port/panel"
)

// Config is what the section works with; all is needed.
type Config struct {
	site.Base
	Clock clock.Clock
	// Wait is the most that a move waits until caches have forgotten where the service was; 0: none waits.
	Wait time.Duration
	// Machines decides which of the addresses that a machine names for itself others pass visitors on to.
	Machines outgoing.Machine
	Log      *slog.Logger
}

// Services are the services that move.
type Services interface {
	// Wanted is a service, whoever owns it.
	Wanted(ctx context.Context, q db.Querier, serviceID int64) (site.Site, error)
	// On lists the services with an account on a panel.
	On(ctx context.Context, q db.Querier, panelName string) ([]site.Site, error)
	// SetMoving keeps owners from changing a service, or ends that.
	SetMoving(ctx context.Context, tx *db.Tx, serviceID int64, moving bool) error
	// Relocate makes another panel serve the service, in the next epoch, or in least where that is later. fault.Conflict: it is not on the panel that it
	// comes from, or has no account any more.
	Relocate(ctx context.Context, tx *db.Tx, serviceID int64, from, to string, account panel.Account, least int64) (epoch int64, err error)
	// Former lists the addresses that the service had before its moves since a time.
	Former(ctx context.Context, q db.Querier, serviceID int64, since time.Time) ([]string, error)
	// TellMovePlanned tells the owner that the service moves after a while.
	TellMovePlanned(ctx context.Context, tx *db.Tx, serviceID int64, wait time.Duration) error
	// FollowStatus has the account suspended, or not, as the service is.
	FollowStatus(ctx context.Context, tx *db.Tx, serviceID int64) error
}

// Places is the room on nodes.
type Places interface {
	// Take moves the room of a service to the node that suits best of those that a target means, and is none of those panels.
	// fault.OutOfStock: there is no room; the transaction must end then.
	Take(ctx context.Context, tx *db.Tx, serviceID int64, target Target, except []string) (panelName string, err error)
	// Suited tells that a target means some node that has what the service needs, whether it has room now or not, and is none of
	// those panels.
	Suited(ctx context.Context, q db.Querier, serviceID int64, target Target, except []string) (bool, error)
	// GiveBack moves it to a panel whether that has it or not.
	GiveBack(ctx context.Context, tx *db.Tx, serviceID int64, panelName string) error
}

// Nodes are the machines.
type Nodes interface {
	// Node finds a machine by its name. fault.NotFound: there is none.
	Node(ctx context.Context, q db.Querier, name string) (Node, error)
	// Meant lists the machines that a target means.
	Meant(ctx context.Context, q db.Querier, target Target) ([]Node, error)
	// On is the machine that a panel is. fault.NotFound: it is none, or was removed.
	On(ctx context.Context, q db.Querier, panelName string) (Node, error)
	// Gone tells that a panel is a machine that was removed.
	Gone(ctx context.Context, q db.Querier, panelName string) (bool, error)
}

// Node is a machine: whether it reports, and whether it is to get no more services.
type Node struct {
	Panel           string
	Alive, Draining bool
}

// Copy is a backup of a service that another machine can restore.
type Copy struct {
	ID    int64
	Name  string // on machines
	Parts []panel.BackupPart
	Bytes int64
	At    time.Time // when it was asked for
}

// Backups are those of services.
type Backups interface {
	// Portable lists the backups of a service that another machine can restore, the best first.
	Portable(ctx context.Context, q db.Querier, serviceID int64) ([]Copy, error)
	// Passport is what that machine needs for it.
	Passport(ctx context.Context, q db.Querier, backupID int64) (panel.Passport, error)
	// Moved ends what was under way with backups on the former machine.
	Moved(ctx context.Context, tx *db.Tx, serviceID int64) error
	// LeftBehind hears which backups the machine has by now; the others cannot be restored.
	LeftBehind(ctx context.Context, tx *db.Tx, serviceID int64, has map[string]bool) error
	// Newest is when the newest complete backup was made; nil when there is none.
	Newest(ctx context.Context, q db.Querier, serviceID int64) (*time.Time, error)
}

// DNS are the zones of services.
type DNS interface {
	// LowerTTL has the records by which a service is found kept for a short time only. It answers how long caches may keep what
	// they have of them. The service is locked.
	LowerTTL(ctx context.Context, tx *db.Tx, serviceID int64) (kept time.Duration, err error)
	// RestoreTTL undoes that; the records say where the service is then. The service is locked.
	RestoreTTL(ctx context.Context, tx *db.Tx, of site.Site) error
}

// Follower makes the panel of a service as the rows of the service are.
type Follower interface {
	Apply(ctx context.Context, accountID, serviceID int64) error
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Services Services
	Places   Places
	Nodes    Nodes
	Backups  Backups
	DNS      DNS
	// Spec is the account that a service asks of its panel.
	Spec func(site.Site) panel.AccountSpec
	// First must have followed before a backup is restored: what it is restored into.
	First []Follower
	// All has everything of a service follow.
	All func(ctx context.Context, accountID, serviceID int64) error
}

// Service is the section's use cases.
type Service struct {
	Config
	Needs
}

// New makes the section. Connect comes before its use.
func New(c Config) *Service { return &Service{Config: c} }

// Connect gives the section what it needs of others.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Recovery is what an operator asks for.
type Recovery struct {
	Node  string // the dead one
	To    Target // the nodes on which its services are made
	Empty bool   // services without a backup are made without content
	Force bool   // though the node reports
}

// Recovered is what a recovery has begun.
type Recovered struct {
	Moves []Move
	// WithoutBackup are the services that are left alone because no other machine can restore them.
	WithoutBackup []int64
}

// Recover begins to make the services of a dead node on others, the small ones first. Asked again, it begins what is missing.
func (s *Service) Recover(ctx context.Context, r Recovery) (out Recovered, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		out = Recovered{}
		from, err := s.Nodes.Node(ctx, tx, r.Node)
		if err != nil {
			return err
		}
		if from.Alive && !from.Draining && !r.Force {
			return ErrNodeAlive.Wrapf("moves: node %s reports", r.Node)
		}
		if err := s.target(ctx, tx, from, r.To); err != nil {
			return err
		}
		on, best, err := s.smallFirst(ctx, tx, from.Panel)
		if err == nil {
			err = s.suited(ctx, tx, from, r.To, on)
		}
		if err != nil {
			return err
		}
		for _, of := range on {
			m := Move{AccountID: of.AccountID, ServiceID: of.ServiceID, Kind: Recover, Step: Plan, From: from.Panel, Wanted: r.To, Empty: r.Empty}
			if c, ok := best[of.ServiceID]; ok {
				m.BackupAt = &c.At
			} else if !r.Empty {
				out.WithoutBackup = append(out.WithoutBackup, of.ServiceID)
				continue
			}
			m, err := s.begin(ctx, tx, m)
			if err != nil {
				return err
			}
			out.Moves = append(out.Moves, m)
		}
		return nil
	})
	return out, err
}

// target refuses nodes to which an operator wants services that leave another one.
func (s *Service) target(ctx context.Context, tx *db.Tx, from Node, t Target) error {
	if t.Labels.Check() != nil {
		return fault.InvalidData("labels", "labels", map[string]any{"Value": labels.Most})
	}
	if t.Node != "" {
		to, err := s.Nodes.Node(ctx, tx, t.Node)
		if errors.Is(err, fault.NotFound) || err == nil && (to.Panel == from.Panel || !to.Alive) {
			return fault.Invalid("to", "move_target")
		}
		if err != nil {
			return err
		}
	}
	if t.any() {
		return nil
	}
	meant, err := s.Nodes.Meant(ctx, tx, t)
	if err != nil || slices.ContainsFunc(meant, func(n Node) bool { return n.Panel != from.Panel && n.Alive }) {
		return err
	}
	field := "location"
	if len(t.Labels) > 0 {
		field = "labels"
	}
	return fault.Invalid(field, "move_targets")
}

// unsuitedMost is how many services are named that a target means no node for.
const unsuitedMost = 20

// suited refuses services of which a target means no node that has what they need. Without a target they wait for one.
func (s *Service) suited(ctx context.Context, tx *db.Tx, from Node, t Target, all []site.Site) error {
	if t.any() {
		return nil
	}
	var unsuited []string
	for _, of := range all {
		ok, err := s.Places.Suited(ctx, tx, of.ServiceID, t, []string{from.Panel})
		if err != nil {
			return err
		}
		if !ok && len(unsuited) == unsuitedMost {
			unsuited = append(unsuited, "…")
			break
		}
		if !ok {
			unsuited = append(unsuited, strconv.FormatInt(of.ServiceID, 10))
		}
	}
	if unsuited == nil {
		return nil
	}
	return ErrUnsuited.With(fault.Fields{"services": strings.Join(unsuited, ", ")})
}

// smallFirst lists the services on a panel by the sizes of their best backups, and these backups by service.
func (s *Service) smallFirst(ctx context.Context, tx *db.Tx, panelName string) (on []site.Site, best map[int64]Copy, err error) {
	if on, err = s.Services.On(ctx, tx, panelName); err != nil {
		return nil, nil, err
	}
	best = map[int64]Copy{}
	for _, of := range on {
		copies, err := s.Backups.Portable(ctx, tx, of.ServiceID)
		if err != nil {
			return nil, nil, err
		}
		if len(copies) > 0 {
			best[of.ServiceID] = copies[0]
		}
	}
	slices.SortStableFunc(on, func(a, b site.Site) int { return cmp.Compare(best[a.ServiceID].Bytes, best[b.ServiceID].Bytes) })
	return on, best, nil
}

// Move begins to move a service to another node while it lives: to the one of those meant that suits it
// best. Room is reserved there at once. The rest waits until caches of the DNS forget the service soon, unless it is to begin now.
func (s *Service) Move(ctx context.Context, serviceID int64, to Target, now bool) (m Move, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		of, err := s.Services.Wanted(ctx, tx, serviceID)
		if err == nil {
			of, err = s.Base.Services.LockSite(ctx, tx, of.AccountID, serviceID)
		}
		if err != nil {
			return err
		}
		if !live(of) {
			return fault.ServiceNotActive.New()
		}
		from, err := s.Nodes.On(ctx, tx, of.Panel)
		switch {
		case errors.Is(err, fault.NotFound):
			return ErrNoNode.Wrapf("moves: service %d is on %q", serviceID, of.Panel)
		case err != nil:
			return err
		case !from.Alive:
			return ErrNodeSilent.New()
		}
		if err := s.target(ctx, tx, from, to); err != nil {
			return err
		}
		if _, err := underWay(ctx, tx, serviceID); err == nil {
			return ErrRunning.New()
		} else if !errors.Is(err, fault.NotFound) {
			return err
		}
		except, err := leftOf(ctx, tx, serviceID)
		if err != nil {
			return err
		}
		if err := s.suited(ctx, tx, from, to, []site.Site{of}); err != nil {
			return err
		}
		taken, err := s.Places.Take(ctx, tx, serviceID, to, append(except, from.Panel))
		if err != nil {
			return err
		}
		m = Move{AccountID: of.AccountID, ServiceID: serviceID, Kind: Live, From: from.Panel, Wanted: to, Step: s.firstStep(now, Save)}
		next := m.Step
		if m, err = s.begin(ctx, tx, m); err != nil {
			return err
		}
		m = m.apply(on(next).with(func(m *Move) { m.To = taken }), tx.Now)
		return write(ctx, tx, m)
	})
	return m, err
}

// Evacuate begins to move all services of a living node to others, the small ones first and a few at a time, until some could
// not be moved. Asked again, it begins what is missing. As with Move, they wait for the DNS, unless they are to begin now.
func (s *Service) Evacuate(ctx context.Context, node string, to Target, now bool) (all []Move, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		all = nil
		from, err := s.Nodes.Node(ctx, tx, node)
		if err != nil {
			return err
		}
		if !from.Alive {
			return ErrNodeSilent.New()
		}
		if err := s.target(ctx, tx, from, to); err != nil {
			return err
		}
		on, _, err := s.smallFirst(ctx, tx, from.Panel)
		if err == nil {
			err = s.suited(ctx, tx, from, to, on)
		}
		if err != nil {
			return err
		}
		for _, of := range on {
			m, err := s.begin(ctx, tx, Move{
				AccountID: of.AccountID, ServiceID: of.ServiceID, Kind: Live, From: from.Panel, Wanted: to, Step: s.firstStep(now, Plan),
			})
			if err != nil {
				return err
			}
			all = append(all, m)
		}
		return nil
	})
	return all, err
}

// firstStep is what a move of a living service begins with.
func (s *Service) firstStep(now bool, otherwise Step) Step {
	if now || s.Wait <= 0 {
		return otherwise
	}
	return Lower
}

// begin writes a move and its job, or answers the one that the service has.
func (s *Service) begin(ctx context.Context, tx *db.Tx, m Move) (Move, error) {
	id, ok, err := insert(ctx, tx, m)
	if err != nil {
		return m, err
	}
	if !ok {
		if m.Kind != Recover {
			return underWay(ctx, tx, m.ServiceID)
		}
		had, err := lockUnderWay(ctx, tx, m.ServiceID)
		switch {
		case errors.Is(err, fault.NotFound): // it was over before the lock was had
			return s.begin(ctx, tx, m)
		case err != nil:
			return had, err
		case had.committed() && had.To == m.From:
			// The machine that it has come to died before all was there. What that move says of it stays, and this one begins.
			had = had.apply(on(Leave).because(fault.PanelUnreachable.Key, "the machine to which it came died before all was restored"), tx.Now)
		case !had.committed() && had.Kind == Live:
			had = had.apply(fail(fault.PanelUnreachable.Key, "the machine that it leaves died before all was copied"), tx.Now)
		default:
			return had, nil
		}
		if err := write(ctx, tx, had); err != nil {
			return had, err
		}
		return s.begin(ctx, tx, m)
	}
	if err := s.enqueue(ctx, tx, id); err != nil {
		return m, err
	}
	return get(ctx, tx, id)
}

// Filter says which moves a list shows; empty members show all.
type Filter struct {
	ServiceID int64
	Panel     string // that the services leave, or come to
	Open      bool   // of services that are not all on the other machine yet
}

// List reads a page of moves, the newest first.
func (s *Service) List(ctx context.Context, f Filter, p page.Params) ([]Move, int, error) {
	return list(ctx, s.DB, f, p)
}

// Get reads a move.
func (s *Service) Get(ctx context.Context, id int64) (Move, error) { return get(ctx, s.DB, id) }

// Cancel calls a move off whose service is still where it was.
func (s *Service) Cancel(ctx context.Context, id int64) (m Move, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if m, err = get(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.Base.Services.LockSite(ctx, tx, m.AccountID, m.ServiceID); err != nil {
			return err
		}
		if m, err = lock(ctx, tx, id); err != nil {
			return err
		}
		if m.committed() {
			return ErrCommitted.New()
		}
		if m.Step == Undo || m.Step == Closed {
			return nil
		}
		m = m.apply(fail(errCancelled.Key, "an operator called it off"), tx.Now)
		return errors.Join(write(ctx, tx, m), s.enqueue(ctx, tx, id))
	})
	return m, err
}

// Former lists the addresses at which a service was before it moved, while something of it is left there: the machine passes visitors
// and mail on.
func (s *Service) Former(ctx context.Context, q db.Querier, serviceID int64) ([]string, error) {
	since, err := leftSince(ctx, q, serviceID)
	if err != nil || since == nil {
		return nil, err
	}
	return s.Services.Former(ctx, q, serviceID, *since)
}

// Left lists the accounts that have left a panel, and of which something may be left there.
func (s *Service) Left(ctx context.Context, q db.Querier, panelName string) ([]nodelink.LeftAccount, error) {
	all, err := leftFrom(ctx, q, panelName)
	left := make([]nodelink.LeftAccount, len(all))
	for i, m := range all {
		left[i] = nodelink.LeftAccount{Ref: m.ref(), Epoch: *m.Epoch}
	}
	return left, err
}
