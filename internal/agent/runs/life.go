package runs

import (
	"slices"
	"time"
)

// situation is all of a run that decides what is done next.
type situation struct {
	run

	calls   []call   // all of the run, in their order
	changes []change // all of the run, in their order
	// answered tells that the model has spoken in this run: after its last calls are done it is asked again, and when it had
	// none the run is done.
	answered bool
	// last is the message of the model's last answer.
	last int64
}

// doing is what is done next with a run.
type doing int

const (
	settle   doing = iota // make the changes that are in the journal
	look                  // at the site after changes
	act                   // do the call
	ask                   // ask the model
	conclude              // end it
)

// action is what is done next.
type action struct {
	doing

	call   call   // of act
	reason Reason // of conclude
}

func end(r Reason) action { return action{doing: conclude, reason: r} }

// next decides what is done with a run now. Changes that are in the journal come first: whatever ends the run, it is known
// of each of them whether it was made.
func (s situation) next(now time.Time) action {
	switch {
	case slices.ContainsFunc(s.changes, change.unsettled) && s.resumes <= mostResume:
		return action{doing: settle}
	case s.site == siteBroken:
		return end(SiteBroken)
	case slices.ContainsFunc(s.changes, s.stopsAt):
		return end(ServiceChanged)
	case s.cancelling:
		return end(Stopped)
	case s.kind == Agent && s.conversationID == nil: // it was removed; nothing is left to be asked
		return end(Interrupted)
	case s.resumes > mostResume || s.lost > mostLost:
		return end(Interrupted)
	case s.deadline != nil && !now.Before(*s.deadline):
		return s.lookOr(end(TimeLimit))
	case s.kind == Undo:
		return end(Done)
	}
	for _, c := range s.calls {
		if c.status == callPending {
			return action{doing: act, call: c}
		}
	}
	return s.lookOr(s.answer())
}

// lookOr looks at the site before something else is done, if it was changed and not looked at since.
func (s situation) lookOr(a action) action {
	if s.site == siteChanged {
		return action{doing: look}
	}
	return a
}

// answer decides what is done when all calls of the last answer are done.
func (s situation) answer() action {
	switch {
	case malformedInARow(s.calls) >= mostBad:
		return end(ModelGarbage)
	case repeats(s.calls) > mostSame:
		return end(LoopDetected)
	case s.answered && !s.asking && !calledIn(s.calls, s.last):
		return end(Done)
	case s.steps >= s.terms.Steps:
		return end(StepLimit)
	}
	return action{doing: ask}
}

// unsettled tells that a change is in the journal and was not made yet.
func (c change) unsettled() bool { return c.status == prepared }

// stopsAt tells that the run cannot go on because a change could not be made. An undo needs all of its changes, but a folder
// into which somebody has put something stays.
func (s situation) stopsAt(c change) bool {
	return c.status == conflict || s.kind == Undo && c.status == failed && c.kind != rmdir
}

// malformedInARow counts the last calls that were malformed.
func malformedInARow(calls []call) (n int) {
	for _, c := range calls {
		n++
		if !c.malformed {
			n = 0
		}
	}
	return n
}

// repeats is how often the last call was made in this run with the same result, itself included.
func repeats(calls []call) (n int) {
	if len(calls) == 0 {
		return 0
	}
	last := calls[len(calls)-1].signature
	if last == nil {
		return 0
	}
	return same(calls, *last)
}

// same counts the calls with a signature.
func same(calls []call, signature string) (n int) {
	for _, c := range calls {
		if c.signature != nil && *c.signature == signature {
			n++
		}
	}
	return n
}

// calledIn tells whether a message of the model has calls.
func calledIn(calls []call, messageID int64) bool {
	return slices.ContainsFunc(calls, func(c call) bool { return c.messageID == messageID })
}
