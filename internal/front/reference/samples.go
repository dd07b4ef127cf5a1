package reference

import (
	"fmt"
	"net/url"
	"strings"
)

// sample is a call in a language.
type sample struct{ Language, Code string }

// samples shows a call by curl, in Go and in TypeScript.
func samples(base string, c call) []sample {
	address, query := c.Path, url.Values{}
	var headers [][2]string
	if c.Access != "No token." {
		headers = append(headers, [2]string{"Authorization", "Bearer $TOKEN"})
	}
	for _, p := range c.Params {
		switch {
		case p.In == "path":
			address = strings.ReplaceAll(address, "{"+p.Name+"}", url.PathEscape(p.Value))
		case p.In == "query" && p.Required:
			query.Set(p.Name, p.Value)
		case p.Name == "Idempotency-Key":
			headers = append(headers, [2]string{p.Name, "$KEY"})
		}
	}
	if address = base + address; len(query) > 0 {
		address += "?" + query.Encode()
	}
	body := ""
	switch {
	case c.BodyExample == "":
	case c.BodyType == jsonType:
		body = c.BodyExample
		headers = append(headers, [2]string{"Content-Type", jsonType})
	default:
		body = form(c.BodyExample)
		headers = append(headers, [2]string{"Content-Type", c.BodyType})
	}
	return []sample{
		{"curl", curl(c.Method, address, headers, body, c.BodyType)},
		{"Go", golang(c.Method, address, headers, body)},
		{"TypeScript", typescript(c.Method, address, headers, body)},
	}
}

// form is the example of a form as it is sent.
func form(example string) string {
	values := url.Values{}
	for line := range strings.Lines(example) { // an object of strings, one to a line
		if name, value, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ","), ": "); ok {
			values.Set(strings.Trim(name, `"`), strings.Trim(value, `"`))
		}
	}
	return values.Encode()
}

func curl(method, address string, headers [][2]string, body, bodyType string) string {
	var b strings.Builder
	b.WriteString("curl")
	if method != "GET" {
		b.WriteString(" -X " + method)
	}
	fmt.Fprintf(&b, " %q", address)
	for _, h := range headers {
		fmt.Fprintf(&b, " \\\n  -H %q", h[0]+": "+h[1])
	}
	switch {
	case body != "":
		fmt.Fprintf(&b, " \\\n  -d '%s'", strings.ReplaceAll(body, "'", `'\''`))
	case bodyType == "multipart/form-data":
		b.WriteString(" \\\n  -F file=@logo.png")
	}
	return b.String()
}

// variables puts the variables of a language in the place of the shell's: TOKEN and KEY.
func variables(value, before, after, token, key string) string {
	for name, is := range map[string]string{"$TOKEN": token, "$KEY": key} {
		if prefix, ok := strings.CutSuffix(value, name); ok {
			if prefix == "" {
				return is
			}
			return before + prefix + after + is
		}
	}
	return before + value + strings.TrimSuffix(after, " + ")
}

func golang(method, address string, headers [][2]string, body string) string {
	var b strings.Builder
	content := "nil"
	if body != "" {
		content = "strings.NewReader(`" + strings.ReplaceAll(body, "`", "` + \"`\" + `") + "`)"
	}
	fmt.Fprintf(&b, "req, err := http.NewRequestWithContext(ctx, %q, %q, %s)\nif err != nil {\n\treturn err\n}\n", method, address, content)
	for _, h := range headers {
		fmt.Fprintf(&b, "req.Header.Set(%q, %s)\n", h[0], variables(h[1], `"`, `" + `, "token", "key"))
	}
	b.WriteString("res, err := http.DefaultClient.Do(req)\nif err != nil {\n\treturn err\n}\ndefer res.Body.Close()\n")
	b.WriteString("if res.StatusCode >= 300 {\n\treturn fmt.Errorf(\"%s\", res.Status)\n}\nreturn json.NewDecoder(res.Body).Decode(&answer)")
	return b.String()
}

func typescript(method, address string, headers [][2]string, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "const res = await fetch(%q, {\n  method: %q,\n", address, method)
	if len(headers) > 0 {
		b.WriteString("  headers: {\n")
		for _, h := range headers {
			fmt.Fprintf(&b, "    %q: %s,\n", h[0], variables(h[1], `"`, `" + `, "token", "key"))
		}
		b.WriteString("  },\n")
	}
	switch {
	case strings.HasPrefix(body, "{"):
		fmt.Fprintf(&b, "  body: JSON.stringify(%s),\n", strings.ReplaceAll(body, "\n", "\n  "))
	case body != "":
		fmt.Fprintf(&b, "  body: %q,\n", body)
	}
	b.WriteString("});\nif (!res.ok) throw new Error((await res.json()).message);\nconst answer = await res.json();")
	return b.String()
}
