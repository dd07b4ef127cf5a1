package account

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"
)

// argonParams are OWASP's for argon2id: 19 MiB and two passes take about as long as a person does not notice, and bound
// the memory of many sign-ins at once.
var argonParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// hasher hashes passwords, a few at a time: each takes 19 MiB and a processor.
type hasher struct {
	params *argon2id.Params
	slots  chan struct{}
	// dummy is random, so the hash of no password that anybody knows. check uses it when there is no account, so that
	// the answer takes as long as with one.
	dummy string
}

func newHasher(atOnce int, params *argon2id.Params) *hasher {
	random := make([]byte, params.SaltLength+params.KeyLength)
	_, _ = rand.Read(random) // never fails
	text := base64.RawStdEncoding.EncodeToString
	dummy := fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, params.Memory, params.Iterations, params.Parallelism,
		text(random[:params.SaltLength]), text(random[params.SaltLength:]))
	return &hasher{params: params, slots: make(chan struct{}, atOnce), dummy: dummy}
}

func (h *hasher) enter(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
}

func (h *hasher) leave() { <-h.slots }

func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.leave()
	return argon2id.CreateHash(normalizePassword(password), h.params)
}

// check compares a password with a hash; an empty hash never matches, in the same time. outdated says that the hash was
// made with other parameters than today's.
func (h *hasher) check(ctx context.Context, password, hash string) (ok, outdated bool, err error) {
	if err := h.enter(ctx); err != nil {
		return false, false, err
	}
	defer h.leave()
	none := hash == ""
	if none {
		hash = h.dummy
	}
	if len(password) > 4*maxPassword {
		password = "" // too long to be real; its sender must not choose the cost of hashing
		none = true
	}
	ok, params, err := argon2id.CheckHash(normalizePassword(password), hash)
	if err != nil {
		return false, false, fmt.Errorf("check a password: %w", err)
	}
	return ok && !none, *params != *h.params, nil
}
