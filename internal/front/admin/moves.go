package admin

import (
	"context"
	"time"

	"stead.dev/stead/internal/hosting/moves"
	"stead.dev/stead/internal/hosting/nodes"
	"stead.dev/stead/internal/platform/page"
)

// Move is the move of a service from one machine to another as operators see it.
type Move struct {
	ID          int64      `json:"id"`
	Kind        string     `json:"kind" enum:"recover,move" doc:"recover: from a dead node, out of the newest backup; move: from a node that lives, with everything"`
	ServiceID   int64      `json:"service_id"`
	AccountID   int64      `json:"account_id"`
	From        string     `json:"from"` // name of the node
	To          string     `json:"to"`   // empty until room is reserved there, and of one that failed
	Wanted      MoveTarget `json:"wanted" doc:"To which nodes it was asked to move; empty members are any."`
	State       string     `json:"state" enum:"running,moved,failed" doc:"moved: the service is on the other node whole; failed: it stayed where it was"`
	Step        string     `json:"step" enum:"lower,plan,save,adopt,check,make,hold,ready,commit,fill,restore,open,undo,leave,keep,closed" doc:"What is done next; leave and keep are about what is left on the former node"`
	WaitsUntil  *time.Time `json:"waits_until" doc:"When caches of the DNS have forgotten the former TTL, so that a planned move begins"`
	BackupID    *int64     `json:"backup_id" doc:"The backup that it is restored from"`
	BackupAt    *time.Time `json:"backup_at" doc:"When the backup was asked for that it is restored from, or that is tried first while none is chosen. What is newer is lost. null where there is none, and of a move from a node that lives."`
	ErrorKey    *string    `json:"error_key" doc:"What is in the way, or why it failed; of one that has moved: its content could not be restored"`
	Cause       string     `json:"cause" doc:"The same in detail"`
	CreatedAt   time.Time  `json:"created_at"`
	HeldAt      *time.Time `json:"held_at" doc:"From when on nothing of the service changed for the last copy; until opened_at its programs stood still and its mail was refused for now. null before that, and of a recovery."`
	CommittedAt *time.Time `json:"committed_at" doc:"When the service was on the other node"`
	OpenedAt    *time.Time `json:"opened_at" doc:"When all was restored"`
	LeftAt      *time.Time `json:"left_at" doc:"When the former node knew of it"`
	ClosedAt    *time.Time `json:"closed_at"`
}

// MoveTarget says to which nodes services are to move.
type MoveTarget struct {
	Node     string            `json:"node"`
	Location string            `json:"location"`
	Labels   map[string]string `json:"labels"`
}

func moveOf(m moves.Move, names map[string]string) Move {
	shown := Move{
		ID: m.ID, Kind: string(m.Kind), ServiceID: m.ServiceID, AccountID: m.AccountID, From: names[m.From], To: names[m.To], Wanted: MoveTarget{m.Wanted.Node, m.Wanted.Location, m.Wanted.Labels}, State: "running",
		Step: string(m.Step), WaitsUntil: m.LoweredUntil, BackupID: m.BackupID, BackupAt: m.BackupAt, ErrorKey: m.FailureKey, Cause: m.Cause, CreatedAt: m.CreatedAt,
		HeldAt: m.HeldAt, CommittedAt: m.CommittedAt, OpenedAt: m.OpenedAt, LeftAt: m.LeftAt, ClosedAt: m.ClosedAt,
	}
	switch {
	case m.Failed():
		shown.State = "failed"
	case m.OpenedAt != nil:
		shown.State = "moved"
	}
	return shown
}

// nodeNames are the names of nodes by their panels.
func (a *Admin) nodeNames(ctx context.Context) (map[string]string, error) {
	all, err := a.Nodes.List(ctx)
	names := map[string]string{}
	for _, n := range all {
		names[nodes.PanelName(n.ID)] = n.Name
	}
	return names, err
}

// Recovery is what the recovery from a node has begun.
type Recovery struct {
	Moves []Move `json:"moves"`
	// WithoutBackup are the services that no other machine can restore.
	WithoutBackup []int64 `json:"without_backup" doc:"Services that are left alone: no other node can restore them. They are made without content when the recovery is asked for with empty."`
}

// RecoverNode begins to make the services of a dead node on others, out of their backups.
func (a *Admin) RecoverNode(ctx context.Context, r moves.Recovery) (Recovery, error) {
	begun, err := a.Moves.Recover(a.change(ctx, "node.recover", "", nodeSubject(r.Node)), r)
	if err != nil {
		return Recovery{}, err
	}
	names, err := a.nodeNames(ctx)
	out := Recovery{Moves: []Move{}, WithoutBackup: begun.WithoutBackup}
	if out.WithoutBackup == nil {
		out.WithoutBackup = []int64{}
	}
	for _, m := range begun.Moves {
		out.Moves = append(out.Moves, moveOf(m, names))
	}
	return out, err
}

// MoveService begins to move a service to another node while it lives: of those meant, to the one that suits it best.
func (a *Admin) MoveService(ctx context.Context, id int64, to moves.Target, now bool) (Move, error) {
	s, err := a.Service(ctx, id)
	if err != nil {
		return Move{}, err
	}
	m, err := a.Moves.Move(a.change(ctx, "service.move", "", serviceSubject(id).of(s.AccountID)), id, to, now)
	if err != nil {
		return Move{}, err
	}
	return a.Move(ctx, m.ID)
}

// Evacuation is what the evacuation of a node has begun.
type Evacuation struct {
	Moves []Move `json:"moves"`
}

// EvacuateNode begins to move all services of a living node to others, and places no more on it.
func (a *Admin) EvacuateNode(ctx context.Context, name string, to moves.Target, now bool) (Evacuation, error) {
	ctx = a.change(ctx, "node.evacuate", "", nodeSubject(name))
	begun, err := a.Moves.Evacuate(ctx, name, to, now)
	if err == nil {
		_, err = a.Nodes.Drain(ctx, name)
	}
	if err != nil {
		return Evacuation{}, err
	}
	names, err := a.nodeNames(ctx)
	out := Evacuation{Moves: []Move{}}
	for _, m := range begun {
		out.Moves = append(out.Moves, moveOf(m, names))
	}
	return out, err
}

// Moves says which moves a list shows; empty members show all.
type Moves struct {
	ServiceID int64
	Node      string
	Running   bool
}

// ListMoves reads a page of moves, the newest first.
func (a *Admin) ListMoves(ctx context.Context, f Moves, p page.Params) (*page.List[Move], error) {
	names, err := a.nodeNames(ctx)
	if err != nil {
		return nil, err
	}
	of := moves.Filter{ServiceID: f.ServiceID, Open: f.Running}
	if f.Node != "" {
		n, err := a.Nodes.Named(ctx, a.DB, f.Node)
		if err != nil {
			return nil, err
		}
		of.Panel = nodes.PanelName(n.ID)
	}
	all, total, err := a.Moves.List(ctx, of, p)
	if err != nil {
		return nil, err
	}
	return page.Map(p, total, all, func(m moves.Move) Move { return moveOf(m, names) }), nil
}

// Move reads a move.
func (a *Admin) Move(ctx context.Context, id int64) (Move, error) {
	m, err := a.Moves.Get(ctx, id)
	if err != nil {
		return Move{}, err
	}
	names, err := a.nodeNames(ctx)
	return moveOf(m, names), err
}

// CancelMove calls a move off whose service is where it was.
func (a *Admin) CancelMove(ctx context.Context, id int64) (Move, error) {
	if _, err := a.Moves.Cancel(a.change(ctx, "move.cancel", "", rowOf("move", "moves_moves", "service_id, from_panel, to_panel, step", "id", id)), id); err != nil {
		return Move{}, err
	}
	return a.Move(ctx, id)
}
