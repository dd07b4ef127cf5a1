package tickets

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/page"
)

type staffTicketWire struct {
	ticketWire
	AccountID  int64  `json:"account_id"`
	AssigneeID *int64 `json:"assignee_id" doc:"The member of staff who cares for it"`
}

func staffWire(t Ticket) staffTicketWire {
	return staffTicketWire{ticketWire: wire(t), AccountID: t.AccountID, AssigneeID: t.AssigneeID}
}

type staffMessageWire struct {
	messageWire
	AuthorID int64 `json:"author_id"`
	Internal bool  `json:"internal" doc:"A note that the customer does not see"`
}

type staffThreadWire struct {
	staffTicketWire
	Messages []staffMessageWire `json:"messages" doc:"The oldest first"`
}

type staffListIn struct {
	page.Params
	Account  int64  `query:"account_id" minimum:"1" doc:"Of this customer"`
	Service  int64  `query:"service_id" minimum:"1" doc:"About this service"`
	Assignee int64  `query:"assignee_id" minimum:"1" doc:"That this member of staff cares for"`
	Status   string `query:"status" enum:"open,waiting,answered,closed" doc:"Only tickets in this state."`
}

type answerIn struct {
	ticketIn
	Body struct {
		Message     string     `json:"message" minLength:"1" maxLength:"20000" doc:"Plain text"`
		Internal    bool       `json:"internal,omitempty" doc:"A note that the customer does not see"`
		Status      string     `json:"status,omitempty" enum:"open,waiting,answered,closed" doc:"Without it, answered"`
		Attachments []fileBody `json:"attachments,omitempty" maxItems:"5" doc:"At most 3 MB together"`
	}
}

type changeIn struct {
	ticketIn
	Body struct {
		Status   *string `json:"status,omitempty" enum:"open,waiting,answered,closed"`
		Assignee *int64  `json:"assignee_id,omitempty" minimum:"0" doc:"0 is nobody"`
	}
}

type cannedWire struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

type cannedList struct {
	Data []cannedWire `json:"data"`
}

type saveCannedIn struct {
	Body struct {
		Title string `json:"title" minLength:"1" maxLength:"150"`
		Body  string `json:"body" minLength:"1" maxLength:"20000"`
	}
}

type cannedIn struct {
	Canned int64 `path:"canned_answer" minimum:"1" doc:"Id of the canned answer."`
}

// cares are the roles that answer customers.
var cares = []auth.Role{auth.Owner, auth.Billing, auth.Support, auth.Technician}

// staffExamples are bodies that the operations take, for the document.
var staffExamples = map[string]string{
	"answer":      `{"message": "We look into it.", "status": "waiting"}`,
	"change":      `{"status": "closed"}`,
	"save_canned": `{"title": "Thanks", "body": "Thank you for waiting."}`,
}

func staffOperation[In, Out any](
	id, method, path, summary string, roles []auth.Role, f func(ctx context.Context, p auth.Principal, in *In) (*Out, error),
) api.Operation[In, Out] {
	op := api.ForStaff[In, Out]("tickets."+id, path, summary, roles)
	op.Method, op.Handle, op.Example, op.Description = method, f, staffExamples[id], staffDescriptions[id]
	return op
}

// staffDescriptions say what the summaries of the operations leave out.
var staffDescriptions = map[string]string{
	"list":          "`open` waits for staff, `waiting` for the customer.",
	"get":           "With internal notes, which the customer does not see.",
	"change":        "What the customer writes opens a ticket again.",
	"attachment":    "It is served for downloading only: strangers wrote it.",
	"answer":        "An answer is mailed to the customer; an internal note reaches nobody. Files are at most 5, and 3 MB together.",
	"canned":        "They are put into an answer, which can be changed before it is sent.",
	"save_canned":   "One with the same title is replaced.",
	"remove_canned": "Answers that were given with it stay as they are.",
}

func (s *Service) staff() []api.Route {
	const one = "/tickets/{ticket}"
	answer := staffOperation("answer", http.MethodPost, one+"/messages", "Answer a ticket, or write an internal note", cares,
		func(ctx context.Context, p auth.Principal, in *answerIn) (*staffMessageWire, error) {
			next := Status(in.Body.Status)
			if next == "" {
				next = Answered
			}
			m, err := s.Answer(s.Audit.RecordTicket(ctx, "ticket.answer", in.Ticket), p.AccountID, in.Ticket, Message{
				Body: in.Body.Message, Internal: in.Body.Internal, Files: files(in.Body.Attachments),
			}, next)
			if err != nil {
				return nil, err
			}
			m.Files = nil // their ids are in the ticket
			return &staffMessageWire{messageOfWire(m), m.AuthorID, m.Internal}, nil
		})
	answer.Status, answer.MaxBody = http.StatusCreated, maxRequest
	download := api.ForStaff[fileIn, api.Empty]("tickets.attachment", one+"/attachments/{attachment}", "Download an attachment of a ticket", auth.Roles())
	download.Description = staffDescriptions["attachment"]
	download.ContentTypes = []string{"application/octet-stream"}
	download.Stream = func(ctx context.Context, _ auth.Principal, in *fileIn, w http.ResponseWriter, _ *http.Request) error {
		f, err := s.File(ctx, in.Ticket, in.Attachment)
		return serve(w, f, err)
	}
	return []api.Route{
		staffOperation("list", http.MethodGet, "/tickets", "The tickets, the last changed first", auth.Roles(),
			func(ctx context.Context, _ auth.Principal, in *staffListIn) (*page.List[staffTicketWire], error) {
				all, total, err := s.List(ctx, Filter{AccountID: in.Account, ServiceID: in.Service, AssigneeID: in.Assignee, Status: Status(in.Status)}, in.Params)
				return page.Map(in.Params, total, all, staffWire), err
			}),
		staffOperation("get", http.MethodGet, one, "A ticket with everything that was written in it", auth.Roles(),
			func(ctx context.Context, _ auth.Principal, in *ticketIn) (*staffThreadWire, error) {
				t, all, err := s.Ticket(ctx, in.Ticket)
				if err != nil {
					return nil, err
				}
				w := staffThreadWire{staffTicketWire: staffWire(t), Messages: []staffMessageWire{}}
				for _, m := range all {
					w.Messages = append(w.Messages, staffMessageWire{messageOfWire(m), m.AuthorID, m.Internal})
				}
				return &w, nil
			}),
		answer, download,
		staffOperation("change", http.MethodPatch, one, "Change the state or the assignee of a ticket", cares,
			func(ctx context.Context, _ auth.Principal, in *changeIn) (*staffTicketWire, error) {
				t, err := s.Change(s.Audit.RecordTicket(ctx, "ticket.change", in.Ticket), in.Ticket, (*Status)(in.Body.Status), in.Body.Assignee)
				w := staffWire(t)
				return &w, err
			}),
		staffOperation("canned", http.MethodGet, "/canned-answers", "The answers that staff give often", auth.Roles(),
			func(ctx context.Context, _ auth.Principal, _ *struct{}) (*cannedList, error) {
				all, err := s.Answers(ctx)
				out := cannedList{Data: []cannedWire{}}
				for _, c := range all {
					out.Data = append(out.Data, cannedWire(c))
				}
				return &out, err
			}),
		staffOperation("save_canned", http.MethodPut, "/canned-answers", "Write the canned answer of a title", cares,
			func(ctx context.Context, _ auth.Principal, in *saveCannedIn) (*cannedWire, error) {
				c, err := s.SaveAnswer(s.Audit.RecordAnswer(ctx, "canned_answer.save", in.Body.Title), in.Body.Title, in.Body.Body)
				w := cannedWire(c)
				return &w, err
			}),
		staffOperation("remove_canned", http.MethodDelete, "/canned-answers/{canned_answer}", "Remove a canned answer", cares,
			func(ctx context.Context, _ auth.Principal, in *cannedIn) (*api.Empty, error) {
				return nil, s.RemoveAnswer(s.Audit.RecordAnswer(ctx, "canned_answer.remove", in.Canned), in.Canned)
			}),
	}
}
