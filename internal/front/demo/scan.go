package demo

import (
	"context"
	"errors"
	"net/http"
	"strconv"
)

// scan has the site scanned for weaknesses.
func (d *demonstration) scan(ctx context.Context) error {
	var s struct {
		Status   string `json:"status"`
		Score    *int   `json:"score"`
		Grade    string `json:"grade"`
		Findings []struct {
			Status   string `json:"status"`
			Severity string `json:"severity"`
			Title    string `json:"title"`
		} `json:"findings"`
	}
	_, err := d.call(ctx, http.MethodPost, "/api/v1/security/scans", map[string]string{"url": "http://" + d.domain + "/"}, &s)
	if d.unknownName {
		return expect(err, "url_not_owned", "scanning a name that leads nowhere")
	}
	if err != nil {
		return err
	}
	if s.Status != "completed" || s.Score == nil || len(s.Findings) == 0 {
		return errors.New("the scan ended without a score")
	}
	d.report.note("score %d of 100, grade %s", *s.Score, s.Grade)
	passed := 0
	for _, f := range s.Findings {
		switch f.Status {
		case "pass":
			passed++
		case "fail", "warn":
			d.report.note("%-8s %s", f.Severity, f.Title)
		}
	}
	d.report.note("%d checks passed", passed)
	var posture struct {
		LastScanAt *string `json:"last_scan_at"`
	}
	if _, err := d.call(ctx, http.MethodGet, "/api/v1/services/"+strconv.FormatInt(d.service, 10)+"/security", nil, &posture); err != nil {
		return err
	}
	if posture.LastScanAt == nil {
		return errors.New("the service knows nothing of its scan")
	}
	return nil
}
