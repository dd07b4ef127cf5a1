package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/platform/config"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Kinds of disagreement between a machine and the database about an account.
const (
	UnknownAccount = "unknown" // the machine has it, and no service is known for it
	MovedAccount   = "moved"   // its service is on this machine, which let go of it; another machine has it since
	MissingAccount = "missing" // its service is on this machine, which does not have it
	DoubleAccount  = "double"  // its service is on another machine, and this one has not let go of it
	LeftAccount    = "left"    // this machine let go of it, and no move looks after what is left
)

// Disagreement is an account about which a machine and the database disagree. What a machine says is its own word.
type Disagreement struct {
	Node     string `json:"node"`
	Kind     string `json:"kind"`
	Ref      string `json:"ref"` // the id of its service
	Username string `json:"username"`
	Domain   string `json:"domain"`
	// Service is the node of the service that is known, and Since the node that has the account since a move; empty where there is none.
	Service string     `json:"service_on"`
	Since   string     `json:"since_on"`
	Epoch   int64      `json:"epoch"`
	MadeAt  *time.Time `json:"made_at"`

	panel, since string
	sinceEpoch   int64
	service      located
	alone        bool // no other machine that answers has it
}

// SilentMachine is one that could not be asked.
type SilentMachine struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// Comparison is what the machines have and the database does not say, and the other way round.
type Comparison struct {
	Data   []Disagreement  `json:"data"`
	Silent []SilentMachine `json:"silent"`
}

// Machine is a hosting machine that is asked for its accounts.
type Machine struct {
	Name, Panel string
	Ask         func(ctx context.Context) ([]panel.Resident, error)
}

// askResidents bounds how long a machine may take to list its accounts.
const askResidents = 10 * time.Second

// located is a service that has an account, or is to have one.
type located struct {
	id            int64
	panel, domain string
	epoch         int64
	live          bool // it has its account; otherwise that is made or removed just now
}

const locatedColumns = `SELECT id, panel, domain, epoch, status IN ('active', 'past_due', 'suspended') FROM services
	WHERE status IN ('provisioning', 'active', 'past_due', 'suspended', 'terminating') AND `

func locate(ctx context.Context, q db.Querier, where string, args ...any) ([]located, error) {
	return db.Collect(ctx, q, func(r db.Row) (l located, err error) {
		return l, r.Scan(&l.id, &l.panel, &l.domain, &l.epoch, &l.live)
	}, locatedColumns+where, args...)
}

// LookedAfter lists the services that have left a panel by moves that look after what is left there.
type LookedAfter func(ctx context.Context, q db.Querier, panelName string) ([]int64, error)

// CompareAccounts asks all machines at once for their accounts, and compares them with the services.
func CompareAccounts(ctx context.Context, q db.Querier, machines []Machine, left LookedAfter) (Comparison, error) {
	var (
		out   = Comparison{Data: []Disagreement{}, Silent: []SilentMachine{}}
		said  = make([][]panel.Resident, len(machines))
		errs  = make([]error, len(machines))
		calls sync.WaitGroup
		names = map[string]string{}
	)
	for i, m := range machines {
		names[m.Panel] = m.Name
		calls.Go(func() {
			call, cancel := context.WithTimeout(ctx, askResidents)
			defer cancel()
			said[i], errs[i] = m.Ask(call)
		})
	}
	calls.Wait()
	type owner struct {
		panel string
		epoch int64
	}
	has := map[string][]owner{} // by ref: the machines that have the account and have not let go of it
	for i, m := range machines {
		said[i] = slices.DeleteFunc(said[i], func(r panel.Resident) bool { return !credible(r) })
		for _, r := range said[i] {
			if r.Left == 0 && !r.Arriving {
				has[r.Ref] = append(has[r.Ref], owner{m.Panel, r.Epoch})
			}
		}
	}
	for i, m := range machines {
		if errs[i] != nil {
			out.Silent = append(out.Silent, SilentMachine{m.Name, errs[i].Error()})
			continue
		}
		found, err := disagreements(ctx, q, m, said[i], left)
		if err != nil {
			return out, err
		}
		for _, d := range found {
			d.Node, d.panel, d.Service = m.Name, m.Panel, cmp.Or(names[d.Service], d.Service)
			d.alone = len(has[d.Ref]) == 1
			if others := has[d.Ref]; d.Kind == MovedAccount && len(others) == 1 && others[0].epoch >= d.Epoch {
				d.since, d.sinceEpoch, d.Since = others[0].panel, others[0].epoch, names[others[0].panel]
			}
			out.Data = append(out.Data, d)
		}
	}
	// A machine that has a service since a move is no second one that has it.
	out.Data = slices.DeleteFunc(out.Data, func(d Disagreement) bool {
		return d.Kind == DoubleAccount && slices.ContainsFunc(out.Data, func(o Disagreement) bool { return o.Ref == d.Ref && o.since == d.panel })
	})
	return out, nil
}

var plainRef = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// credible tells that what a machine says of an account can be shown.
func credible(r panel.Resident) bool {
	domain, err := panel.CanonicalDomain(r.PrimaryDomain)
	const mostMoves = 1 << 31
	return err == nil && domain == r.PrimaryDomain && r.Epoch < mostMoves && r.Left < mostMoves && plainRef.MatchString(r.Ref) && plainRef.MatchString(r.Username)
}

// disagreements compares what one machine said with the rows.
func disagreements(ctx context.Context, q db.Querier, m Machine, said []panel.Resident, left LookedAfter) ([]Disagreement, error) {
	here, err := locate(ctx, q, `panel = $1`, m.Panel)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, 0, len(said))
	for _, r := range said {
		if id, err := strconv.ParseInt(r.Ref, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	in, args := db.In(q, 1, ids)
	named, err := locate(ctx, q, `id `+in, args...)
	if err != nil {
		return nil, err
	}
	byRef := map[string]located{}
	for _, l := range append(here, named...) {
		byRef[strconv.FormatInt(l.id, 10)] = l
	}
	known, err := left(ctx, q, m.Panel)
	if err != nil {
		return nil, err
	}
	var all []Disagreement
	told := map[string]bool{}
	for _, r := range said {
		told[r.Ref] = true
		l, has := byRef[r.Ref]
		d := Disagreement{Ref: r.Ref, Username: r.Username, Domain: r.PrimaryDomain, Service: l.panel, Epoch: max(r.Epoch, r.Left), MadeAt: &r.CreatedAt, service: l}
		lookedAfter := slices.ContainsFunc(known, func(id int64) bool { return strconv.FormatInt(id, 10) == r.Ref })
		if d.Kind = kindOf(r, m.Panel, l, has, lookedAfter); d.Kind == "" {
			continue
		}
		all = append(all, d)
	}
	for _, l := range here {
		if ref := strconv.FormatInt(l.id, 10); l.live && !told[ref] {
			all = append(all, Disagreement{Kind: MissingAccount, Ref: ref, Domain: l.domain, Service: l.panel, Epoch: l.epoch})
		}
	}
	return all, nil
}

// kindOf says what is wrong with an account that a panel has; empty when nothing is. has tells that the service is known, lookedAfter that
// a move removes in the end what is left of it on the panel.
func kindOf(r panel.Resident, on string, service located, has, lookedAfter bool) string {
	switch {
	case r.Left > 0 && has && service.panel == on && service.live && r.Left > service.epoch:
		return MovedAccount
	case r.Left > 0 && !lookedAfter:
		return LeftAccount
	case r.Left > 0 || r.Arriving && has:
		return ""
	case !has:
		return UnknownAccount
	case service.panel != on && (!lookedAfter || r.Epoch >= service.epoch): // else its move has the panel let go of it soon
		return DoubleAccount
	default:
		return ""
	}
}

// machines are those that are asked: the nodes that have joined, and the one of the server on this machine.
func (a *Admin) machines(ctx context.Context) ([]Machine, error) {
	all, err := a.Nodes.List(ctx)
	var out []Machine
	add := func(name, panelName string) {
		out = append(out, Machine{Name: name, Panel: panelName, Ask: func(ctx context.Context) ([]panel.Resident, error) {
			inventory, err := site.On[panel.Inventory](a.Hosting.Panels, site.Site{Panel: panelName}, panel.CapInventory)
			if err != nil {
				return nil, err
			}
			return inventory.Residents(ctx)
		}})
	}
	if _, ok := a.Hosting.Panels.Panel(config.PanelNode); ok {
		add(config.PanelNode, config.PanelNode)
	}
	for _, n := range all {
		if n.Serves() {
			add(n.Name, nodes.PanelName(n.ID))
		}
	}
	return out, err
}

// CompareAccounts compares the accounts of all machines with the services.
func (a *Admin) CompareAccounts(ctx context.Context) (Comparison, error) {
	machines, err := a.machines(ctx)
	if err != nil {
		return Comparison{}, err
	}
	return CompareAccounts(ctx, a.DB, machines, a.Moves.LookedAfter)
}

// follows tells from which panel to which a service went, and in which epoch; false: it did not, or that is one machine's word alone. silent
// are the names of the machines that did not answer.
func (d Disagreement) follows(trusted string, silent []string) (from, to string, epoch int64, ok bool) {
	if d.Kind == MovedAccount {
		return d.panel, d.since, d.sinceEpoch, d.since != "" && (len(silent) == 0 || d.Since == trusted)
	}
	// The former machine is dead, and does not say that it let go.
	ok = d.Kind == DoubleAccount && d.alone && d.Node == trusted && slices.Contains(silent, d.Service) && d.service.live && d.Epoch > d.service.epoch
	return d.service.panel, d.panel, d.Epoch, ok
}

// FollowMoves makes the machines serve the services that they have since moves of which a restored database knows nothing. A single machine
// that claims an account gains nothing by it: the machine of the service must have let go of it, and no other one may have it, so all must
// answer. An operator who trusts a node takes its word while others are silent.
func (a *Admin) FollowMoves(ctx context.Context, trusted string) ([]Move, error) {
	c, err := a.CompareAccounts(ctx)
	if err != nil {
		return nil, err
	}
	silent := make([]string, len(c.Silent))
	for i, s := range c.Silent {
		silent[i] = s.Node
	}
	followed := []Move{}
	for _, d := range c.Data {
		from, to, epoch, ok := d.follows(trusted, silent)
		if !ok && d.Kind == MovedAccount && len(silent) > 0 {
			return followed, fault.PanelUnreachable.Wrapf("%s does not answer: it may have account %s of %s", silent[0], d.Ref, d.Domain)
		}
		if !ok {
			continue
		}
		id, err := strconv.ParseInt(d.Ref, 10, 64)
		if err != nil {
			return followed, err
		}
		s, err := a.Service(ctx, id)
		if err != nil {
			return followed, err
		}
		accounts, err := site.On[panel.Accounts](a.Hosting.Panels, site.Site{Panel: to}, panel.CapAccounts)
		if err != nil {
			return followed, err
		}
		account, err := accounts.Account(ctx, d.Ref)
		if err != nil {
			return followed, fmt.Errorf("service %d: %w", id, err)
		}
		m, err := a.Moves.Found(a.change(ctx, "service.follow_move", "", serviceSubject(id).of(s.AccountID)), id, from, to, account, epoch)
		if err != nil {
			return followed, fmt.Errorf("service %d: %w", id, err)
		}
		shown, err := a.Move(ctx, m.ID)
		if err != nil {
			return followed, err
		}
		followed = append(followed, shown)
	}
	return followed, nil
}

// ReleaseAccount has a machine let go of an account of which no service is known: nothing of it is served any more and its domains are free,
// but its files stay there, unless it is removed for good.
func (a *Admin) ReleaseAccount(ctx context.Context, node, ref string, remove bool) (Disagreement, error) {
	c, err := a.CompareAccounts(ctx)
	if err != nil {
		return Disagreement{}, err
	}
	i := slices.IndexFunc(c.Data, func(d Disagreement) bool { return d.Node == node && d.Ref == ref })
	if i < 0 {
		return Disagreement{}, fault.NotFound.Wrapf("stead admin nodes accounts lists no account %q of %q", ref, node)
	}
	d := c.Data[i]
	if d.Kind != UnknownAccount && (d.Kind != LeftAccount || !remove) {
		return d, fault.Conflict.Wrapf("the account is %s: only one of which no service is known can be let go of", d.Kind)
	}
	moving, err := site.On[panel.Moving](a.Hosting.Panels, site.Site{Panel: d.panel}, panel.CapMoving)
	if err != nil {
		return d, err
	}
	action, epoch := "node.release_account", d.Epoch
	if d.Kind == UnknownAccount {
		epoch++
	}
	if remove {
		action = "node.remove_account"
	}
	// Recorded first: a record of what was not done is better than none of what was.
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return a.record(ctx, tx, action, "account "+ref+" of "+d.Domain, nodeSubject(node), func() error { return nil })
	})
	if err == nil && d.Kind == UnknownAccount {
		err = moving.LeaveAccount(ctx, ref, epoch)
	}
	if err == nil && remove {
		if err = moving.DropAccount(ctx, ref, epoch); errors.Is(err, panel.ErrNotFound) {
			err = nil
		}
	}
	return d, err
}
