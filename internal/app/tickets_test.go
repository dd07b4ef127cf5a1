package app

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stead.dev/stead/internal/identity/account"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/support/tickets"
)

// ticketRequest asks something, with a file that a browser must not show.
const ticketRequest = `{"subject": "Mail does not arrive", "message": "Since this morning.", "attachments": [{"name": "../page.html", "content": "PGgxPmhpPC9oMT4="}]}`

// fileOfTicket is the attachment of the owner's ticket.
func (w *world) fileOfTicket() int64 {
	w.t.Helper()
	var ticket struct {
		Messages []struct {
			Attachments []struct {
				ID   int64  `json:"id"`
				Name string `json:"name"`
			} `json:"attachments"`
		} `json:"messages"`
	}
	w.get(w.t, w.ownersPanel, fmt.Sprintf("/api/v1/tickets/%d", w.ticket)).decode(w.t, &ticket)
	file := ticket.Messages[0].Attachments[0]
	if file.Name != "page.html" {
		w.t.Errorf("the file is called %q", file.Name)
	}
	return file.ID
}

func TestTicketsAreAnsweredByMail(t *testing.T) {
	settings := map[string]string{"demo": "true", "support_email": "support@stead.test"}
	engines(t, settings, func(t *testing.T, a *App) {
		c := a.firstParty(t)
		owner, other := a.customer(t, c, 0), a.customer(t, c, 0)
		w := &world{App: a, t: t, owner: owner, ownersPanel: owner.token}
		w.ticket = w.id(a.post(t, owner.token, "/api/v1/tickets", ticketRequest))
		file := a.get(t, owner.token, fmt.Sprintf("/api/v1/tickets/%d/attachments/%d", w.ticket, w.fileOfTicket()))
		if file.status != http.StatusOK || string(file.body) != "<h1>hi</h1>" || file.header.Get("Content-Disposition") != `attachment; filename=page.html` ||
			file.header.Get("X-Content-Type-Options") != "nosniff" || file.header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("the file: %s, %v", file, file.header)
		}
		var token string
		if err := a.db.QueryRow(t.Context(), `SELECT token FROM tickets WHERE id = $1`, w.ticket).Scan(&token); err != nil {
			t.Fatal(err)
		}
		address := func(id int64) string {
			p, err := a.accounts.Profile(t.Context(), a.db, id)
			if err != nil {
				t.Fatal(err)
			}
			return p.Email
		}
		mail := func(from, to, id string, more ...string) string {
			lines := append([]string{"From: Anna <" + from + ">", "To: " + to, "Message-ID: <" + id + "@example.com>", "Subject: Re: answer"}, more...)
			return strings.Join(append(lines, "Content-Type: text/plain; charset=utf-8", "", "It works again.", "", "On Monday we wrote:", "> Try it."), "\r\n")
		}
		to := "support+" + token + "@stead.test"
		staff, err := a.accounts.Create(t.Context(), account.NewAccount{Email: unique("staff") + "@stead.test", Name: "Berta", Verified: true, Role: auth.Support})
		if err != nil {
			t.Fatal(err)
		}
		for name, raw := range map[string]string{
			"of another customer": mail(address(other.id), to, "one"),
			"forged as staff":     mail(staff.Email, to, "five"),
			"without the token":   mail(address(owner.id), "support@stead.test", "two"),
			"of a machine":        mail(address(owner.id), to, "three", "Auto-Submitted: auto-replied"),
			"no mail":             "hello",
		} {
			if _, err := a.tickets.Receive(t.Context(), strings.NewReader(raw)); !errors.Is(err, tickets.ErrDropped) {
				t.Errorf("a mail %s: %v", name, err)
			}
		}
		for range 2 { // delivered twice
			if _, err := a.tickets.Receive(t.Context(), strings.NewReader(mail(address(owner.id), to, "four"))); err != nil {
				t.Fatal(err)
			}
		}
		_, all, err := a.tickets.Own(t.Context(), owner.id, w.ticket)
		if err != nil || len(all) != 2 || all[1].Body != "It works again." || all[1].Via != "mail" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestNobodyFillsTheDatabaseWithTickets: what an account writes in a day is bounded, by number and by the size of files.
func TestNobodyFillsTheDatabaseWithTickets(t *testing.T) {
	engines(t, nil, func(t *testing.T, a *App) {
		c := a.firstParty(t)
		owner, another := a.customer(t, c, 0), a.customer(t, c, 0)
		w := &world{App: a, t: t, owner: owner, ownersPanel: owner.token}
		ticket := w.id(a.post(t, owner.token, "/api/v1/tickets", `{"subject": "One", "message": "Help."}`))
		file := tickets.File{Name: "a.bin", Content: make([]byte, tickets.MaxFiles)}
		write := func(m tickets.Message) error {
			_, err := a.tickets.Write(t.Context(), owner.id, ticket, m)
			return err
		}
		for range 20 {
			if err := write(tickets.Message{Body: "More.", Files: []tickets.File{file}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := write(tickets.Message{Body: "More.", Files: []tickets.File{file}}); !errors.Is(err, fault.LimitReached) {
			t.Errorf("files without end: %v", err)
		}
		for range 200 - 21 {
			if err := write(tickets.Message{Body: "More."}); err != nil {
				t.Fatal(err)
			}
		}
		if err := write(tickets.Message{Body: "More."}); !errors.Is(err, fault.LimitReached) {
			t.Errorf("messages without end: %v", err)
		}
		if r := a.post(t, owner.token, "/api/v1/tickets", `{"subject": "Two", "message": "Help."}`); r.key() != "limit_reached" {
			t.Errorf("in another ticket: %s", r)
		}
		w.id(a.post(t, another.token, "/api/v1/tickets", `{"subject": "One", "message": "Help."}`))
	})
}

// TestCustomersFindAndReopenTheirTickets: the filters of the list, and that only a closed ticket is reopened.
func TestCustomersFindAndReopenTheirTickets(t *testing.T) {
	engines(t, nil, func(t *testing.T, a *App) {
		c := a.firstParty(t)
		owner := a.customer(t, c, 0)
		w := &world{App: a, t: t, owner: owner, ownersPanel: owner.token}
		ticket := w.id(a.post(t, owner.token, "/api/v1/tickets", `{"subject": "One", "message": "Help."}`))
		w.id(a.post(t, owner.token, "/api/v1/tickets", `{"subject": "Another", "message": "Help."}`))
		has := func(query string, want int) {
			t.Helper()
			var list struct {
				Data []struct{} `json:"data"`
			}
			a.get(t, owner.token, "/api/v1/tickets"+query).decode(t, &list)
			if len(list.Data) != want {
				t.Errorf("%s: %d tickets instead of %d", query, len(list.Data), want)
			}
		}
		act := func(what string) {
			t.Helper()
			if r := a.post(t, owner.token, fmt.Sprintf("/api/v1/tickets/%d/%s", ticket, what), ""); r.status != http.StatusOK {
				t.Errorf("%s: %s", what, r)
			}
		}
		act("close")
		has("", 2)
		has("?status=closed", 1)
		has("?status=open", 1)
		has("?service_id=1", 0)
		act("reopen")
		has("?status=open", 2)
		waiting := tickets.Waiting
		if _, err := a.tickets.Change(t.Context(), ticket, &waiting, nil); err != nil {
			t.Fatal(err)
		}
		act("reopen")
		has("?status=waiting", 1)
	})
}
