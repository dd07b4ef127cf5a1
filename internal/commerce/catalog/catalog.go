package catalog

import (
	"slices"

	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/labels"
	"stead.dev/stead/internal/platform/money"
)

// Unlimited is the value of a limit that has no bound.
const Unlimited = -1

// Limits of a plan. Unlimited means no bound.
type Limits struct {
	DiskMB      int64 `json:"disk_mb" yaml:"disk_mb"`
	Inodes      int64 `json:"inodes" yaml:"inodes"`
	BandwidthGB int64 `json:"bandwidth_gb" yaml:"bandwidth_gb"`
	Sites       int64 `json:"sites" yaml:"sites"`
	Domains     int64 `json:"domains" yaml:"domains"`
	Subdomains  int64 `json:"subdomains" yaml:"subdomains"`
	Databases   int64 `json:"databases" yaml:"databases"`
	Mailboxes   int64 `json:"mailboxes" yaml:"mailboxes"`
	FTPAccounts int64 `json:"ftp_accounts" yaml:"ftp_accounts"`
	CronJobs    int64 `json:"cron_jobs" yaml:"cron_jobs"`
	Backups     int64 `json:"backups" yaml:"backups"`
	CPUPercent  int64 `json:"cpu_percent" yaml:"cpu_percent"`
	MemoryMB    int64 `json:"memory_mb" yaml:"memory_mb"`
	Processes   int64 `json:"processes" yaml:"processes"`
	// Monitors is how many monitors it allows beside the one that each service has; MonitorIntervalS how often they may
	// be checked.
	Monitors         int64 `json:"monitors" yaml:"monitors"`
	MonitorIntervalS int64 `json:"monitor_interval_s" yaml:"monitor_interval_s"`
}

// monitorInterval is the one limit that is better the smaller it is: no add-on raises it.
const monitorInterval = "monitor_interval_s"

// unlimited has no bounds. Parsing a file starts with it and sets the limits that the file names.
func unlimited() Limits {
	return Limits{
		DiskMB: Unlimited, Inodes: Unlimited, BandwidthGB: Unlimited, Sites: Unlimited, Domains: Unlimited,
		Subdomains: Unlimited, Databases: Unlimited, Mailboxes: Unlimited, FTPAccounts: Unlimited,
		CronJobs: Unlimited, Backups: Unlimited, CPUPercent: Unlimited, MemoryMB: Unlimited, Processes: Unlimited,
		Monitors: Unlimited, MonitorIntervalS: Unlimited,
	}
}

// each calls a function for every limit with its name.
func (l Limits) each(visit func(name string, value int64)) {
	visit("disk_mb", l.DiskMB)
	visit("inodes", l.Inodes)
	visit("bandwidth_gb", l.BandwidthGB)
	visit("sites", l.Sites)
	visit("domains", l.Domains)
	visit("subdomains", l.Subdomains)
	visit("databases", l.Databases)
	visit("mailboxes", l.Mailboxes)
	visit("ftp_accounts", l.FTPAccounts)
	visit("cron_jobs", l.CronJobs)
	visit("backups", l.Backups)
	visit("cpu_percent", l.CPUPercent)
	visit("memory_mb", l.MemoryMB)
	visit("processes", l.Processes)
	visit("monitors", l.Monitors)
	visit(monitorInterval, l.MonitorIntervalS)
}

// category groups products.
type category struct {
	ID          int64
	Slug        string
	Name        i18n.Text
	Description i18n.Text
	Products    int // for sale
}

// product is a family of plans.
type product struct {
	ID           int64
	Slug         string
	CategoryID   int64
	CategorySlug string
	Type         string
	Name         i18n.Text
	Description  i18n.Text
	Features     []i18n.Text
	Terms        Terms
	Plans        []plan
}

// plan is what a customer orders: a product with its limits and its prices.
type plan struct {
	ID        int64
	Slug      string
	ProductID int64
	Name      i18n.Text
	details
	// Stock is how many may be sold; nil means no bound. Sold counts the sales of a plan that has a stock.
	Stock *int64
	Sold  int64
	// OnSale is true while the operator's file names the plan.
	OnSale bool
	Prices []price
}

// details are the members of a plan that no statement reads; they are stored as JSON.
type details struct {
	Limits      Limits   `json:"limits"`
	PHPVersions []string `json:"php_versions"`
	Addons      []string `json:"addons"`
	Locations   []string `json:"locations"`
	// NodeLabels are asked of the nodes on which services are placed. Customers do not see them.
	NodeLabels  labels.Set `json:"node_labels,omitempty"`
	UpgradeTo   []string   `json:"upgrade_to"`
	DowngradeTo []string   `json:"downgrade_to"`
	// SLA is nil when the plan promises no uptime.
	SLA *Promise `json:"sla,omitempty"`
}

// left is how many can still be sold; nil means no bound. It is zero, not negative, after an operator has lowered the stock
// below the number of sales.
func (p plan) left() *int64 {
	if p.Stock == nil {
		return nil
	}
	n := max(0, *p.Stock-p.Sold)
	return &n
}

func (p plan) soldOut() bool {
	left := p.left()
	return left != nil && *left == 0
}

// price of a plan for a period.
type price struct {
	PeriodMonths     int
	Price            money.USDCents
	FirstPeriodPrice *money.USDCents
	Setup            money.USDCents
}

func (p plan) price(months int) (price, bool) {
	i := slices.IndexFunc(p.Prices, func(x price) bool { return x.PeriodMonths == months })
	if i < 0 {
		return price{}, false
	}
	return p.Prices[i], true
}
