package domains

import (
	"bytes"
	"context"
	_ "embed" // the demo's price book
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/idna"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/yamlfile"
)

//go:embed demo.yaml
var demo []byte

// maxYears is the longest that any registry sells.
const maxYears = 10

// prices of a zone in US cents: a year's registration and renewal, a transfer with its year, a restore with its year.
type prices struct {
	Register money.USDCents `json:"register" yaml:"register_usd_cents"`
	Renew    money.USDCents `json:"renew" yaml:"renew_usd_cents"`
	Transfer money.USDCents `json:"transfer" yaml:"transfer_usd_cents"`
	Restore  money.USDCents `json:"restore" yaml:"restore_usd_cents"`
}

// tld is a zone of the price book.
type tld struct {
	TLD              string `json:"-" yaml:"tld"`
	Retail           prices `json:"retail" yaml:"retail"`
	Wholesale        prices `json:"wholesale" yaml:"wholesale"`
	MinYears         int    `json:"min_years" yaml:"min_years"`
	MaxYears         int    `json:"max_years" yaml:"max_years"`
	GraceDays        int    `json:"grace_days" yaml:"grace_days"`
	RedemptionDays   int    `json:"redemption_days" yaml:"redemption_days"`
	Privacy          bool   `json:"privacy" yaml:"privacy"`
	IDN              bool   `json:"idn" yaml:"idn"`
	AuthCodeRequired bool   `json:"auth_code_required" yaml:"transfer_auth_code_required"`
	DNSSEC           string `json:"dnssec" yaml:"dnssec"`
	NameserverMin    int    `json:"nameserver_min" yaml:"nameserver_min"`
	NameserverMax    int    `json:"nameserver_max" yaml:"nameserver_max"`
	RDAP             string `json:"rdap,omitempty" yaml:"rdap,omitempty"`
	Whois            string `json:"whois,omitempty" yaml:"whois,omitempty"`
	WhoisFree        string `json:"whois_free,omitempty" yaml:"whois_free,omitempty"`
}

// of returns the prices of customers or of resellers.
func (t tld) of(wholesale bool) prices {
	if wholesale {
		return t.Wholesale
	}
	return t.Retail
}

// UnmarshalYAML parses a zone; omitted members have their defaults.
func (t *tld) UnmarshalYAML(n *yaml.Node) error {
	type plain tld
	p := plain{
		MinYears: 1, MaxYears: maxYears, GraceDays: 30, RedemptionDays: 30, AuthCodeRequired: true, DNSSEC: "ds",
		NameserverMin: 2, NameserverMax: 13,
	}
	known := map[string]bool{
		"tld": true, "retail": true, "wholesale": true, "min_years": true, "max_years": true, "grace_days": true,
		"redemption_days": true, "privacy": true, "idn": true, "transfer_auth_code_required": true, "dnssec": true,
		"nameserver_min": true, "nameserver_max": true, "rdap": true, "whois": true, "whois_free": true,
	}
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if key := n.Content[i]; !known[key.Value] {
			return fmt.Errorf("line %d: field %s not found", key.Line, key.Value)
		}
	}
	if err := n.Decode(&p); err != nil {
		return err
	}
	*t = tld(p)
	return nil
}

type file struct {
	TLDs []tld `yaml:"tlds"`
}

// Problems lists all mistakes of a file, for the operator.
type Problems []string

func (p Problems) Error() string {
	return "the price book has problems:\n  " + strings.Join(p, "\n  ")
}

const maxFile = 4 << 20

func parse(text []byte) (file, error) {
	var f file
	if len(text) > maxFile {
		return f, Problems{fmt.Sprintf("the file has more than %d bytes", maxFile)}
	}
	if err := yamlfile.Decode(text, &f); err != nil && !errors.Is(err, io.EOF) {
		return f, Problems{err.Error()}
	}
	var problems Problems
	seen := map[string]bool{}
	for i := range f.TLDs {
		t := &f.TLDs[i]
		name, err := idna.Lookup.ToASCII(strings.TrimPrefix(t.TLD, "."))
		wrong := func(bad bool, text string) {
			if bad {
				problems = append(problems, fmt.Sprintf("tld %q: %s", t.TLD, text))
			}
		}
		wrong(err != nil || name == "" || len(name) > 63, "this is no zone")
		wrong(seen[name], "it is there twice")
		wrong(t.MinYears < 1 || t.MaxYears > maxYears || t.MinYears > t.MaxYears, "min_years and max_years are from 1 to 10")
		wrong(t.GraceDays < 0 || t.RedemptionDays < 0 || t.GraceDays > 365 || t.RedemptionDays > 365, "grace_days and redemption_days are from 0 to 365")
		wrong(t.NameserverMin < 0 || t.NameserverMax > 13 || t.NameserverMin > t.NameserverMax, "name servers are from 0 to 13")
		wrong(!slices.Contains([]string{"ds", "key", "none"}, t.DNSSEC), "dnssec is ds, key or none")
		wrong((t.Whois == "") != (t.WhoisFree == ""), "whois and whois_free go together")
		wrong(t.RDAP != "" && !strings.HasPrefix(t.RDAP, "https://"), "rdap is an https address")
		for _, p := range []prices{t.Retail, t.Wholesale} {
			for _, c := range []money.USDCents{p.Register, p.Renew, p.Transfer, p.Restore} {
				wrong(c <= 0 || c > 10_000_000, "every price of retail and wholesale is from 1 to 10000000 cents")
			}
		}
		seen[name], t.TLD = true, name
	}
	if problems != nil {
		return f, slices.Compact(problems)
	}
	return f, nil
}

// Report is the result of an import.
type Report struct {
	TLDs int `json:"tlds"`
	// Withdrawn are zones that were taken off sale.
	Withdrawn []string `json:"withdrawn"`
}

// Import replaces the price book by the YAML. It refuses a file with mistakes as a whole.
func (s *Service) Import(ctx context.Context, tx *db.Tx, text []byte) (Report, error) {
	f, err := parse(text)
	if err != nil {
		return Report{}, err
	}
	before, err := listTLDs(ctx, tx, -1, 0)
	if err != nil {
		return Report{}, err
	}
	if err := withdrawTLDs(ctx, tx); err != nil {
		return Report{}, err
	}
	report := Report{TLDs: len(f.TLDs), Withdrawn: []string{}}
	for i, t := range f.TLDs {
		if err := putTLD(ctx, tx, t, i); err != nil {
			return Report{}, err
		}
	}
	for _, t := range before {
		if !slices.ContainsFunc(f.TLDs, func(n tld) bool { return n.TLD == t.TLD }) {
			report.Withdrawn = append(report.Withdrawn, t.TLD)
		}
	}
	return report, nil
}

// Export writes the zones on sale as YAML for Import.
func (s *Service) Export(ctx context.Context, q db.Querier) ([]byte, error) {
	all, err := listTLDs(ctx, q, -1, 0)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(file{TLDs: all}); err != nil {
		return nil, fmt.Errorf("domains: export: %w", err)
	}
	return buf.Bytes(), enc.Close()
}

// SeedDemo fills an empty price book for `stead serve --demo`.
func (s *Service) SeedDemo(ctx context.Context, tx *db.Tx) error {
	n, err := countTLDs(ctx, tx)
	if err != nil || n > 0 {
		return err
	}
	_, err = s.Import(ctx, tx, demo)
	return err
}

func scanTLD(row db.Row) (t tld, err error) {
	var details string
	if err = row.Scan(&t.TLD, &details); err == nil {
		err = json.Unmarshal([]byte(details), &t)
	}
	return t, err
}

// listTLDs reads the zones on sale; a negative limit reads all.
func listTLDs(ctx context.Context, q db.Querier, limit, offset int) ([]tld, error) {
	if limit < 0 {
		limit = 1 << 30
	}
	return db.Collect(ctx, q, scanTLD,
		`SELECT tld, details FROM domains_tlds WHERE on_sale ORDER BY position, id LIMIT $1 OFFSET $2`, limit, offset)
}

func countTLDs(ctx context.Context, q db.Querier) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM domains_tlds WHERE on_sale`).Scan(&n)
	return n, err
}

// findTLD reads a zone; with sold only one that is on sale.
func findTLD(ctx context.Context, q db.Querier, name string, sold bool) (tld, error) {
	query := `SELECT tld, details FROM domains_tlds WHERE tld = $1`
	if sold {
		query += ` AND on_sale`
	}
	return scanTLD(q.QueryRow(ctx, query, name))
}

func withdrawTLDs(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE domains_tlds SET on_sale = $1`, false)
	return err
}

func putTLD(ctx context.Context, tx *db.Tx, t tld, position int) error {
	details, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO domains_tlds (tld, position, on_sale, details) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tld) DO UPDATE SET position = excluded.position, on_sale = excluded.on_sale, details = excluded.details`,
		t.TLD, position, true, string(details))
	return err
}
