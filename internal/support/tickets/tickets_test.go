package tickets_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"stead.dev/stead/internal/platform/api/apitest"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/clock"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/testkit"
	"stead.dev/stead/internal/port/mailer"
	"stead.dev/stead/internal/support/tickets"
)

// The accounts of the tests.
const (
	anna  = 1 // a customer
	other = 2 // another
	berta = 7 // of staff
)

type people map[int64]tickets.Person

func (p people) Person(_ context.Context, _ db.Querier, id int64) (tickets.Person, error) {
	found, ok := p[id]
	if !ok {
		return found, fault.NotFound.New()
	}
	return found, nil
}

func (p people) Writer(_ context.Context, email string) (tickets.Person, error) {
	for _, one := range p {
		if one.Email == email {
			return one, nil
		}
	}
	return tickets.Person{}, fault.NotFound.New()
}

// services are everybody's.
type services struct{}

func (services) Owns(context.Context, db.Querier, int64, int64) error { return nil }

// audit records nothing.
type audit struct{}

func (audit) RecordTicket(ctx context.Context, _ string, _ int64) context.Context { return ctx }
func (audit) RecordAnswer(ctx context.Context, _ string, _ any) context.Context   { return ctx }

// job is one that was inserted.
type job struct {
	args river.JobArgs
	opts river.InsertOpts
}

// queue keeps the jobs.
type queue struct{ jobs []job }

func (q *queue) Enqueue(_ context.Context, _ *db.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	q.jobs = append(q.jobs, job{args, *opts})
	return nil
}

// post keeps what is sent.
type post struct{ sent []mailer.Message }

func (p *post) Send(_ context.Context, m mailer.Message) error {
	p.sent = append(p.sent, m)
	return m.Check()
}

type world struct {
	t *testing.T
	*tickets.Service
	db     *db.DB
	clk    *clock.Fake
	people people
	brand  brand.Brand
	queue  *queue
	post   *post
	edge   http.Handler
}

func engines(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, d *db.DB, clk *clock.Fake) {
		w := &world{t: t, db: d, clk: clk, queue: &queue{}, post: &post{}, brand: brand.Brand{Name: "Stead", Support: "support@stead.test"}, people: people{
			anna:  {ID: anna, Email: "anna@example.com", Name: "Anna", Locale: "en", Verified: true},
			other: {ID: other, Email: "other@example.com", Name: "Other", Locale: "en", Verified: true},
			berta: {ID: berta, Email: "berta@stead.test", Name: "Berta", Locale: "ru", Verified: true, Staff: true},
		}}
		source := func() brand.Brand { return w.brand }
		w.Service = tickets.New(tickets.Config{
			DB: d, Clock: clk, Queue: w.queue, Mailer: w.post, People: w.people, Services: services{}, Audit: audit{}, Brand: source,
			Letters: &mailer.Writer{Brand: source, BaseURL: apitest.BaseURL}, BaseURL: apitest.BaseURL, Language: "en",
		})
		w.edge = apitest.NewEdge(t, d, clk, apitest.Tokens{
			"panel":     {AccountID: anna, ApplicationID: 1, FirstParty: true, Scopes: []string{auth.ScopeProfile}},
			"connected": {AccountID: anna, ApplicationID: 2, Scopes: []string{auth.ScopeProfile}},
		}, w.Operations())
		f(t, w)
	})
}

// ask opens a ticket of Anna's.
func (w *world) ask(files ...tickets.File) tickets.Ticket {
	w.t.Helper()
	made, err := w.Ask(w.t.Context(), tickets.Question{
		AccountID: anna, Subject: "Mail", Language: "en", Message: tickets.Message{Body: "Nothing arrives.", Files: files},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// TestConnectedApplicationsReadNoTickets: who agrees to "see your profile" shows no conversation with support, and lets nobody write there.
func TestConnectedApplicationsReadNoTickets(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		one := fmt.Sprintf("/api/v1/tickets/%d", w.ask(tickets.File{Name: "a.txt", Content: []byte("a")}).ID)
		var thread struct {
			Messages []struct {
				Attachments []struct {
					ID int64 `json:"id"`
				} `json:"attachments"`
			} `json:"messages"`
		}
		apitest.Answered(t, apitest.Call(w.edge, "panel", "GET", one, ""), http.StatusOK, &thread)
		file := fmt.Sprintf("%s/attachments/%d", one, thread.Messages[0].Attachments[0].ID)
		const message = `{"subject": "A", "message": "My password is lost."}`
		for _, c := range [][3]string{
			{"GET", "/api/v1/tickets"},
			{"GET", one},
			{"GET", file},
			{"POST", "/api/v1/tickets", message},
			{"POST", one + "/messages", `{"message": "My password is lost."}`},
			{"POST", one + "/close"},
			{"POST", one + "/reopen"},
		} {
			rec := apitest.Call(w.edge, "connected", c[0], c[1], c[2])
			if rec.Code != http.StatusForbidden || !strings.Contains(rec.Body.String(), `"forbidden"`) {
				t.Errorf("%s %s by a connected application: %d %s", c[0], c[1], rec.Code, rec.Body)
			}
		}
	})
}

// mailOf is an answer of Anna's to a ticket.
func (w *world) mailOf(t tickets.Ticket, id string, lines ...string) string {
	head := []string{"From: Anna <anna@example.com>", "To: support+" + t.Address() + "@stead.test", "Message-ID: <" + id + "@example.com>", "Subject: Re: answer", "MIME-Version: 1.0"}
	return strings.Join(append(head, lines...), "\r\n")
}

// TestAnAnswerByMailIsNotLost: whatever form mail programs give it.
func TestAnAnswerByMailIsNotLost(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		const mixed = "Content-Type: multipart/mixed; boundary=b"
		picture := []string{"--b", "Content-Type: image/png; name=shot.png", "Content-Disposition: inline", "", "picture"}
		for name, c := range map[string]struct {
			from  string // a name of the sender, and of the receiver
			mail  []string
			body  string
			files string
		}{
			"HTML alone": {
				mail: []string{
					"Content-Type: text/html; charset=utf-8", "", "<html><head><title>Re</title><style>p{}</style></head><body><p>It <b>works</b> &amp;", "is fine.</p><div>Thanks<br>Anna</div>",
					"<div>On Monday we wrote:</div><blockquote><p>Try it.</p><blockquote>Older</blockquote></blockquote><script>alert(1)</script></body></html>",
				},
				body: "It works & is fine.\nThanks\nAnna",
			},
			"both forms": {
				mail: []string{"Content-Type: multipart/alternative; boundary=b", "", "--b", "Content-Type: text/plain", "", "It works.", "--b", "Content-Type: text/html", "", "<p>It works.</p>", "--b--"},
				body: "It works.",
			},
			"a picture in the text": {
				mail: append(append([]string{mixed, "", "--b", "Content-Type: text/plain", "", "See:"}, picture...), "--b", "Content-Type: text/plain", "", "What is that?", "--b--"),
				body: "See:\nWhat is that?", files: "shot.png",
			},
			"a file alone": {
				mail: append(append([]string{mixed, ""}, picture...), "--b--"),
				body: "(The mail has files and no text.)", files: "shot.png",
			},
			"a text as a file": {
				mail: []string{mixed, "", "--b", "Content-Type: text/plain", "", "Here.", "--b", "Content-Type: text/plain", "Content-Disposition: inline; filename=log.txt", "", "log", "--b--"},
				body: "Here.", files: "log.txt",
			},
			"too many files": {
				mail:  append(append(append([]string{mixed, "", "--b", "Content-Type: text/plain", "", "All:"}, picture...), strings.Split(strings.Repeat(strings.Join(picture, "\n")+"\n", 6), "\n")...), "--b--"),
				body:  "All:\n\nAttachments that were too large, too many or unreadable, and are missing: 2.",
				files: "shot.png shot.png shot.png shot.png shot.png",
			},
			"an unknown charset": {
				mail: []string{"Content-Type: text/plain; charset=x-unknown", "", "It works."},
				body: "It works.",
			},
			"a part of an unknown charset": {
				mail: []string{mixed, "", "--b", "Content-Type: text/plain; charset=x-unknown", "", "It works.", "--b--"},
				body: "It works.",
			},
			"an unknown encoding": {
				mail: []string{"Content-Type: text/plain", "Content-Transfer-Encoding: 8-bit", "", "It works."},
				body: "It works.",
			},
			"a part of an unknown encoding": {
				mail: append(append([]string{mixed, "", "--b", "Content-Type: text/plain", "", "See:", "--b", "Content-Type: image/png; name=a.png", "Content-Transfer-Encoding: x-odd", "", "?"}, picture...), "--b--"),
				body: "See:\n\nAttachments that were too large, too many or unreadable, and are missing: 1.", files: "shot.png",
			},
			"names in an unknown charset": {
				from: "=?x-unknown?Q?Anna?=",
				mail: []string{"Content-Type: text/plain", "", "It works."},
				body: "It works.",
			},
			"a long text": {
				mail: []string{"Content-Type: text/plain", "", strings.Repeat("ten chars\n", 2500)},
				body: "…",
			},
		} {
			made := w.ask()
			raw := w.mailOf(made, fmt.Sprint(made.ID), c.mail...)
			if c.from != "" {
				raw = strings.NewReplacer("From: Anna", "From: "+c.from, "To: support", "To: "+c.from+" <support", "@stead.test\r", "@stead.test>\r").Replace(raw)
			}
			if _, err := w.Receive(t.Context(), strings.NewReader(raw)); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_, all, err := w.Own(t.Context(), anna, made.ID)
			if err != nil || len(all) != 2 {
				t.Fatalf("%s: %d messages, %v", name, len(all), err)
			}
			var files []string
			for _, f := range all[1].Files {
				files = append(files, f.Name)
			}
			got := all[1].Body
			if c.body == "…" && strings.HasPrefix(got, "ten chars\nten chars\n") && strings.HasSuffix(got, "Please attach a file instead.") && len(got) <= 20_000 && len(got) > 19_900 {
				got = c.body
			}
			if got != c.body || strings.Join(files, " ") != c.files {
				t.Errorf("%s: %q with %q", name, all[1].Body, files)
			}
		}
	})
}

// TestANoteChangesNoState: neither that of a ticket whose customer writes meanwhile, nor when a closed one was closed.
func TestANoteChangesNoState(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		made := w.ask()
		if err := w.CloseOwn(t.Context(), anna, made.ID); err != nil {
			t.Fatal(err)
		}
		closed, _, err := w.Ticket(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		w.clk.Advance(time.Hour)
		if _, err := w.Answer(t.Context(), berta, made.ID, tickets.Message{Body: "Ask him.", Internal: true}, tickets.Answered); err != nil {
			t.Fatal(err)
		}
		noted, _, err := w.Ticket(t.Context(), made.ID)
		if err != nil || noted.Status != tickets.Closed || !noted.ClosedAt.Equal(*closed.ClosedAt) || !noted.UpdatedAt.After(closed.UpdatedAt) {
			t.Errorf("closed %+v, then %+v, %v", closed, noted, err)
		}
	})
}

// due are the times of the jobs that mail staff, after those of before; a job without one is due at once.
func (w *world) due() (times []time.Time) {
	for _, j := range w.queue.jobs {
		if j.args.Kind() == "tickets.staff_mail" {
			times = append(times, j.opts.ScheduledAt)
		}
	}
	w.queue.jobs = nil
	return times
}

// TestStaffAreMailedOfWhatCustomersWrite: whoever cares for the ticket, else the support address, without a word of the customer's.
func TestStaffAreMailedOfWhatCustomersWrite(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		made, err := w.Ask(t.Context(), tickets.Question{AccountID: anna, Subject: "Pay at https://evil.test", Language: "uz", Message: tickets.Message{Body: "https://evil.test"}})
		if err != nil {
			t.Fatal(err)
		}
		mailed := func(to, link string, words ...string) {
			t.Helper()
			w.post.sent = nil
			if err := w.MailStaff(t.Context(), made.ID); err != nil || len(w.post.sent) != 1 {
				t.Fatalf("%d mails, %v", len(w.post.sent), err)
			}
			m := w.post.sent[0]
			if m.To != to || !strings.Contains(m.Text, link) || strings.Contains(m.Subject+m.Text+m.HTML, "evil") || m.ReplyTo != "" {
				t.Errorf("%+v", m)
			}
			for _, word := range words {
				if !strings.Contains(m.Subject+m.Text, word) {
					t.Errorf("no %q in %s %s", word, m.Subject, m.Text)
				}
			}
		}
		link := fmt.Sprintf("%s/panel/staff/tickets/%d", apitest.BaseURL, made.ID)
		mailed("support@stead.test", link, "a customer wrote")
		id := int64(berta)
		if _, err := w.Change(t.Context(), made.ID, nil, &id); err != nil {
			t.Fatal(err)
		}
		mailed("berta@stead.test", link, "клиент написал")
		gone := w.people[berta]
		gone.Staff = false
		w.people[berta] = gone
		mailed("support@stead.test", link)

		w.post.sent = nil
		if _, err := w.Answer(t.Context(), anna, made.ID, tickets.Message{Body: "Done."}, tickets.Answered); err != nil {
			t.Fatal(err)
		}
		if err := w.MailStaff(t.Context(), made.ID); err != nil || len(w.post.sent) != 0 {
			t.Errorf("of what is answered: %+v, %v", w.post.sent, err)
		}
		w.brand.Support = ""
		if _, err := w.Write(t.Context(), anna, made.ID, tickets.Message{Body: "Not yet."}); err != nil {
			t.Fatal(err)
		}
		if err := w.MailStaff(t.Context(), made.ID); err != nil || len(w.post.sent) != 0 {
			t.Errorf("to nobody: %+v, %v", w.post.sent, err)
		}
	})
}

// TestStaffAreMailedOnceInTenMinutes of a ticket, and of the last word always: what waits is one job, which the queue keeps unique.
func TestStaffAreMailedOnceInTenMinutes(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		made := w.ask()
		if times := w.due(); len(times) != 1 || !times[0].IsZero() {
			t.Errorf("of a new ticket at %v", times)
		}
		write := func(after time.Duration, wait time.Duration) {
			t.Helper()
			w.clk.Advance(after)
			if _, err := w.Write(t.Context(), anna, made.ID, tickets.Message{Body: "More."}); err != nil {
				t.Fatal(err)
			}
			want := time.Time{}
			if wait > 0 {
				want = w.clk.Now().Add(wait)
			}
			if times := w.due(); len(times) != 1 || !times[0].Equal(want) {
				t.Errorf("%v later at %v, not %v", after, times, want)
			}
		}
		write(time.Minute, 10*time.Minute)
		write(11*time.Minute, 10*time.Minute)
		write(21*time.Minute, 0)
		if _, err := w.Answer(t.Context(), berta, made.ID, tickets.Message{Body: "Ask him.", Internal: true}, tickets.Open); err != nil {
			t.Fatal(err)
		}
		if times := w.due(); len(times) != 0 {
			t.Errorf("of a note at %v", times)
		}
	})
}

// fill adds messages of staff to a ticket.
func (w *world) fill(id int64, messages int, body string) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for range messages {
			_, err := tx.Exec(ctx, `INSERT INTO tickets_messages (ticket_id, author_id, staff, internal, via, body, created_at)
				VALUES ($1, $2, $3, $4, 'panel', $5, $6)`, id, berta, true, false, body, tx.Now)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// refused checks that an error is of a limit.
func (w *world) refused(what, limit string, err error) {
	w.t.Helper()
	if f := fault.From(err); f.Def != fault.LimitReached || f.Fields["limit"] != limit {
		w.t.Errorf("%s: %v, not the limit %q", what, err, limit)
	}
}

// TestATicketIsBounded: it is read as a whole, so what customers write into one must have an end. Staff can always answer.
func TestATicketIsBounded(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		many, long := w.ask().ID, w.ask().ID
		w.fill(many, 498, "More.")
		w.fill(long, 20, strings.Repeat("я", 20_000))
		w.fill(long, 64, strings.Repeat("x", 20_000))
		write := func(id int64, body string) error {
			_, err := w.Write(t.Context(), anna, id, tickets.Message{Body: body})
			return err
		}
		if err := write(many, "The last."); err != nil {
			t.Errorf("the last message: %v", err)
		}
		w.refused("one more message", "ticket_messages", write(many, "One more."))
		w.refused("more text", "ticket_bytes", write(long, strings.Repeat("я", 10_000)))
		if err := write(long, "Short."); err != nil {
			t.Errorf("a short text: %v", err)
		}
		if _, err := w.Answer(t.Context(), berta, many, tickets.Message{Body: "Please open another."}, tickets.Answered); err != nil {
			t.Errorf("staff: %v", err)
		}
		rec := apitest.Call(w.edge, "panel", "POST", fmt.Sprintf("/api/v1/tickets/%d/messages", many), `{"message": "One more."}`)
		if rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), "Open a new ticket") {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if _, err := w.Ask(t.Context(), tickets.Question{AccountID: anna, Subject: "Mail", Language: "en", Message: tickets.Message{Body: "Again."}}); err != nil {
			t.Errorf("a new ticket: %v", err)
		}
	})
}

// TestClosedTicketsAreOpenedWithinTheBound of open ones: neither by reopening nor by writing has an account more.
func TestClosedTicketsAreOpenedWithinTheBound(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		closed := w.ask()
		if err := w.CloseOwn(t.Context(), anna, closed.ID); err != nil {
			t.Fatal(err)
		}
		open := w.ask()
		for range 49 {
			w.ask()
		}
		_, err := w.Ask(t.Context(), tickets.Question{AccountID: anna, Subject: "Mail", Language: "en", Message: tickets.Message{Body: "Help."}})
		w.refused("a new ticket", "tickets", err)
		w.refused("reopening", "tickets", w.ReopenOwn(t.Context(), anna, closed.ID))
		_, err = w.Write(t.Context(), anna, closed.ID, tickets.Message{Body: "More."})
		w.refused("writing in a closed ticket", "tickets", err)
		if _, err := w.Write(t.Context(), anna, open.ID, tickets.Message{Body: "More."}); err != nil {
			t.Errorf("writing in an open ticket: %v", err)
		}
		if err := w.ReopenOwn(t.Context(), anna, open.ID); err != nil {
			t.Errorf("reopening an open ticket: %v", err)
		}
		if err := w.CloseOwn(t.Context(), anna, open.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.ReopenOwn(t.Context(), anna, closed.ID); err != nil {
			t.Errorf("reopening where there is room: %v", err)
		}
	})
}

// TestCustomersAreToldOfMailsWithoutRoom: what they wrote is not read, and only they can mend that. Strangers learn nothing.
func TestCustomersAreToldOfMailsWithoutRoom(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		full, plain := w.ask(), w.ask()
		w.fill(full.ID, 498, "More.")
		text := []string{"Content-Type: text/plain", "", "It works."}
		last := w.mailOf(full, "last", text...)
		if _, err := w.Receive(t.Context(), strings.NewReader(last)); err != nil {
			t.Fatal(err)
		}
		large := []string{"Content-Type: multipart/mixed; boundary=b", "", "--b", "Content-Type: image/png", "", strings.Repeat(strings.Repeat("x", 998)+"\r\n", 11_000), "--b--"}
		w.queue.jobs = nil
		if _, err := w.Receive(t.Context(), strings.NewReader(last)); err != nil || len(w.queue.jobs) != 0 { // it is there already
			t.Errorf("the last mail again: %v, %+v", err, w.queue.jobs)
		}
		for what, c := range map[string]struct {
			to     tickets.Ticket
			mail   []string
			reason string
		}{
			"a full ticket": {full, text, "Open a new ticket"},
			"a large mail":  {plain, large, "larger than 10 MB"},
		} {
			if _, err := w.Receive(t.Context(), strings.NewReader(w.mailOf(c.to, strings.ReplaceAll(what, " ", "."), c.mail...))); !errors.Is(err, tickets.ErrDropped) {
				t.Errorf("%s: %v", what, err)
			}
			if len(w.queue.jobs) != 1 || !w.queue.jobs[0].opts.UniqueOpts.ByArgs {
				t.Fatalf("%s: %+v", what, w.queue.jobs)
			}
			w.post.sent = nil
			if err := w.MailRefused(t.Context(), w.queue.jobs[0].args); err != nil || len(w.post.sent) != 1 {
				t.Fatalf("%s: %d mails, %v", what, len(w.post.sent), err)
			}
			m := w.post.sent[0]
			if m.To != "anna@example.com" || m.ReplyTo != "" || !strings.Contains(m.Text, c.reason) || !strings.Contains(m.Text, "/panel/support") ||
				!strings.Contains(m.Subject, fmt.Sprint(c.to.ID)) {
				t.Errorf("%s: %+v", what, m)
			}
			w.queue.jobs = nil
		}
		forged := strings.Replace(w.mailOf(full, "forged", text...), "anna@", "other@", 1)
		machine := w.mailOf(full, "machine", append([]string{"Auto-Submitted: auto-replied"}, text...)...)
		for _, raw := range []string{forged, machine} {
			if _, err := w.Receive(t.Context(), strings.NewReader(raw)); !errors.Is(err, tickets.ErrDropped) || len(w.queue.jobs) != 0 {
				t.Errorf("%v, %+v", err, w.queue.jobs)
			}
		}
	})
}
