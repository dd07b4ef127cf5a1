package account

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/alexedwards/argon2id"
)

func decodeHash(hash string) (argon2id.Params, []byte, []byte, error) {
	p, salt, key, err := argon2id.DecodeHash(hash)
	if err != nil {
		return argon2id.Params{}, nil, nil, err
	}
	return *p, salt, key, nil
}

// cheap parameters let tests sign in a hundred times.
var cheap = &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

func weakHash(t *testing.T, password string) string {
	t.Helper()
	h, err := argon2id.CreateHash(password, &argon2id.Params{Memory: 32, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOnlyAFewPasswordsAreHashedAtOnce(t *testing.T) {
	h := newHasher(1, argonParams)
	if err := h.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.check(ctx, goodPassword, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a second one did not wait: %v", err)
	}
	h.leave()
	hash, err := h.hash(t.Context(), goodPassword)
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("%q, %v", hash, err)
	}
}
