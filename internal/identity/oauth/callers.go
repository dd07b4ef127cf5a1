package oauth

import (
	"context"
	"sync"
	"time"
)

// mostKnown bounds the applications that are kept in memory.
const mostKnown = 10_000

// callers keeps the applications that called last, so that a call of one that is known asks the database nothing about it. The
// generation changes whenever one is dropped, so that what was read from the database before is not kept afterwards.
type callers struct {
	mu         sync.Mutex
	all        map[string]knownApplication // by client id
	generation uint64
}

type knownApplication struct {
	Application

	at time.Time
}

func (k *callers) get(clientID string, now time.Time) (a Application, mark uint64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.all[clientID]
	return found.Application, k.generation, ok && now.Sub(found.at) <= maxAge
}

func (k *callers) put(mark uint64, a Application, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if mark != k.generation {
		return
	}
	if k.all == nil || len(k.all) >= mostKnown {
		k.all = map[string]knownApplication{}
	}
	k.all[a.ClientID] = knownApplication{a, now}
}

// forget drops an application; 0 drops all.
func (k *callers) forget(id int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.generation++
	for clientID, a := range k.all {
		if id == 0 || a.ID == id {
			delete(k.all, clientID)
		}
	}
}

// application is the application with a client id, from memory where changes of it are heard of. It is shared and must not be
// changed.
func (s *Service) application(ctx context.Context, clientID string) (Application, error) {
	now, fresh := s.Clock.Now(), s.Hub.Fresh()
	if !fresh {
		s.known.forget(0)
	}
	a, mark, ok := s.known.get(clientID, now)
	if ok {
		return a, nil
	}
	a, err := applicationByClientID(ctx, s.DB, clientID)
	if err == nil && fresh {
		s.known.put(mark, a, now)
	}
	return a, err
}
