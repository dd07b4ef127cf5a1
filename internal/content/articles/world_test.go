package articles

import (
	"io/fs"
	"log/slog"
	"maps"
	"testing"
	"testing/fstest"

	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
)

func newService(d *db.DB, clk clock.Clock) *Service {
	return New(Config{DB: d, Clock: clk, Log: slog.New(slog.DiscardHandler), BaseURL: "https://shop.example"})
}

// dir is a directory of texts, by path.
type dir map[string]string

func (d dir) with(more dir) dir {
	all := maps.Clone(d)
	maps.Copy(all, more)
	return all
}

func (d dir) without(names ...string) dir {
	all := maps.Clone(d)
	for _, n := range names {
		delete(all, n)
	}
	return all
}

func (d dir) fs() fs.FS {
	files := fstest.MapFS{}
	for name, content := range d {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

const (
	pixel      = "\x89PNG\r\n\x1a\n" + pngEnd // the least that a picture is
	otherPixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\x00sRGB\x00\x00\x00\x00" + pngEnd
	pngEnd     = "\x00\x00\x00\x00IEND\xaeB`\x82"

	help = `---
title: Your first site
description: How to publish it.
category: getting-started
position: 5
updated_at: 2026-01-02
keywords: [upload, publish]
---

See [the terms](/glossary#domain), or [mail](mail.en.md).

![The panel](../media/panel.png)

## Next step
`
	mail = `---
title: Mail on your phone
description: Settings of an app for mailboxes.
category: email
position: 1
updated_at: 2026-01-02
---

Enter the address of the server.
`
	post = `---
title: We are open
description: News of the day.
category: news
published_at: 2026-02-01
author: The team
---

Welcome to **our** blog.
`
	term = `---
term: Domain
short: A name of a site.
---

A name that leads to a site, see [how](/kb/first-site).
`
)

// site is a small directory without problems.
var site = dir{
	"kb/first-site.en.md": help, "kb/mail.en.md": mail, "blog/open.en.md": post, "glossary/domain.en.md": term,
	"media/panel.png": pixel, "README.md": "ours",
}

func (s *Service) mustImport(t *testing.T, d dir, prune bool) Report {
	t.Helper()
	r, err := s.Import(t.Context(), d.fs(), prune)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
