package assistant

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
)

type messageWire struct {
	ID        int64     `json:"id"`
	Role      string    `json:"role" enum:"user,assistant"`
	Content   string    `json:"content" doc:"Plain text. Numbers in brackets, such as [1], name the sources"`
	Sources   []Source  `json:"sources" doc:"What an answer is from, in order"`
	Handover  bool      `json:"handover" doc:"Whether the answer leads on to the company's support: GET /assistant/handover drafts a ticket for it"`
	Worded    bool      `json:"worded" doc:"Whether a language model worded the answer"`
	CreatedAt time.Time `json:"created_at"`
}

func wire(m message) messageWire {
	w := messageWire{ID: m.id, Role: m.role, Content: m.content, Sources: m.sources, Handover: m.handover, Worded: m.worded, CreatedAt: m.createdAt}
	if w.Sources == nil {
		w.Sources = []Source{}
	}
	return w
}

type conversationWire struct {
	Messages []messageWire `json:"messages" doc:"The last 100, the oldest first"`
	Support  *string       `json:"support" doc:"The address of the company's support"`
}

type askIn struct {
	Body struct {
		Message string `json:"message" minLength:"1" maxLength:"2000" example:"When does my hosting expire?"`
	}
}

type answerWire struct {
	Question messageWire `json:"question"`
	Answer   messageWire `json:"answer"`
}

type draftWire struct {
	Subject string `json:"subject"`
	Message string `json:"message" doc:"The conversation as plain text, after a question in the caller's own words"`
}

// Operations are this section's part of the specification's section "AI agent".
func (s *Service) Operations() []api.Route {
	return []api.Route{
		// Specification, "AI agent": the caller's account assistant: its conversation.
		api.Operation[struct{}, conversationWire]{
			ID: "assistant.show", Method: http.MethodGet, Path: "/api/v1/assistant", Section: api.AI, Auth: api.Token,
			Description: "What you asked and what the assistant answered, the last 100 messages, the oldest first. The assistant answers " +
				"questions and never changes anything.",
			Scopes: []string{auth.ScopeProfile}, Summary: "Read your conversation with the assistant",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*conversationWire, error) {
				all, err := s.conversation(ctx, p)
				if err != nil {
					return nil, err
				}
				w := &conversationWire{Messages: []messageWire{}}
				if support := s.Brand().Support; support != "" {
					w.Support = &support
				}
				for _, m := range all {
					w.Messages = append(w.Messages, wire(m))
				}
				return w, nil
			},
		},
		// Specification, "AI agent": ask the account assistant.
		api.Operation[askIn, answerWire]{
			ID: "assistant.ask", Method: http.MethodPost, Path: "/api/v1/assistant", Section: api.AI, Auth: api.Token,
			Example: `{"message": "When does my hosting expire?"}`,
			Scopes:  []string{auth.ScopeProfile}, Timeout: modelTime + 10*time.Second, Summary: "Ask the assistant",
			Description: "Answers from the knowledge base and from what the account has: its services, domains and balance, as far as the token's " +
				"scopes read them (`services:read`, `domains:read`, `wallet:read`). It changes nothing. Each application has a conversation of its own. " +
				"Without a language model the answer is the articles and facts that were found.",
			Errors: []*fault.Def{fault.Validation},
			Handle: func(ctx context.Context, p auth.Principal, in *askIn) (*answerWire, error) {
				asked, answer, err := s.ask(ctx, p, in.Body.Message)
				if err != nil {
					return nil, err
				}
				return &answerWire{Question: wire(asked), Answer: wire(answer)}, nil
			},
		},
		api.Operation[struct{}, draftWire]{
			ID: "assistant.handover", Method: http.MethodGet, Path: "/api/v1/assistant/handover", Section: api.AI, Auth: api.Token,
			Scopes: []string{auth.ScopeProfile}, Summary: "Draft a support ticket from your conversation with the assistant",
			Description: "Subject and text of a support ticket, in your language: your last question, and what was said before, so that nobody asks again. " +
				"Show it to the person who asked: they open the ticket in the panel, this operation opens none. Both are empty when nothing was asked.",
			Handle: func(ctx context.Context, p auth.Principal, _ *struct{}) (*draftWire, error) {
				d, err := s.handover(ctx, p)
				return &draftWire{Subject: d.subject, Message: d.text}, err
			},
		},
	}
}
