package company

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
	"stead.dev/stead/internal/platform/fault"
)

type brandWire struct {
	Name    string  `json:"name"`
	Color   string  `json:"color" doc:"Empty where neither staff nor the configuration have chosen one"`
	Support string  `json:"support_email"`
	Terms   string  `json:"terms_url"`
	Privacy string  `json:"privacy_url"`
	Imprint string  `json:"imprint_url"`
	Logo    *string `json:"logo" doc:"Address of the picture on this site; null without one"`
	Icon    string  `json:"icon" doc:"Address of the picture in a browser's tab"`
}

type companyWire struct {
	Settings   brand.Settings `json:"settings" doc:"What staff have set; an empty member has the configuration's value"`
	Uploaded   []string       `json:"uploaded" doc:"The pictures that staff have uploaded: logo, icon"`
	Configured brandWire      `json:"configured" doc:"What holds where staff have set nothing"`
	Shown      brandWire      `json:"shown" doc:"What is shown now"`
	ETag       string         `json:"etag" doc:"The version, for a change"`
}

func (s *Service) wire(v Shown) *companyWire {
	return &companyWire{v.Settings, v.Uploaded, wireOf(newPresent(s.Configured, brand.Settings{}, nil).brand), wireOf(v.Brand), v.ETag}
}

func wireOf(b brand.Brand) brandWire {
	w := brandWire{Name: b.Name, Color: b.Color, Support: b.Support, Terms: b.Terms, Privacy: b.Privacy, Imprint: b.Imprint, Icon: b.Icon}
	if b.Logo != "" {
		w.Logo = &b.Logo
	}
	return w
}

type changeIn struct {
	Body struct {
		brand.Settings
		brand.PicturesIn

		ETag   string `json:"etag,omitempty" maxLength:"200" doc:"The version that is to be changed; another one there is 409 etag_mismatch."`
		Reason string `json:"reason" minLength:"1" maxLength:"300" doc:"Why; it stands in the audit log."`
	}
}

// owners are who changes how the company shows itself.
var owners = []auth.Role{auth.Owner}

func staffOperation[In, Out any](
	id, method, path, summary string, roles []auth.Role, f func(ctx context.Context, p auth.Principal, in *In) (*Out, error),
) api.Operation[In, Out] {
	op := api.ForStaff[In, Out](id, path, summary, roles)
	op.Method, op.Handle, op.Example, op.Description = method, f, staffExamples[id], staffDescriptions[id]
	return op
}

// staffExamples are bodies that the operations take, for the document.
var staffExamples = map[string]string{
	"company.change": `{"name": "Bulut Hosting", "color": "#1c4ed8", "support_email": "help@bulut.example", "terms_url": "https://bulut.example/terms", ` +
		`"privacy_url": "", "imprint_url": "", "logo": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=", "reason": "The new brand"}`,
	"mails.change": `{"subject": "{{.Company}}: a new password", "text": "Open this page within an hour:\n\n{{.Link}}"}`,
}

// staffDescriptions say what the summaries of the operations leave out.
var staffDescriptions = map[string]string{
	"company.get": "What staff have set. A field that is empty has the configuration's value.",
	"company.change": "Texts and pictures in one: it is live at once on pages, in the panel and in mails. Empty fields have the configuration's values. " +
		"The type of a picture is found out from its content; an SVG with anything but shapes is refused with the name of what it has. Without a logo " +
		"the name stands in its place, without an icon its first letter.",
	"mails.list":  "With their placeholders, and the languages in which staff have changed them.",
	"mails.reset": "The change is forgotten; the audit log keeps it.",
	"mails.get":   "With the placeholders that it may have and those that it must have, and both forms as they would be sent.",
	"mails.change": "`dry_run=true` only answers the preview. A placeholder that the mail does not have, or the lack of one that it " +
		"needs, is refused.",
	"mails.send_test": "The live text, to the caller's own address.",
}

func (s *Service) staff() []api.Route {
	change := staffOperation("company.change", http.MethodPut, "/company", "Change how the company shows itself", owners,
		func(ctx context.Context, _ auth.Principal, in *changeIn) (*companyWire, error) {
			shown, err := s.Change(ctx, Change{in.Body.Settings, in.Body.PicturesIn, in.Body.ETag}, in.Body.Reason)
			return s.wire(shown), err
		})
	change.MaxBody = brand.MaxBody
	change.Errors = append(change.Errors, fault.ETagMismatch)
	return []api.Route{
		staffOperation("company.get", http.MethodGet, "/company", "How the company shows itself", auth.Roles(),
			func(context.Context, auth.Principal, *struct{}) (*companyWire, error) { return s.wire(s.Get()), nil }),
		change,
	}
}
