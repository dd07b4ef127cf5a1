package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Changed returns the members of an object that have another value now, as they were: the Previous of an event whose Data is now.
// Both are encoded as JSON objects.
func Changed(before, now any) (map[string]any, error) {
	was, err := members(before)
	if err != nil {
		return nil, err
	}
	is, err := members(now)
	if err != nil {
		return nil, err
	}
	previous := map[string]any{}
	for name, value := range was {
		if !bytes.Equal(value, is[name]) {
			previous[name] = value
		}
	}
	return previous, nil
}

func members(object any) (all map[string]json.RawMessage, err error) {
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("outbox: members of %T: %w", object, err)
	}
	return all, nil
}
