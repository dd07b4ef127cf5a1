package site

import (
	"encoding/json"
	"fmt"

	"stead.dev/stead/internal/platform/fault"
)

// Unlimited is a plan's word for no limit.
const Unlimited = -1

// Limits of a plan, by the names of resources, section 12. What a plan does not name it does not
// limit.
type Limits map[string]int64

// Limited are services that have the same limits.
type Limited struct {
	Limits   Limits
	Services int64 // how many there are
}

// ParseLimits reads the limits of the plan of a service: an object of numbers.
func ParseLimits(serviceID int64, plan json.RawMessage) (l Limits, err error) {
	if err := json.Unmarshal(plan, &l); err != nil {
		return nil, fmt.Errorf("site: limits of service %d: %w", serviceID, err)
	}
	return l, nil
}

// Of is the limit of that name; Unlimited when there is none.
func (l Limits) Of(name string) int64 {
	if most, ok := l[name]; ok && most >= 0 {
		return most
	}
	return Unlimited
}

// Refuse answers fault.LimitReached when a change takes a count beyond its limit. A service that is
// beyond it already, because its plan became smaller, may change what does not grow.
func (l Limits) Refuse(name string, before, after int64) error {
	if most := l.Of(name); most != Unlimited && after > most && after > before {
		return fault.LimitReached.With(fault.Fields{"limit": name, "maximum": most})
	}
	return nil
}
