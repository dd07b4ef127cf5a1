package app

import (
	"context"
	"slices"

	"stead.dev/stead/internal/agent/insights"
	"stead.dev/stead/internal/monitoring/scans"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/dnsquery"
	"stead.dev/stead/internal/port/panel"
)

func (c *core) buildInsights() {
	c.insights = insights.New(insights.Config{
		DB: c.db, Clock: c.clock, Events: c.outbox, Limiter: c.limiter, Queue: c.queue,
		Crawler: &insights.Crawler{
			Resolver: &dnsquery.Client{}, Clock: c.clock, HTTPPort: "80", HTTPSPort: "443", AllowLoopback: c.cfg.AllowLoopbackTargets,
		},
	})
}

// auditedServices are the services as audits see them.
type auditedServices struct{ *core }

// Exists implements insights.Services.
func (s auditedServices) Exists(ctx context.Context, q db.Querier, accountID, serviceID int64) error {
	_, err := s.services.Site(ctx, q, accountID, serviceID)
	return err
}

// Place implements insights.Services.
func (s auditedServices) Place(ctx context.Context, accountID, serviceID int64) (insights.Place, error) {
	on, err := s.services.Site(ctx, s.db, accountID, serviceID)
	if err != nil {
		return insights.Place{}, err
	}
	p := insights.Place{
		Site: insights.Site{
			Host: on.Domain, Addresses: on.Addresses(), OriginURL: on.OriginURL, Local: servedHere(s.cfg, on.Panel),
		},
		Refusal: on.Changeable(), Visible: !on.Sandbox, Ref: on.Ref,
	}
	if p.PHPVersion, err = s.php.Version(ctx, s.db, accountID, serviceID); err != nil {
		return p, err
	}
	if ends, ok := panel.PHPEndOfLife(p.PHPVersion); ok {
		p.PHPEnds = &ends
	}
	if there, ok := s.panels.Panel(on.Panel); ok {
		if logs, err := panel.Of[panel.Logs](there, panel.CapLogs); err == nil {
			p.Logs = logs
		}
		if files, err := panel.Of[panel.Files](there, panel.CapFiles); err == nil && p.Refusal == nil {
			p.Files, p.Roots = files, documentRoots(ctx, there, on.Ref)
		}
	}
	return p, nil
}

// documentRoots are where the sites of an account are; none when the panel does not say.
func documentRoots(ctx context.Context, on panel.Panel, ref string) (roots []string) {
	sites, err := panel.Of[panel.Sites](on, panel.CapSites)
	if err != nil {
		return nil
	}
	domains, err := sites.Domains(ctx, ref)
	if err != nil {
		return nil
	}
	for _, d := range domains {
		if d.DocumentRoot != "" && !slices.Contains(roots, d.DocumentRoot) {
			roots = append(roots, d.DocumentRoot)
		}
	}
	return roots
}

// scanInsights makes insights of what security scans find. Checks that audits make too have the same name there, so a fault
// is one insight, whoever finds it.
type scanInsights struct{ insights *insights.Service }

// Scanned implements scans.Insights.
func (s scanInsights) Scanned(ctx context.Context, tx *db.Tx, accountID, serviceID int64, findings []scans.Finding) error {
	judged := map[string]bool{}
	var r insights.Report
	for _, f := range findings {
		judged[f.Key] = f.Outcome != scans.Skip
		if !f.Open() || f.Severity == scans.Info {
			continue // what is only information is nothing to improve
		}
		found := insights.Finding{
			Check: f.Key, Subject: scannedSubject(f.Key), Kind: insights.Security, Severity: insights.Severity(f.Severity),
			Texts:    insights.Texts{Title: "scan.title." + f.Key, Detail: "scan.detail." + f.Detail, Fix: "scan.fix." + f.Key},
			Evidence: map[string]any{"seen": f.Evidence}, Fixable: mendedByFiles[f.Key],
		}
		if f.Key == "php_version" || f.Key == "cms_version" {
			found.Kind = insights.Update
		}
		r.Findings = append(r.Findings, found)
	}
	r.Judged = func(check, subject string) bool { return judged[check] && subject == scannedSubject(check) }
	_, _, err := s.insights.Report(ctx, tx, accountID, serviceID, r)
	return err
}

// scannedSubject is what a scan judges: the site, of whose pages it reads the first.
func scannedSubject(check string) string {
	if check == "mixed_content" {
		return "/"
	}
	return ""
}

// mendedByFiles are the checks of scans that a change of the site's files can mend.
var mendedByFiles = map[string]bool{
	"hsts": true, "csp": true, "x_frame_options": true, "x_content_type_options": true, "referrer_policy": true, "cookies": true, "mixed_content": true,
	"directory_listing": true,
}
