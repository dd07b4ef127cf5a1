package webhooks

import (
	"net/netip"
	"time"

	"stead.dev/stead/internal/platform/money"
)

// The types of this file are the objects of events as promised to receivers: the contract that the sections keep when
// they emit events, and that the tests of the whole server check for every event. Members may be added; none is renamed
// or removed.

// stubObject replaces an object that is too large.
type stubObject struct {
	ID int64 `json:"id"`
}

type serviceObject struct {
	ID            int64             `json:"id"`
	Label         string            `json:"label"`
	Type          string            `json:"type" doc:"hosting; more may be added"`
	Status        string            `json:"status" enum:"pending,provisioning,active,past_due,suspended,terminating,terminated,failed,cancelled"`
	Domain        *string           `json:"domain"`
	ClientRef     *string           `json:"client_ref"`
	ExpiresAt     *time.Time        `json:"expires_at"`
	OrderID       int64             `json:"order_id"`
	PlanID        int64             `json:"plan_id"`
	AutoRenew     bool              `json:"auto_renew"`
	FailureKey    *string           `json:"failure_key" doc:"Why it could not be made: an error key"`
	SuspendReason *string           `json:"suspend_reason" doc:"unpaid, abuse, manual or resource_limit; more may be added"`
	ProvisionedAt *time.Time        `json:"provisioned_at"`
	SuspendedAt   *time.Time        `json:"suspended_at"`
	GraceUntil    *time.Time        `json:"grace_until" doc:"Until when it stays online although it is not paid"`
	TerminatesAt  *time.Time        `json:"terminates_at" doc:"When it ends, where that is known"`
	PendingPlanID *int64            `json:"pending_plan_id" doc:"The plan that comes with the next renewal"`
	Metadata      map[string]string `json:"metadata,omitempty" doc:"What you noted of it; left out when it is larger than 8 KiB: ask for the service"`
}

type serviceReminderObject struct {
	serviceObject
	Days int `json:"days" doc:"How many are left"`
}

type serviceMoveObject struct {
	serviceObject
	Minutes int `json:"minutes" doc:"In how many it begins, at the earliest"`
}

type serviceMigratedObject struct {
	serviceObject
	IPv4     string `json:"ipv4" doc:"Its address from now on"`
	IPv6     string `json:"ipv6" doc:"Empty where it has none"`
	Location string `json:"location"`
}

type serviceFailureObject struct {
	serviceObject
	ErrorKey string `json:"error_key"`
}

type limitObject struct {
	ServiceID int64  `json:"service_id"`
	Domain    string `json:"domain"`
	Limit     string `json:"limit" doc:"Of the plan, such as disk_mb" example:"disk_mb"`
	Percent   int64  `json:"percent" doc:"The mark that was reached: 80 or 100"`
	Used      int64  `json:"used"`
	Maximum   int64  `json:"maximum"`
}

type orderObject struct {
	ID          int64             `json:"id"`
	Number      string            `json:"number"`
	Status      string            `json:"status" enum:"pending,paid,processing,completed,failed,refunded,cancelled,expired"`
	Kind        string            `json:"kind" enum:"new,renewal,tariff_change,addon,domain_register,domain_transfer,domain_renew,domain_restore"`
	Items       []orderItemObject `json:"items"`
	Subtotal    money.Money       `json:"subtotal"`
	Discount    money.Money       `json:"discount"`
	Tax         money.Money       `json:"tax"`
	TaxIncluded money.Money       `json:"tax_included" doc:"Contained in the prices"`
	Refunded    money.Money       `json:"refunded" doc:"Given back to the wallet after the order was completed"`
	Total       money.Money       `json:"total"`
	CouponCode  *string           `json:"coupon_code"`
	ServiceID   *int64            `json:"service_id"`
	ClientRef   *string           `json:"client_ref"`
	InvoiceID   *int64            `json:"invoice_id"`
	FailureKey  *string           `json:"failure_key"`
	ExpiresAt   time.Time         `json:"expires_at"`
	CreatedAt   time.Time         `json:"created_at"`
	PaidAt      *time.Time        `json:"paid_at"`
	CompletedAt *time.Time        `json:"completed_at"`
	CancelledAt *time.Time        `json:"cancelled_at"`
}

type orderItemObject struct {
	ID           int64       `json:"id"`
	Kind         string      `json:"kind" enum:"new,renewal,tariff_change,addon,domain_register,domain_transfer,domain_renew,domain_restore"`
	Title        string      `json:"title"`
	PlanID       *int64      `json:"plan_id"`
	Domain       *string     `json:"domain"`
	Quantity     int         `json:"quantity"`
	PeriodMonths *int        `json:"period_months"`
	UnitPrice    money.Money `json:"unit_price"`
	Setup        money.Money `json:"setup"`
	Discount     money.Money `json:"discount"`
	Tax          money.Money `json:"tax"`
	TaxIncluded  money.Money `json:"tax_included" doc:"Contained in the price"`
	Total        money.Money `json:"total"`
	ServiceID    *int64      `json:"service_id"`
	DomainID     *int64      `json:"domain_id"`
	Status       string      `json:"status" enum:"pending,processing,completed,failed,refunded"`
}

type topupObject struct {
	ID             int64          `json:"id"`
	Gateway        string         `json:"gateway"`
	AmountUSDCents money.USDCents `json:"amount_usd_cents"`
	FeeUSDCents    money.USDCents `json:"fee_usd_cents"`
	Status         string         `json:"status"`
	FailureKey     *string        `json:"failure_key"`
	CreatedAt      time.Time      `json:"created_at"`
	CompletedAt    *time.Time     `json:"completed_at"`
}

type walletChangeObject struct {
	Type                 string         `json:"type" doc:"Of the movement, such as adjustment, refund or chargeback"`
	AmountUSDCents       money.USDCents `json:"amount_usd_cents" doc:"Signed: what was given is above zero"`
	BalanceAfterUSDCents money.USDCents `json:"balance_after_usd_cents"`
	Reason               string         `json:"reason"`
}

type domainObject struct {
	ID                int64             `json:"id"`
	Name              string            `json:"name"`
	UnicodeName       string            `json:"unicode_name"`
	TLD               string            `json:"tld"`
	Status            string            `json:"status" enum:"pending_payment,pending_registration,pending_transfer_in,pending_verification,active,expired,grace,redemption,pending_delete,transferred_out,cancelled,suspended,failed"`
	ExpiresAt         *time.Time        `json:"expires_at"`
	RegisteredAt      *time.Time        `json:"registered_at"`
	AutoRenew         bool              `json:"auto_renew"`
	Privacy           bool              `json:"privacy"`
	PrivacySupported  bool              `json:"privacy_supported"`
	Locked            bool              `json:"locked"`
	TransferLockUntil *time.Time        `json:"transfer_lock_until"`
	Nameservers       []string          `json:"nameservers"`
	GlueHosts         []glueObject      `json:"glue_hosts"`
	DNSSEC            dnssecObject      `json:"dnssec"`
	Contacts          map[string]string `json:"contacts" doc:"Handles of the registrar, by role"`
	RenewPrice        *money.Money      `json:"renew_price"`
	RestorePrice      *money.Money      `json:"restore_price"`
	GraceUntil        *time.Time        `json:"grace_until"`
	RedemptionUntil   *time.Time        `json:"redemption_until"`
	RegistryStatuses  []string          `json:"registry_statuses" doc:"In the words of EPP"`
	ClientRef         *string           `json:"client_ref"`
	CreatedAt         time.Time         `json:"created_at"`
}

type glueObject struct {
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses"`
}

type dnssecObject struct {
	Enabled   bool       `json:"enabled"`
	DSRecords []dsObject `json:"ds_records"`
}

type dsObject struct {
	KeyTag     uint16 `json:"key_tag"`
	Algorithm  uint8  `json:"algorithm"`
	DigestType uint8  `json:"digest_type"`
	Digest     string `json:"digest"`
}

type domainFailureObject struct {
	domainObject
	ErrorKey string `json:"error_key"`
}

type domainReminderObject struct {
	domainObject
	Days int `json:"days" doc:"How many are left"`
}

type certificateObject struct {
	ID         int64      `json:"id"`
	ServiceID  int64      `json:"service_id"`
	CommonName string     `json:"common_name"`
	Names      []string   `json:"names"`
	Kind       string     `json:"kind" enum:"acme,custom,self_signed"`
	ExpiresAt  *time.Time `json:"expires_at"`
}

type certificateFailureObject struct {
	certificateObject
	ErrorKey *string `json:"error_key,omitempty"`
	Reason   *string `json:"reason,omitempty" doc:"What in particular, as a key"`
	Error    string  `json:"error,omitempty" doc:"In the words of the authority; never branch on it"`
}

type backupObject struct {
	ID        int64              `json:"id"`
	ServiceID int64              `json:"service_id"`
	Kind      string             `json:"kind" doc:"auto, manual, pre_change; more may be added"`
	Status    string             `json:"status" enum:"queued,running,completed,failed,restoring,deleted"`
	Parts     []backupPartObject `json:"parts"`
	SizeMB    int64              `json:"size_mb"`
	ErrorKey  *string            `json:"error_key"`
}

type backupPartObject struct {
	Part   string `json:"part" enum:"files,databases,mail,dns,cron"`
	Status string `json:"status" enum:"queued,running,completed,failed"`
	SizeMB int64  `json:"size_mb"`
	Count  int64  `json:"count"`
}

type mailboxObject struct {
	ID        int64  `json:"id"`
	ServiceID int64  `json:"service_id"`
	Address   string `json:"address"`
	QuotaMB   int64  `json:"quota_mb"`
}

type databaseObject struct {
	ID        int64  `json:"id"`
	ServiceID int64  `json:"service_id"`
	Name      string `json:"name"`
	Engine    string `json:"engine" enum:"mysql,mariadb,postgresql"`
}

type siteDomainObject struct {
	ID        int64  `json:"id"`
	ServiceID int64  `json:"service_id"`
	Name      string `json:"name"`
	Kind      string `json:"kind" doc:"primary, addon, alias, subdomain, redirect; more may be added"`
}

type siteDomainOwnerObject struct {
	siteDomainObject
	Domain string `json:"domain" doc:"The name that the customer gave it, as people write it; name is a stand-in while it is displaced"`
}

type siteDomainContestedObject struct {
	siteDomainOwnerObject
	TakesAt time.Time `json:"takes_at" doc:"Until when its holder can prove control too, and keep it"`
}

type addonObject struct {
	ID           int64       `json:"id"`
	ServiceID    int64       `json:"service_id"`
	OrderID      int64       `json:"order_id"`
	Key          string      `json:"key" example:"extra_disk"`
	Name         string      `json:"name"`
	Quantity     int         `json:"quantity"`
	UnitPrice    money.Money `json:"unit_price"`
	Price        money.Money `json:"price" doc:"Of all of them, each period"`
	PeriodMonths int         `json:"period_months"`
	Status       string      `json:"status" enum:"pending,active,suspended,cancelling,cancelled,failed"`
	Value        *string     `json:"value"`
	AutoRenew    bool        `json:"auto_renew"`
	RenewsAt     *time.Time  `json:"renews_at"`
	EndsAt       *time.Time  `json:"ends_at"`
	FailureKey   *string     `json:"failure_key"`
	CreatedAt    time.Time   `json:"created_at"`
	ActivatedAt  *time.Time  `json:"activated_at"`
	CancelledAt  *time.Time  `json:"cancelled_at"`
}

type monitorObject struct {
	ID                 int64      `json:"id"`
	Name               string     `json:"name"`
	Type               string     `json:"type" enum:"http,keyword,json,ping,tcp,dns,ssl,domain,heartbeat"`
	Status             string     `json:"status" enum:"pending,up,degraded,down,maintenance,paused"`
	ServiceID          *int64     `json:"service_id"`
	LastCheckedAt      *time.Time `json:"last_checked_at"`
	LastStatusChangeAt *time.Time `json:"last_status_change_at"`
	ErrorKey           *string    `json:"error_key,omitempty"`
}

type slaObject struct {
	ServiceID     int64     `json:"service_id"`
	PeriodStart   time.Time `json:"period_start"`
	PeriodEnd     time.Time `json:"period_end"`
	UptimePercent string    `json:"uptime_percent" doc:"With three decimals" example:"99.912"`
	SLAPercent    string    `json:"sla_percent" example:"99.900"`
}

type scanObject struct {
	ID        int64   `json:"id"`
	URL       string  `json:"url"`
	ServiceID *int64  `json:"service_id"`
	Status    string  `json:"status" enum:"queued,running,completed,failed"`
	Score     *int    `json:"score"`
	Grade     *string `json:"grade"`
}

type insightObject struct {
	ID        int64  `json:"id"`
	ServiceID int64  `json:"service_id"`
	Kind      string `json:"kind"`
	Severity  string `json:"severity"`
	Title     string `json:"title"`
	Status    string `json:"status" enum:"open,dismissed,resolved,expired"`
}

type runObject struct {
	ID        int64   `json:"id"`
	ServiceID int64   `json:"service_id"`
	Title     string  `json:"title"`
	Status    string  `json:"status" enum:"idle,running,waiting_approval,failed"`
	ErrorKey  *string `json:"error_key,omitempty"`
}

type keyObject struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Sandbox  bool   `json:"sandbox"`
	ReadOnly bool   `json:"read_only"`
}

type priceObject struct {
	PlanID       int64       `json:"plan_id"`
	PeriodMonths int         `json:"period_months"`
	Price        money.Money `json:"price"`
}

type incidentObject struct {
	ID        int64     `json:"id"`
	Title     string    `json:"title"`
	Impact    string    `json:"impact"`
	Status    string    `json:"status" enum:"investigating,identified,monitoring,resolved"`
	StartedAt time.Time `json:"started_at"`
}

type endpointObject struct {
	ID             int64  `json:"id"`
	Host           string `json:"host" doc:"Of the endpoint's address"`
	Status         string `json:"status" enum:"disabled"`
	DisabledReason string `json:"disabled_reason" doc:"gone: it answered 410; failing: it did nothing but fail for five days"`
}

type invoiceObject struct {
	ID          int64       `json:"id"`
	Number      string      `json:"number" example:"INV-2026-000123"`
	Kind        string      `json:"kind" enum:"invoice,credit_note,receipt"`
	Status      string      `json:"status" enum:"unpaid,paid,refunded"`
	Subtotal    money.Money `json:"subtotal"`
	Discount    money.Money `json:"discount"`
	Tax         money.Money `json:"tax" doc:"Added to the price"`
	TaxIncluded money.Money `json:"tax_included" doc:"Contained in the price"`
	Total       money.Money `json:"total"`
	OrderID     *int64      `json:"order_id"`
	TopupID     *int64      `json:"topup_id"`
	ServiceID   *int64      `json:"service_id"`
	CorrectsID  *int64      `json:"corrects_id" doc:"Of a credit note: the invoice that it takes back from"`
	PDFURL      string      `json:"pdf_url"`
	IssuedAt    time.Time   `json:"issued_at"`
}

type lowBalanceObject struct {
	BalanceUSDCents   money.USDCents `json:"balance_usd_cents"`
	ThresholdUSDCents money.USDCents `json:"threshold_usd_cents"`
}
