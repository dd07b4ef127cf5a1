package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"stead.dev/stead/internal/commerce/sale"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/port/panel"
)

// shelf is what the other sections know of the service of the tests.
type shelf struct {
	mu      sync.Mutex
	answers map[string]string // of operations
	asked   []string
	php     panel.PHPSettings
	before  func() // before PHP is changed
	after   func() // after that
	backups map[string]int64
	refuses error // of backups
	place   Place
	secrets []Secret
	billed  []sale.Usage
}

func newShelf() *shelf {
	return &shelf{
		answers: map[string]string{
			"logs.list": `{"data": [], "meta": {"next_cursor": null}}`, "dns.list": `{"data": [], "meta": {"last_page": 1}}`,
			"certificates.list": `{"data": [], "domains": []}`, "php.get": `{"version": "8.3", "available": [], "options": {}, "extensions": [], "status": "active"}`,
		},
		php: panel.PHPSettings{Version: "8.3", Options: map[string]string{"memory_limit": "128M"}}, backups: map[string]int64{},
	}
}

func (s *shelf) needs() Needs {
	return Needs{Operations: s, PHP: s, Backups: s, Places: s, Secrets: s, Books: s, Names: s}
}

func (s *shelf) Usage(_ context.Context, _ *db.Tx, u sale.Usage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.billed = append(s.billed, u)
	return nil
}

func (s *shelf) Domain(context.Context, db.Querier, int64, int64) (string, error) {
	return "shop.example", nil
}

func (s *shelf) Read(_ context.Context, accountID, serviceID int64, operation string, parameters map[string]any) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := json.Marshal(parameters)
	s.asked = append(s.asked, fmt.Sprintf("%d/%d %s %s", accountID, serviceID, operation, b))
	if operation == "logs.list" && parameters["type"] == panel.LogMail {
		return nil, fault.UnsupportedOperation.New()
	}
	return json.RawMessage(s.answers[operation]), err
}

func (s *shelf) Settings(context.Context, int64, int64) (panel.PHPSettings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.php, nil
}

// versions are those that there are.
var versions = map[string]bool{"8.1": true, "8.2": true, "8.3": true}

func (s *shelf) With(ctx context.Context, accountID, serviceID int64, version *string, options map[string]json.RawMessage) (panel.PHPSettings, error) {
	now, err := s.Settings(ctx, accountID, serviceID)
	if version != nil {
		if !versions[*version] {
			return now, fault.Validation.With(fault.Fields{"available": []string{"8.1", "8.2", "8.3"}})
		}
		now.Version = *version
	}
	now.Options = maps.Clone(now.Options)
	for name, value := range options {
		now.Options[name] = string(value)
	}
	return now, err
}

func (s *shelf) Replace(_ context.Context, _, _ int64, before, after panel.PHPSettings) (bool, error) {
	s.mu.Lock()
	first, last := s.before, s.after
	s.mu.Unlock()
	if first != nil {
		first()
	}
	s.mu.Lock()
	same := s.php.Version == before.Version && maps.Equal(s.php.Options, before.Options)
	if same {
		s.php = after
	}
	s.mu.Unlock()
	if last != nil {
		last()
	}
	return same, nil
}

func (s *shelf) Request(_ context.Context, accountID, serviceID int64, note string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if accountID != 1 || serviceID != mine {
		return 0, fault.NotFound.New()
	}
	if s.backups[note] == 0 {
		if s.refuses != nil {
			return 0, s.refuses
		}
		s.backups[note] = int64(100 + len(s.backups))
	}
	return s.backups[note], nil
}

func (s *shelf) Place(context.Context, int64, int64) (Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place, nil
}

func (s *shelf) Issued(context.Context, int64, int64) ([]Secret, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets, nil
}

// version is the version of PHP that the service has.
func (s *shelf) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.php.Version
}

// set changes the shelf.
func (s *shelf) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
