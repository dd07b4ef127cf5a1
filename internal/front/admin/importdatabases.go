package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"stead.dev/stead/internal/front/admin/archive"
	"stead.dev/stead/internal/hosting/databases"
	"stead.dev/stead/internal/hosting/site"
	"stead.dev/stead/internal/port/panel"
)

// loading is a file of the home in which the databases are that are being loaded: one that is not empty and is in it was loaded in part.
const loading = "/.importing.json"

func (b *bringing) readLoading(ctx context.Context, files panel.Files) (names []string, err error) {
	c, err := files.Read(ctx, b.on.Ref, loading, panel.ReadOptions{MaxBytes: 64 << 10})
	if errors.Is(err, panel.ErrNotFound) {
		return nil, nil
	}
	if err == nil && json.Unmarshal(c.Data, &names) != nil {
		names = nil // its owner may write what they like
	}
	return names, err
}

func (b *bringing) writeLoading(ctx context.Context, files panel.Files, names []string) error {
	if len(names) == 0 {
		err := files.Remove(ctx, b.on.Ref, loading, false)
		if errors.Is(err, panel.ErrNotFound) {
			err = nil
		}
		return err
	}
	text, err := json.Marshal(names)
	if err == nil {
		_, err = files.Write(ctx, b.on.Ref, loading, text, panel.WriteOptions{})
	}
	return err
}

func (b *bringing) loadDatabases(ctx context.Context) error {
	if len(b.databases) == 0 {
		return nil
	}
	refused, err := b.settle(ctx, "database", b.Hosting.Databases.Followed)
	if err != nil {
		return err
	}
	b.databases = slices.DeleteFunc(b.databases, func(d broughtDatabase) bool { return refused[d.Imported.Name] })
	if len(b.databases) == 0 {
		return nil // the machine may have none at all
	}
	files, err := site.On[panel.Files](b.Hosting.Panels, b.on, panel.CapFiles)
	if err != nil {
		return site.Refusal(err)
	}
	server, err := site.On[panel.Databases](b.Hosting.Panels, b.on, panel.CapDatabases)
	if err != nil {
		return site.Refusal(err)
	}
	have, err := server.ListDatabases(ctx, b.on.Ref)
	if err != nil {
		return err
	}
	marked, err := b.readLoading(ctx, files)
	if err != nil {
		return err
	}
	for i := range b.databases {
		d := &b.databases[i]
		for _, on := range have {
			if on.Name == d.Imported.Name {
				d.host = fmt.Sprintf("%s:%d", on.Host, on.Port)
			}
		}
		if d.password, _, err = b.Hosting.Secrets.Secret(ctx, b.DB, databases.SecretKind, d.ID); err != nil {
			return err
		}
		if marked, err = b.loadDatabase(ctx, server, files, d, marked); err != nil {
			return err
		}
	}
	return nil
}

// loadDatabase loads a dump. It returns which databases are marked as being loaded.
func (b *bringing) loadDatabase(ctx context.Context, server panel.Databases, files panel.Files, d *broughtDatabase, marked []string) ([]string, error) {
	name := d.Imported.Name
	t := AccountThing{Kind: "content", Name: d.Database.Name, As: name, State: importNew}
	full, err := hasContent(ctx, server, b.on.Ref, name)
	if err != nil {
		return marked, err
	}
	if full && !b.o.Replace && !slices.Contains(marked, name) {
		t.State, t.Reason = importThere, "the database is not empty; --replace loads it all the same"
		b.add(t)
		return marked, nil
	}
	b.told("loading database %s", name)
	if !slices.Contains(marked, name) {
		marked = append(marked, name)
		if err := b.writeLoading(ctx, files, marked); err != nil {
			return marked, err
		}
	}
	dump, err := d.Dump()
	if err == nil {
		counted := &counting{r: archive.Portable(d.Engine, dump)}
		err = server.ImportDatabase(ctx, b.on.Ref, name, counted)
		t.Bytes = counted.n
		_ = dump.Close() // was read only
	}
	if left := failed(&t, err); left != nil {
		return marked, left
	}
	b.add(t)
	if t.State == importFailed {
		return marked, nil
	}
	marked = slices.DeleteFunc(marked, func(m string) bool { return m == name })
	return marked, b.writeLoading(ctx, files, marked)
}

type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

var created = regexp.MustCompile(`(?m)^(?:/\*!\d+ )?CREATE (?:TABLE|.{0,80}VIEW|.{0,80}FUNCTION|.{0,80}PROCEDURE|SEQUENCE)`)

// hasContent reports whether a database has tables or the like, by the beginning of a dump.
func hasContent(ctx context.Context, server panel.Databases, ref, name string) (bool, error) {
	dump, err := server.DumpDatabase(ctx, ref, name)
	if err != nil {
		return false, err
	}
	defer func() { _ = dump.Close() }() // ends it
	const enough = 256 << 10
	head, err := io.ReadAll(io.LimitReader(dump, enough))
	return len(head) == enough || created.Match(head), err
}
