package oauth

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/i18n"
)

// serverWire describes the authorization server (RFC 8414).
type serverWire struct {
	Issuer                            string   `json:"issuer"`
	AuthorizationEndpoint             string   `json:"authorization_endpoint"`
	TokenEndpoint                     string   `json:"token_endpoint"`
	DeviceAuthorizationEndpoint       string   `json:"device_authorization_endpoint"`
	RevocationEndpoint                string   `json:"revocation_endpoint"`
	IntrospectionEndpoint             string   `json:"introspection_endpoint"`
	ScopesSupported                   []string `json:"scopes_supported"`
	ResponseTypesSupported            []string `json:"response_types_supported"`
	ResponseModesSupported            []string `json:"response_modes_supported"`
	GrantTypesSupported               []string `json:"grant_types_supported"`
	TokenAuthMethodsSupported         []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethodsSupported    []string `json:"revocation_endpoint_auth_methods_supported"`
	IntrospectionAuthMethodsSupported []string `json:"introspection_endpoint_auth_methods_supported"`
	CodeChallengeMethodsSupported     []string `json:"code_challenge_methods_supported"`
	IssParameterSupported             bool     `json:"authorization_response_iss_parameter_supported"`
	ProtectedResources                []string `json:"protected_resources"`
	ServiceDocumentation              string   `json:"service_documentation"`
	UILocalesSupported                []string `json:"ui_locales_supported"`
}

func (s *Service) server() *serverWire {
	secrets := []string{"client_secret_basic", "client_secret_post"}
	w := &serverWire{
		Issuer:                s.BaseURL,
		AuthorizationEndpoint: s.BaseURL + "/oauth/authorize", TokenEndpoint: s.BaseURL + "/oauth/token",
		DeviceAuthorizationEndpoint: s.BaseURL + "/oauth/device_authorization",
		RevocationEndpoint:          s.BaseURL + "/oauth/revoke", IntrospectionEndpoint: s.BaseURL + "/oauth/introspect",
		ScopesSupported: ThirdPartyScopes(), ResponseTypesSupported: []string{"code"}, ResponseModesSupported: []string{"query"},
		GrantTypesSupported:       []string{"authorization_code", "refresh_token", deviceGrant},
		TokenAuthMethodsSupported: append([]string{"none"}, secrets...), RevocationAuthMethodsSupported: append([]string{"none"}, secrets...),
		IntrospectionAuthMethodsSupported: secrets, CodeChallengeMethodsSupported: []string{"S256"}, IssParameterSupported: true,
		ServiceDocumentation: s.BaseURL + "/docs", UILocalesSupported: i18n.Supported(),
	}
	for _, path := range resources {
		w.ProtectedResources = append(w.ProtectedResources, s.BaseURL+path)
	}
	return w
}

// resourceWire describes the API as a protected resource (RFC 9728). The refusal of a request without a token names the
// document in WWW-Authenticate.
type resourceWire struct {
	Resource               string   `json:"resource"`
	ResourceName           string   `json:"resource_name"`
	AuthorizationServers   []string `json:"authorization_servers"`
	ScopesSupported        []string `json:"scopes_supported"`
	BearerMethodsSupported []string `json:"bearer_methods_supported"`
	ResourceDocumentation  string   `json:"resource_documentation"`
}

type noIn struct{}

// metadata are the discovery documents (specification, "MCP discovery").
func (s *Service) metadata() []api.Route {
	routes := []api.Route{api.Operation[noIn, serverWire]{
		ID: "oauth.server_metadata", Method: http.MethodGet, Path: "/.well-known/oauth-authorization-server",
		Description: "Where clients find the endpoints, grants, scopes and code challenge methods of this server. Libraries for OAuth " +
			"read it by themselves; nothing has to be configured by hand but the issuer.",
		Section: api.OAuth, Auth: api.Open, Summary: "The authorization server described (RFC 8414)",
		Handle: func(context.Context, auth.Principal, *noIn) (*serverWire, error) { return s.server(), nil },
	}}
	ids := map[string]string{"": "oauth.resource_metadata", "/api/v1": "oauth.resource_metadata_api", "/api/v1/mcp": "oauth.resource_metadata_mcp"}
	for _, path := range resources {
		routes = append(routes, api.Operation[noIn, resourceWire]{
			ID: ids[path], Method: http.MethodGet, Path: "/.well-known/oauth-protected-resource" + path,
			Section: api.OAuth, Auth: api.Open, Summary: "The API described as a protected resource (RFC 9728)",
			Description: "Names the authorization server and the scopes of the API. Agents find it by the `WWW-Authenticate` header of a 401.",
			Handle: func(context.Context, auth.Principal, *noIn) (*resourceWire, error) {
				return &resourceWire{
					Resource: s.BaseURL + path, ResourceName: "Stead API", AuthorizationServers: []string{s.BaseURL},
					ScopesSupported: ThirdPartyScopes(), BearerMethodsSupported: []string{"header"}, ResourceDocumentation: s.BaseURL + "/docs",
				}, nil
			},
		})
	}
	return routes
}

// AuthorizePage describes GET /oauth/authorize for the OpenAPI document; the pages serve it.
func AuthorizePage() api.Page {
	text := &huma.Schema{Type: huma.TypeString}
	op := &huma.Operation{
		OperationID: "oauth.authorize", Summary: "Ask a user to authorize the application", Security: []map[string][]string{},
		Description: "For the user's browser, which is signed in by a session. Public applications must use PKCE with S256.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The page that asks for consent, when the user has not given it yet"},
			"302": {Description: "To redirect_uri with `code`, `state` and `iss`, or with `error`"},
			"303": {Description: "To the page of signing in when nobody is signed in; to the panel where staff are signed in as a customer"},
			"400": {Description: "The application or its redirect_uri is not known: a page, never a redirect"},
			"503": {
				Description: "The database does not answer: a page",
				Headers:     map[string]*huma.Param{"Retry-After": {Ref: "#/components/headers/Retry-After"}},
			},
		},
	}
	for _, p := range []field{
		{"client_id", "The application.", true},
		{"redirect_uri", "One that it registered, exactly; the port of a loopback address is free.", true},
		{"response_type", "code", true},
		{"scope", "Separated by spaces; profile when left out.", false},
		{"state", "Comes back unchanged.", false},
		{"code_challenge", "PKCE: base64url(sha256(verifier)).", false},
		{"code_challenge_method", "S256", false},
		{"prompt", "none: never show a page; consent: always ask.", false},
		{"resource", "RFC 8707: this API.", false},
	} {
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: "query", Required: p.required, Description: p.doc, Schema: text})
	}
	return api.Page{Path: "/oauth/authorize", Section: api.OAuth, Get: op}
}
