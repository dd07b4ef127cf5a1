package orders

// Status is where an order is.
type Status string

// The states of resources, section 2.
const (
	Pending    Status = "pending" // awaits payment
	Paid       Status = "paid"
	Processing Status = "processing" // paid, and what was bought is being made
	Completed  Status = "completed"
	Failed     Status = "failed"
	Refunded   Status = "refunded"
	Cancelled  Status = "cancelled"
	Expired    Status = "expired"
)

// event is what moves an order from one state to another.
type event string

const (
	payment      event = "payment"
	workBegun    event = "work_begun"
	workDone     event = "work_done"
	workFailed   event = "work_failed"
	moneyBack    event = "money_back"
	cancellation event = "cancellation"
	timeUp       event = "time_up"
)

// transitions is the whole machine. What it does not name cannot happen.
var transitions = map[Status]map[event]Status{
	Pending:    {payment: Paid, cancellation: Cancelled, timeUp: Expired},
	Paid:       {workBegun: Processing},
	Processing: {workDone: Completed, workFailed: Failed},
	Failed:     {moneyBack: Refunded},
}

// after is the state that e leads to from s; false when it leads nowhere.
func (s Status) after(e event) (Status, bool) {
	next, ok := transitions[s][e]
	return next, ok
}
