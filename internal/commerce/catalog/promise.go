package catalog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"stead.dev/stead/internal/platform/db"
)

// Percent is a percentage in thousandths: 99,900 is 99.9 %.
type Percent int64

// String writes it with three decimals.
func (p Percent) String() string { return fmt.Sprintf("%d.%03d", p/1000, p%1000) }

const whole Percent = 100_000

var percentPattern = regexp.MustCompile(`^([0-9]{1,3})(?:\.([0-9]{1,3}))?$`)

// UnmarshalYAML reads a number of a file digit by digit: a float would round it.
func (p *Percent) UnmarshalYAML(n *yaml.Node) error {
	m := percentPattern.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || m == nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %q is no percentage of at most three decimals", n.Line, n.Value)}}
	}
	thousandths, err := strconv.ParseInt(m[1]+(m[2] + "000")[:3], 10, 64)
	*p = Percent(thousandths)
	return err
}

// MarshalYAML writes it as it is read.
func (p Percent) MarshalYAML() (any, error) {
	text := strings.TrimSuffix(strings.TrimRight(p.String(), "0"), ".")
	tag := "!!int"
	if strings.Contains(text, ".") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}, nil
}

// Promise is the uptime that a plan promises for a month, and what is given back when it is not kept.
type Promise struct {
	Uptime  Percent      `json:"uptime" yaml:"uptime"`
	Credits []CreditTier `json:"credits" yaml:"credits"`
	// MostPercent bounds what is given back, in percent of what was paid for the month; 0 is all of it.
	MostPercent int64 `json:"most_percent,omitempty" yaml:"most_percent,omitempty"`
}

// CreditTier is what is given back below an uptime, in percent of what was paid for the month.
type CreditTier struct {
	Below   Percent `json:"below" yaml:"below"`
	Percent int64   `json:"percent" yaml:"percent"`
}

// Most is what is given back at most, in percent of what was paid.
func (p Promise) Most() int64 {
	if p.MostPercent == 0 {
		return 100
	}
	return p.MostPercent
}

const mostTiers = 10

func (p *Promise) check(problems *Problems, at string) {
	if p == nil {
		return
	}
	if p.Uptime <= 0 || p.Uptime > whole {
		problems.add("%s sla: uptime is %v, must be above 0 and at most 100", at, p.Uptime)
	}
	if p.MostPercent < 0 || p.MostPercent > 100 {
		problems.add("%s sla: most_percent is %d, must be from 1 to 100", at, p.MostPercent)
	}
	if len(p.Credits) == 0 || len(p.Credits) > mostTiers {
		problems.add("%s sla: credits has %d tiers, must have from 1 to %d", at, len(p.Credits), mostTiers)
	}
	for i, t := range p.Credits {
		if t.Below <= 0 || t.Below > p.Uptime {
			problems.add("%s sla credits[%d]: below is %v, must be above 0 and at most the uptime", at, i, t.Below)
		}
		if t.Percent < 1 || t.Percent > 100 {
			problems.add("%s sla credits[%d]: percent is %d, must be from 1 to 100", at, i, t.Percent)
		}
		if i > 0 && (t.Below >= p.Credits[i-1].Below || t.Percent <= p.Credits[i-1].Percent) {
			problems.add("%s sla credits[%d]: each tier is below the one before it and gives more", at, i)
		}
	}
}

// promiseWire is what a plan promises, on the wire.
type promiseWire struct {
	UptimePercent string     `json:"uptime_percent" doc:"Of a calendar month, of UTC" example:"99.900"`
	Credits       []tierWire `json:"credits" doc:"What is credited below an uptime; the last one that holds counts"`
	MostPercent   int64      `json:"most_percent" doc:"What is credited at most, in percent of what was paid for the month"`
}

type tierWire struct {
	Below   string `json:"below_percent" example:"99.000"`
	Percent int64  `json:"credit_percent" doc:"Of what was paid for the month" example:"30"`
}

func (p *Promise) wire() *promiseWire {
	if p == nil {
		return nil
	}
	w := &promiseWire{UptimePercent: p.Uptime.String(), MostPercent: p.Most(), Credits: make([]tierWire, len(p.Credits))}
	for i, t := range p.Credits {
		w.Credits[i] = tierWire{t.Below.String(), t.Percent}
	}
	return w
}

// Promise is what a plan promises, on sale or not; nil when it promises nothing.
func (s *Service) Promise(ctx context.Context, q db.Querier, planID int64) (*Promise, error) {
	p, err := scanPlan(q.QueryRow(ctx, selectPlan+` WHERE id = $1`, planID))
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil //nolint:nilnil // such a plan promises nothing
	}
	if err != nil {
		return nil, fmt.Errorf("catalog: promise of plan %d: %w", planID, err)
	}
	return p.SLA, nil
}
