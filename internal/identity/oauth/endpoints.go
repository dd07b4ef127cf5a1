package oauth

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/throttle"
)

// Throttle is the policy of the endpoints that applications call: per application and address, or per address for an
// unknown application.
var Throttle = throttle.Policy{Name: "oauth", Limit: 120, Window: time.Minute}

const (
	// maxForm bounds the forms of the protocol, in bytes.
	maxForm = 32 << 10
	// formTimeout bounds the work of one call.
	formTimeout = 15 * time.Second
)

const formType = "application/x-www-form-urlencoded"

// endpoints are the operations of the protocol that applications call.
func (s *Service) endpoints() []api.Route {
	token := func(id, path, summary string, serve func(context.Context, Application, params) (*tokenWire, error)) api.Route {
		op := formOperation(s, id, path, summary, serve)
		op.Description = "A form. Confidential applications authenticate with client_secret or HTTP Basic, public ones with PKCE. " +
			"Refusals are 400 with RFC 6749's `error` and `error_description` beside `message`. See docs/oauth.md."
		op.Errors = []*fault.Def{
			ErrInvalidRequest, ErrInvalidClient, ErrInvalidGrant, ErrInvalidScope, ErrInvalidTarget, ErrUnsupportedGrantType,
			ErrAuthorizationPending, ErrSlowDown, ErrAccessDenied, ErrExpiredToken,
		}
		op.Document = formDocument(tokenForm, map[string]string{"grant_type": "refresh_token", "client_id": "app_4c1d9e", "refresh_token": "str_…"})
		return op
	}
	revoke := formOperation(s, "oauth.revoke", "/oauth/revoke", "Revoke a token (RFC 7009)",
		func(ctx context.Context, app Application, p params) (*revokedWire, error) {
			return &revokedWire{}, s.revoke(ctx, app, p)
		})
	revoke.Errors = []*fault.Def{ErrInvalidRequest, ErrInvalidClient, ErrInvalidGrant}
	revoke.Description = "A refresh token ends with its whole family, an access token by itself. Unknown tokens answer 200 too, as the RFC asks. " +
		"Every replica knows within a second."
	revoke.Document = formDocument(tokenParamForm, map[string]string{"client_id": "app_4c1d9e", "token": "str_…"})
	introspect := formOperation(s, "oauth.introspect", "/oauth/introspect", "Ask about a token of one's own (RFC 7662)", s.introspect)
	introspect.Errors = []*fault.Def{ErrInvalidRequest, ErrInvalidClient, ErrUnauthorizedClient}
	introspect.Description = "A confidential application learns whether one of its own tokens is active, its scopes and until when. Tokens of others, " +
		"ended and unknown ones are `{\"active\": false}`."
	introspect.Document = formDocument(tokenParamForm, map[string]string{"client_id": "app_4c1d9e", "client_secret": "sts_…", "token": "sta_…"})
	return []api.Route{
		token("oauth.token", "/oauth/token", "Exchange a code or a refresh token for tokens", s.grantTokens),
		token("oauth.refresh", "/oauth/token/refresh", "Exchange a refresh token for tokens",
			func(ctx context.Context, app Application, p params) (*tokenWire, error) {
				if p["grant_type"] == "" {
					p["grant_type"] = "refresh_token" // implied by the path
				}
				if p["grant_type"] != "refresh_token" {
					return nil, refuse(ErrUnsupportedGrantType, "grant_type_unsupported")
				}
				return s.grantTokens(ctx, app, p)
			}),
		revoke, introspect, s.device(),
	}
}

type formIn struct{}

// revokedWire is an empty object: RFC 7009 answers 200 without content.
type revokedWire struct{}

// formOperation is an endpoint of the protocol: it reads a form, authenticates the application and answers JSON.
func formOperation[Out any](s *Service, id, path, summary string,
	serve func(context.Context, Application, params) (*Out, error),
) api.Operation[formIn, Out] {
	return api.Operation[formIn, Out]{
		ID: id, Method: http.MethodPost, Path: path, Section: api.OAuth, Auth: api.Own,
		Throttle: Throttle.Name, ThrottleKey: s.throttleKey, Summary: summary,
		Stream: func(ctx context.Context, _ auth.Principal, _ *formIn, w http.ResponseWriter, r *http.Request) error {
			ctx, cancel := context.WithTimeout(ctx, formTimeout)
			defer cancel()
			out, err := withClient(ctx, s, r, serve)
			if err != nil {
				return described(err)
			}
			return writeJSON(w, out)
		},
	}
}

func withClient[Out any](ctx context.Context, s *Service, r *http.Request, serve func(context.Context, Application, params) (*Out, error)) (*Out, error) {
	p, err := readForm(r)
	if err != nil {
		return nil, err
	}
	c, err := readCredentials(r.Header.Get("Authorization"), p)
	if err != nil {
		return nil, err
	}
	app, err := s.authenticate(ctx, c)
	if err != nil {
		return nil, err
	}
	return serve(ctx, app, p)
}

// readForm reads the parameters of the body only: addresses are logged on the way, and must not have secrets (RFC 6749,
// section 2.3.1).
func readForm(r *http.Request) (params, error) {
	query := r.URL.Query()
	for _, name := range known {
		if query.Has(name) {
			return nil, refuse(ErrInvalidRequest, "parameter_in_address")
		}
	}
	if err := parseForm(r); err != nil {
		return nil, err
	}
	return parseParams(r.PostForm)
}

// parseForm fills r.PostForm; the throttle and the endpoint both need it.
func parseForm(r *http.Request) error {
	if r.PostForm != nil {
		return nil
	}
	if mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mt != formType {
		return refuse(ErrInvalidRequest, "form_expected")
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxForm))
	r.Body = http.NoBody
	if err != nil {
		return refuse(ErrInvalidRequest, "form_unreadable")
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return refuse(ErrInvalidRequest, "form_unreadable")
	}
	r.PostForm = form
	return nil
}

// throttleKey is the client id of an existing application. Unknown ids share the address's count, so inventing ids
// gains nothing.
func (s *Service) throttleKey(r *http.Request) string {
	var clientID string
	if c, ok := parseBasic(r.Header.Get("Authorization")); ok {
		clientID = c.clientID
	} else if parseForm(r) == nil {
		clientID = r.PostForm.Get("client_id")
	}
	if !validClientID(clientID) {
		return ""
	}
	if _, err := s.application(r.Context(), clientID); err != nil {
		return ""
	}
	return clientID
}

// described adds the reason of a refusal to its error object, as RFC 6749's error_description.
func described(err error) error {
	r := AsRefusal(err)
	if r == nil {
		return err
	}
	return &fault.Error{Def: r.Def, Fields: fault.Fields{"error_description": description(r)}, Cause: r}
}

// description is for developers: English, in the characters that RFC 6749
// allows.
func description(r *Refusal) string { return i18n.T(i18n.English, "oauth.reason."+r.Reason, nil) }

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache") // RFC 6749, section 5.1
	_, _ = w.Write(append(body, '\n'))   // an error means only that the client has disconnected
	return nil
}

// field of a form, for the document.
type field struct {
	name, doc string
	required  bool
}

var clientFields = []field{
	{"client_id", "The application; in HTTP Basic it may be left out here.", true},
	{"client_secret", "Confidential applications only, unless they use HTTP Basic.", false},
}

var tokenForm = append([]field{
	{"grant_type", "authorization_code, refresh_token or " + deviceGrant, true},
	{"code", "With authorization_code.", false},
	{"redirect_uri", "With authorization_code: as in the authorization request.", false},
	{"code_verifier", "With authorization_code and PKCE.", false},
	{"refresh_token", "With refresh_token.", false},
	{"device_code", "With the device grant.", false},
	{"scope", "With refresh_token: narrower scopes for the access token.", false},
	{"resource", "RFC 8707: this API.", false},
}, clientFields...)

var tokenParamForm = append([]field{
	{"token", "An access or refresh token.", true},
	{"token_type_hint", "access_token or refresh_token; not needed.", false},
}, clientFields...)

// formDocument describes a form.
func formDocument(fields []field, example map[string]string) func(*huma.Operation) {
	s := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}}
	for _, f := range fields {
		s.Properties[f.name] = &huma.Schema{Type: huma.TypeString, Description: f.doc}
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	return func(op *huma.Operation) {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{formType: {Schema: s, Example: example}}}
	}
}
