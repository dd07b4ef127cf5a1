package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/secret"
)

// maxPasskeys is how many an account may have.
const maxPasskeys = 20

// Passkey is an authenticator that can sign in to an account.
type Passkey struct {
	ID         int64
	Name       string
	CreatedAt  time.Time
	LastUsedAt *time.Time

	credentialID, sealed []byte
}

// newWebAuthn binds passkeys to the host of the pages. WebAuthn knows names only: localhost stands for this machine's
// address, and for any other bare address it returns nil.
func newWebAuthn(company string, base *url.URL) (*webauthn.WebAuthn, error) {
	name, origin := base.Hostname(), base.Scheme+"://"+base.Host
	if address, err := netip.ParseAddr(name); err == nil {
		if !address.IsLoopback() {
			return nil, nil
		}
		name, origin = "localhost", base.Scheme+"://localhost"
		if port := base.Port(); port != "" {
			origin += ":" + port
		}
	}
	return webauthn.New(&webauthn.Config{
		RPID: name, RPDisplayName: company, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationPreferred,
		},
	})
}

// PasskeyOrigin is the origin at which passkeys work, such as https://panel.example.com; empty when they work nowhere.
func (s *Service) PasskeyOrigin() string {
	if s.web == nil {
		return ""
	}
	return s.web.Config.RPOrigins[0]
}

// holder adapts an account to the WebAuthn library.
type holder struct {
	id          int64
	handle      []byte
	email, name string
	credentials []webauthn.Credential
}

func (h *holder) WebAuthnID() []byte                         { return h.handle }
func (h *holder) WebAuthnName() string                       { return h.email }
func (h *holder) WebAuthnDisplayName() string                { return h.name }
func (h *holder) WebAuthnCredentials() []webauthn.Credential { return h.credentials }

func (s *Service) holder(ctx context.Context, account int64) (*holder, error) {
	p, err := profile(ctx, s.DB, account)
	if err != nil {
		return nil, err
	}
	h := &holder{id: p.ID, email: p.Email, name: p.Name}
	if h.handle, err = handleOf(ctx, s.DB, account); err != nil {
		return nil, err
	}
	keys, err := listPasskeys(ctx, s.DB, account)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		c, err := openCredential(s.Box, k)
		if err != nil {
			return nil, err
		}
		h.credentials = append(h.credentials, c)
	}
	return h, nil
}

// Passkeys lists the passkeys of an account.
func (s *Service) Passkeys(ctx context.Context, account int64) ([]Passkey, error) {
	return listPasskeys(ctx, s.DB, account)
}

// Challenge is what the browser gets: Options for its authenticator, and the Token that finishes the ceremony.
type Challenge struct {
	Options any
	Token   string
}

// BeginPasskey asks the browser to create a passkey for the account.
func (s *Service) BeginPasskey(ctx context.Context, session Session) (c Challenge, err error) {
	if s.web == nil {
		return c, fault.UnsupportedOperation.New()
	}
	if err := s.requireRecent(session); err != nil {
		return c, err
	}
	h, err := s.holder(ctx, session.Account.ID)
	if err != nil {
		return c, err
	}
	if len(h.credentials) >= maxPasskeys {
		return c, fault.LimitReached.New()
	}
	options, data, err := s.web.BeginRegistration(h, webauthn.WithExclusions(webauthn.Credentials(h.credentials).CredentialDescriptors()))
	if err != nil {
		return c, fmt.Errorf("begin a passkey: %w", err)
	}
	options.Response.RelyingParty.Name = s.Brand().Name // may have changed since the start
	return s.challenge(ctx, kindPasskeyRegistration, h.id, options, data)
}

func (s *Service) challenge(ctx context.Context, kind string, account int64, options any, data *webauthn.SessionData) (c Challenge, err error) {
	state, err := json.Marshal(data)
	if err != nil {
		return c, fmt.Errorf("encode a challenge: %w", err)
	}
	c = Challenge{Options: options, Token: secret.Token("st_pk_", 32)}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return insertCeremony(ctx, tx, account, kind, secret.Hash(c.Token), string(state))
	})
	return c, err
}

// take ends a ceremony, whatever its result: a challenge is answered once.
func (s *Service) take(ctx context.Context, kind, token string) (c ceremony, data webauthn.SessionData, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		var err error
		c, err = takeCeremony(ctx, tx, kind, secret.Hash(token))
		return err
	})
	if err == nil {
		err = json.Unmarshal([]byte(c.challenge), &data)
	}
	return c, data, err
}

// FinishPasskey stores the passkey that the browser created; answer is its JSON.
func (s *Service) FinishPasskey(ctx context.Context, session Session, token, name string, answer []byte, c Client) error {
	if s.web == nil {
		return fault.UnsupportedOperation.New()
	}
	if err := s.requireRecent(session); err != nil {
		return err
	}
	begun, data, err := s.take(ctx, kindPasskeyRegistration, token)
	if err != nil {
		return err
	}
	if begun.account != session.Account.ID {
		return ErrCeremony.New()
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return ErrPasskey.Wrap(detail(err))
	}
	h, err := s.holder(ctx, begun.account)
	if err != nil {
		return err
	}
	credential, err := s.web.CreateCredential(h, data, parsed)
	if err != nil {
		return ErrPasskey.Wrap(detail(err))
	}
	sealed, err := sealCredential(s.Box, credential)
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.lockOpen(ctx, tx, h.id); err != nil {
			return err
		}
		// Several ceremonies may have begun while there was room for one.
		if keys, err := listPasskeys(ctx, tx, h.id); err != nil {
			return err
		} else if len(keys) >= maxPasskeys {
			return fault.LimitReached.New()
		}
		if err := insertPasskey(ctx, tx, h.id, credential.ID, sealed, passkeyName(name, c)); err != nil {
			return err
		}
		if err := s.note(ctx, tx, h.id, EventPasskeyAdded, c); err != nil {
			return err
		}
		return s.notify(ctx, tx, mailPasskeyAdded, h.id, c)
	})
	if db.IsUnique(err) {
		return ErrPasskey.Wrap(err)
	}
	return err
}

// passkeyName is the name that the person gave, else the browser's.
func passkeyName(name string, c Client) string {
	name = withoutControls(strings.Join(strings.Fields(name), " "))
	if name == "" {
		name = c.userAgent()
	}
	for utf8.RuneCountInString(name) > 60 {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}

// DeletePasskey removes a passkey of the account.
func (s *Service) DeletePasskey(ctx context.Context, session Session, id int64, c Client) error {
	if err := s.requireRecent(session); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := lockUser(ctx, tx, session.Account.ID); err != nil {
			return err
		}
		if err := deletePasskey(ctx, tx, session.Account.ID, id); err != nil {
			return err
		}
		if err := s.note(ctx, tx, session.Account.ID, EventPasskeyRemoved, c); err != nil {
			return err
		}
		return s.notify(ctx, tx, mailPasskeyRemoved, session.Account.ID, c)
	})
}

// BeginPasskeySignIn asks the browser for a passkey: any of this site, or, to complete a pending sign-in, one of its
// account.
func (s *Service) BeginPasskeySignIn(ctx context.Context, pending string, c Client) (ch Challenge, err error) {
	if s.web == nil {
		return ch, fault.UnsupportedOperation.New()
	}
	if err := s.pace(ctx, c.key(), s.Limits.SignInAddress); err != nil {
		return ch, err
	}
	if pending == "" {
		// Without a password it must prove both factors: possession of the device, and the person.
		options, data, err := s.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
		if err != nil {
			return ch, fmt.Errorf("begin a sign-in: %w", err)
		}
		return s.challenge(ctx, kindPasskeyLogin, 0, options, data)
	}
	begun, err := ceremonyByToken(ctx, s.DB, kindSecondFactor, secret.Hash(pending), s.Clock.Now())
	if err != nil {
		return ch, err
	}
	h, err := s.holder(ctx, begun.account)
	if err != nil {
		return ch, err
	}
	if len(h.credentials) == 0 {
		return ch, ErrPasskey.New()
	}
	options, data, err := s.web.BeginLogin(h, webauthn.WithUserVerification(protocol.VerificationPreferred))
	if err != nil {
		return ch, fmt.Errorf("begin a second factor: %w", err)
	}
	return s.challenge(ctx, kindPasskeySecondFactor, h.id, options, data)
}

// FinishPasskeySignIn signs in the account that the browser's answer proves. pending is the sign-in that
// BeginPasskeySignIn got, or empty.
func (s *Service) FinishPasskeySignIn(ctx context.Context, token, pending string, answer []byte, c Client) (out Outcome, err error) {
	if s.web == nil {
		return out, fault.UnsupportedOperation.New()
	}
	kind := kindPasskeyLogin
	if pending != "" {
		kind = kindPasskeySecondFactor
	}
	begun, data, err := s.take(ctx, kind, token)
	if err != nil {
		return out, err
	}
	account, credential, err := s.prove(ctx, begun, data, answer, c)
	if err != nil {
		return out, err
	}
	sealed, err := sealCredential(s.Box, credential)
	if err != nil {
		return out, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.lockOpen(ctx, tx, account); err != nil {
			return err
		}
		method := "passkey"
		if pending != "" {
			first, err := takeCeremony(ctx, tx, kindSecondFactor, secret.Hash(pending))
			if err != nil {
				return err
			}
			if first.account != account {
				return ErrCeremony.New()
			}
			method = "password"
		}
		if err := usedPasskey(ctx, tx, account, credential.ID, sealed); err != nil {
			return err
		}
		out, err = s.open(ctx, tx, account, method, true, c)
		return err
	})
	return out, err
}

// BeginProof asks a signed-in person to prove by a passkey who they are. It takes the place of password and code, so it must prove
// the person, too.
func (s *Service) BeginProof(ctx context.Context, session Session) (c Challenge, err error) {
	if s.web == nil {
		return c, fault.UnsupportedOperation.New()
	}
	if err := s.pace(ctx, insider(session), s.Limits.SignInDevice); err != nil {
		return c, err
	}
	h, err := s.holder(ctx, session.Account.ID)
	if err != nil {
		return c, err
	}
	if len(h.credentials) == 0 {
		return c, ErrPasskey.New()
	}
	options, data, err := s.web.BeginLogin(h, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return c, fmt.Errorf("begin a proof: %w", err)
	}
	return s.challenge(ctx, kindPasskeyProof, h.id, options, data)
}

// FinishProof is Confirm by a passkey: answer is the browser's, and token that of BeginProof.
func (s *Service) FinishProof(ctx context.Context, session Session, token string, answer []byte, c Client) (fresh string, err error) {
	if s.web == nil {
		return "", fault.UnsupportedOperation.New()
	}
	begun, data, err := s.take(ctx, kindPasskeyProof, token)
	if err != nil {
		return "", err
	}
	if begun.account != session.Account.ID {
		return "", ErrCeremony.New()
	}
	account, credential, err := s.prove(ctx, begun, data, answer, c)
	if err != nil {
		return "", err
	}
	sealed, err := sealCredential(s.Box, credential)
	if err != nil {
		return "", err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.lockOpen(ctx, tx, account); err != nil {
			return err
		}
		if err := usedPasskey(ctx, tx, account, credential.ID, sealed); err != nil {
			return err
		}
		fresh = secret.Token("st_se_", 32)
		return reauthenticateSession(ctx, tx, account, session.ID, secret.Hash(fresh))
	})
	return fresh, err
}

// prove checks the browser's answer to a ceremony and returns the account. It records a refusal.
func (s *Service) prove(ctx context.Context, begun ceremony, data webauthn.SessionData, answer []byte, c Client) (account int64, _ *webauthn.Credential, err error) {
	var credential *webauthn.Credential
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		err = ErrPasskey.Wrap(detail(err))
	} else {
		account, credential, err = s.validate(ctx, begun, data, parsed)
	}
	if errors.Is(err, ErrPasskey) {
		s.failed(ctx, begun.account, EventPasskeyFailed, "passkey", c)
	}
	return account, credential, err
}

// validate checks the authenticator's signature and returns the account.
func (s *Service) validate(ctx context.Context, begun ceremony, data webauthn.SessionData, parsed *protocol.ParsedCredentialAssertionData) (int64, *webauthn.Credential, error) {
	var (
		h          *holder
		credential *webauthn.Credential
		err        error
	)
	if begun.kind == kindPasskeySecondFactor || begun.kind == kindPasskeyProof {
		if h, err = s.holder(ctx, begun.account); err != nil {
			return 0, nil, err
		}
		credential, err = s.web.ValidateLogin(h, data, parsed)
	} else {
		find := func(_, handle []byte) (webauthn.User, error) {
			id, err := accountOfHandle(ctx, s.DB, handle)
			if err != nil {
				return nil, err
			}
			h, err = s.holder(ctx, id)
			return h, err
		}
		credential, err = s.web.ValidateDiscoverableLogin(find, data, parsed)
	}
	if err != nil {
		return 0, nil, ErrPasskey.Wrap(detail(err))
	}
	if credential.Authenticator.CloneWarning {
		return 0, nil, ErrPasskey.Wrapf("the signature counter went back: the authenticator may be a copy")
	}
	return h.id, credential, nil
}

// detail adds the library's explanation to the log; its Error is only a title.
func detail(err error) error {
	var pe *protocol.Error
	if errors.As(err, &pe) && pe.DevInfo != "" {
		return fmt.Errorf("%w: %s", err, pe.DevInfo)
	}
	return err
}
