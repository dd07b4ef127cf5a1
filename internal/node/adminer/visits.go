package adminer

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"sync"
	"time"

	"stead.dev/stead/internal/port/panel"
)

const (
	tokenLife = time.Minute
	visitLife = time.Hour
	// mostVisits is how many an account may have: a further one takes the place of its oldest.
	mostVisits = 10
	// mostOfAll bounds those of all accounts together.
	mostOfAll = 2000
)

// visit is a browser's access to one database, or the address that begins one.
type visit struct {
	id       string // in its addresses; no secret
	ref      string // of the account
	database string
	engine   panel.DatabaseEngine
	address  string // of the machine, at which it is
	secret   string // between gate and doors
	session  string // Adminer's name for what it remembers

	token   [sha256.Size]byte // of the address, while that may be used
	unused  bool
	expires time.Time         // of the address
	cookie  [sha256.Size]byte // of the browser, from then on
	ends    time.Time

	ended chan struct{}
	timer *time.Timer // ends it while nobody asks
}

// visits are all of the machine.
type visits struct {
	now func() time.Time
	// forget removes what Adminer remembers of a visit that has ended.
	forget func(v *visit)

	mu  sync.Mutex
	all map[string]*visit // by id
}

func newVisits(now func() time.Time, forget func(v *visit)) *visits {
	return &visits{now: now, forget: forget, all: map[string]*visit{}}
}

// name makes a name that nobody can guess.
func name() string { return strings.ToLower(rand.Text() + rand.Text()) }

// open makes a visit and the token of its address.
func (s *visits) open(ref, database string, engine panel.DatabaseEngine, address string) (v *visit, token string, err error) {
	token = name()
	now := s.now()
	v = &visit{
		id: name(), ref: ref, database: database, engine: engine, address: address, secret: name(), session: name(),
		token: sha256.Sum256([]byte(token)), unused: true, expires: now.Add(tokenLife), ends: now.Add(visitLife), ended: make(chan struct{}),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
	var own []*visit
	for _, other := range s.all {
		if other.ref == ref {
			own = append(own, other)
		}
	}
	if len(own) >= mostVisits {
		oldest := own[0]
		for _, other := range own {
			if other.ends.Before(oldest.ends) {
				oldest = other
			}
		}
		s.end(oldest)
	}
	if len(s.all) >= mostOfAll {
		return nil, "", fmt.Errorf("%w: %d databases are open", panel.ErrBusy, len(s.all))
	}
	s.all[v.id] = v
	v.timer = time.AfterFunc(visitLife, func() { s.leave(v) })
	return v, token, nil
}

// over reports whether a visit has ended by its time, or was never begun.
func (v *visit) over(now time.Time) bool {
	return !now.Before(v.ends) || v.unused && !now.Before(v.expires)
}

// sweep ends those whose time is over. The caller holds the lock.
func (s *visits) sweep(now time.Time) {
	for _, v := range s.all {
		if v.over(now) {
			s.end(v)
		}
	}
}

// end ends a visit. The caller holds the lock.
func (s *visits) end(v *visit) {
	if s.all[v.id] != v {
		return
	}
	delete(s.all, v.id)
	v.timer.Stop()
	close(v.ended)
	s.forget(v)
}

// leave ends a visit.
func (s *visits) leave(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(v)
}

// at is the visit with that id at an address with that host; nil when there is none. The caller holds the lock.
func (s *visits) at(host, id string) *visit {
	s.sweep(s.now())
	v := s.all[id]
	if v == nil {
		return nil
	}
	if _, own, _ := strings.Cut(v.address, "://"); !strings.EqualFold(host, own) { // a name of somebody's may lead here, too
		return nil
	}
	return v
}

// begin uses the token of an address and answers the cookie for the browser.
func (s *visits) begin(host, id, token string) (v *visit, cookie string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v = s.at(host, id)
	hash := sha256.Sum256([]byte(token))
	if v == nil || !v.unused || subtle.ConstantTimeCompare(hash[:], v.token[:]) != 1 {
		return nil, "", false
	}
	cookie = name()
	v.unused, v.cookie = false, sha256.Sum256([]byte(cookie))
	return v, cookie, true
}

// find is the visit of a browser that shows these cookies.
func (s *visits) find(host, id string, cookies []string) (*visit, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.at(host, id)
	if v == nil || v.unused {
		return nil, false
	}
	for _, cookie := range cookies { // a site below the same domain may have set others of that name
		if hash := sha256.Sum256([]byte(cookie)); subtle.ConstantTimeCompare(hash[:], v.cookie[:]) == 1 {
			return v, true
		}
	}
	return nil, false
}

// endWhere ends the visits for which is true.
func (s *visits) endWhere(is func(v *visit) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.all {
		if is(v) {
			s.end(v)
		}
	}
}

// door is databases.Visits: the visits of one engine, as those who come to its socket prove them.
type door struct {
	*Driver
	engine panel.DatabaseEngine
}

// Visiting implements databases.Visits.
func (d door) Visiting(database string, proves func(secret string) bool) (ended <-chan struct{}, ok bool) {
	s := d.visits
	s.mu.Lock()
	s.sweep(s.now())
	var found *visit
	for _, v := range s.all {
		if v.database == database && sameServer(v.engine, d.engine) && !v.unused && proves(v.secret) {
			found = v
		}
	}
	s.mu.Unlock()
	if found == nil || d.stands(found) != nil {
		return nil, false
	}
	return found.ended, true
}

// sameServer reports whether a server keeps databases of both engines.
func sameServer(a, b panel.DatabaseEngine) bool {
	return (a == panel.PostgreSQL) == (b == panel.PostgreSQL)
}
