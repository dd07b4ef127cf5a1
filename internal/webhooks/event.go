package webhooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"stead.dev/stead/internal/platform/outbox"
)

// Types are the kinds of events that endpoints can be told of (resources, section 25). What else the outbox carries
// is the platform's own.
var types = []string{
	"service.created", "service.provisioned", "service.provision_failed", "service.renewed", "service.renewal_upcoming",
	"service.renewal_failed", "service.past_due", "service.suspended", "service.unsuspended", "service.termination_scheduled",
	"service.terminated", "service.restored", "service.tariff_changed", "service.tariff_change_failed", "service.updated",
	"service.limit_reached", "service.migrated",
	"order.created", "order.paid", "order.completed", "order.failed", "order.cancelled", "order.expired", "order.refunded",
	"wallet.topup_succeeded", "wallet.topup_failed", "wallet.low_balance", "wallet.adjusted", "wallet.sla_credited", "invoice.issued",
	"domain.registered", "domain.registration_failed", "domain.renewed", "domain.renewal_failed", "domain.expiring", "domain.expired",
	"domain.redemption", "domain.deleted", "domain.transfer_in_started", "domain.transfer_in_completed", "domain.transfer_in_failed",
	"domain.transfer_out_requested", "domain.transferred_out", "domain.verification_required", "domain.contacts_changed",
	"domain.nameservers_changed", "domain.lock_changed", "domain.privacy_changed",
	"ssl.issued", "ssl.renewed", "ssl.failed", "ssl.expiring", "backup.completed", "backup.failed", "backup.restored",
	"backup.restore_failed", "mailbox.created", "mailbox.suspended", "mailbox.quota_reached", "database.created",
	"site_domain.added", "site_domain.removed",
	"addon.created", "addon.activated", "addon.renewed", "addon.cancelled", "addon.failed",
	"monitor.down", "monitor.up", "monitor.degraded", "monitor.ssl_expiring", "monitor.paused", "sla.breached", "sla.compensated",
	"scan.completed", "scan.failed", "insight.created", "insight.resolved", "ai.run_completed", "ai.run_failed", "ai.approval_required",
	"api_key.created", "api_key.revoked", "catalog.price_changed", "platform.incident_opened", "platform.incident_resolved",
	testType, disabledType,
}

const (
	testType     = "webhook.test"
	disabledType = "webhook.endpoint_disabled"
)

// all stands for every type in an endpoint's events.
const all = "*"

func known(typ string) bool { return slices.Contains(types, typ) }

// maxBody is how large a body may be, in bytes (resources, section 23).
const maxBody = 20_000

// body is what is sent.
type body struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	CreatedAt  time.Time `json:"created_at"`
	APIVersion string    `json:"api_version"`
	Sandbox    bool      `json:"sandbox"`
	Sequence   int64     `json:"sequence"`
	Data       bodyData  `json:"data"`
	ClientRef  *string   `json:"client_ref"`
}

type bodyData struct {
	Object   json.RawMessage `json:"object"`
	Previous json.RawMessage `json:"previous"`
	// Truncated says that the object was too large; it is to be fetched.
	Truncated bool `json:"truncated,omitempty"`
}

// event is a row of the table.
type event struct {
	id, accountID int64
	uid, typ      string
	subject       string
	subjectID     int64
	sequence      int64
	clientRef     *string
	body          string
	delivered     bool
	createdAt     time.Time
}

// newEvent makes the body of what the outbox tells.
func newEvent(e outbox.Stored, sandbox bool) (event, error) {
	var object struct {
		ClientRef *string `json:"client_ref"`
	}
	// What is no object, or has another thing under that name, has no tag.
	if json.Unmarshal(e.Data, &object) != nil {
		object.ClientRef = nil
	}
	b := body{
		ID: e.UID, Type: e.Type, CreatedAt: e.CreatedAt, APIVersion: "v1", Sandbox: sandbox, Sequence: e.Sequence,
		Data: bodyData{Object: e.Data, Previous: e.Previous}, ClientRef: object.ClientRef,
	}
	if len(b.Data.Previous) == 0 || string(b.Data.Previous) == "null" {
		b.Data.Previous = json.RawMessage("{}")
	}
	encoded, err := json.Marshal(b)
	if err == nil && len(encoded) >= maxBody {
		b.Data = bodyData{Object: fmt.Appendf(nil, `{"id":%d}`, e.SubjectID), Previous: json.RawMessage("{}"), Truncated: true}
		encoded, err = json.Marshal(b)
	}
	if err != nil {
		return event{}, fmt.Errorf("webhooks: body of %s: %w", e.UID, err)
	}
	return event{
		accountID: e.AccountID, uid: e.UID, typ: e.Type, subject: e.Subject, subjectID: e.SubjectID, sequence: e.Sequence,
		clientRef: object.ClientRef, body: string(encoded), createdAt: e.CreatedAt,
	}, nil
}
