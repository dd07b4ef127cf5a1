package services

// Status is where a service is in its life.
type Status string

// The states of resources, section 1.
const (
	Pending      Status = "pending"      // its order is not paid
	Provisioning Status = "provisioning" // a job makes the account
	Active       Status = "active"
	PastDue      Status = "past_due" // expired, still online
	Suspended    Status = "suspended"
	Terminating  Status = "terminating"
	Terminated   Status = "terminated"
	Failed       Status = "failed"    // could not be provisioned; the money went back
	Cancelled    Status = "cancelled" // never paid
)

// event is what moves a service from one state to another.
type event string

const (
	orderPaid         event = "order_paid"
	orderDropped      event = "order_dropped" // cancelled, or unpaid for too long
	accountMade       event = "account_made"
	accountRefused    event = "account_refused"
	expired           event = "expired" // expires_at passed and the renewal is not covered
	graceOver         event = "grace_over"
	renewed           event = "renewed"
	suspensionOrdered event = "suspension_ordered" // by an operator: abuse, manual, resource limit
	suspensionLifted  event = "suspension_lifted"
	terminationDue    event = "termination_due"
	accountRemoved    event = "account_removed"
	endOrdered        event = "end_ordered" // by the owner
	restored          event = "restored"
	notRestored       event = "not_restored" // the panel refuses the account of one that was to come back
	tariffChanged     event = "tariff_changed"
)

// transitions is the whole machine. What it does not name cannot happen. A
// tariff changes in "any" state that has a live account.
var transitions = map[Status]map[event]Status{
	Pending:      {orderPaid: Provisioning, orderDropped: Cancelled},
	Provisioning: {accountMade: Active, accountRefused: Failed, notRestored: Terminated},
	Active:       {expired: PastDue, renewed: Active, suspensionOrdered: Suspended, tariffChanged: Active, endOrdered: Terminating},
	PastDue:      {graceOver: Suspended, renewed: Active, suspensionOrdered: Suspended, tariffChanged: PastDue, endOrdered: Terminating},
	Suspended:    {renewed: Active, suspensionLifted: Active, terminationDue: Terminating, tariffChanged: Suspended, endOrdered: Terminating},
	Terminating:  {accountRemoved: Terminated},
	Terminated:   {restored: Provisioning},
}

// after is the state that e leads to from s; false when it leads nowhere.
func (s Status) after(e event) (Status, bool) {
	next, ok := transitions[s][e]
	return next, ok
}

// live tells whether the service has, or is getting, an account on a panel. Such a
// service holds its domain; the index services_live_domain says the same.
func (s Status) live() bool {
	switch s {
	case Provisioning, Active, PastDue, Suspended, Terminating:
		return true
	default:
		return false
	}
}

// actions are what the customer can do with a service in this state.
func (s Status) actions() []string {
	switch s {
	case Pending:
		return []string{"pay", "cancel", "update"}
	case Active, PastDue:
		return []string{"update", "manage_files", "renew", "change_tariff"}
	case Suspended:
		return []string{"update", "renew"}
	case Provisioning:
		return []string{"update"}
	default:
		return []string{}
	}
}

// Statuses are all that a service can be in, in the order of its life.
func Statuses() []Status {
	return []Status{Pending, Provisioning, Active, PastDue, Suspended, Terminating, Terminated, Failed, Cancelled}
}

// SuspendReason says why a service is suspended.
type SuspendReason string

// The reasons of resources, section 1.
const (
	Unpaid        SuspendReason = "unpaid"
	Abuse         SuspendReason = "abuse"
	Manual        SuspendReason = "manual"
	ResourceLimit SuspendReason = "resource_limit"
)
