package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// content holds a body to what is expected of it; the key is empty when it is so.
func content(t Target, body []byte) (key, detail string) {
	switch t.Type {
	case Keyword:
		found := strings.Contains(string(body), t.Keyword)
		switch {
		case !found && !t.KeywordAbsent:
			return KeyMissing, "the text is not in the answer"
		case found && t.KeywordAbsent:
			return KeyPresent, "the text is in the answer"
		}
	case JSON:
		return matchJSON(t, body)
	}
	return "", ""
}

func matchJSON(t Target, body []byte) (key, detail string) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return KeyJSON, "the answer is no JSON"
	}
	path, err := ParsePath(t.JSONPath)
	switch {
	case errors.Is(err, ErrPathWork):
		return KeyJSON, err.Error()
	case err != nil:
		return KeyJSON, "the path is none"
	case tooDeep(path, v):
		return KeyJSON, "the answer is nested too deeply for a path with .."
	}
	found := path.Select(v)
	if len(found) == 0 {
		return KeyJSON, "the path selects nothing"
	}
	if t.JSONExpected == nil {
		return "", ""
	}
	for _, one := range found {
		if text(one) == *t.JSONExpected {
			return "", ""
		}
	}
	return KeyJSON, "the value is another one"
}

// text is a JSON value as people write it: a string without quotes, anything else as JSON.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(b)
	}
}
