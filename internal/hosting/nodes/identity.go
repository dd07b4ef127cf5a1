package nodes

import (
	"context"
	"errors"
	"sync"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/nodelink"
)

// keyPlace binds the sealed key to its row.
const keyPlace = "nodes_authority/1/key"

// authority opens the installation's authority, and makes it when there is none yet.
func (s *Service) authority(ctx context.Context) (*nodelink.Authority, error) {
	certificate, sealed, ok, err := authority(ctx, s.DB)
	if err != nil {
		return nil, err
	}
	if !ok {
		if err := s.makeAuthority(ctx); err != nil {
			return nil, err
		}
		// When several processes made one at once, the first one stored wins.
		if certificate, sealed, ok, err = authority(ctx, s.DB); err != nil {
			return nil, err
		}
		if !ok {
			return nil, errors.New("nodes: the authority is not there")
		}
	}
	key, err := s.Box.Open(sealed, []byte(keyPlace))
	if err != nil {
		return nil, err
	}
	return nodelink.OpenAuthority(certificate, key)
}

func (s *Service) makeAuthority(ctx context.Context) error {
	certificate, key, err := nodelink.NewAuthority(s.Clock.Now())
	if err != nil {
		return err
	}
	sealed, err := s.Box.Seal(key, []byte(keyPlace))
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return insertAuthority(ctx, tx, certificate, sealed)
	})
}

// self is this process's certificate as the control plane. Every process has its own; the key is in its
// memory only.
type self struct {
	mu       sync.Mutex
	identity *nodelink.Identity
}

// Identity is this process as the control plane. Its certificate is replaced when half of its life has
// passed, by whoever asks then.
func (s *Service) Identity(ctx context.Context) (*nodelink.Identity, error) {
	s.self.mu.Lock()
	defer s.self.mu.Unlock()
	now := s.Clock.Now()
	if s.self.identity != nil && now.Before(s.self.identity.RenewAt()) {
		return s.self.identity, nil
	}
	a, err := s.authority(ctx)
	if err != nil {
		return nil, err
	}
	key, err := nodelink.NewKey()
	if err != nil {
		return nil, err
	}
	encoded, err := nodelink.EncodeKey(key)
	if err != nil {
		return nil, err
	}
	issued, err := a.Issue(key.Public(), nodelink.Control, now, nodelink.ControlLifetime)
	if err != nil {
		return nil, err
	}
	if s.self.identity == nil {
		s.self.identity, err = nodelink.NewIdentity(issued.Certificate, encoded, a.Certificate(), s.Clock.Now)
		return s.self.identity, err
	}
	return s.self.identity, s.self.identity.Replace(issued.Certificate, encoded, a.Certificate())
}

// renewalPause is how often Run looks.
const renewalPause = time.Hour

// Run keeps this process's certificate from ending, once it has one, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(renewalPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.self.mu.Lock()
		used := s.self.identity != nil
		s.self.mu.Unlock()
		if !used {
			continue
		}
		if _, err := s.Identity(ctx); err != nil && ctx.Err() == nil {
			s.Log.ErrorContext(ctx, "the control plane's certificate for nodes cannot be renewed", "error", err)
		}
	}
}
