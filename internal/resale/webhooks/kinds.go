package webhooks

import (
	"reflect"
	"time"

	"stead.dev/stead/internal/platform/api"
)

const (
	testType     = "webhook.test"
	disabledType = "webhook.endpoint_disabled"
	enabledType  = "webhook.endpoint_enabled" // internal: the owner of an endpoint that was disabled is notified
)

// kind is a type of event that endpoints can subscribe to.
type kind struct {
	typ, summary string
	object       reflect.Type
}

func is[T any](typ, summary string) kind { return kind{typ, summary, reflect.TypeFor[T]()} }

// kinds are all of resources, section 25. Other events of the outbox are internal.
var kinds = []kind{
	is[serviceObject]("service.created", "A service was ordered"),
	is[serviceObject]("service.provisioned", "A service is ready"),
	is[serviceObject]("service.provision_failed", "A service could not be made; its order is refunded"),
	is[serviceObject]("service.renewed", "A service was renewed"),
	is[serviceReminderObject]("service.renewal_upcoming", "A service expires in 30, 14, 7, 3 or 1 days"),
	is[serviceFailureObject]("service.renewal_failed", "A service could not be renewed"),
	is[serviceObject]("service.past_due", "A service has expired; it stays online for its days of grace"),
	is[serviceObject]("service.suspended", "A service was suspended"),
	is[serviceObject]("service.unsuspended", "A service is back from suspension"),
	is[serviceReminderObject]("service.termination_scheduled", "A suspended service ends in 7, 3 or 1 days"),
	is[serviceObject]("service.terminated", "A service has ended; its final backup is kept for a while"),
	is[serviceObject]("service.restored", "A service that had ended is back"),
	is[serviceObject]("service.tariff_changed", "A service has another tariff"),
	is[serviceObject]("service.tariff_change_failed", "A change of tariff that was planned for the renewal was not possible"),
	is[serviceObject]("service.updated", "Something else of a service has changed"),
	is[limitObject]("service.limit_reached", "A service uses 80 or 100 per cent of a limit of its plan"),
	is[serviceMoveObject]("service.migration_planned", "A service moves to another machine after a while"),
	is[serviceMigratedObject]("service.migrated", "A service has moved to another machine"),

	is[orderObject]("order.created", "An order awaits its payment"),
	is[orderObject]("order.paid", "An order was paid"),
	is[orderObject]("order.completed", "All that was ordered is there"),
	is[orderObject]("order.failed", "What was ordered could not be delivered"),
	is[orderObject]("order.cancelled", "An order was cancelled before it was paid"),
	is[orderObject]("order.expired", "An order was not paid in time"),
	is[orderObject]("order.refunded", "The money of an order is back in the wallet"),

	is[topupObject]("wallet.topup_succeeded", "Money has arrived in the wallet"),
	is[topupObject]("wallet.topup_failed", "A payment into the wallet has failed"),
	is[lowBalanceObject]("wallet.low_balance", "The balance fell below the threshold"),
	is[walletChangeObject]("wallet.adjusted", "The balance was corrected"),
	is[walletChangeObject]("wallet.sla_credited", "Money was given for time that a service was not available"),
	is[invoiceObject]("invoice.issued", "There is an invoice or a credit note"),

	is[domainObject]("domain.registered", "A domain was registered"),
	is[domainFailureObject]("domain.registration_failed", "A domain could not be registered; the money is back"),
	is[domainObject]("domain.renewed", "A domain was renewed"),
	is[domainFailureObject]("domain.renewal_failed", "A domain could not be renewed"),
	is[domainReminderObject]("domain.expiring", "A domain is about to expire"),
	is[domainObject]("domain.expired", "A domain has expired"),
	is[domainObject]("domain.redemption", "A domain can be had back for its price of restoration only"),
	is[domainObject]("domain.deleted", "A domain is gone"),
	is[domainObject]("domain.transfer_in_started", "A domain is on its way here"),
	is[domainObject]("domain.transfer_in_completed", "A domain has come here"),
	is[domainFailureObject]("domain.transfer_in_failed", "A domain could not be brought here; the money is back"),
	is[domainObject]("domain.transfer_out_requested", "Another registrar asks for a domain"),
	is[domainObject]("domain.transferred_out", "A domain has gone to another registrar"),
	is[domainObject]("domain.verification_required", "The registrant has to confirm an address"),
	is[domainObject]("domain.contacts_changed", "The contacts of a domain have changed"),
	is[domainObject]("domain.nameservers_changed", "The name servers of a domain, or its keys, have changed"),
	is[domainObject]("domain.lock_changed", "A domain was locked against transfers, or unlocked"),
	is[domainObject]("domain.privacy_changed", "The registrant of a domain is hidden, or shown"),

	is[certificateObject]("ssl.issued", "A certificate was issued"),
	is[certificateObject]("ssl.renewed", "A certificate was renewed"),
	is[certificateFailureObject]("ssl.failed", "A certificate could not be had; one that is there stays"),
	is[certificateObject]("ssl.expiring", "A certificate is about to expire"),
	is[backupObject]("backup.completed", "A backup was made"),
	is[backupObject]("backup.failed", "A backup could not be made, or was found damaged"),
	is[backupObject]("backup.restored", "A backup was restored"),
	is[backupObject]("backup.restore_failed", "A backup could not be restored"),
	is[mailboxObject]("mailbox.created", "A mailbox is ready"),
	is[mailboxObject]("mailbox.suspended", "A mailbox was suspended"),
	is[mailboxObject]("mailbox.quota_reached", "A mailbox is full"),
	is[databaseObject]("database.created", "A database is ready"),
	is[siteDomainObject]("site_domain.added", "A site answers to a further domain"),
	is[siteDomainObject]("site_domain.removed", "A site no longer answers to a domain"),
	is[siteDomainContestedObject]("site_domain.contested", "Another account has proven control of a domain and takes it soon"),
	is[siteDomainOwnerObject]("site_domain.displaced", "A domain of a site belongs to another account; the site goes on by its preview address"),
	is[siteDomainOwnerObject]("site_domain.reinstated", "A site answers to its domain again, which another account had"),

	is[addonObject]("addon.created", "An add-on was ordered"),
	is[addonObject]("addon.activated", "An add-on is ready"),
	is[addonObject]("addon.renewed", "An add-on was renewed"),
	is[addonObject]("addon.cancelled", "An add-on has ended, or ends with its period"),
	is[addonObject]("addon.failed", "An add-on could not be made"),

	is[monitorObject]("monitor.down", "What is monitored does not answer as it should"),
	is[monitorObject]("monitor.up", "What is monitored is back"),
	is[monitorObject]("monitor.degraded", "What is monitored is slow, or fails in some places"),
	is[monitorObject]("monitor.ssl_expiring", "The certificate of what is monitored is about to expire"),
	is[monitorObject]("monitor.domain_expiring", "The registration of a domain that is monitored is about to end"),
	is[monitorObject]("monitor.paused", "A monitor was paused"),
	is[slaObject]("sla.breached", "A service was available for less than is promised"),
	is[slaObject]("sla.compensated", "Money was given for it"),

	is[scanObject]("scan.completed", "A security scan is complete"),
	is[scanObject]("scan.failed", "A security scan was not possible"),
	is[insightObject]("insight.created", "There is something to improve"),
	is[insightObject]("insight.resolved", "Something has been improved"),
	is[runObject]("ai.run_completed", "The AI agent is done"),
	is[runObject]("ai.run_failed", "The AI agent could not do it"),
	is[runObject]("ai.approval_required", "The AI agent waits for an approval"),

	is[keyObject]("api_key.created", "There is a new API key"),
	is[keyObject]("api_key.revoked", "An API key was revoked"),
	is[priceObject]("catalog.price_changed", "A plan has another price"),
	is[incidentObject]("platform.incident_opened", "Something of the platform is disturbed"),
	is[incidentObject]("platform.incident_resolved", "It is over"),
	is[stubObject](testType, "You have asked for a test"),
	is[endpointObject](disabledType, "Nothing is sent any more to one of your addresses"),
}

var knownTypes = func() map[string]bool {
	all := map[string]bool{}
	for _, k := range kinds {
		all[k.typ] = true
	}
	return all
}()

func known(typ string) bool { return knownTypes[typ] }

// typesOf are the types that what an endpoint wants includes.
func typesOf(wanted string) (types []string) {
	for _, k := range kinds {
		if covers(wanted, k.typ) {
			types = append(types, k.typ)
		}
	}
	return types
}

// envelopeWire is the body of every request (resources, section 23).
type envelopeWire struct {
	ID         string           `json:"id" doc:"The same however often it is sent" example:"evt_0123456789abcdef"`
	Type       string           `json:"type"`
	CreatedAt  time.Time        `json:"created_at"`
	APIVersion string           `json:"api_version" enum:"v1"`
	Sandbox    bool             `json:"sandbox" doc:"Whether it happened in the sandbox"`
	Sequence   int64            `json:"sequence" minimum:"0" doc:"Rises with each event of one object; 0 in a test"`
	Data       envelopeDataWire `json:"data"`
	ClientRef  *string          `json:"client_ref" maxLength:"64" doc:"Your tag of what it happened to"`
}

type envelopeDataWire struct {
	Object    map[string]any `json:"object" doc:"As it is after the change"`
	Previous  map[string]any `json:"previous" doc:"The members that have changed, as they were"`
	Truncated bool           `json:"truncated,omitempty" doc:"The object was too large and is to be fetched by its id"`
}

// Webhooks describes the requests to endpoints, for the OpenAPI document.
func Webhooks() api.Webhooks {
	w := api.Webhooks{
		Envelope: reflect.TypeFor[envelopeWire](), Stub: reflect.TypeFor[stubObject](),
		Headers: []api.Header{
			{Name: "webhook-id", Doc: "The id of the event."},
			{Name: "webhook-timestamp", Doc: "When it was sent, in seconds since 1970."},
			{Name: "webhook-signature", Doc: "Signatures as of Standard Webhooks, one for each secret that is valid."},
			{Name: "X-Service-Signature", Doc: "Lowercase hexadecimal HMAC-SHA256 of the body under the newest secret."},
			{Name: "X-Service-Signature-Previous", Doc: "The same under the former secret, while a rotation lasts."},
		},
	}
	for _, k := range kinds {
		w.Events = append(w.Events, api.Event{Type: k.typ, Summary: k.summary, Object: k.object})
	}
	return w
}
