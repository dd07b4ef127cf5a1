package tickets

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

type ticketWire struct {
	ID        int64      `json:"id"`
	ServiceID *int64     `json:"service_id" doc:"The service that it is about"`
	Subject   string     `json:"subject"`
	Status    string     `json:"status" enum:"open,waiting,answered,closed" doc:"open: staff must answer; waiting: you must; answered: nobody must"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
	ClosedAt  *time.Time `json:"closed_at"`
}

func wire(t Ticket) ticketWire {
	return ticketWire{
		ID: t.ID, ServiceID: t.ServiceID, Subject: t.Subject, Status: string(t.Status), CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, ClosedAt: t.ClosedAt,
	}
}

type fileWire struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Size int64  `json:"size" doc:"Bytes"`
}

type messageWire struct {
	ID          int64      `json:"id"`
	Staff       bool       `json:"staff" doc:"Whether a member of staff wrote it"`
	Via         string     `json:"via" enum:"panel,mail"`
	Body        string     `json:"body" doc:"Plain text"`
	Attachments []fileWire `json:"attachments"`
	CreatedAt   time.Time  `json:"created_at"`
}

func messageOfWire(m Message) messageWire {
	w := messageWire{ID: m.ID, Staff: m.Staff, Via: m.Via, Body: m.Body, Attachments: []fileWire{}, CreatedAt: m.CreatedAt}
	if w.Via == "" {
		w.Via = "panel"
	}
	for _, f := range m.Files {
		w.Attachments = append(w.Attachments, fileWire{ID: f.ID, Name: f.Name, Size: f.Size})
	}
	return w
}

type threadWire struct {
	ticketWire
	Messages []messageWire `json:"messages" doc:"The oldest first"`
}

type fileBody struct {
	Name    string `json:"name" minLength:"1" maxLength:"200"`
	Content []byte `json:"content" doc:"The file in Base64"`
}

func files(all []fileBody) []File {
	var out []File
	for _, f := range all {
		out = append(out, File{Name: f.Name, Content: f.Content})
	}
	return out
}

type listIn struct {
	page.Params
	Service int64  `query:"service_id" minimum:"1" doc:"Only those about this service"`
	Status  string `query:"status" enum:"open,waiting,answered,closed" doc:"Only those in this state"`
}

type askIn struct {
	Body struct {
		Subject     string     `json:"subject" minLength:"1" maxLength:"150" doc:"One line"`
		Message     string     `json:"message" minLength:"1" maxLength:"20000" doc:"Plain text"`
		ServiceID   *int64     `json:"service_id,omitempty" minimum:"1" doc:"The service that it is about"`
		Attachments []fileBody `json:"attachments,omitempty" maxItems:"5" doc:"At most 3 MB together"`
	}
}

type ticketIn struct {
	Ticket int64 `path:"ticket" minimum:"1" doc:"Id of the ticket"`
}

type writeIn struct {
	ticketIn
	Body struct {
		Message     string     `json:"message" minLength:"1" maxLength:"20000" doc:"Plain text"`
		Attachments []fileBody `json:"attachments,omitempty" maxItems:"5" doc:"At most 3 MB together"`
	}
}

type fileIn struct {
	ticketIn
	Attachment int64 `path:"attachment" minimum:"1" doc:"Id of the attachment"`
}

// maxRequest bounds bodies with files, which Base64 makes longer by a third.
const maxRequest = 9 << 19

// Operations are those of customers and of staff.
func (s *Service) Operations() []api.Route { return append(s.customers(), s.staff()...) }

// customers are operations of the panel alone: a ticket holds what a person has told the company's support, passwords among it, and no
// scope that an application asks for names that.
func (s *Service) customers() []api.Route {
	const base, one = "/api/v1/tickets", "/api/v1/tickets/{ticket}"
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		api.Operation[listIn, page.List[ticketWire]]{
			ID: "tickets.list", Method: http.MethodGet, Path: base, Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary: "List support tickets, the last changed first", Description: "Questions to the company's support, with who must do something next.",
			Handle: func(ctx context.Context, p auth.Principal, in *listIn) (*page.List[ticketWire], error) {
				all, total, err := s.List(ctx, Filter{AccountID: p.AccountID, ServiceID: in.Service, Status: Status(in.Status)}, in.Params)
				return page.Map(in.Params, total, all, wire), err
			},
		},
		api.Operation[askIn, ticketWire]{
			ID: "tickets.create", Method: http.MethodPost, Path: base, Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Status: http.StatusCreated, MaxBody: maxRequest, Summary: "Ask the company's support",
			Description: "Opens a ticket. The answer comes by mail, too, and can be answered by mail.",
			Example:     `{"subject": "Mail does not arrive", "message": "Since this morning info@ gets nothing. What is wrong?"}`,
			Errors:      []*fault.Def{fault.NotFound, fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, in *askIn) (*ticketWire, error) {
				t, err := s.Ask(ctx, Question{
					AccountID: p.AccountID, ServiceID: in.Body.ServiceID, Subject: in.Body.Subject, Language: i18n.Lang(ctx),
					Message: Message{Body: in.Body.Message, Files: files(in.Body.Attachments)},
				})
				if err != nil {
					return nil, err
				}
				w := wire(t)
				return &w, nil
			},
		},
		api.Operation[ticketIn, threadWire]{
			ID: "tickets.get", Method: http.MethodGet, Path: one, Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary: "Read a support ticket", Description: "The ticket with everything that was written in it.",
			Handle: func(ctx context.Context, p auth.Principal, in *ticketIn) (*threadWire, error) {
				t, all, err := s.Own(ctx, p.AccountID, in.Ticket)
				if err != nil {
					return nil, err
				}
				w := threadWire{ticketWire: wire(t), Messages: []messageWire{}}
				for _, m := range all {
					w.Messages = append(w.Messages, messageOfWire(m))
				}
				return &w, nil
			},
		},
		api.Operation[writeIn, messageWire]{
			ID: "tickets.write", Method: http.MethodPost, Path: one + "/messages", Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Status: http.StatusCreated, MaxBody: maxRequest, Summary: "Write in a support ticket",
			Description: "The ticket is open again, also when it was closed. One that is full takes no more (`limit_reached`): open another.",
			Example:     `{"message": "It works again, thank you."}`, Errors: []*fault.Def{fault.NotFound, fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, in *writeIn) (*messageWire, error) {
				m, err := s.Write(ctx, p.AccountID, in.Ticket, Message{Body: in.Body.Message, Files: files(in.Body.Attachments)})
				if err != nil {
					return nil, err
				}
				m.Files = nil // their ids are in the ticket
				w := messageOfWire(m)
				return &w, nil
			},
		},
		api.Operation[ticketIn, api.Empty]{
			ID: "tickets.close", Method: http.MethodPost, Path: one + "/close", Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary: "Close a support ticket", Description: "Says that the question is answered. Writing in it opens it again.",
			Handle: func(ctx context.Context, p auth.Principal, in *ticketIn) (*api.Empty, error) {
				return nil, s.CloseOwn(ctx, p.AccountID, in.Ticket)
			},
		},
		api.Operation[ticketIn, api.Empty]{
			ID: "tickets.reopen", Method: http.MethodPost, Path: one + "/reopen", Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary:     "Reopen a support ticket",
			Description: "Takes closing back: support sees the ticket among the open ones again. One that is not closed stays as it is.",
			Errors:      []*fault.Def{fault.NotFound, fault.LimitReached},
			Handle: func(ctx context.Context, p auth.Principal, in *ticketIn) (*api.Empty, error) {
				return nil, s.ReopenOwn(ctx, p.AccountID, in.Ticket)
			},
		},
		api.Operation[fileIn, api.Empty]{
			ID: "tickets.attachment", Method: http.MethodGet, Path: one + "/attachments/{attachment}", Section: api.Account, Auth: api.Token, Scopes: scopes, FirstParty: true,
			Summary: "Download an attachment of a support ticket", Description: "The file as it was sent, for saving.",
			ContentTypes: []string{"application/octet-stream"},
			Stream: func(ctx context.Context, p auth.Principal, in *fileIn, w http.ResponseWriter, _ *http.Request) error {
				f, err := s.OwnFile(ctx, p.AccountID, in.Ticket, in.Attachment)
				return serve(w, f, err)
			},
		},
	}
}

// serve sends a file that no browser shows: it may be a page with scripts.
func serve(w http.ResponseWriter, f File, err error) error {
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(f.Content)))
	_, err = w.Write(f.Content)
	return err
}
