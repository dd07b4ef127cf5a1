package articles

import (
	"context"
	"errors"
	"testing"

	"stead.dev/stead/internal/platform/db"
)

// left is a database whose rows cannot be read any more, because the reader has left.
type left struct{}

func (left) Engine() string { return "sqlite" }

func (left) Query(context.Context, string, ...any) (db.Rows, error) { return left{}, nil }

func (left) QueryRow(context.Context, string, ...any) db.Row { return left{} }

func (left) Next() bool { return true }

func (left) Scan(...any) error { return context.Canceled }

func (left) Err() error { return context.Canceled }

func (left) Close() {}

func TestAReaderWhoHasLeftIsAnError(t *testing.T) {
	t.Parallel()
	if err := readTexts(t.Context(), left{}, []Article{{ID: 1, Texts: map[string]Text{}}}, true, true); !errors.Is(err, context.Canceled) {
		t.Errorf("reading texts: %v", err)
	}
}
