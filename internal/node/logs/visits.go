package logs

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"stead.dev/stead/internal/port/panel"
)

const (
	dayForm     = time.DateOnly
	pagesKept   = 31  // days whose most visited pages are kept
	pagesOfDay  = 20  // of each of them
	pagesLive   = 500 // different pages that are counted on one day
	longestPage = 200 // bytes of a page's path
)

// today is what is counted of the present day. Nobody can be recognised by it: of a visitor's address a registry keeps a
// few bits of a keyed hash, and the key is thrown away with the day.
type today struct {
	panel.VisitDay
	Pages map[string]int64 `json:"pages,omitempty"`
	Key   []byte           `json:"key,omitempty"`
	Seen  distinct         `json:"seen,omitempty"`
}

// pastDay is a day that is over, with its most visited pages, the first 31 days.
type pastDay struct {
	panel.VisitDay
	Pages []panel.PageVisits `json:"pages,omitempty"`
}

func (d today) clone() today {
	d.Pages, d.Key, d.Seen = maps.Clone(d.Pages), slices.Clone(d.Key), slices.Clone(d.Seen)
	return d
}

// add counts a line of the access log.
func (d *today) add(l panel.LogLine, sent int64, agent string) {
	d.Requests++
	d.Bytes += sent
	switch l.Status / 100 {
	case 2:
		d.Status2xx++
	case 3:
		d.Status3xx++
	case 4:
		d.Status4xx++
	case 5:
		d.Status5xx++
	}
	if isBot(agent) {
		d.Bots++
		return
	}
	if !isView(l) {
		return
	}
	d.Views++
	if d.Key == nil {
		d.Key = make([]byte, 32)
		_, _ = rand.Read(d.Key) // never fails
	}
	d.Seen = d.Seen.add(d.Key, l.IP+"\n"+agent)
	page := strings.ToValidUTF8(l.Path[:min(len(l.Path), longestPage)], "")
	if d.Pages == nil {
		d.Pages = map[string]int64{}
	}
	if _, known := d.Pages[page]; known || len(d.Pages) < pagesLive {
		d.Pages[page]++
	}
}

// past is the day as it is kept. Its visitors are estimated here and not with each line, of which a flood has many.
func (d today) past() pastDay {
	d.Visitors = d.Seen.count()
	return pastDay{d.VisitDay, mostVisited(d.Pages)}
}

func mostVisited(pages map[string]int64) []panel.PageVisits {
	all := make([]panel.PageVisits, 0, len(pages))
	for page, views := range pages {
		all = append(all, panel.PageVisits{Path: page, Views: views})
	}
	slices.SortFunc(all, func(a, b panel.PageVisits) int {
		return cmp.Or(cmp.Compare(b.Views, a.Views), cmp.Compare(a.Path, b.Path))
	})
	return all[:min(len(all), pagesOfDay)]
}

// isView reports that a request was for a page that was shown, by its status and by what its name ends in.
func isView(l panel.LogLine) bool {
	if !strings.HasPrefix(l.Message, "GET ") || l.Status != 304 && l.Status/100 != 2 || !strings.HasPrefix(l.Path, "/") {
		return false
	}
	switch strings.ToLower(path.Ext(l.Path)) {
	case "", ".html", ".htm", ".php":
		return true
	}
	return false
}

// bots are in the names by which programs, not people, say who they are.
var bots = []string{
	"bot", "crawl", "spider", "slurp", "scan", "curl/", "wget", "python", "go-http", "java/", "okhttp", "libwww", "monitor", "uptime",
	"wordpress/", "headless", "preview", "http-client", "axios", "node-fetch", "facebookexternalhit",
}

func isBot(agent string) bool {
	if agent == "" || agent == "-" {
		return true
	}
	agent = strings.ToLower(agent)
	return slices.ContainsFunc(bots, func(name string) bool { return strings.Contains(agent, name) })
}

// parseAgent is the user agent of a line of the access log, as nginx has escaped it.
func parseAgent(line string) string {
	// "request", "referer", "agent", "host": nginx escapes every quotation mark within a value.
	if parts := strings.Split(line, `"`); len(parts) >= 6 {
		return parts[5]
	}
	return ""
}

// advance begins the day, when it comes after the one that is counted, and hands over the latter.
func (t *traffic) advance(day string) (over pastDay, isOver bool) {
	if t.Today.Date >= day {
		return pastDay{}, false
	}
	if t.Today.Date != "" {
		over, isOver = t.Today.past(), true
	}
	t.Today = today{VisitDay: panel.VisitDay{Date: day}}
	return over, isOver
}

// keep adds a day that is over to those of the account; the same day is replaced, because it is counted again after a crash.
func (d *Driver) keep(account string, over []pastDay) error {
	if len(over) == 0 {
		return nil
	}
	_, err := d.days.Update(account, func(all *[]pastDay) error {
		days := slices.Clone(*all) // a reader may have the present ones
		for _, day := range over {
			days = slices.DeleteFunc(days, func(other pastDay) bool { return other.Date == day.Date })
			days = append(days, day)
		}
		slices.SortFunc(days, func(a, b pastDay) int { return cmp.Compare(a.Date, b.Date) })
		days = days[max(0, len(days)-(panel.MaxVisitDays-1)):] // and the present one
		for i := range max(0, len(days)-pagesKept) {
			days[i].Pages = nil
		}
		*all = days
		return nil
	})
	return err
}

// Visits implements panel.Logs.
func (d *Driver) Visits(ctx context.Context, ref string, days int) (panel.Visits, error) {
	a, err := d.lookup(ref)
	if err == nil && (days < 1 || days > panel.MaxVisitDays) {
		err = panel.ErrInvalid
	}
	if err == nil {
		_, err = d.count(ctx, a.Name)
	}
	if err != nil {
		return panel.Visits{}, panel.Wrap("logs.visits", ref, err)
	}
	all := d.days.Get(a.Name)
	if now := d.sent.Get(a.Name).Today; now.Date != "" {
		// The machine's clock may have been ahead.
		all = slices.DeleteFunc(slices.Clone(all), func(past pastDay) bool { return past.Date >= now.Date })
		all = append(all, now.past())
	}
	first := d.store.cfg.Now().UTC().AddDate(0, 0, 1-days).Format(dayForm)
	v := panel.Visits{Days: []panel.VisitDay{}}
	pages := map[string]int64{}
	for _, day := range all {
		if day.Date < first {
			continue
		}
		v.Days = append(v.Days, day.VisitDay)
		for _, page := range day.Pages {
			pages[page.Path] += page.Views
		}
	}
	v.Pages = mostVisited(pages)
	return v, nil
}
