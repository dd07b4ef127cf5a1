package hestia

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"stead.dev/stead/internal/port/panel"
)

// database is an entry of v-list-databases.
type database struct {
	User    string `json:"DBUSER"`
	Host    string `json:"HOST"`
	Type    string `json:"TYPE"`
	Charset string `json:"CHARSET"`
	DiskMB  string `json:"U_DISK"`
}

// The server's types of databases. Its mysql is MariaDB where that is installed; both are accepted.
const (
	typeMySQL    = "mysql"
	typePostgres = "pgsql"
)

func typeOf(e panel.DatabaseEngine) string {
	if e == panel.PostgreSQL {
		return typePostgres
	}
	return typeMySQL
}

// DatabaseEngines implements panel.Databases.
func (p *Panel) DatabaseEngines(ctx context.Context) ([]panel.DatabaseOffer, error) {
	types, err := list[[]string](ctx, p.api, "v-list-database-types")
	if err != nil {
		return nil, panel.Wrap("databases.engines", "", err)
	}
	offers := []panel.DatabaseOffer{}
	for _, t := range types {
		switch t {
		case typeMySQL:
			offers = append(offers, panel.DatabaseOffer{Engine: panel.MySQL}, panel.DatabaseOffer{Engine: panel.MariaDB})
		case typePostgres:
			offers = append(offers, panel.DatabaseOffer{Engine: panel.PostgreSQL})
		}
	}
	return offers, nil
}

func (p *Panel) databases(ctx context.Context, u user) (map[string]panel.Database, error) {
	all, err := list[map[string]database](ctx, p.api, "v-list-databases", u.login)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := make(map[string]panel.Database, len(all))
	for name, d := range all {
		out := panel.Database{
			Name: name, Engine: panel.MariaDB, Charset: strings.ToLower(d.Charset),
			Host: d.Host, Port: 3306, SizeBytes: number(d.DiskMB) << 20, SizedAt: p.cfg.Now(),
			Users: []panel.DatabaseUser{{Name: d.User, Host: d.Host, Privileges: []string{"ALL"}}},
		}
		if d.Type == typePostgres {
			out.Engine, out.Port, out.Charset = panel.PostgreSQL, 5432, strings.ToUpper(d.Charset)
		}
		if wish, ok := p.requested[name]; ok && typeOf(wish.Engine) == typeOf(out.Engine) {
			out.Engine, out.PasswordVersion, out.MaxSizeMB = wish.Engine, wish.PasswordVersion, wish.MaxSizeMB
			out.Full = out.MaxSizeMB > 0 && out.SizeBytes > out.MaxSizeMB<<20
		}
		shown[name] = out
	}
	return shown, nil
}

// ListDatabases implements panel.Databases.
func (p *Panel) ListDatabases(ctx context.Context, ref string) ([]panel.Database, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return nil, panel.Wrap("databases.list", ref, err)
	}
	found, err := p.databases(ctx, u)
	all := make([]panel.Database, 0, len(found))
	for _, d := range found {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b panel.Database) int { return strings.Compare(a.Name, b.Name) })
	return all, panel.Wrap("databases.list", ref, err)
}

// SetDatabase implements panel.Databases. The bound of a database is told and not held: the server holds
// that of the account's disk, in which databases are counted.
func (p *Panel) SetDatabase(ctx context.Context, ref string, d panel.Database) (panel.Database, error) {
	d, err := p.setDatabase(ctx, ref, d)
	return d, panel.Wrap("databases.set", ref, err)
}

func (p *Panel) setDatabase(ctx context.Context, ref string, want panel.Database) (panel.Database, error) {
	u, err := p.find(ctx, ref)
	if err != nil {
		return panel.Database{}, err
	}
	own, mine := strings.CutPrefix(want.Name, u.login+"_")
	if name, err := panel.DatabaseName(u.login, own); !mine || err != nil || name != want.Name {
		return panel.Database{}, fmt.Errorf("%w: %q is no name of a database of the account", panel.ErrInvalid, want.Name)
	}
	charsets := panel.DatabaseCharsets(want.Engine)
	if want.Charset == "" && len(charsets) > 0 {
		want.Charset = charsets[0]
	}
	switch {
	case !slices.Contains(charsets, want.Charset):
		return panel.Database{}, fmt.Errorf("%w: engine %q with %q", panel.ErrInvalid, want.Engine, want.Charset)
	case u.Suspended == "yes":
		return panel.Database{}, panel.ErrSuspended
	}
	found, err := p.databases(ctx, u)
	if err != nil {
		return panel.Database{}, err
	}
	have, there := found[want.Name]
	switch {
	case there && (typeOf(have.Engine) != typeOf(want.Engine) || have.Charset != want.Charset):
		return panel.Database{}, fmt.Errorf("%w: the database is of %s in %s", panel.ErrInvalid, have.Engine, have.Charset)
	case !there && want.Password == "":
		return panel.Database{}, fmt.Errorf("%w: a new database needs a password", panel.ErrInvalid)
	case !there:
		err = p.api.run(ctx, "v-add-database", u.login, own, own, want.Password, typeOf(want.Engine), "", strings.ToUpper(want.Charset))
	case want.Password != "" && have.PasswordVersion != want.PasswordVersion:
		err = p.api.run(ctx, "v-change-database-password", u.login, want.Name, want.Password)
	}
	if err != nil {
		return panel.Database{}, err
	}
	kept := panel.Database{Engine: want.Engine, MaxSizeMB: want.MaxSizeMB, PasswordVersion: have.PasswordVersion}
	if want.Password != "" {
		kept.PasswordVersion = want.PasswordVersion
	}
	p.mu.Lock()
	p.requested[want.Name] = kept
	p.mu.Unlock()
	if found, err = p.databases(ctx, u); err != nil {
		return panel.Database{}, err
	}
	out, there := found[want.Name]
	if !there {
		return panel.Database{}, fmt.Errorf("%w: the database was not made", panel.ErrInternal)
	}
	return out, nil
}

// RemoveDatabase implements panel.Databases.
func (p *Panel) RemoveDatabase(ctx context.Context, ref, name string) error {
	u, err := p.find(ctx, ref)
	if err == nil {
		if err = p.api.run(ctx, "v-delete-database", u.login, name); err == nil {
			p.mu.Lock()
			delete(p.requested, name)
			p.mu.Unlock()
		}
	}
	return panel.Wrap("databases.remove", ref, err)
}

// DumpDatabase implements panel.Databases: the API answers no files.
func (p *Panel) DumpDatabase(context.Context, string, string) (io.ReadCloser, error) {
	return nil, panel.Wrap("databases.dump", "", panel.ErrUnsupported)
}

// ImportDatabase implements panel.Databases: the API takes no files.
func (p *Panel) ImportDatabase(context.Context, string, string, io.Reader) error {
	return panel.Wrap("databases.import", "", panel.ErrUnsupported)
}
