package company

import (
	"context"
	"net/http"
	"strings"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/mailer"
)

type mailKindWire struct {
	Kind         string   `json:"kind"`
	Subject      string   `json:"subject" doc:"In the language of the request, with sample data"`
	Placeholders []string `json:"placeholders" doc:"The names that a text may have, written {{.Name}}"`
	Required     []string `json:"required" doc:"Those that a text must have"`
	Changed      []string `json:"changed" doc:"The languages whose text staff have changed"`
	// OwnSubject is false where the first line of the text is the subject.
	OwnSubject bool `json:"own_subject" doc:"False where the first line of the text is the subject"`
}

type mailKindList struct {
	Data []mailKindWire `json:"data"`
}

type mailTextWire struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

type mailPreviewWire struct {
	Subject string `json:"subject"`
	Text    string `json:"text" doc:"The plain part"`
	HTML    string `json:"html" doc:"The HTML part"`
}

type mailWire struct {
	mailKindWire
	Language string          `json:"language" enum:"uz,ru,en"`
	Live     mailTextWire    `json:"live" doc:"The text that is sent"`
	Shipped  mailTextWire    `json:"shipped" doc:"The text that the program brings"`
	Preview  mailPreviewWire `json:"preview" doc:"With sample data; of a dry run, of the text that was tried"`
}

type mailIn struct {
	Mail     string `path:"mail" maxLength:"60" doc:"Name of the mail, as the list has it."`
	Language string `path:"language" enum:"uz,ru,en" doc:"Language of the text."`
}

type changeMailIn struct {
	mailIn
	DryRun bool `query:"dry_run" doc:"Only check the text, and show it"`
	Body   struct {
		Subject string `json:"subject" maxLength:"400" doc:"Empty where own_subject is false"`
		Text    string `json:"text" maxLength:"20000" doc:"Plain text; paragraphs have an empty line between them"`
	}
}

// writers are who changes the texts of mails.
var writers = []auth.Role{auth.Owner, auth.Support}

func (s *Service) mailKind(k mailer.Kind, lang string) mailKindWire {
	w := mailKindWire{
		Kind: k.ID, Subject: s.Letters.Write(s.Letters.Sample(k, lang)).Subject, Placeholders: k.Placeholders(), Required: required(k), Changed: []string{},
		OwnSubject: k.Subject != "",
	}
	for _, l := range i18n.Supported() {
		if _, changed := s.Letter(k.ID, l); changed {
			w.Changed = append(w.Changed, l)
		}
	}
	return w
}

func (s *Service) mail(k mailer.Kind, language string, shown mailer.Text) *mailWire {
	live, _ := s.letterText(k, language)
	shipped := k.Shipped(language)
	m := s.Letters.WriteDraft(s.Letters.Sample(k, language), shown)
	return &mailWire{
		mailKindWire: s.mailKind(k, language), Language: language, Live: mailTextWire(live), Shipped: mailTextWire(shipped),
		Preview: mailPreviewWire{m.Subject, m.Text, m.HTML},
	}
}

func (s *Service) mails() []api.Route {
	const one = "/mails/{mail}/{language}"
	test := staffOperation("mails.send_test", http.MethodPost, one+"/test", "Send a mail with sample data to oneself", writers,
		func(ctx context.Context, p auth.Principal, in *mailIn) (*api.Empty, error) {
			return nil, s.SendTest(ctx, in.Mail, in.Language, p.AccountID, "test-"+strings.ToLower(secret.Token("", 12)))
		})
	return []api.Route{
		staffOperation("mails.list", http.MethodGet, "/mails", "The kinds of mails", auth.Roles(),
			func(ctx context.Context, _ auth.Principal, _ *struct{}) (*mailKindList, error) {
				out := &mailKindList{Data: []mailKindWire{}}
				for _, k := range s.Kinds {
					out.Data = append(out.Data, s.mailKind(k, i18n.Lang(ctx)))
				}
				return out, nil
			}),
		staffOperation("mails.get", http.MethodGet, one, "The text of a mail in a language, with a preview", auth.Roles(),
			func(_ context.Context, _ auth.Principal, in *mailIn) (*mailWire, error) {
				k, err := s.kind(in.Mail)
				if err != nil {
					return nil, err
				}
				live, _ := s.letterText(k, in.Language)
				return s.mail(k, in.Language, live), nil
			}),
		staffOperation("mails.change", http.MethodPut, one, "Change the text of a mail in a language", writers,
			func(ctx context.Context, _ auth.Principal, in *changeMailIn) (*mailWire, error) {
				k, t, err := s.ChangeLetter(ctx, in.Mail, in.Language, mailer.Text(in.Body), in.DryRun)
				if err != nil {
					return nil, err
				}
				return s.mail(k, in.Language, t), nil
			}),
		staffOperation("mails.reset", http.MethodDelete, one, "Go back to the shipped text of a mail", writers,
			func(ctx context.Context, _ auth.Principal, in *mailIn) (*mailWire, error) {
				k, err := s.ResetLetter(ctx, in.Mail, in.Language)
				if err != nil {
					return nil, err
				}
				return s.mail(k, in.Language, k.Shipped(in.Language)), nil
			}),
		test,
	}
}
