package announcements

import (
	"context"
	"net/http"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// textsWire is a text by language.
type textsWire struct {
	EN string `json:"en,omitempty" maxLength:"2000"`
	RU string `json:"ru,omitempty" maxLength:"2000"`
	UZ string `json:"uz,omitempty" maxLength:"2000"`
}

func wireTexts(t i18n.Text) textsWire { return textsWire{t["en"], t["ru"], t["uz"]} }

func (t textsWire) text() i18n.Text { return i18n.Text{"en": t.EN, "ru": t.RU, "uz": t.UZ} }

// wishWire is what staff write.
type wishWire struct {
	Title      textsWire    `json:"title" doc:"By language, at most 120 letters each. Readers of a language without a text get another."`
	Body       textsWire    `json:"body" doc:"By language, in the languages of the title: plain text of at most 2,000 letters"`
	Link       string       `json:"link" maxLength:"300" doc:"Path of a page on this server, such as /panel/wallet; empty without one"`
	Level      Level        `json:"level" enum:"info,warning"`
	Audience   AudienceKind `json:"audience" enum:"all,node,plan,resellers" doc:"all customers, those with a service on a machine or of a plan, or resellers"`
	AudienceOf string       `json:"audience_of" maxLength:"100" doc:"Name of the machine or slug of the plan; empty for the other audiences"`
	StartsAt   *time.Time   `json:"starts_at" doc:"When it is shown first; null: when it is published"`
	EndsAt     *time.Time   `json:"ends_at" doc:"When it is not shown any more; null: when it is withdrawn"`
	Notify     bool         `json:"notify" doc:"Whether each account that is concerned gets a notification, too"`
	Mail       bool         `json:"mail" doc:"Whether that is mailed to those who want mails about news"`
}

func (w wishWire) wish() Wish {
	return Wish{
		Title: w.Title.text(), Body: w.Body.text(), Link: w.Link, Level: w.Level, Audience: Audience{w.Audience, w.AudienceOf},
		StartsAt: w.StartsAt, EndsAt: w.EndsAt, Notify: w.Notify, Mail: w.Mail,
	}
}

// announcementWire is an announcement as staff see it.
type announcementWire struct {
	ID int64 `json:"id"`
	wishWire

	State       State      `json:"state" enum:"draft,scheduled,shown,over,withdrawn"`
	Version     int64      `json:"version"`
	Told        int64      `json:"told" doc:"How many accounts have their notification"`
	FinishedAt  *time.Time `json:"finished_at" doc:"When the last account was told; null before that, and where nobody is notified"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	PublishedAt *time.Time `json:"published_at"`
	WithdrawnAt *time.Time `json:"withdrawn_at"`
}

func (s *Service) wire(a Announcement) announcementWire {
	return announcementWire{
		ID: a.ID, wishWire: wireOf(a.Wish), State: a.State(s.Clock.Now()), Version: a.Version, Told: a.Told, FinishedAt: a.FinishedAt,
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, PublishedAt: a.PublishedAt, WithdrawnAt: a.WithdrawnAt,
	}
}

func wireOf(w Wish) wishWire {
	return wishWire{
		Title: wireTexts(w.Title), Body: wireTexts(w.Body), Link: w.Link, Level: w.Level, Audience: w.Audience.Kind, AudienceOf: w.Audience.Of,
		StartsAt: w.StartsAt, EndsAt: w.EndsAt, Notify: w.Notify, Mail: w.Mail,
	}
}

// fullWire is an announcement, and whom it concerns.
type fullWire struct {
	announcementWire

	Accounts int `json:"accounts" doc:"How many accounts belong to its audience now"`
}

// savedWire answers a change: the announcement, or of a dry run the preview.
type savedWire struct {
	Announcement *announcementWire `json:"announcement" doc:"Null after a dry run"`
	Preview      *previewWire      `json:"preview" doc:"Null but for a dry run"`
}

type previewWire struct {
	wishWire

	Accounts int `json:"accounts" doc:"How many accounts belong to its audience now"`
}

type staffListIn struct{ page.Params }

type oneIn struct {
	Announcement int64 `path:"announcement" minimum:"1" doc:"Id of the announcement."`
}

type newIn struct {
	DryRun bool `query:"dry_run" doc:"Only check it, and answer the preview."`
	Body   wishWire
}

type saveIn struct {
	oneIn
	DryRun bool `query:"dry_run" doc:"Only check it, and answer the preview."`
	Body   struct {
		Version int64 `json:"version" minimum:"1" doc:"The version that was read."`
		wishWire
	}
}

type publishIn struct {
	oneIn
	Body struct {
		Version int64 `json:"version" minimum:"1" doc:"The version that was read."`
	}
}

// authors are who announces.
var authors = []auth.Role{auth.Owner, auth.Support}

// exampleWish is an announcement as the document shows one.
const exampleWish = `"title": {"en": "New disks", "ru": "Новые диски", "uz": "Yangi disklar"}, ` +
	`"body": {"en": "Sites on web1 are slower tonight.", "ru": "Сегодня ночью сайты на web1 медленнее.", "uz": "Bugun kechasi web1 dagi saytlar sekinroq."}, ` +
	`"link": "/status", "level": "warning", "audience": "all", "audience_of": "", "starts_at": null, "ends_at": null, "notify": true, "mail": false`

// staffExamples are bodies that the operations take, for the document.
var staffExamples = map[string]string{
	"create":  `{` + exampleWish + `}`,
	"save":    `{"version": 1, ` + exampleWish + `}`,
	"publish": `{"version": 1}`,
}

// staffDescriptions say what the summaries of the operations leave out.
var staffDescriptions = map[string]string{
	"list":   "Drafts, what is shown, and what is over.",
	"get":    "With how many accounts it concerns now, and how many have their notification.",
	"create": "A draft, which nobody sees. `dry_run=true` only checks it, and answers the preview with how many accounts it concerns.",
	"save": "Refused with `conflict` when `version` is not the announcement's any more. Of a published one, texts, link, level and end can be " +
		"changed, which changes the banner at once; notifications that were made stay. `dry_run=true` only checks it.",
	"publish": "`version` is the one that was read: what somebody else changes meanwhile is not published unseen. The banner is shown from " +
		"`starts_at` on. With `notify`, notifications are made in the background; `told` says how many were made.",
	"withdraw": "The banner is gone at once, and nobody else is notified. Notifications that were made stay.",
	"remove":   "Only a draft; what was published is withdrawn instead.",
}

func staffOperation[In, Out any](
	id, method, path, summary string, roles []auth.Role, f func(ctx context.Context, in *In) (*Out, error),
) api.Operation[In, Out] {
	op := api.ForStaff[In, Out]("announcements."+id, path, summary, roles)
	op.Method, op.Example, op.Description = method, staffExamples[id], staffDescriptions[id]
	op.Handle = func(ctx context.Context, _ auth.Principal, in *In) (*Out, error) { return f(ctx, in) }
	return op
}

func (s *Service) saved(a Announcement, err error) (*savedWire, error) {
	if err != nil {
		return nil, err
	}
	w := s.wire(a)
	return &savedWire{Announcement: &w}, nil
}

func (s *Service) previewed(ctx context.Context, w Wish) (*savedWire, error) {
	w, n, err := s.Preview(ctx, w)
	if err != nil {
		return nil, err
	}
	return &savedWire{Preview: &previewWire{wireOf(w), n}}, nil
}

func (s *Service) staff() []api.Route {
	const one = "/announcements/{announcement}"
	shown := func(a Announcement, err error) (*announcementWire, error) {
		if err != nil {
			return nil, err
		}
		w := s.wire(a)
		return &w, nil
	}
	return []api.Route{
		staffOperation("list", http.MethodGet, "/announcements", "The announcements, the newest first", auth.Roles(),
			func(ctx context.Context, in *staffListIn) (*page.List[announcementWire], error) {
				all, total, err := s.List(ctx, in.Params)
				return page.Map(in.Params, total, all, s.wire), err
			}),
		staffOperation("get", http.MethodGet, one, "An announcement", auth.Roles(), func(ctx context.Context, in *oneIn) (*fullWire, error) {
			a, n, err := s.Get(ctx, in.Announcement)
			return &fullWire{s.wire(a), n}, err
		}),
		staffOperation("create", http.MethodPost, "/announcements", "Write a new announcement", authors,
			func(ctx context.Context, in *newIn) (*savedWire, error) {
				if in.DryRun {
					return s.previewed(ctx, in.Body.wish())
				}
				return s.saved(s.Create(ctx, in.Body.wish()))
			}),
		staffOperation("save", http.MethodPut, one, "Write an announcement", authors, func(ctx context.Context, in *saveIn) (*savedWire, error) {
			if in.DryRun {
				return s.previewed(ctx, in.Body.wish())
			}
			return s.saved(s.Save(ctx, in.Announcement, in.Body.Version, in.Body.wish()))
		}),
		staffOperation("publish", http.MethodPost, one+"/publish", "Publish an announcement", authors,
			func(ctx context.Context, in *publishIn) (*announcementWire, error) {
				return shown(s.Publish(ctx, in.Announcement, in.Body.Version))
			}),
		staffOperation("withdraw", http.MethodPost, one+"/withdraw", "Withdraw an announcement", authors,
			func(ctx context.Context, in *oneIn) (*announcementWire, error) {
				return shown(s.Withdraw(ctx, in.Announcement))
			}),
		staffOperation("remove", http.MethodDelete, one, "Remove a draft", authors, func(ctx context.Context, in *oneIn) (*api.Empty, error) {
			return nil, s.Remove(ctx, in.Announcement)
		}),
	}
}
