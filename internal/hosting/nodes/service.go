package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/jobs"
	"stead.dev/stead/internal/platform/nodelink"
	"stead.dev/stead/internal/platform/outbox"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/panel"
)

// Topic is told which nodes changed, so that replicas look anew.
const Topic = "nodes"

// Signals carries news to all replicas.
type Signals interface {
	Send(ctx context.Context, tx *db.Tx, topic, payload string) error
}

// Jobs are those that wait for nodes.
type Jobs interface {
	// RetryNow has the failed jobs of queues come at once whose arguments, as JSON, which picks.
	RetryNow(ctx context.Context, tx *db.Tx, queues []string, which func(args []byte) bool) error
}

// Config is what the section works with; every field is needed.
type Config struct {
	DB      *db.DB
	Clock   clock.Clock
	Box     *secret.Box
	Signals Signals
	Jobs    Jobs
	Log     *slog.Logger
}

// Checks is what nodes do for monitors.
type Checks interface {
	// Exchange takes in what a node of a region found, and answers what it is to check.
	Exchange(ctx context.Context, nodeID int64, region string, in nodelink.Checks) (nodelink.Work, error)
}

// NoChecks are those of a control plane that has no monitors: no node checks anything.
type NoChecks struct{}

// Exchange implements Checks.
func (NoChecks) Exchange(context.Context, int64, string, nodelink.Checks) (nodelink.Work, error) {
	return nodelink.Work{Idle: true}, nil
}

// Moves know which accounts have left nodes for others.
type Moves interface {
	// Left lists those of which a node, named as a panel, may have something still.
	Left(ctx context.Context, q db.Querier, panelName string) ([]nodelink.LeftAccount, error)
}

// NoMoves are those of a control plane that moves nothing.
type NoMoves struct{}

// Left implements Moves.
func (NoMoves) Left(context.Context, db.Querier, string) ([]nodelink.LeftAccount, error) {
	return nil, nil
}

// Needs is what the section needs of others; every field is required.
type Needs struct {
	Checks Checks
	Moves  Moves
}

// Connect gives the section what it needs of others, before a node calls.
func (s *Service) Connect(n Needs) { s.Needs = n }

// Service is the section's use cases.
type Service struct {
	Config
	Needs
	self self
}

// New makes the section.
func New(c Config) *Service { return &Service{Config: c} }

// tokenLife is how long a join token is good.
const tokenLife = time.Hour

const (
	tokenPrefix = "st_node_"
	tokenBytes  = 24
)

// Prepare makes the authority that certifies nodes, unless there is one.
func (s *Service) Prepare(ctx context.Context) error {
	_, err := s.authority(ctx)
	return err
}

// Add invites a machine to become a node. The token is answered now and never again.
func (s *Service) Add(ctx context.Context, n NewNode) (added Node, token string, err error) {
	if err := n.validate(); err != nil {
		return Node{}, "", err
	}
	return s.invite(ctx, func(ctx context.Context, tx *db.Tx, hash []byte, expires time.Time) (int64, error) {
		id, err := insert(ctx, tx, n, hash, expires)
		if db.IsUnique(err) {
			err = fault.AlreadyExists.Wrap(err)
		}
		return id, err
	})
}

// Rejoin invites the machine that stands in for a node: a new one with the old one's data, or the same
// that lost its key. The node's name, services and state stay.
func (s *Service) Rejoin(ctx context.Context, name string) (Node, string, error) {
	return s.invite(ctx, func(ctx context.Context, tx *db.Tx, hash []byte, expires time.Time) (int64, error) {
		n, err := lockNamed(ctx, tx, name)
		if err != nil {
			return 0, err
		}
		return n.ID, setToken(ctx, tx, n.ID, hash, expires)
	})
}

func (s *Service) invite(ctx context.Context, f func(ctx context.Context, tx *db.Tx, hash []byte, expires time.Time) (int64, error),
) (n Node, token string, err error) {
	a, err := s.authority(ctx)
	if err != nil {
		return Node{}, "", err
	}
	key := secret.Token(tokenPrefix, tokenBytes)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		id, err := f(ctx, tx, secret.Hash(key), tx.Now.Add(tokenLife))
		if err == nil {
			n, err = get(ctx, tx, id)
		}
		return err
	})
	return n, nodelink.JoinToken(key, a.Pin()), err
}

// Named answers a node that was not removed.
func (s *Service) Named(ctx context.Context, q db.Querier, name string) (Node, error) {
	all, err := list(ctx, q)
	if err != nil {
		return Node{}, err
	}
	i := slices.IndexFunc(all, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, fault.NotFound.New()
	}
	return all[i], nil
}

// Meaning lists the nodes that a target means.
func (s *Service) Meaning(ctx context.Context, q db.Querier, t Target) ([]Node, error) {
	all, err := list(ctx, q)
	return slices.DeleteFunc(all, func(n Node) bool { return !t.Means(n) }), err
}

// Machine is the node that a panel is. fault.NotFound: it is none, or was removed.
func (s *Service) Machine(ctx context.Context, q db.Querier, panelName string) (Node, error) {
	id, ok := PanelID(panelName)
	if !ok {
		return Node{}, fault.NotFound.New()
	}
	n, err := get(ctx, q, id)
	if err == nil && n.State == Removed {
		err = fault.NotFound.New()
	}
	return n, err
}

// Gone tells that a panel is a node that was removed.
func (s *Service) Gone(ctx context.Context, q db.Querier, panelName string) (bool, error) {
	id, ok := PanelID(panelName)
	if !ok {
		return false, nil
	}
	n, err := get(ctx, q, id)
	return n.State == Removed, err
}

// List answers all nodes but those that were removed.
func (s *Service) List(ctx context.Context) ([]Node, error) { return list(ctx, s.DB) }

// Drain has a node get no more services; it keeps those it has.
func (s *Service) Drain(ctx context.Context, name string) (Node, error) {
	return s.move(ctx, name, Active, Draining)
}

// Resume undoes Drain.
func (s *Service) Resume(ctx context.Context, name string) (Node, error) {
	return s.move(ctx, name, Draining, Active)
}

func (s *Service) move(ctx context.Context, name string, from, to State) (n Node, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n, err = lockNamed(ctx, tx, name); err != nil || n.State == to {
			return err
		}
		if n.State != from {
			return fault.Conflict.Wrapf("nodes: the node is %s", n.State)
		}
		n.State = to
		return setState(ctx, tx, n.ID, to)
	})
	return n, err
}

// SetMaintenance says that operators work at a node, or do not any more.
func (s *Service) SetMaintenance(ctx context.Context, name string, on bool) (n Node, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n, err = lockNamed(ctx, tx, name); err != nil {
			return err
		}
		n.Maintenance = on
		return setMaintenance(ctx, tx, n.ID, on)
	})
	return n, err
}

// SetChecks says whether a node makes checks of monitors, and what they call its place; nil leaves that as it is.
func (s *Service) SetChecks(ctx context.Context, name string, on *bool, region *string) (n Node, err error) {
	if region != nil {
		if err := validateRegion(*region); err != nil {
			return n, err
		}
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n, err = lockNamed(ctx, tx, name); err != nil {
			return err
		}
		if on != nil {
			n.Checks = *on
		}
		if region != nil {
			n.RegionName = *region
		}
		return setChecks(ctx, tx, n)
	})
	return n, err
}

// Set changes where a node is and how much is placed on it. What is there stays there, also where it is more than that.
func (s *Service) Set(ctx context.Context, name string, c Change) (n Node, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n, err = lockNamed(ctx, tx, name); err != nil {
			return err
		}
		if n, err = c.apply(n); err != nil {
			return err
		}
		return setShare(ctx, tx, n)
	})
	return n, err
}

// Room tells how many services of each need the nodes have room for.
func (s *Service) Room(ctx context.Context, needs []Need) ([]Room, error) {
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	rooms := make([]Room, len(needs))
	for i, need := range needs {
		rooms[i] = roomFor(all, need, s.Clock.Now())
	}
	return rooms, nil
}

// Remove ends a node: from then on its certificate is good for nothing. One that has services is
// refused unless force says that they are lost.
func (s *Service) Remove(ctx context.Context, name string, force bool) (n Node, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if n, err = lockNamed(ctx, tx, name); err != nil {
			return err
		}
		if n.Placed > 0 && !force {
			return fault.InUse.Wrapf("nodes: %d services are on the node", n.Placed)
		}
		n.State = Removed
		if err := setRemoved(ctx, tx, n.ID); err != nil {
			return err
		}
		return s.Signals.Send(ctx, tx, Topic, PanelName(n.ID))
	})
	return n, err
}

// Place chooses the node of a service that begins to be provisioned in tx and gives it room there; it
// answers the node's name as a panel. A service that has a node keeps it. fault.OutOfStock: no node has
// room.
func (s *Service) Place(ctx context.Context, tx *db.Tx, need Need) (string, error) {
	id, ok, err := placed(ctx, tx, need.ServiceID)
	if err != nil {
		return "", err
	}
	if ok {
		return PanelName(id), nil
	}
	return s.place(ctx, tx, need, nil)
}

// PlaceElsewhere moves the room of a service to a node that is none of those panels. fault.OutOfStock: no such node has
// room; the transaction must end then, for the room that the service had is given back in it.
func (s *Service) PlaceElsewhere(ctx context.Context, tx *db.Tx, need Need, failed []string) (string, error) {
	if err := giveBack(ctx, tx, need.ServiceID); err != nil {
		return "", err
	}
	return s.place(ctx, tx, need, failed)
}

// Suited tells that some node that is none of those panels suits a need, whether it has room now or not.
func (s *Service) Suited(ctx context.Context, q db.Querier, need Need, except []string) (bool, error) {
	all, err := list(ctx, q)
	return slices.ContainsFunc(all, func(n Node) bool {
		return n.Serves() && !slices.Contains(except, PanelName(n.ID)) && n.unsuited(need, without(need.Capabilities, n.Capabilities)) == ""
	}), err
}

// PutBack moves the room of a service to a node whether that has it or not.
func (s *Service) PutBack(ctx context.Context, tx *db.Tx, serviceID int64, panelName string, diskMB int64) error {
	if err := giveBack(ctx, tx, serviceID); err != nil {
		return err
	}
	return s.Return(ctx, tx, serviceID, panelName, diskMB)
}

// place gives a service room on the node that suits it best, and is none of the failed panels.
func (s *Service) place(ctx context.Context, tx *db.Tx, need Need, failed []string) (string, error) {
	all, err := list(ctx, tx)
	if err != nil {
		return "", err
	}
	fit, obstacles := candidates(all, need, tx.Now)
	for _, n := range fit {
		if slices.Contains(failed, PanelName(n.ID)) {
			obstacles = append(obstacles, n.Name+" does not answer")
			continue
		}
		// Another order may have taken the room since the list was read.
		ok, err := take(ctx, tx, n.ID, need)
		if err != nil {
			return "", err
		}
		if ok {
			return PanelName(n.ID), nil
		}
		obstacles = append(obstacles, n.Name+" was taken meanwhile")
	}
	if missing := nobodyHas(all, need.Capabilities); len(missing) > 0 {
		return "", Lacks(missing)
	}
	return "", fault.OutOfStock.Wrapf("nodes: no room for %d MB: %s", need.DiskMB, strings.Join(obstacles, "; "))
}

// wake has the jobs come at once that wait for a node which is there again: the pauses of the queue grow to hours while a
// node is silent.
func (s *Service) wake(ctx context.Context, tx *db.Tx, id int64) error {
	all, err := servicesOn(ctx, tx, id)
	if err != nil {
		return err
	}
	on := make(map[int64]bool, len(all))
	for _, service := range all {
		on[service] = true
	}
	return s.Jobs.RetryNow(ctx, tx, []string{jobs.PanelQueue, jobs.ProvisionQueue}, func(args []byte) bool {
		var of struct {
			ServiceID int64  `json:"service_id"`
			Panel     string `json:"panel"`
		}
		if err := json.Unmarshal(args, &of); err != nil {
			return false
		}
		if of.Panel != "" { // such as of a service that has left the node, and of which something is to be removed there
			return of.Panel == PanelName(id)
		}
		return of.ServiceID == 0 && len(on) > 0 || on[of.ServiceID] // 0: it names something else of one
	})
}

// Follow frees the room of services that ended; the outbox calls it.
func (s *Service) Follow(ctx context.Context, tx *db.Tx, e outbox.Stored) error {
	switch e.Type {
	case "service.provision_failed", "service.terminated":
		return giveBack(ctx, tx, e.SubjectID)
	default:
		return nil
	}
}

// Resize gives a service whose plan or add-ons changed another amount of its node's disk, whether the node has it
// or not: they have been sold.
func (s *Service) Resize(ctx context.Context, tx *db.Tx, serviceID, diskMB int64) error {
	return resize(ctx, tx, serviceID, diskMB)
}

// Return gives a service that came back its room on the node that it was on, whether the node has it or
// not: what was kept of it is there. A service that is on no node, or has its room, is left alone.
func (s *Service) Return(ctx context.Context, tx *db.Tx, serviceID int64, panelName string, diskMB int64) error {
	id, ok := PanelID(panelName)
	if !ok {
		return nil
	}
	if _, has, err := placed(ctx, tx, serviceID); err != nil || has {
		return err
	}
	return takeAnyway(ctx, tx, id, Need{ServiceID: serviceID, DiskMB: diskMB})
}

// Found is where a node is called.
type Found struct {
	ID           int64
	Address      string
	Capabilities []panel.Capability
}

// Find tells where a node is called; false when there is no such node, or none any more.
func (s *Service) Find(ctx context.Context, id int64) (Found, bool, error) {
	n, err := get(ctx, s.DB, id)
	if missing := new(fault.Error); errors.As(err, &missing) && missing.Def == fault.NotFound {
		return Found{}, false, nil
	}
	if err != nil || !n.Serves() {
		return Found{}, false, err
	}
	return Found{ID: n.ID, Address: n.Address, Capabilities: n.Capabilities}, true, nil
}
