package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// watching are the steps by which a customer knows how the site does.
func (d *demonstration) watching() []step {
	var m monitor
	return []step{
		{"monitor", "A monitor sees the site go down and come back", func(ctx context.Context) error { return d.watch(ctx, &m) }},
		{"badge", "Its badge shows the state anywhere", func(ctx context.Context) error { return d.checkBadge(ctx, m) }},
		{"scan", "A security scan finds what to mend, and gives a score", d.scan},
	}
}

// monitor is the interface's description of a monitor.
type monitor struct {
	ID       int64  `json:"id"`
	Status   string `json:"status"`
	ErrorKey string `json:"error_key"`
	BadgeURL string `json:"badge_url"`
	Outages  []struct {
		DurationS int64  `json:"duration_s"`
		EndedAt   string `json:"ended_at"`
		Cause     string `json:"cause"`
	} `json:"outages"`
}

// watchedPage is what the monitor asks for; the customer takes it away, and puts it back.
const watchedPage = "/demo-status.html"

// watch makes a monitor of a page of the site, removes the page, and writes it again. Plans allow a check every minute, or
// every five; nobody waits here for that, because a monitor that is to check otherwise does so at once.
func (d *demonstration) watch(ctx context.Context, m *monitor) error {
	page := documentRoot + watchedPage
	const content = "<!doctype html><title>Status</title><p>All is well</p>\n"
	if _, err := d.writeFile(ctx, page, content); err != nil {
		return err
	}
	_, err := d.call(ctx, http.MethodPost, "/api/v1/monitors", map[string]any{
		"type": "http", "url": "http://" + d.domain + watchedPage, "service_id": d.service, "retries": 0,
	}, m)
	if err != nil {
		return err
	}
	if err := d.await(ctx, "that the monitor checks", func(ctx context.Context) (bool, error) { return d.looked(ctx, m, "pending") }); err != nil {
		return err
	}
	if m.ErrorKey == "dns_failed" {
		d.unknownName = true
		d.report.note("no DNS knows %s, and this installation is no demonstration: the monitor says %s", d.domain, m.Status)
		return nil
	}
	if m.Status != "up" {
		return fmt.Errorf("the monitor is %s: %s", m.Status, m.ErrorKey)
	}
	if _, err := d.call(ctx, http.MethodDelete, d.files("?path="+page), nil, nil); err != nil {
		return err
	}
	if err := d.recheck(ctx, m, 10, "down"); err != nil {
		return err
	}
	if len(m.Outages) != 1 || m.Outages[0].EndedAt != "" || m.ErrorKey != "http_status" {
		return fmt.Errorf("the monitor is down with %q and %d outages", m.ErrorKey, len(m.Outages))
	}
	if _, err := d.writeFile(ctx, page, content); err != nil {
		return err
	}
	if err := d.recheck(ctx, m, 20, "up"); err != nil {
		return err
	}
	if len(m.Outages) != 1 || m.Outages[0].EndedAt == "" {
		return fmt.Errorf("the monitor is up with %d outages, and the first has not ended", len(m.Outages))
	}
	d.report.note("an outage of %d s, because of %s", m.Outages[0].DurationS, m.Outages[0].Cause)
	return nil
}

// recheck changes the time to the next try after a failure, and waits for what the monitor sees.
func (d *demonstration) recheck(ctx context.Context, m *monitor, retrySeconds int, status string) error {
	if _, err := d.call(ctx, http.MethodPatch, monitorPath(m), map[string]any{"retry_interval_s": retrySeconds}, nil); err != nil {
		return err
	}
	return d.monitorIs(ctx, m, status)
}

func (d *demonstration) monitorIs(ctx context.Context, m *monitor, status string) error {
	return d.await(ctx, "that the monitor is "+status, func(ctx context.Context) (bool, error) {
		_, err := d.looked(ctx, m, "")
		return m.Status == status, err
	})
}

// looked reads the monitor, and reports whether its status is another one.
func (d *demonstration) looked(ctx context.Context, m *monitor, than string) (bool, error) {
	path := monitorPath(m)
	*m = monitor{}
	_, err := d.call(ctx, http.MethodGet, path, nil, m)
	return m.Status != than, err
}

func monitorPath(m *monitor) string { return "/api/v1/monitors/" + strconv.FormatInt(m.ID, 10) }

// checkBadge fetches the badge as the visitor of any page does: without a token.
func (d *demonstration) checkBadge(ctx context.Context, m monitor) error {
	_, token, _ := strings.Cut(m.BadgeURL, "/badge/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.String()+"/badge/"+token+"/status/24h", nil)
	if err != nil {
		return err
	}
	res, err := d.browser.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // read whole by the recorder
	svg, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "image/svg+xml") || !strings.Contains(string(svg), ": "+m.Status+"</title>") {
		return fmt.Errorf("the badge answered %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	_, title, _ := strings.Cut(string(svg), "<title>")
	title, _, _ = strings.Cut(title, "</title>")
	d.report.note("%d bytes of SVG, which say %q", len(svg), title)
	return nil
}
