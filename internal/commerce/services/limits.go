package services

import (
	"encoding/json"
	"fmt"
)

// Raise returns the limits of a plan with those raised that add-ons raise. What is unlimited stays so, and so
// does what the plan does not name.
func Raise(limits string, by map[string]int64) (string, error) {
	if len(by) == 0 {
		return limits, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(limits), &all); err != nil {
		return "", fmt.Errorf("services: limits of a plan: %w", err)
	}
	for name, more := range by {
		var n int64
		text, ok := all[name]
		if !ok || json.Unmarshal(text, &n) != nil || n < 0 {
			continue
		}
		all[name] = json.RawMessage(fmt.Sprint(n + more))
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// RaisedBy is Raise by what the row says.
func (r Row) RaisedBy(limits string) (string, error) {
	var by map[string]int64
	if err := json.Unmarshal([]byte(r.AddonLimits), &by); err != nil {
		return "", fmt.Errorf("services: add-ons of service %d: %w", r.ID, err)
	}
	return Raise(limits, by)
}
