package runs

import (
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/port/llm"
)

func TestEditsAreAllMadeOrNone(t *testing.T) {
	t.Parallel()
	const content = "\ufeff<p>One</p>\r\n<p>Two</p>\r\n<p>Two</p>\r\n"
	for name, c := range map[string]struct {
		edits   []edition
		want    string
		refusal string
	}{
		"two at once":         {[]edition{{Old: "One", New: "Eins"}, {Old: "Two", New: "Zwei", Count: 2}}, "\ufeff<p>Eins</p>\r\n<p>Zwei</p>\r\n<p>Zwei</p>\r\n", ""},
		"over lines":          {[]edition{{Old: "One</p>\n<p>Two", New: "A\nB"}}, "\ufeff<p>A\r\nB</p>\r\n<p>Two</p>\r\n", ""},
		"found more often":    {[]edition{{Old: "One", New: "Eins"}, {Old: "Two", New: "Zwei"}}, "", "occurs 2 times and not 1"},
		"not found":           {[]edition{{Old: "<p>One</p", New: "x"}, {Old: "<p>on</p>", New: "x"}}, "", "occurs 0 times"},
		"nearly found":        {[]edition{{Old: "  <p>One</p> ", New: "x"}}, "", "line 1: \ufeff<p>One</p>"},
		"overlapping":         {[]edition{{Old: "<p>One", New: "x"}, {Old: "One</p>", New: "y"}}, "", "overlap"},
		"nothing":             {[]edition{{Old: "", New: "x"}}, "", "old is empty"},
		"what the first made": {[]edition{{Old: "One", New: "Three"}, {Old: "Three", New: "Four"}}, "", "occurs 0 times"},
	} {
		got, err := applyEdits(content, c.edits)
		switch {
		case c.refusal == "" && (err != nil || got != c.want):
			t.Errorf("%s: %q, %v", name, got, err)
		case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)):
			t.Errorf("%s: %v, want %q", name, err, c.refusal)
		}
	}
}

func TestAContentThatLeavesSomethingOutIsRefused(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("<p>A line</p>\n", 50)
	for after, want := range map[string]bool{
		"<p>New</p>\n<!-- rest of the page unchanged -->": true,
		"<p>New</p>\n/* ... existing code ... */":         true,
		"<p>New</p>\n": false,
		before + "<!-- the rest of the page is unchanged -->": false,
	} {
		if got := truncates(before, after); got != want {
			t.Errorf("%q: %v", after, got)
		}
	}
}

func TestPathsStayInTheHome(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]string{
		"public_html/a": "/public_html/a", "/public_html/": "/public_html", "/": "/", "./a//b": "/a/b", "/..a/b": "/..a/b",
		"": "", "..": "", "/a/../b": "", "a/..": "", "/a\x00": "", "/a\nb": "", strings.Repeat("a", 1025): "",
	} {
		if got, ok := cleanPath(p); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", p, got, ok)
		}
	}
}

func TestWhatIsDoneNextWithARun(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	later, talk, a, b := now.Add(time.Minute), int64(1), "a", "b"
	working := run{kind: Agent, conversationID: &talk, status: Running, terms: terms{Steps: 5}, steps: 1, deadline: &later}
	with := func(f func(s *situation)) situation {
		s := situation{run: working}
		f(&s)
		return s
	}
	done := func(signature *string, malformed bool, message int64) call {
		return call{status: callDone, signature: signature, malformed: malformed, messageID: message}
	}
	for name, c := range map[string]struct {
		situation
		want action
	}{
		"it begins":                   {with(func(*situation) {}), action{doing: ask}},
		"a change is in the journal":  {with(func(s *situation) { s.changes, s.cancelling = []change{{status: prepared}}, true }), action{doing: settle}},
		"a change cannot be made":     {with(func(s *situation) { s.changes = []change{{status: conflict}} }), end(ServiceChanged)},
		"it is to end":                {with(func(s *situation) { s.cancelling = true }), end(Stopped)},
		"its processes died":          {with(func(s *situation) { s.resumes = 3 }), end(Interrupted)},
		"they died over a change":     {with(func(s *situation) { s.resumes, s.changes = 3, []change{{status: prepared}} }), end(Interrupted)},
		"it has no conversation":      {with(func(s *situation) { s.conversationID = nil }), end(Interrupted)},
		"answers were lost":           {with(func(s *situation) { s.lost = 3 }), end(Interrupted)},
		"its time is over":            {with(func(s *situation) { s.deadline = &now }), end(TimeLimit)},
		"an undo is complete":         {with(func(s *situation) { s.kind = Undo }), end(Done)},
		"a call is open":              {with(func(s *situation) { s.calls = []call{done(&a, false, 1), {id: 7, status: callPending}} }), action{doing: act, call: call{id: 7, status: callPending}}},
		"the model has said it all":   {with(func(s *situation) { s.answered, s.last, s.calls = true, 2, []call{done(&a, false, 1)} }), end(Done)},
		"its calls are done":          {with(func(s *situation) { s.answered, s.last, s.calls = true, 1, []call{done(&a, false, 1)} }), action{doing: ask}},
		"an answer was lost after it": {with(func(s *situation) { s.answered, s.asking, s.last = true, true, 1 }), action{doing: ask}},
		"three malformed calls":       {with(func(s *situation) { s.calls = []call{done(&a, true, 1), done(&b, true, 1), done(&a, true, 1)} }), end(ModelGarbage)},
		"two, and one that was not":   {with(func(s *situation) { s.calls = []call{done(&a, true, 1), done(&b, true, 1), done(&a, false, 1)} }), action{doing: ask}},
		"the fourth equal call": {with(func(s *situation) {
			s.calls = []call{done(&a, false, 1), done(&a, false, 1), done(&b, false, 1), done(&a, false, 1), done(&a, false, 1)}
		}), end(LoopDetected)},
		"four equal calls, then other": {with(func(s *situation) {
			s.calls = []call{done(&a, false, 1), done(&a, false, 1), done(&a, false, 1), done(&b, false, 1)}
		}), action{doing: ask}},
		"the steps are used": {with(func(s *situation) { s.steps = 5 }), end(StepLimit)},
	} {
		if got := c.next(now); got.doing != c.want.doing || got.reason != c.want.reason || got.call.id != c.want.call.id {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestALongConversationLosesItsOldestResults(t *testing.T) {
	t.Parallel()
	result := strings.Repeat("x", 20<<10)
	var messages []message
	var calls []call
	for i := range int64(40) {
		messages = append(messages, message{id: 2*i + 1, role: byAssistant}, message{id: 2*i + 2, role: byTool, callID: &[]int64{i}[0], content: result})
		calls = append(calls, call{id: i, messageID: 2*i + 1, ref: "c", tool: "read_file"})
	}
	r := request(t, messages, calls)
	if r[1].Text != omitted || r[len(r)-1].Text != result {
		t.Errorf("the first result is %.30q, the last %.30q", r[1].Text, r[len(r)-1].Text)
	}
}

func request(t *testing.T, messages []message, calls []call) []llm.Message {
	t.Helper()
	r := llm.Request{Messages: transcript(messages, calls)}
	trim(&r)
	if n := llm.Estimate(r, llm.Answer{}).Input; n > mostInput {
		t.Errorf("%d tokens are left", n)
	}
	return r.Messages
}
