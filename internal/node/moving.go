package node

import (
	"context"
	"fmt"

	"stead.dev/stead/internal/node/accounts"
	"stead.dev/stead/internal/port/panel"
)

// errLeft says that another machine has the account.
var errLeft = fmt.Errorf("%w: the account has left for another machine", panel.ErrNotFound)

var _ panel.Moving = (*Node)(nil)

// LeaveAccount implements panel.Moving.
func (n *Node) LeaveAccount(ctx context.Context, ref string, epoch int64) error {
	return panel.Wrap("moving.leave", ref, n.leave(ctx, ref, epoch))
}

func (n *Node) leave(ctx context.Context, ref string, epoch int64) error {
	marked, err := n.markLeft(ctx, ref, epoch)
	if err != nil || !marked {
		return err
	}
	return n.apply(ctx, ref)
}

// markLeft writes that an account has left; false when it is known, or old news.
func (n *Node) markLeft(ctx context.Context, ref string, epoch int64) (bool, error) {
	rec, err := n.accounts.Get(ref)
	if err != nil || rec.Epoch >= epoch || rec.Left >= epoch {
		return false, err
	}
	_, err = n.accounts.Update(ctx, ref, func(rec *accounts.Record) error {
		if rec.Epoch < epoch && rec.Left < epoch {
			rec.Left, rec.Suspended = epoch, true
		}
		return nil
	})
	if err == nil {
		n.cfg.Log.Info("account has left for another machine; its files stay, unserved", "account", ref, "epoch", epoch)
	}
	return err == nil, err
}

// DropAccount implements panel.Moving.
func (n *Node) DropAccount(ctx context.Context, ref string, epoch int64) error {
	rec, err := n.accounts.Get(ref)
	if err == nil && (rec.Left == 0 || rec.Left > epoch) {
		err = fmt.Errorf("%w: no account that has left", panel.ErrNotFound)
	}
	if err == nil {
		err = n.end(ctx, ref, n.accounts.Delete)
	}
	return panel.Wrap("moving.drop", ref, err)
}
