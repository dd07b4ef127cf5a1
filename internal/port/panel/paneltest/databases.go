package paneltest

import (
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/panel"
)

// Databases states the contract of panel.Databases; it is part of RunSuite.
func Databases(t *testing.T, p panel.Panel) {
	t.Helper()
	db := capability[panel.Databases](t, p)
	acc := create(t, p, spec)
	offers, err := db.DatabaseEngines(t.Context())
	if err != nil || len(offers) == 0 {
		t.Fatalf("engines: %+v, %v", offers, err)
	}
	for _, offer := range offers {
		name, err := panel.DatabaseName(acc.Username, "db_"+string(offer.Engine))
		must(t, err)
		wish := panel.Database{Name: name, Engine: offer.Engine, Password: "a-password", PasswordVersion: "1", MaxSizeMB: 50}
		_, err = db.SetDatabase(t.Context(), ref, panel.Database{Name: name, Engine: offer.Engine})
		refused(t, err, panel.ErrInvalid) // without a password
		for range 2 {
			made, err := db.SetDatabase(t.Context(), ref, wish)
			must(t, err)
			if made.Name != name || made.Engine != offer.Engine || made.Charset != panel.DatabaseCharsets(offer.Engine)[0] || made.Password != "" ||
				made.PasswordVersion != "1" || made.MaxSizeMB != 50 || made.Version != offer.Version || made.Host == "" || made.Port == 0 ||
				len(made.Users) != 1 || made.Users[0].Name != name {
				t.Errorf("made %+v", made)
			}
		}
		other := wish
		other.Charset = panel.DatabaseCharsets(offer.Engine)[1]
		_, err = db.SetDatabase(t.Context(), ref, other)
		refused(t, err, panel.ErrInvalid)
		out, err := db.DumpDatabase(t.Context(), ref, name)
		must(t, err)
		dump, err := io.ReadAll(out)
		must(t, errors.Join(err, out.Close()))
		must(t, db.ImportDatabase(t.Context(), ref, name, strings.NewReader(string(dump))))
		err = db.ImportDatabase(t.Context(), ref, name, strings.NewReader("THIS IS NO SQL;"))
		refused(t, err, panel.ErrInvalid)
	}
	have, err := db.ListDatabases(t.Context(), ref)
	if err != nil || len(have) != len(offers) || have[0].Password != "" || have[0].SizeBytes == 0 {
		t.Errorf("list: %+v, %v", have, err)
	}
	usage, err := capability[panel.Usages](t, p).Usage(t.Context(), ref)
	if err != nil || usage.DiskBytes < have[0].SizeBytes {
		t.Errorf("usage counts no databases: %+v, %v", usage, err)
	}
	name, engine := have[0].Name, have[0].Engine
	for _, bad := range []panel.Database{
		{Name: "other_db", Engine: engine, Password: "x"},
		{Name: acc.Username + "_A", Engine: engine, Password: "x"},
		{Name: acc.Username, Engine: engine, Password: "x"},
		{Name: acc.Username + "_new", Engine: "oracle", Password: "x"},
		{Name: acc.Username + "_new", Engine: engine, Password: "x", Charset: "klingon"},
	} {
		_, err := db.SetDatabase(t.Context(), ref, bad)
		refused(t, err, panel.ErrInvalid)
	}

	// Another account does not reach it.
	create(t, p, panel.AccountSpec{Ref: "2", Username: "bob", PrimaryDomain: "bob.example"})
	_, err = db.SetDatabase(t.Context(), "2", panel.Database{Name: name, Engine: engine, Password: "x"})
	refused(t, err, panel.ErrInvalid)
	_, err = db.DumpDatabase(t.Context(), "2", name)
	refused(t, err, panel.ErrNotFound)
	refused(t, db.ImportDatabase(t.Context(), "2", name, strings.NewReader("")), panel.ErrNotFound)
	refused(t, db.RemoveDatabase(t.Context(), "2", name), panel.ErrNotFound)

	accounts := capability[panel.Accounts](t, p)
	must(t, accounts.SuspendAccount(t.Context(), ref))
	_, err = db.SetDatabase(t.Context(), ref, panel.Database{Name: name, Engine: engine, MaxSizeMB: 7})
	refused(t, err, panel.ErrSuspended)
	out, err := db.DumpDatabase(t.Context(), ref, name)
	must(t, err)
	_, err = io.ReadAll(out)
	must(t, errors.Join(err, out.Close()))
	must(t, accounts.UnsuspendAccount(t.Context(), ref))

	must(t, db.RemoveDatabase(t.Context(), ref, name))
	refused(t, db.RemoveDatabase(t.Context(), ref, name), panel.ErrNotFound)
	for _, unknown := range []error{
		func() error { _, err := db.ListDatabases(t.Context(), "none"); return err }(),
		func() error { _, err := db.SetDatabase(t.Context(), "none", panel.Database{Name: name}); return err }(),
		func() error { _, err := db.DumpDatabase(t.Context(), "none", name); return err }(),
		db.ImportDatabase(t.Context(), "none", name, strings.NewReader("")), db.RemoveDatabase(t.Context(), "none", name),
	} {
		refused(t, unknown, panel.ErrNotFound)
	}
	// The next account of the name finds nothing.
	must(t, accounts.DeleteAccount(t.Context(), ref))
	again := spec
	again.Ref = "3"
	create(t, p, again)
	if have, err := db.ListDatabases(t.Context(), "3"); err != nil || len(have) != 0 {
		t.Errorf("left: %+v, %v", have, err)
	}
}

// opening states the contract of panel.Adminer.
func opening(t *testing.T, p panel.Panel) {
	t.Helper()
	db, browsers := capability[panel.Databases](t, p), capability[panel.Adminer](t, p)
	acc := create(t, p, spec)
	offers, err := db.DatabaseEngines(t.Context())
	must(t, err)
	seen := map[string]bool{}
	for _, offer := range offers {
		name, err := panel.DatabaseName(acc.Username, "db_"+string(offer.Engine))
		must(t, err)
		_, err = browsers.OpenDatabase(t.Context(), ref, name)
		refused(t, err, panel.ErrNotFound)
		_, err = db.SetDatabase(t.Context(), ref, panel.Database{Name: name, Engine: offer.Engine, Password: "a-password", PasswordVersion: "1"})
		must(t, err)
		for range 2 {
			o, err := browsers.OpenDatabase(t.Context(), ref, name)
			must(t, err)
			u, err := url.Parse(o.URL)
			if err != nil || u.Host == "" || seen[o.URL] || !o.EndsAt.After(o.ExpiresAt) || strings.Contains(o.URL, "a-password") {
				t.Errorf("%s: %+v, %v", name, o, err)
			}
			seen[o.URL] = true
		}
	}
	_, err = browsers.OpenDatabase(t.Context(), "no-such-account", acc.Username+"_db_mariadb")
	refused(t, err, panel.ErrNotFound)
	must(t, capability[panel.Accounts](t, p).SuspendAccount(t.Context(), ref))
	name, err := panel.DatabaseName(acc.Username, "db_"+string(offers[0].Engine))
	must(t, err)
	_, err = browsers.OpenDatabase(t.Context(), ref, name)
	refused(t, err, panel.ErrSuspended)
}
