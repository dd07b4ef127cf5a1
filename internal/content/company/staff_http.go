package company

import (
	"context"
	"net/http"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/brand"
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
	Settings   Settings  `json:"settings" doc:"What staff have set; an empty member has the configuration's value"`
	Uploaded   []string  `json:"uploaded" doc:"The pictures that staff have uploaded: logo, icon"`
	Configured brandWire `json:"configured" doc:"What holds where staff have set nothing"`
	Shown      brandWire `json:"shown" doc:"What is shown now"`
}

func (s *Service) wire(v Shown) *companyWire {
	return &companyWire{v.Settings, v.Uploaded, wireOf(newPresent(s.Configured, Settings{}, nil).brand), wireOf(v.Brand)}
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
		Settings

		Reason string `json:"reason" minLength:"1" maxLength:"300" doc:"Why; it stands in the audit log."`
	}
}

type imageIn struct {
	Image string `path:"image" enum:"logo,icon"`
}

type setImageIn struct {
	imageIn
	Body struct {
		Content []byte `json:"content" contentEncoding:"base64" doc:"Base64. A logo is a PNG, WebP or SVG of at most 256 KB, an icon a PNG, ICO, WebP or SVG of at most 64 KB. An SVG has nothing but shapes."`
		Reason  string `json:"reason" minLength:"1" maxLength:"300" doc:"Why; it stands in the audit log."`
	}
}

// owners are who changes how the company shows itself.
var owners = []auth.Role{auth.Owner}

// maxImageBody is the largest body with a picture: its bytes in base64, and the reason.
const maxImageBody = maxLogo*4/3 + 8<<10

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
		`"privacy_url": "", "imprint_url": "", "reason": "The new brand"}`,
	"mails.change":      `{"subject": "{{.Company}}: a new password", "text": "Open this page within an hour:\n\n{{.Link}}"}`,
	"company.set_image": `{"content": "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=", "reason": "The new brand"}`,
}

// staffDescriptions say what the summaries of the operations leave out.
var staffDescriptions = map[string]string{
	"company.get":          "What staff have set. A field that is empty has the configuration's value.",
	"company.change":       "It is live at once on pages, in the panel and in mails. Empty fields have the configuration's values.",
	"company.remove_image": "Without a logo the name stands in its place, without an icon its first letter.",
	"company.set_image":    "The type is found out from the content. An SVG with anything but shapes is refused with the name of what it has.",
	"mails.list":           "With their placeholders, and the languages in which staff have changed them.",
	"mails.reset":          "The change is forgotten; the audit log keeps it.",
	"mails.get":            "With the placeholders that it may have and those that it must have, and both forms as they would be sent.",
	"mails.change": "`dry_run=true` only answers the preview. A placeholder that the mail does not have, or the lack of one that it " +
		"needs, is refused.",
	"mails.send_test": "The live text, to the caller's own address.",
}

func (s *Service) staff() []api.Route {
	setImage := staffOperation("company.set_image", http.MethodPut, "/company/images/{image}", "Upload the company's logo or icon", owners,
		func(ctx context.Context, _ auth.Principal, in *setImageIn) (*companyWire, error) {
			shown, err := s.SetImage(ctx, in.Image, in.Body.Content, in.Body.Reason)
			return s.wire(shown), err
		})
	setImage.MaxBody = maxImageBody
	return []api.Route{
		staffOperation("company.get", http.MethodGet, "/company", "How the company shows itself", auth.Roles(),
			func(context.Context, auth.Principal, *struct{}) (*companyWire, error) { return s.wire(s.Get()), nil }),
		staffOperation("company.change", http.MethodPut, "/company", "Change how the company shows itself", owners,
			func(ctx context.Context, _ auth.Principal, in *changeIn) (*companyWire, error) {
				shown, err := s.Change(ctx, in.Body.Settings, in.Body.Reason)
				return s.wire(shown), err
			}),
		setImage,
		staffOperation("company.remove_image", http.MethodDelete, "/company/images/{image}", "Remove the company's logo or icon", owners,
			func(ctx context.Context, _ auth.Principal, in *imageIn) (*companyWire, error) {
				shown, err := s.RemoveImage(ctx, in.Image)
				return s.wire(shown), err
			}),
	}
}
