package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// Operations calls reading operations of the interface for one of the account's services, without a client. The answer is
// what a client would get.
type Operations interface {
	Read(ctx context.Context, accountID, serviceID int64, operation string, parameters map[string]any) (json.RawMessage, error)
}

// Needs are what the section asks of others.
type Needs struct {
	Operations Operations
	PHP        PHP
	Backups    Backups
	Places     Places
	Secrets    Secrets
	Books      Books
	Names      Names
}

// Bounds of what the tools about a service return.
const (
	mostLogLines = 200
	mostRecords  = 100
)

// siteTools are those about the service beside its files.
func siteTools() []tool {
	return []tool{
		{
			name: "get_php", look: getPHP,
			description: "The PHP version of the site, which others can be chosen, and its options such as memory_limit and upload_max_filesize.",
			schema:      `{"type": "object", "properties": {}, "additionalProperties": false}`,
		},
		{
			name: "set_php", plan: setPHP,
			description: "Change the PHP version or options of the site. An option that is null goes back to its default. The customer is asked first.",
			schema: `{"type": "object", "properties": {"version": {"type": "string", "description": "One of those that get_php lists, such as 8.3"},
				"options": {"type": "object", "description": "Options to change, by name, such as {\"memory_limit\": \"256M\"}"}}, "additionalProperties": false}`,
		},
		{
			name: "read_logs", look: readLogs,
			description: "The newest lines of a log of the site: php (errors of programs), error (of the web server), access, mail or cron. For a page that fails read php and error.",
			schema: `{"type": "object", "properties": {"type": {"type": "string", "enum": ["access", "error", "php", "mail", "cron"]},
				"q": {"type": "string", "description": "Only lines that contain it"}, "lines": {"type": "integer", "minimum": 1, "maximum": 200}},
				"required": ["type"], "additionalProperties": false}`,
		},
		{
			name: "get_dns", look: getDNS, description: "The DNS records of the site's zone, as they are here.",
			schema: `{"type": "object", "properties": {"type": {"type": "string", "enum": ["A", "AAAA", "ALIAS", "CAA", "CNAME", "DS", "MX", "NS", "PTR", "SRV", "SSHFP", "TLSA", "TXT"]}},
				"additionalProperties": false}`,
		},
		{
			name: "get_certificate", look: getCertificate,
			description: "The certificates of the site: for which names, until when, and why an order failed.",
			schema:      `{"type": "object", "properties": {}, "additionalProperties": false}`,
		},
		{
			name: "fetch_page", look: fetchPage,
			description: "Ask the site for a page as a visitor would, with GET and without cookies, to see what it answers. No other site can be asked.",
			schema: `{"type": "object", "properties": {"path": {"type": "string", "description": "With its query, such as /shop/?page=2"},
				"host": {"type": "string", "description": "One of the site's own domains; the first without it"}}, "required": ["path"], "additionalProperties": false}`,
		},
		{
			name: "take_backup", look: takeBackup, acts: true,
			description: "Ask for a backup of the whole service, once in a run. It is made within minutes; you need not wait for it.",
			schema:      `{"type": "object", "properties": {}, "additionalProperties": false}`,
		},
	}
}

// answered is what a tool returns of an error of another section: what the model can do something about is a refusal.
func answered(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	if errors.Is(err, fault.UnsupportedOperation) {
		return refuse(f.Def.Key, "the hosting server of this site cannot do it")
	}
	switch f.Def.Kind {
	case fault.KindBadRequest, fault.KindForbidden, fault.KindConflict, fault.KindUnprocessable, fault.KindTooMany:
		if refusedForGood(err) {
			return err
		}
		detail := f.Def.Key
		if len(f.Invalid) > 0 {
			detail = f.Error()
		} else if fields, err := encode(f.Fields); err == nil && len(f.Fields) > 0 {
			detail = fields
		}
		return refuse(f.Def.Key, "%s", detail)
	default:
		return err
	}
}

// consult calls a reading operation for the run's service.
func consult[T any](ctx context.Context, w workplace, operation string, parameters map[string]any) (answer T, err error) {
	body, err := w.Operations.Read(ctx, w.accountID, w.serviceID, operation, parameters)
	if err != nil {
		return answer, answered(err)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("runs: answer of %s: %w", operation, err)
	}
	return answer, nil
}

// nothingElse refuses arguments of a tool that takes none.
func nothingElse(arguments string) error {
	_, err := decode[struct{}](arguments)
	return err
}

// told is a result of the platform about the site, as JSON in an untrusted text: parts of it were written by visitors,
// other programs or the owner of a domain.
func (w workplace) told(source string, v any) (any, error) {
	text, err := encode(v)
	if err != nil {
		return nil, err
	}
	return w.lines(source, "", []string{text}, false), nil
}

func getPHP(ctx context.Context, w workplace, arguments string) (any, error) {
	if err := nothingElse(arguments); err != nil {
		return nil, err
	}
	type version struct {
		Version   string  `json:"version"`
		EOL       *string `json:"eol"`
		Supported bool    `json:"supported"`
	}
	a, err := consult[struct {
		Version   string    `json:"version"`
		Available []version `json:"available"`
		Options   map[string]struct {
			Value   any   `json:"value"`
			Default any   `json:"default"`
			Range   []any `json:"range"`
			Max     any   `json:"max"`
		} `json:"options"`
		Conflicts []struct {
			Options []string `json:"options"`
			Message string   `json:"message"`
		} `json:"conflicts"`
		Extensions []struct{ Name, State string } `json:"extensions"`
		Status     string                         `json:"status"`
		FailureKey *string                        `json:"failure_key"`
	}](ctx, w, "php.get", nil)
	if err != nil {
		return nil, err
	}
	extensions := []string{}
	for _, e := range a.Extensions {
		if e.State != string(panel.PHPDisabled) {
			extensions = append(extensions, e.Name)
		}
	}
	return w.told("php", map[string]any{
		"version": a.Version, "available": a.Available, "options": a.Options, "conflicts": a.Conflicts, "extensions": extensions, "status": a.Status,
		"failure_key": a.FailureKey,
	})
}

func readLogs(ctx context.Context, w workplace, arguments string) (any, error) {
	in, err := decode[struct {
		Type  panel.LogType `json:"type"`
		Q     string        `json:"q"`
		Lines int           `json:"lines"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	count := 50
	if in.Lines > 0 {
		count = min(in.Lines, mostLogLines)
	}
	parameters := map[string]any{"type": in.Type, "limit": count}
	if in.Q != "" {
		parameters["q"] = in.Q
	}
	a, err := consult[struct {
		Data []struct {
			At      time.Time `json:"at"`
			Level   string    `json:"level"`
			Message string    `json:"message"`
			Status  *int      `json:"status"`
			Path    *string   `json:"path"`
		} `json:"data"`
		Meta struct {
			NextCursor *string `json:"next_cursor"`
		} `json:"meta"`
	}](ctx, w, "logs.list", parameters)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, l := range a.Data {
		// Addresses of visitors are personal, and no model needs them.
		line := l.At.UTC().Format(time.RFC3339) + " " + l.Level
		if l.Status != nil {
			line += fmt.Sprint(" ", *l.Status)
		}
		if l.Path != nil {
			line += " " + *l.Path
		}
		lines = append(lines, line+" "+strings.ReplaceAll(l.Message, "\n", "\n  "))
	}
	return w.lines("log", string(in.Type), lines, a.Meta.NextCursor != nil), nil
}

func getDNS(ctx context.Context, w workplace, arguments string) (any, error) {
	in, err := decode[struct {
		Type string `json:"type"`
	}](arguments)
	if err != nil {
		return nil, err
	}
	parameters := map[string]any{"per_page": 50}
	if in.Type != "" {
		parameters["type"] = in.Type
	}
	var lines []string
	truncated := true
	for page := 1; truncated && len(lines) < mostRecords; page++ {
		parameters["page"] = page
		a, err := consult[struct {
			Data []struct {
				Name, Type, Value string
				TTL               int
				Priority          *int
				Disabled          bool
			} `json:"data"`
			Meta struct {
				LastPage int `json:"last_page"`
			} `json:"meta"`
		}](ctx, w, "dns.list", parameters)
		if err != nil {
			return nil, err
		}
		for _, r := range a.Data {
			line := fmt.Sprintf("%s %d %s ", r.Name, r.TTL, r.Type)
			if r.Priority != nil {
				line += fmt.Sprint(*r.Priority, " ")
			}
			line += r.Value
			if r.Disabled {
				line += " (disabled)"
			}
			lines = append(lines, line)
		}
		truncated = page < a.Meta.LastPage
	}
	return w.lines("dns", "", lines, truncated), nil
}

func getCertificate(ctx context.Context, w workplace, arguments string) (any, error) {
	if err := nothingElse(arguments); err != nil {
		return nil, err
	}
	type certificate struct {
		Domains      []string   `json:"domains"`
		SANs         []string   `json:"sans"`
		Kind         string     `json:"kind"`
		Status       string     `json:"status"`
		ExpiresAt    *time.Time `json:"expires_at"`
		ForceHTTPS   bool       `json:"force_https"`
		LastErrorKey *string    `json:"last_error_key"`
		LastError    *string    `json:"last_error"`
	}
	type domain struct {
		Name          string `json:"name"`
		CertificateID *int64 `json:"certificate_id"`
		Preflight     struct {
			CanIssue bool    `json:"can_issue"`
			Message  *string `json:"message"`
		} `json:"preflight"`
	}
	a, err := consult[struct {
		Data    []certificate `json:"data"`
		Domains []domain      `json:"domains"`
	}](ctx, w, "certificates.list", map[string]any{"per_page": 20})
	if err != nil {
		return nil, err
	}
	return w.told("certificate", map[string]any{"certificates": a.Data, "domains": a.Domains})
}
