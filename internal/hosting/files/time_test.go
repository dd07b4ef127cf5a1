package files_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"stead.dev/stead/internal/port/panel"
)

// unhurried is a panel that notes how much time it is given and does nothing with it.
type unhurried struct {
	panel.Accounts
	panel.Files
	panel.Archives
	given time.Duration
}

func (u *unhurried) Name() string { return "unhurried" }

func (u *unhurried) CreateAccount(context.Context, panel.AccountSpec) (panel.Account, error) {
	return panel.Account{}, nil
}

func (u *unhurried) note(ctx context.Context) {
	u.given = 0
	if at, bounded := ctx.Deadline(); bounded {
		u.given = time.Until(at)
	}
}

func (u *unhurried) List(ctx context.Context, _, _ string, _, _ int) (panel.Listing, error) {
	u.note(ctx)
	return panel.Listing{}, nil
}

func (u *unhurried) Move(ctx context.Context, _, _, _ string, _ bool) (panel.Entry, error) {
	u.note(ctx)
	return panel.Entry{}, nil
}

func (u *unhurried) Copy(ctx context.Context, _, _, _ string, _ bool) (panel.Entry, error) {
	u.note(ctx)
	return panel.Entry{}, nil
}

func (u *unhurried) Remove(ctx context.Context, _, _ string, _ bool) error {
	u.note(ctx)
	return nil
}

func (u *unhurried) Search(ctx context.Context, _ string, _ panel.Query) (panel.Found, error) {
	u.note(ctx)
	return panel.Found{}, nil
}

func (u *unhurried) CreateArchive(ctx context.Context, _ string, _ []string, _ string) (panel.Entry, error) {
	u.note(ctx)
	return panel.Entry{}, nil
}

func (u *unhurried) Extract(ctx context.Context, _, _, _ string, _ bool) (panel.Extracted, error) {
	u.note(ctx)
	return panel.Extracted{}, nil
}

func TestWorkOnTreesAndArchivesHasMinutes(t *testing.T) {
	t.Parallel()
	u := &unhurried{}
	w := newWorld(t, u, panel.Limits{})
	for _, c := range []struct {
		method, target, body string
		min, max             time.Duration
	}{
		{"GET", "", "", time.Second, time.Minute},
		{"GET", "/search?q=x&in=content", "", 90 * time.Second, 2 * time.Minute},
		{"POST", "/move", `{"from":"/a","to":"/b","overwrite":true}`, 10 * time.Minute, time.Hour},
		{"POST", "/copy", `{"from":"/a","to":"/b"}`, 10 * time.Minute, time.Hour},
		{"DELETE", "?path=/a&recursive=true", "", 10 * time.Minute, time.Hour},
		{"POST", "/archive", `{"operation":"create","paths":["/a"],"target":"/a.zip"}`, 10 * time.Minute, time.Hour},
		{"POST", "/archive", `{"operation":"extract","paths":["/a.zip"]}`, 10 * time.Minute, time.Hour},
	} {
		rec := w.do(c.method, url(active, c.target), "owner", c.body)
		if rec.Code > 201 || u.given < c.min || u.given > c.max {
			t.Errorf("%s %s: %d %s, given %s", c.method, c.target, rec.Code, rec.Body, u.given)
		}
	}
}

// searched is a panel on which searches for "slow" last until the test lets them end.
type searched struct {
	unhurried
	begun, end chan struct{}
}

func (s *searched) Search(ctx context.Context, _ string, q panel.Query) (panel.Found, error) {
	if q.Text == "slow" {
		s.begun <- struct{}{}
		select {
		case <-s.end:
		case <-ctx.Done():
		}
	}
	return panel.Found{}, nil
}

// TestAClientTakesNoSearchOfOthers: the searches of a reseller's client are counted for its service, and not for the account.
func TestAClientTakesNoSearchOfOthers(t *testing.T) {
	t.Parallel()
	p := &searched{begun: make(chan struct{}), end: make(chan struct{})}
	w := newWorld(t, p, panel.Limits{})
	search := func(token, text string) int {
		return w.do("GET", url(active, "/search?in=content&q="+text), token, "").Code
	}
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			if code := search("visit", "slow"); code != 200 {
				t.Errorf("a search of the client's: %d", code)
			}
		})
	}
	<-p.begun
	<-p.begun
	if code := search("visit", "x"); code != 503 {
		t.Errorf("one more of the client's: %d", code)
	}
	if code := search("owner", "x"); code != 200 {
		t.Errorf("the owner's meanwhile: %d", code)
	}
	close(p.end)
	running.Wait()
}
