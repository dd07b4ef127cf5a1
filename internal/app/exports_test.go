package app

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/testkit"
)

// TestEveryModuleExportsOrSaysWhyNot: a section that is added decides what owners of accounts take along of it.
func TestEveryModuleExportsOrSaysWhyNot(t *testing.T) {
	a := start(t, nil)
	for _, m := range a.modules {
		if (len(m.Export) > 0) == (m.NoExport != "") {
			t.Errorf("%s has either files in the archive of an account's data or a reason why not", m.Name)
		}
	}
	files := a.exported.Files()
	total := 0
	for _, m := range a.modules {
		total += len(m.Export)
	}
	if len(files) != total {
		t.Errorf("%d of %d files are reached: the others belong to a file that is not there", len(files), total)
	}
	for _, f := range files {
		for _, lang := range i18n.Supported() {
			if !i18n.Has(lang, f.Text) {
				t.Errorf("%s has no text %s in %s", f.File, f.Text, lang)
			}
		}
	}
}

// archive is an export as a person has it: the content of its files by their names.
func (w *world) archive(body []byte) map[string]string {
	w.t.Helper()
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			w.t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil || in.Close() != nil {
			w.t.Fatal(err)
		}
		if _, twice := all[f.Name]; twice {
			w.t.Errorf("%s is in the archive twice", f.Name)
		}
		all[f.Name] = string(content)
	}
	return all
}

// export is the state of the archive, by a browser's session.
func (w *world) export(session string) (e struct {
	Status    string     `json:"status"`
	Progress  int        `json:"progress"`
	SizeBytes *int       `json:"size_bytes"`
	ExpiresAt *time.Time `json:"expires_at"`
},
) {
	w.t.Helper()
	w.get(w.t, session, "/api/v1/me/export").decode(w.t, &e)
	return e
}

func TestOwnersTakeTheirDataAlong(t *testing.T) {
	engines(t, simulated, func(t *testing.T, a *App) {
		w := newWorld(t, a)
		const path, file = "/api/v1/me/export", "/api/v1/me/export/archive"
		if e := w.export(w.ownersSession); e.Status != "none" || e.ExpiresAt != nil {
			t.Errorf("before: %+v", e)
		}
		if r := a.get(t, w.ownersSession, file); r.status != http.StatusNotFound {
			t.Errorf("a file before one was asked for: %s", r)
		}
		for _, token := range []string{w.owner.token, w.ownersPanel} {
			if r := a.post(t, token, path, ""); r.status != http.StatusForbidden {
				t.Errorf("an application asks for it: %s", r)
			}
		}
		if r := a.post(t, w.ownersSession, path, ""); r.status != http.StatusCreated {
			t.Fatalf("%s", r)
		}
		testkit.Eventually(t, time.Minute, func() bool { return w.export(w.ownersSession).Status == "ready" }, "the archive is ready")
		e := w.export(w.ownersSession)
		r := a.get(t, w.ownersSession, file)
		if r.status != http.StatusOK || e.SizeBytes == nil || len(r.body) != *e.SizeBytes || e.Progress != 100 {
			t.Fatalf("%d bytes of %+v: %s", len(r.body), e, r.header)
		}
		if got := a.get(t, w.strangersSession, file); got.status != http.StatusNotFound {
			t.Errorf("a stranger: %s", got)
		}
		all := w.archive(r.body)
		w.holdsEverything(all)
		w.holdsNoSecret(all)
		w.isSealed()

		err := a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE account_sessions SET authenticated_at = 0 WHERE account_id = $1`, w.owner.id)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			to := path
			if method == http.MethodGet {
				to = file
			}
			if r := a.do(t, request{method: method, path: to, token: w.ownersSession}); r.key() != "reauthentication_required" {
				t.Errorf("%s %s long after signing in: %s", method, to, r)
			}
		}

		err = a.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE exports SET expires_at = $1 WHERE account_id = $2`, tx.Now, w.owner.id)
			return err
		})
		if err == nil {
			err = a.exports.Clean(t.Context())
		}
		var parts int
		if err == nil {
			err = a.db.QueryRow(t.Context(), `SELECT count(*) FROM exports_parts`).Scan(&parts)
		}
		if e := w.export(w.ownersSession); err != nil || e.Status != "none" || parts != 0 {
			t.Errorf("after its time: %+v, %d parts, %v", e, parts, err)
		}
	})
}

// TestWhoHasNothingGetsAnArchive: a new account that resells nothing and has bought nothing.
func TestWhoHasNothingGetsAnArchive(t *testing.T) {
	a := start(t, nil)
	cookie, id := a.signedIn(t)
	w := &world{App: a, t: t}
	if r := a.panel(t, cookie, http.MethodPost, "/panel/api/v1/me/export", ""); r.status != http.StatusCreated {
		t.Fatalf("%s", r)
	}
	testkit.Eventually(t, time.Minute, func() bool {
		e, err := a.exports.Of(t.Context(), id)
		return err == nil && e.Status == "ready"
	}, "the archive is ready")
	r := a.panel(t, cookie, http.MethodGet, "/panel/api/v1/me/export/archive", "")
	all := w.archive(r.body)
	if all["profile.json"] == "" || all["orders.json"] != "[]\n" {
		t.Errorf("%v", all)
	}
	if strings.Contains(all["README.txt"], i18n.T("en", "exports.readme.missing", nil)) {
		t.Errorf("something is missing:\n%s", all["README.txt"])
	}
}

// holdsEverything: what the owner has is there, and README.txt names it.
func (w *world) holdsEverything(all map[string]string) {
	w.t.Helper()
	places := regexp.MustCompile(`\{[a-z_]+\}`)
	for _, f := range w.exported.Files() {
		if f.File == "review" {
			continue // the owner has written none
		}
		pattern := "^" + places.ReplaceAllString(regexp.QuoteMeta(strings.NewReplacer("{", "<", "}", ">").Replace(f.File)), "") + "$"
		pattern = strings.Replace(pattern, "<picture>", "(logo|icon)", 1)
		pattern = regexp.MustCompile(`<[a-z_]+>`).ReplaceAllString(pattern, `[0-9]+`)
		if f.Raw {
			pattern = strings.TrimSuffix(pattern, "$") + "-.+$"
		} else {
			pattern = strings.TrimSuffix(pattern, "$") + `\.json$`
		}
		is := regexp.MustCompile(pattern)
		found := false
		for name := range all {
			found = found || is.MatchString(name)
		}
		if !found {
			w.t.Errorf("%s is not in the archive", f.File)
		}
		if !strings.Contains(all["README.txt"], i18n.T("en", f.Text, nil)) {
			w.t.Errorf("README.txt does not say what %s is", f.File)
		}
	}
	for name, content := range all {
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(content)) {
			w.t.Errorf("%s is no JSON: %s", name, content)
		}
	}
	for name, want := range map[string]string{"services.json": w.domain, "orders.json": w.domain, "README.txt": "@example.com"} {
		if !strings.Contains(all[name], want) {
			w.t.Errorf("%s does not have %s: %.500s", name, want, all[name])
		}
	}
	_, missing, _ := strings.Cut(all["README.txt"], i18n.T("en", "exports.readme.missing", nil))
	for line := range strings.Lines(strings.TrimSpace(missing)) {
		if !strings.Contains(line, i18n.T("en", "error.service_not_active", nil)) {
			w.t.Errorf("could not be had: %s", line)
		}
	}
}

// holdsNoSecret looks for what would let somebody in.
func (w *world) holdsNoSecret(all map[string]string) {
	w.t.Helper()
	secrets := []string{w.ownersSession, w.owner.token, w.ownersPanel, w.ownersKey, w.ownersTestKey, w.ownersReadKey, "the-phone-of-the-owner", w.badge}
	issued, err := w.credentials.Passwords(w.t.Context(), w.owner.id, w.service)
	if err != nil || len(issued) == 0 {
		w.t.Fatalf("%d passwords, %v", len(issued), err)
	}
	for _, p := range issued {
		secrets = append(secrets, p.Value)
	}
	for name, content := range all {
		for _, s := range secrets {
			if s != "" && strings.Contains(content, s) {
				w.t.Errorf("%s has the secret %s", name, s)
			}
		}
		if m := regexp.MustCompile(`"[a-z_]*(password|secret|token)": "`).FindString(content); m != "" {
			w.t.Errorf("%s has %s", name, m)
		}
	}
}

// isSealed: the database has nothing of the file that can be read.
func (w *world) isSealed() {
	w.t.Helper()
	parts, err := db.Collect(w.t.Context(), w.db, func(r db.Row) (content []byte, err error) { return content, r.Scan(&content) }, `SELECT content FROM exports_parts`)
	if err != nil || len(parts) == 0 {
		w.t.Fatalf("%d parts, %v", len(parts), err)
	}
	if slices.ContainsFunc(parts, func(p []byte) bool {
		return bytes.Contains(p, []byte("README.txt")) || bytes.HasPrefix(p, []byte("PK"))
	}) {
		w.t.Error("an archive is not sealed")
	}
}
