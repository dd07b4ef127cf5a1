package db

import "context"

// Witness sees every transaction that is begun under a context, and can write in it: what it writes is committed with the
// change or not at all. An error of it undoes the transaction. A transaction that is repeated is seen again.
type Witness interface {
	// Begun is called before the function of the transaction.
	Begun(ctx context.Context, tx *Tx) error
	// Ending is called after it, when it has succeeded.
	Ending(ctx context.Context, tx *Tx) error
}

type witnessKey struct{}

// WithWitness has w see the transactions that are begun under the context.
func WithWitness(ctx context.Context, w Witness) context.Context {
	return context.WithValue(ctx, witnessKey{}, w)
}

func witnessOf(ctx context.Context) Witness {
	w, _ := ctx.Value(witnessKey{}).(Witness)
	return w
}
