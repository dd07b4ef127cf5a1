package devices

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/auth"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/page"
)

// deviceWire is a device (resources, section 11). The token is never shown.
type deviceWire struct {
	ID         int64     `json:"id"`
	Platform   Platform  `json:"platform" enum:"ios,android,web"`
	Name       string    `json:"name"`
	Locale     string    `json:"locale" doc:"Language of what is pushed"`
	AppVersion string    `json:"app_version"`
	Reachable  bool      `json:"reachable" doc:"Whether this server pushes to the platform"`
	LastSeenAt time.Time `json:"last_seen_at"`
	CreatedAt  time.Time `json:"created_at"`
}

func (s *Service) wire(d device) deviceWire {
	return deviceWire{
		ID: d.id, Platform: d.platform, Name: d.name, Locale: d.locale, AppVersion: d.appVersion,
		Reachable: s.senders[d.platform] != nil, LastSeenAt: d.lastSeenAt, CreatedAt: d.createdAt,
	}
}

type registerIn struct {
	Body struct {
		Platform   Platform `json:"platform" enum:"ios,android,web"`
		Token      string   `json:"token" minLength:"1" maxLength:"4096" doc:"The registration token of Firebase Cloud Messaging; of a browser the JSON of its PushSubscription"`
		Name       string   `json:"name,omitempty" maxLength:"100" example:"Anna's phone"`
		Locale     string   `json:"locale,omitempty" maxLength:"35" doc:"Language of what is pushed; yours when left out"`
		AppVersion string   `json:"app_version,omitempty" maxLength:"40"`
	}
}

type removeIn struct {
	Token string `query:"token" maxLength:"4096" doc:"Token of the device, in place of the body"`
	Body  struct {
		Token string `json:"token,omitempty" maxLength:"4096" doc:"Here or in the query"`
	}
}

type deviceIn struct {
	Device int64 `path:"device" minimum:"1" doc:"Id of the device"`
}

// listWire is the envelope with the key for browser subscriptions.
type listWire struct {
	Data             []deviceWire `json:"data"`
	Meta             page.Meta    `json:"meta"`
	WebPushPublicKey string       `json:"web_push_public_key" doc:"The applicationServerKey that a browser subscribes with, in base64url"`
}

// Operations are this section's part of the specification's section "Account".
func (s *Service) Operations() []api.Route {
	const base = "/api/v1/me/devices"
	scopes := []string{auth.ScopeProfile}
	return []api.Route{
		// Specification, "Account"; resources, section 11.
		api.Operation[registerIn, registeredWire]{
			ID: "account.devices.register", OwnerOnly: true, Method: http.MethodPost, Path: base, Section: api.Account, Auth: api.Token, Scopes: scopes,
			Description: "Call it at each start: the same token is the same device, and keeps it from being forgotten after 270 days. " +
				"`token` is that of Firebase, or in browsers the JSON of the subscription. At most 30 devices are kept; a further" +
				" one replaces the one not seen for longest.",
			Example: `{"platform": "android", "token": "fcm-registration-token", "name": "Pixel 9", "locale": "uz"}`,
			Status:  http.StatusCreated,
			Summary: "Register the device that you run on, or say that it is still there",
			Handle:  s.registerOperation,
		},
		// Specification, "Account"; resources, section 11.
		api.Operation[removeIn, api.Empty]{
			ID: "account.devices.remove", Method: http.MethodDelete, Path: base, Section: api.Account, Auth: api.Token, Scopes: scopes,
			Description: "For applications when somebody signs out. `token` is what the device was registered with, in the body or in the " +
				"query. The device gets no more notifications.",
			Example: `{"token": "fcm-registration-token"}`,
			Summary: "Remove the device with a token", Errors: []*fault.Def{fault.NotFound},
			Handle: func(ctx context.Context, p auth.Principal, in *removeIn) (*api.Empty, error) {
				token := cmp.Or(in.Body.Token, in.Token)
				if token == "" {
					return nil, fault.Invalid("token", "required")
				}
				return &api.Empty{}, s.remove(ctx, p.AccountID, token)
			},
		},
		// Beyond the specification: a person sees where notifications go, and can remove a lost phone.
		api.Operation[page.Params, listWire]{
			ID: "account.devices.list", Method: http.MethodGet, Path: base, Section: api.Account, Auth: api.Token, Scopes: scopes,
			Description: "The devices that show your notifications. `reachable` is false while this server has no way to a platform. " +
				"`web_push_public_key` is the key for `PushManager.subscribe`.",
			Summary: "List your devices, the last seen first, and the key that browsers subscribe with",
			Handle:  s.listOperation,
		},
		api.Operation[deviceIn, api.Empty]{
			ID: "account.devices.remove_by_id", Method: http.MethodDelete, Path: base + "/{device}", Section: api.Account,
			Description: "For a device that is lost: it gets no more notifications. The application on it stays signed in; disconnect it " +
				"to end that.",
			Auth: api.Token, Scopes: scopes, Summary: "Remove a device",
			Handle: func(ctx context.Context, p auth.Principal, in *deviceIn) (*api.Empty, error) {
				return &api.Empty{}, s.removeByID(ctx, p.AccountID, in.Device)
			},
		},
	}
}

// registeredWire is a device that was registered.
type registeredWire struct {
	deviceWire
	fresh bool
}

// Schema implements huma.SchemaProvider.
func (registeredWire) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[deviceWire](), true, "")
}

// HTTPStatus tells the edge whether the device is new.
func (w registeredWire) HTTPStatus() int {
	if w.fresh {
		return http.StatusCreated
	}
	return http.StatusOK
}

func (s *Service) registerOperation(ctx context.Context, p auth.Principal, in *registerIn) (*registeredWire, error) {
	b := in.Body
	locale := i18n.Lang(ctx)
	if b.Locale != "" {
		known, ok := i18n.Lookup(b.Locale)
		if !ok {
			return nil, fault.Invalid("locale", "device_locale")
		}
		locale = known
	}
	d, fresh, err := s.register(ctx, p.AccountID, registration{
		applicationID: p.ApplicationID, sessionID: p.SessionID, platform: b.Platform, token: b.Token, name: strings.TrimSpace(b.Name), locale: locale, appVersion: strings.TrimSpace(b.AppVersion),
	})
	if err != nil {
		return nil, err
	}
	return &registeredWire{s.wire(d), fresh}, nil
}

// listOperation returns one page: an account has maxDevices at most.
func (s *Service) listOperation(ctx context.Context, p auth.Principal, in *page.Params) (*listWire, error) {
	keys, err := s.Keys(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := ofAccount(ctx, s.DB, p.AccountID)
	if err != nil {
		return nil, err
	}
	from := min(in.Offset(), len(rows))
	w := &listWire{Data: []deviceWire{}, Meta: page.MetaOf(*in, len(rows)), WebPushPublicKey: keys.Public}
	for _, d := range rows[from:min(from+in.Limit(), len(rows))] {
		w.Data = append(w.Data, s.wire(d))
	}
	return w, nil
}
