package runs

import (
	"time"

	"stead.dev/stead/internal/platform/money"
)

// Status is where a run stands.
type Status string

// The states of runs.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Waiting   Status = "waiting_approval"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// open tells that a run is not over.
func (s Status) open() bool { return s == Queued || s == Running || s == Waiting }

// Reason is why a run is over.
type Reason string

// The reasons.
const (
	Done            Reason = "done"
	Stopped         Reason = "cancelled"
	StepLimit       Reason = "step_limit"
	SizeLimit       Reason = "size_limit"
	TimeLimit       Reason = "time_limit"
	Budget          Reason = "budget"
	LoopDetected    Reason = "loop_detected"
	ModelFailed     Reason = "model_failed"
	ModelGarbage    Reason = "model_garbage"
	Interrupted     Reason = "interrupted"
	ApprovalExpired Reason = "approval_expired"
	ServiceChanged  Reason = "service_changed"
	SiteBroken      Reason = "site_broken" // by its changes, which were undone
)

// status is the state of a run that ends for the reason.
func (r Reason) status() Status {
	switch r {
	case Done:
		return Completed
	case Stopped:
		return Cancelled
	default:
		return Failed
	}
}

// Kind tells who makes the changes of a run.
type Kind string

// The kinds of runs.
const (
	Agent Kind = "agent" // a model, on a task
	Undo  Kind = "undo"  // the undoing of changes
)

// Bounds of a run. The steps are bounded by the settings.
const (
	mostCalls  = 8         // in one answer of the model
	mostFiles  = 50        // changed
	mostBytes  = 2 << 20   // written
	mostEdited = 1 << 20   // of one file that is read or written
	mostResult = 24 << 10  // of one result that the model gets
	mostInput  = 100_000   // tokens of one request; older results are left out of it
	mostOutput = 8_000     // tokens of one answer
	mostKept   = 200 << 20 // of a service's contents in the journal, compressed
	mostResume = 2         // times that a run is taken from a process that died
	mostLost   = 2         // answers that are asked for again
	mostBad    = 3         // malformed calls in a row
	mostSame   = 3         // equal calls with equal results; the next one ends the run

	workTime = 10 * time.Minute
	// mostHeld is what one run may cost.
	mostHeld money.USDCents = 100
)

// terms are the settings that held when a run began; later ones do not reach it.
type terms struct {
	Mode     Mode     `json:"mode,omitempty"`
	Model    string   `json:"model,omitempty"`
	Language string   `json:"language,omitempty"`
	Tools    []string `json:"tools,omitempty"` // empty: all
	Allowed  []string `json:"allowed,omitempty"`
	Denied   []string `json:"denied,omitempty"`
	Steps    int      `json:"steps,omitempty"`
	// KeepBroken leaves changes that break the site as they are.
	KeepBroken bool `json:"keep_broken,omitempty"`
	// Nonce marks the results of tools. Texts of the site cannot know it, so they cannot pretend to end one.
	Nonce string `json:"nonce,omitempty"`
}

// run is a row of ai_runs.
type run struct {
	id, accountID, serviceID int64
	conversationID           *int64
	kind                     Kind
	status                   Status
	reason                   *Reason
	terms                    terms
	epoch                    int64
	leaseUntil               time.Time
	resumes                  int
	site                     siteState
	cancelling, asking       bool
	lost, steps              int
	deadline                 *time.Time
	timeLeft                 int64 // microseconds
	held                     money.USDCents
	cost                     int64 // pico-USD
	charged                  *money.USDCents
	inputTokens              int64
	outputTokens             int64
	events                   int64
	createdAt                time.Time
	finishedAt               *time.Time
}

// pause stops the clock of a run that waits for a person.
func (r *run) pause(now time.Time) {
	if r.deadline != nil {
		r.timeLeft = max(r.deadline.Sub(now), 0).Microseconds()
		r.deadline = nil
	}
}

// goOn starts it again.
func (r *run) goOn(now time.Time) {
	if r.deadline == nil {
		at := now.Add(time.Duration(r.timeLeft) * time.Microsecond)
		r.deadline = &at
	}
}

// Talk is where a conversation stands.
type Talk string

// The states of conversations (resources, section 14).
const (
	Idle       Talk = "idle"
	TalkRuns   Talk = "running"
	TalkWaits  Talk = "waiting_approval"
	TalkFailed Talk = "failed"
)

// talk is the state of the conversation of a run in this state.
func (s Status) talk() Talk {
	switch s {
	case Queued, Running:
		return TalkRuns
	case Waiting:
		return TalkWaits
	case Failed:
		return TalkFailed
	default:
		return Idle
	}
}

// conversation is a row of ai_conversations.
type conversation struct {
	id, accountID, serviceID int64
	title                    string
	status                   Talk
	createdAt, lastMessageAt time.Time
}

// message is a row of ai_messages.
type message struct {
	id, conversationID, runID int64
	role, content             string
	callID                    *int64
	failed                    bool
	createdAt                 time.Time
}

// The roles of messages.
const (
	byUser      = "user"
	byAssistant = "assistant"
	byTool      = "tool"
)

// callStatus is where a call stands.
type callStatus string

const (
	callPending  callStatus = "pending"
	callWaiting  callStatus = "waiting" // for an approval
	callDone     callStatus = "done"
	callFailed   callStatus = "failed"
	callRejected callStatus = "rejected"
	callSkipped  callStatus = "skipped" // the run ended before
)

// call is a row of ai_calls.
type call struct {
	id, conversationID, runID, messageID int64
	ref, tool, arguments                 string
	status                               callStatus
	malformed                            bool
	signature                            *string
	summary                              string
	createdAt                            time.Time
	finishedAt                           *time.Time
}
