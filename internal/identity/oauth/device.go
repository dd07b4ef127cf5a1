package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"strings"
	"time"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/platform/throttle"
)

// The refusals of polls (RFC 8628, section 3.5).
var (
	ErrAuthorizationPending = fault.Define(fault.KindBadRequest, "authorization_pending")
	ErrSlowDown             = fault.Define(fault.KindBadRequest, "slow_down")
	ErrExpiredToken         = fault.Define(fault.KindBadRequest, "expired_token")
)

// DeviceThrottle is the policy of the page where users enter codes, per address: nobody can try many (RFC 8628, section 5.1).
var DeviceThrottle = throttle.Policy{Name: "oauth-device", Limit: 20, Window: time.Minute}

const (
	deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
	// DevicePath is the page where users enter codes.
	DevicePath = "/oauth/device"
	// DeviceLife is how long a user has to enter the code.
	DeviceLife = 10 * time.Minute
	// deviceInterval is the time between two polls at first; each that comes too early makes it longer by as much.
	deviceInterval = 5 * time.Second
	devicePrefix   = "std_"
	// keepDevice is how long an expired code is kept, so that a poll is answered as expired and not as unknown.
	keepDevice = time.Hour
)

// userCodeLetters cannot be taken for each other, and make no words (RFC 8628, section 6.1).
const (
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8
)

// newUserCode makes a code for people to type, such as WDJB-MJHT: one of 25,600,000,000.
func newUserCode() (string, error) {
	var b strings.Builder
	for i := range userCodeLength {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(userCodeLetters))))
		if err != nil {
			return "", err
		}
		if i == userCodeLength/2 {
			b.WriteByte('-')
		}
		b.WriteByte(userCodeLetters[n.Int64()])
	}
	return b.String(), nil
}

// readUserCode reads a code as people type it; false when it cannot be one.
func readUserCode(typed string) (string, bool) {
	if len(typed) > 4*userCodeLength {
		return "", false
	}
	code := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(typed))
	if len(code) != userCodeLength || strings.Trim(code, userCodeLetters) != "" {
		return "", false
	}
	return code[:userCodeLength/2] + "-" + code[userCodeLength/2:], true
}

// deviceWire is the device authorization response (RFC 8628, section 3.2).
type deviceWire struct {
	DeviceCode              string `json:"device_code" doc:"For the polls; secret."`
	UserCode                string `json:"user_code" doc:"What the user enters."`
	VerificationURI         string `json:"verification_uri" doc:"Where the user enters it."`
	VerificationURIComplete string `json:"verification_uri_complete" doc:"The same page with the code filled in, for a QR code or a link."`
	ExpiresIn               int    `json:"expires_in" doc:"Seconds: 600."`
	Interval                int    `json:"interval" doc:"Seconds between two polls: 5."`
}

// device is the endpoint at which a device begins.
func (s *Service) device() api.Route {
	op := formOperation(s, "oauth.device", "/oauth/device_authorization", "Begin to sign in on a device without a browser (RFC 8628)", s.beginDevice)
	op.Description = "Show the user `user_code` and `verification_uri`, and ask `/oauth/token` with the grant type " + deviceGrant +
		" every `interval` seconds: `authorization_pending` until the user has decided, `slow_down` to wait 5 seconds longer between polls, then tokens, " +
		"`access_denied` or `expired_token`."
	op.Errors = []*fault.Def{ErrInvalidRequest, ErrInvalidClient, ErrUnauthorizedClient, ErrInvalidScope, ErrInvalidTarget}
	op.Document = formDocument(append([]field{
		{"scope", "Separated by spaces; profile when left out.", false},
		{"resource", "RFC 8707: this API.", false},
	}, clientFields...), map[string]string{"client_id": "app_4c1d9e", "scope": "profile services:read"})
	return op
}

// beginDevice gives a device its codes.
func (s *Service) beginDevice(ctx context.Context, app Application, p params) (*deviceWire, error) {
	if app.FirstParty {
		return nil, refuse(ErrUnauthorizedClient, "device_first_party") // nobody would be asked
	}
	if r := p["resource"]; r != "" && !ownResource(s.BaseURL, r) {
		return nil, refuse(ErrInvalidTarget, "resource_unknown")
	}
	scopes, err := askedScopes(p["scope"], app)
	if err != nil {
		return nil, err
	}
	user, err := newUserCode()
	if err != nil {
		return nil, err
	}
	code := secret.Token(devicePrefix, tokenBytes)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return insertDevice(ctx, tx, secret.Hash(code), secret.Hash(user), app.ID, scopes, tx.Now.Add(DeviceLife))
	})
	if err != nil {
		return nil, err
	}
	page := s.BaseURL + DevicePath
	return &deviceWire{
		DeviceCode: code, UserCode: user, VerificationURI: page, VerificationURIComplete: page + "?user_code=" + user,
		ExpiresIn: int(DeviceLife / time.Second), Interval: int(deviceInterval / time.Second),
	}, nil
}

// DeviceAsk is what a device asks of the user who has entered its code.
type DeviceAsk struct {
	Application Application
	Scopes      Scopes
	UserCode    string
	AskedAt     time.Time
}

// AskDevice finds what a code asks for. invalid_grant: no device waits for an answer with it.
func (s *Service) AskDevice(ctx context.Context, typed string) (*DeviceAsk, error) {
	ask, _, err := s.askDevice(ctx, s.DB, typed, false)
	return ask, err
}

func (s *Service) askDevice(ctx context.Context, q db.Querier, typed string, lock bool) (*DeviceAsk, deviceCode, error) {
	unknown := refuse(ErrInvalidGrant, "user_code_unknown")
	code, ok := readUserCode(typed)
	if !ok {
		return nil, deviceCode{}, unknown
	}
	d, err := undecidedDevice(ctx, q, secret.Hash(code), s.Clock.Now(), lock)
	if errors.Is(err, db.ErrNoRows) {
		return nil, d, unknown
	}
	if err != nil {
		return nil, d, err
	}
	app, err := applicationByClientID(ctx, q, d.clientID)
	if errors.Is(err, db.ErrNoRows) || err == nil && (app.Disabled || app.FirstParty || !app.Scopes.Has(d.scopes)) {
		return nil, d, unknown
	}
	return &DeviceAsk{Application: app, Scopes: d.scopes, UserCode: code, AskedAt: d.askedAt}, d, err
}

// DecideDevice answers a device in the name of an account. sandbox says that the user was told that the application only reads.
func (s *Service) DecideDevice(ctx context.Context, accountID int64, typed string, allow, sandbox bool) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		ask, d, err := s.askDevice(ctx, tx, typed, true)
		if err != nil {
			return err
		}
		if !allow {
			return denyDevice(ctx, tx, d.id)
		}
		// It must not be deleted, or get another mode, during the following steps.
		app, err := lockApplication(ctx, tx, ask.Application.ClientID)
		if err != nil {
			return notFound(err)
		}
		if app.Disabled || !app.Scopes.Has(ask.Scopes) || sandbox && !app.Sandbox {
			return refuse(ErrInvalidClient, "client_disabled")
		}
		holder, err := s.Accounts.Holder(ctx, tx, accountID)
		if err != nil {
			return err
		}
		scopes := ask.Scopes.forRole(holder.Role)
		if holder.Suspended || len(scopes) == 0 {
			return refuse(ErrAccessDenied, "account_may_not")
		}
		if err := s.remember(ctx, tx, accountID, app, scopes, true); err != nil {
			return err
		}
		id, err := insertGrant(ctx, tx, grant{accountID: accountID, applicationID: app.ID, scopes: scopes}, d.expiresAt)
		if err != nil {
			return err
		}
		return allowDevice(ctx, tx, d.id, id)
	})
}

// pollDevice answers a poll (RFC 8628, section 3.4). A code gives tokens once, and presented again it ends them.
func (s *Service) pollDevice(ctx context.Context, app Application, p params) (*tokenWire, error) {
	if p["device_code"] == "" {
		return nil, refuse(ErrInvalidRequest, "device_code_missing")
	}
	var (
		answer  *tokenWire
		refused error // a refusal that is committed together with what it notes
	)
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		answer, refused = nil, nil
		d, err := lockDevice(ctx, tx, secret.Hash(p["device_code"]), app.ID)
		switch {
		case errors.Is(err, db.ErrNoRows):
			return refuse(ErrInvalidGrant, "device_code_unknown")
		case err != nil:
			return err
		case d.usedAt != nil:
			refused = refuse(ErrInvalidGrant, "code_used")
			return s.end(ctx, tx, *d.grantID, "code_reused")
		case !tx.Now.Before(d.expiresAt):
			return refuse(ErrExpiredToken, "device_code_expired")
		case d.deniedAt != nil:
			return refuse(ErrAccessDenied, "denied")
		case tx.Now.Before(d.pollAfter):
			refused = refuse(ErrSlowDown, "polled_too_early")
			d.interval += deviceInterval
			return notePoll(ctx, tx, d)
		case d.grantID == nil:
			refused = refuse(ErrAuthorizationPending, "authorization_pending")
			return notePoll(ctx, tx, d)
		}
		if err := useDevice(ctx, tx, d.id); err != nil {
			return err
		}
		answer, err = s.mint(ctx, tx, app, *d.grantID, nil, "")
		return err
	})
	if err == nil {
		err = refused
	}
	return answer, err
}
