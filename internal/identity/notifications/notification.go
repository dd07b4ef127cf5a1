package notifications

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/outbox"
)

// Severity says how soon somebody should look.
type Severity string

// The severities of resources, section 11.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// mailed reports whether a notification is also sent by mail.
func (s Severity) mailed() bool { return s != Info }

// retention is how long notifications are kept.
const retention = 90 * 24 * time.Hour

// rule makes notifications from the events of one type.
type rule struct {
	kind     string
	severity Severity
	// words takes from the event's data the values that the text needs.
	words func(data object) map[string]string
	// calm reports that an event is only information; nil: never.
	calm func(data object) bool
	// without reports that an event has no notification, because another event says the same; nil: never.
	without func(data object) bool
	// ends is the kind of the trouble that the event ends: without such trouble before, it has no notification.
	ends string
}

// object is the data of an event.
type object map[string]any

// text is a member as text: a string or a whole number; empty for anything else.
func (o object) text(name string) string {
	switch v := o[name].(type) {
	case string:
		return v
	case float64:
		return fmt.Sprintf("%.0f", v)
	default:
		return ""
	}
}

// money is the display text of a Money member.
func (o object) money(name string) string {
	m, _ := o[name].(map[string]any)
	s, _ := m["display"].(string)
	return s
}

// cents is an amount in USD cents as it is shown.
func (o object) cents(name string) string {
	n, _ := o[name].(float64)
	return fmt.Sprintf("$%.2f", n/100)
}

// service names a service by its domain, else by its label.
func service(o object) map[string]string {
	name := o.text("domain")
	if name == "" {
		name = o.text("label")
	}
	return map[string]string{"Service": name}
}

// daysLeft names a service and its remaining days.
func daysLeft(o object) map[string]string {
	words := service(o)
	words["Days"] = o.text("days")
	return words
}

// suspended reports whether the service is suspended.
func suspended(o object) bool { return o.text("status") == "suspended" }

func failure(names ...string) func(object) map[string]string {
	return func(o object) map[string]string {
		words := map[string]string{"Name": "", "Reason": o.text("error_key")}
		for _, n := range names {
			if v := o.text(n); v != "" {
				words["Name"] = v
				break
			}
		}
		return words
	}
}

// watched names a monitor.
func watched(o object) map[string]string { return map[string]string{"Name": o.text("name")} }

// watchedDays names a monitor and the remaining days.
func watchedDays(o object) map[string]string {
	words := watched(o)
	words["Days"] = o.text("days")
	return words
}

// flapping reports whether a monitor goes down and up so often that nobody needs a mail for each time.
func flapping(o object) bool { return o["flapping"] == true }

// named names a domain.
func named(o object) map[string]string { return map[string]string{"Domain": o.text("unicode_name")} }

// hosted names a domain of a service.
func hosted(o object) map[string]string { return map[string]string{"Domain": o.text("domain")} }

// contested names a domain, and when it goes to somebody else.
func contested(o object) map[string]string {
	words := hosted(o)
	words["Time"] = ""
	if at, err := time.Parse(time.RFC3339, o.text("takes_at")); err == nil {
		words["Time"] = at.UTC().Format("2006-01-02 15:04 UTC")
	}
	return words
}

// refused names a domain, and why the registry refused it.
func refused(o object) map[string]string {
	words := named(o)
	words["Reason"] = o.text("error_key")
	return words
}

// endpoint names an endpoint of webhooks.
func endpoint(o object) map[string]string { return map[string]string{"Host": o.text("host")} }

// unheeded names the .htaccess files of a site whose rules have no effect, with the names of their directives, a file a line: those
// that protect something apart from the others.
func unheeded(o object) map[string]string {
	words := hosted(o)
	files, _ := o["files"].([]any)
	if elsewhere, ok := o["elsewhere"].(map[string]any); ok {
		files = append(slices.Clone(files), map[string]any{
			"path": "…/.htaccess", "protecting": elsewhere["protecting"], "directives": elsewhere["directives"],
		})
	}
	for word, list := range map[string]string{"Protecting": "protecting", "Others": "directives"} {
		var lines []string
		for _, f := range files {
			file, _ := f.(map[string]any)
			var names []string
			directives, _ := file[list].([]any)
			for _, name := range directives {
				names = append(names, fmt.Sprint(name))
			}
			if len(names) > 0 {
				lines = append(lines, object(file).text("path")+": "+strings.Join(names, ", "))
			}
		}
		words[word] = strings.Join(lines, "\n")
	}
	if more := o.text("more"); more != "0" {
		words["More"] = more
	}
	if o["protects"] == true {
		words["Protects"] = "true"
	}
	return words
}

// rules are the events that owners are notified of, by type. The text of a kind is notification.<kind>.title and .body
// in the catalogue.
var rules = map[string]rule{
	"service.renewal_upcoming": {
		kind: "service_expiring", severity: Warning, words: daysLeft,
		calm: func(o object) bool { return o["auto_renew"] == true }, // a failed renewal has its own notification
	},
	"service.renewal_failed": {
		kind: "service_renewal_failed", severity: Warning, words: func(o object) map[string]string {
			words := service(o)
			words["Reason"] = o.text("error_key")
			return words
		},
		calm: suspended, // Stead retries every day, and the end has its own notification
	},
	"service.termination_scheduled": {
		kind: "service_ending", severity: Critical, words: daysLeft,
		calm: func(o object) bool { return !suspended(o) }, // its owner has ended it
	},
	"service.suspended":        {kind: "service_suspended", severity: Critical, words: service},
	"service.unsuspended":      {kind: "service_resumed", severity: Info, words: service, ends: "service_suspended"},
	"service.htaccess_ignored": {kind: "htaccess_ignored", severity: Warning, words: unheeded},
	"service.migration_planned": {kind: "service_moving", severity: Warning, words: func(o object) map[string]string {
		words := service(o)
		words["Minutes"] = o.text("minutes")
		return words
	}},
	"service.migrated": {kind: "service_moved", severity: Warning, words: func(o object) map[string]string {
		words := service(o)
		var addresses []string
		for _, name := range []string{"ipv4", "ipv6"} {
			if address := o.text(name); address != "" {
				addresses = append(addresses, address)
			}
		}
		words["Addresses"] = strings.Join(addresses, ", ")
		return words
	}},
	"order.completed": {kind: "order_completed", severity: Info, words: func(o object) map[string]string {
		return map[string]string{"Order": o.text("number"), "Total": o.money("total")}
	}},
	"wallet.topup_succeeded": {kind: "payment_received", severity: Info, words: func(o object) map[string]string {
		return map[string]string{"Amount": o.cents("amount_usd_cents")}
	}},
	"wallet.low_balance": {kind: "low_balance", severity: Warning, words: func(o object) map[string]string {
		return map[string]string{"Amount": o.cents("balance_usd_cents"), "Threshold": o.cents("threshold_usd_cents")}
	}},
	"wallet.topup_failed": {kind: "payment_failed", severity: Warning, words: func(o object) map[string]string {
		return map[string]string{"Amount": o.cents("amount_usd_cents")}
	}},
	"ssl.failed": {kind: "ssl_failed", severity: Warning, words: failure("common_name", "domain", "name")},
	"backup.failed": {
		kind: "backup_failed", severity: Warning, words: failure("domain", "service_id"),
		without: func(o object) bool { return o["error_key"] == "backup_not_restorable" }, // backup.damaged says it once for all
	},
	"ssl.issued":       {kind: "ssl_restored", severity: Info, words: failure("common_name", "domain", "name"), ends: "ssl_failed"},
	"ssl.renewed":      {kind: "ssl_restored", severity: Info, words: failure("common_name", "domain", "name"), ends: "ssl_failed"},
	"backup.completed": {kind: "backup_works", severity: Info, words: failure("domain", "service_id"), ends: "backup_failed"},
	"backup.damaged": {kind: "backup_damaged", severity: Critical, words: func(o object) map[string]string {
		words := failure("domain", "service_id")(o)
		words["Count"] = o.text("backups")
		for name, is := range map[string]bool{
			"Ended": o["ended"] == true, "Offline": o["online"] == false, "Left": o["whole_left"] == true,
		} {
			if is {
				words[name] = "true"
			}
		}
		return words
	}},
	"backup.restore_failed": {kind: "backup_restore_failed", severity: Critical, words: failure("domain", "service_id")},
	"domain.expiring": {kind: "domain_expiring", severity: Warning, words: func(o object) map[string]string {
		return map[string]string{"Domain": o.text("unicode_name"), "Days": o.text("days")}
	}},
	"domain.expired":                {kind: "domain_expired", severity: Critical, words: named},
	"domain.transfer_out_requested": {kind: "domain_transfer_out", severity: Critical, words: named},
	"site_domain.displaced":         {kind: "domain_displaced", severity: Critical, words: hosted},
	"site_domain.contested":         {kind: "domain_contested", severity: Critical, words: contested},
	"domain.transferred_out":        {kind: "domain_transferred", severity: Critical, words: named}, // perhaps by a thief
	"domain.registration_failed":    {kind: "domain_registration_failed", severity: Warning, words: refused},
	"domain.transfer_in_failed":     {kind: "domain_transfer_failed", severity: Warning, words: refused},
	"monitor.down":                  {kind: "monitor_down", severity: Critical, words: watched, calm: flapping},
	"monitor.up":                    {kind: "monitor_up", severity: Info, words: watched},
	"monitor.ssl_expiring":          {kind: "monitor_ssl", severity: Warning, words: watchedDays},
	"monitor.domain_expiring":       {kind: "monitor_domain", severity: Warning, words: watchedDays},
	"scan.found": {kind: "scan_finding", severity: Warning, words: func(o object) map[string]string {
		return map[string]string{"Host": o.text("host"), "Count": o.text("count"), "ServiceID": o.text("service_id")}
	}, calm: func(o object) bool { return o["worst"] != "critical" && o["worst"] != "high" }},
	"ai.insight_found": {kind: "insight", severity: Info, words: func(o object) map[string]string {
		return map[string]string{"Service": o.text("service_id"), "ServiceID": o.text("service_id")}
	}},
	"ai.approval_required": {kind: "ai_approval", severity: Warning, words: func(o object) map[string]string {
		return map[string]string{"Title": o.text("title"), "ServiceID": o.text("service_id")}
	}},
	"webhook.endpoint_disabled": {kind: "webhook_disabled", severity: Warning, words: endpoint},
	"webhook.endpoint_enabled":  {kind: "webhook_works", severity: Info, words: endpoint, ends: "webhook_disabled"},
}

// of makes the notification of an event; false when the event has none.
func of(e outbox.Stored) (notification, bool, error) {
	r, ok := rules[e.Type]
	if !ok {
		return notification{}, false, nil
	}
	var data object
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return notification{}, false, fmt.Errorf("notifications: data of %s: %w", e.UID, err)
	}
	if r.without != nil && r.without(data) {
		return notification{}, false, nil
	}
	if r.calm != nil && r.calm(data) {
		r.severity = Info
	}
	return notification{
		accountID: e.AccountID, eventUID: e.UID, kind: r.kind, severity: r.severity, subject: e.Subject, subjectID: e.SubjectID,
		words: r.words(data), ends: r.ends, onDevices: data["on_devices"] == true,
	}, true, nil
}

// notification is a row of the table.
type notification struct {
	id, accountID int64
	eventUID      string
	kind          string
	severity      Severity
	subject       string
	subjectID     int64
	words         map[string]string
	ends          string // kind of the trouble that it ends; empty: none
	onDevices     bool   // they show an alert of the same event
	createdAt     time.Time
	readAt        *time.Time
}

// title and body are the texts in a language. A reason that is an error key is replaced by that error's text.
func (n notification) title(lang string) string { return n.say(lang, ".title") }
func (n notification) body(lang string) string  { return n.say(lang, ".body") }

func (n notification) say(lang, part string) string {
	return i18n.T(lang, "notification."+n.kind+part, n.data(lang))
}

// data fills the placeholders of the texts.
func (n notification) data(lang string) map[string]any {
	data := map[string]any{"Reason": ""}
	texts := map[string]i18n.Text{} // those that somebody has written in several languages
	for name, v := range n.words {
		name, in, several := strings.Cut(name, ".")
		if !several {
			data[name] = v
			continue
		}
		if texts[name] == nil {
			texts[name] = i18n.Text{}
		}
		texts[name][in] = v
	}
	for name, text := range texts {
		data[name] = text.In(lang)
	}
	if key := n.words["Reason"]; key != "" && i18n.Has(lang, "error."+key) {
		data["Reason"] = i18n.T(lang, "error."+key, nil)
	}
	return data
}

// pages are the pages of a service on which what a notification is about is mended, by kind. Other kinds lead to its overview.
var pages = map[string]string{
	"service_expiring": "/plan", "service_renewal_failed": "/plan", "service_ending": "/plan", "service_suspended": "/plan",
	"ssl_failed": "/certificates", "ssl_restored": "/certificates", "backup_failed": "/backups", "backup_works": "/backups", "backup_damaged": "/backups", "backup_restore_failed": "/backups",
	"domain_displaced": "/domains", "domain_contested": "/domains", "insight": "/agent?tab=insights", "ai_approval": "/agent",
	"scan_finding": "/health", "htaccess_ignored": "/files",
}

// link is the page of the panel on which something is done about it, below the installation's address; news may have none.
func (n notification) link() string {
	subject, id := n.subject, strconv.FormatInt(n.subjectID, 10)
	if of := n.words["ServiceID"]; of != "" { // of a run, an insight or a scan
		subject, id = "service", of
	}
	switch subject {
	case "service":
		return "/panel/services/" + id + pages[n.kind]
	case "order":
		return "/panel/orders/" + id
	case "domain":
		return "/panel/domains/" + id
	case "monitor":
		return "/panel/monitors/" + id
	case "topup", "wallet":
		return "/panel/wallet"
	case "scan": // without its service, as it was told before
		return "/panel/services"
	case "webhook":
		return "/panel/reseller/events"
	case "announcement":
		return n.words["Link"]
	default:
		return ""
	}
}

// EventTypes are the types of events that Follow handles.
func EventTypes() []string { return slices.Sorted(maps.Keys(rules)) }
