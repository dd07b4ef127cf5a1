package scans

import (
	"context"
	"slices"
	"time"
)

// Conditions are what makes a service safe beside its site.
type Conditions struct {
	// Certificate is the state of the primary domain's certificate: none, self_signed, active, expired.
	Certificate string
	PHPVersion  string     // empty: not known
	PHPEnds     *time.Time // nil: not known
	BackupsOK   bool       // a complete backup of the last two days is there
	TwoFactor   bool       // the owner signs in with a second factor
}

// part is a share of the posture's score.
type part struct {
	key    string
	points int
	most   int
}

// posture is how safe a service is.
type posture struct {
	Conditions
	last  *scan // nil: never scanned
	trend []point
	parts []part
	score *int // nil: never scanned
	eol   bool // its PHP gets no more security releases
}

const trendLength = 12

// posture tells how safe one of the account's services is.
func (s *Service) posture(ctx context.Context, accountID, serviceID int64) (posture, error) {
	if _, _, err := s.Sites.Primary(ctx, s.DB, accountID, serviceID); err != nil {
		return posture{}, err
	}
	conditions, err := s.Sites.Conditions(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return posture{}, err
	}
	p := posture{Conditions: conditions}
	latest, ok, err := last(ctx, s.DB, accountID, serviceID)
	if err != nil {
		return p, err
	}
	if ok {
		p.last = &latest
	}
	if p.trend, err = trendOf(ctx, s.DB, accountID, serviceID, trendLength); err != nil {
		return p, err
	}
	slices.Reverse(p.trend)
	p.rate(s.Clock.Now())
	return p, nil
}

// rate makes the score of its parts: the last scan is three fifths of it.
func (p *posture) rate(now time.Time) {
	p.eol = p.PHPEnds != nil && now.After(p.PHPEnds.Add(24*time.Hour))
	all := func(ok bool, points int) int {
		if ok {
			return points
		}
		return 0
	}
	scanned := 0
	if p.last != nil {
		scanned = *p.last.score * 60 / 100
	}
	p.parts = []part{
		{"scan", scanned, 60},
		{"ssl", all(p.Certificate == "active", 15), 15},
		{"php", all(!p.eol, 10), 10},
		{"backups", all(p.BackupsOK, 10), 10},
		{"two_factor", all(p.TwoFactor, 5), 5},
	}
	if p.last == nil {
		return
	}
	sum := 0
	for _, part := range p.parts {
		sum += part.points
	}
	p.score = &sum
}
