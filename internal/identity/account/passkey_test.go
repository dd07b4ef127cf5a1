package account

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/go-webauthn/webauthn/protocol"

	"stead.dev/stead/internal/platform/fault"
)

// authenticator is a passkey in software: one ES256 key, no attestation
// (WebAuthn level 3, sections 6.1 and 6.5).
type authenticator struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	id      []byte
	handle  []byte
	origin  string
	counter uint32
	// verifies tells whether it asks for a finger or a PIN.
	verifies bool
}

func newAuthenticator(t *testing.T) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &authenticator{t: t, key: key, id: []byte("credential-" + rand.Text()), origin: "https://stead.test", verifies: true}
}

func (a *authenticator) clientData(kind, challenge string) []byte {
	b, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.origin, "crossOrigin": false})
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

// data is the authenticator data: whose site, what it did, how often.
func (a *authenticator) data(rp string, more byte) []byte {
	hash := sha256.Sum256([]byte(rp))
	flags := byte(0x01) | more // the user is present
	if a.verifies {
		flags |= 0x04
	}
	a.counter++
	return binary.BigEndian.AppendUint32(append(hash[:], flags), a.counter)
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (a *authenticator) answer(response map[string]string) []byte {
	b, err := json.Marshal(map[string]any{
		"id": b64(a.id), "rawId": b64(a.id), "type": "public-key", "clientExtensionResults": map[string]any{}, "response": response,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

// create answers navigator.credentials.create.
func (a *authenticator) create(options any) []byte {
	a.t.Helper()
	o, ok := options.(*protocol.CredentialCreation)
	if !ok {
		a.t.Fatalf("options are %T", options)
	}
	a.handle = o.Response.User.ID.(protocol.URLEncodedBase64)
	public, err := a.key.PublicKey.Bytes() // 4 || x || y
	if err != nil {
		a.t.Fatal(err)
	}
	cose, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: public[1:33], -3: public[33:]})
	if err != nil {
		a.t.Fatal(err)
	}
	data := append(a.data(o.Response.RelyingParty.ID, 0x40), make([]byte, 16)...) // no model
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), cose...)
	attestation, err := cbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.answer(map[string]string{
		"clientDataJSON": b64(a.clientData("webauthn.create", o.Response.Challenge.String())), "attestationObject": b64(attestation),
	})
}

// get answers navigator.credentials.get.
func (a *authenticator) get(options any) []byte {
	a.t.Helper()
	o, ok := options.(*protocol.CredentialAssertion)
	if !ok {
		a.t.Fatalf("options are %T", options)
	}
	client, data := a.clientData("webauthn.get", o.Response.Challenge.String()), a.data(o.Response.RelyingPartyID, 0)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.answer(map[string]string{
		"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": b64(a.handle),
	})
}

// withPasskey gives the account a passkey.
func (w *world) withPasskey(t *testing.T, s Session) *authenticator {
	t.Helper()
	a := newAuthenticator(t)
	c, err := w.BeginPasskey(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.FinishPasskey(t.Context(), s, c.Token, "  My   ph\x00one ", a.create(c.Options), home); err != nil {
		t.Fatal(err)
	}
	return a
}

func (w *world) ask(t *testing.T, pending string) Challenge {
	t.Helper()
	c, err := w.BeginPasskeySignIn(t.Context(), pending, home)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAPasskeySignsInWithoutAPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		w.withTOTP(t, anna.Session)
		a := w.withPasskey(t, anna.Session)
		c := w.ask(t, "")
		answer := a.get(c.Options)
		out, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", answer, home)
		if err != nil {
			t.Fatal(err)
		}
		if out.Session.Account.ID != anna.Session.Account.ID || out.Session.Method != "passkey" || !out.Session.SecondFactor || !w.alive(t, out.Token) {
			t.Errorf("%+v", out.Session)
		}
		if _, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", answer, home); !errors.Is(err, ErrCeremony) {
			t.Errorf("the answer worked twice: %v", err)
		}
		keys, err := w.Passkeys(t.Context(), anna.Session.Account.ID)
		if err != nil || len(keys) != 1 || keys[0].Name != "My phone" || keys[0].LastUsedAt == nil {
			t.Errorf("%+v, %v", keys, err)
		}
	})
}

func TestAPasskeyCompletesASignInByPassword(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		w.withTOTP(t, anna.Session)
		a := w.withPasskey(t, anna.Session)
		a.verifies = false // the password has proved who it is
		pending := w.pending(t)
		if f, err := w.PendingFactors(t.Context(), pending); err != nil || !f.Passkey {
			t.Errorf("%+v, %v", f, err)
		}
		c := w.ask(t, pending)
		out, err := w.FinishPasskeySignIn(t.Context(), c.Token, pending, a.get(c.Options), home)
		if err != nil || !out.Session.SecondFactor || out.Session.Method != "password" {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestWhatAPasskeyDoesNotProveIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		a := w.withPasskey(t, anna.Session)
		for name, spoil := range map[string]func(a *authenticator){
			"an answer for another site":       func(a *authenticator) { a.origin = "https://evil.example" },
			"an answer nobody put a finger to": func(a *authenticator) { a.verifies = false },
			"another key's signature":          func(a *authenticator) { a.key = newAuthenticator(t).key },
			"a counter that went back":         func(a *authenticator) { a.counter = 0 },
			"another account's handle":         func(a *authenticator) { a.handle = []byte("nobody") },
			"a passkey nobody registered":      func(a *authenticator) { a.id = []byte("another credential") },
		} {
			// One good sign-in first, so that the counter is ahead.
			c := w.ask(t, "")
			if _, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", a.get(c.Options), home); err != nil {
				t.Fatalf("before %s: %v", name, err)
			}
			spoiled := *a
			spoil(&spoiled)
			c = w.ask(t, "")
			if _, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", spoiled.get(c.Options), home); !errors.Is(err, ErrPasskey) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, answer := range []string{"", "{}", "null", `{"id":"x"}`, `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`} {
			c := w.ask(t, "")
			if _, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", []byte(answer), home); !errors.Is(err, ErrPasskey) {
				t.Errorf("%q: %v", answer, err)
			}
		}
	})
}

func TestAPasskeyProvesWhoIsThere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		a := w.withPasskey(t, anna.Session)
		eve, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "eve@example.com", Password: goodPassword}, home)
		if err != nil {
			t.Fatal(err)
		}
		w.clk.Advance(time.Hour)
		prove := func(s Session, a *authenticator) (string, error) {
			t.Helper()
			c, err := w.BeginProof(t.Context(), anna.Session)
			if err != nil {
				t.Fatal(err)
			}
			return w.FinishProof(t.Context(), s, c.Token, a.get(c.Options), home)
		}
		token, err := prove(anna.Session, a)
		if err != nil {
			t.Fatal(err)
		}
		now, err := w.Authenticate(t.Context(), token)
		if err != nil || now.ID != anna.Session.ID || !now.Recent(w.clk.Now()) {
			t.Errorf("%+v, %v", now, err)
		}
		if _, err := w.Authenticate(t.Context(), anna.Token); err == nil {
			t.Error("the former token of the session still works")
		}

		w.clk.Advance(time.Hour)
		if _, err := prove(eve.Session, a); !errors.Is(err, ErrCeremony) {
			t.Errorf("somebody else's challenge: %v", err)
		}
		present := *a
		present.verifies = false
		if _, err := prove(anna.Session, &present); !errors.Is(err, ErrPasskey) {
			t.Errorf("without a finger or a PIN: %v", err)
		}
		if _, err := w.BeginProof(t.Context(), eve.Session); !errors.Is(err, ErrPasskey) {
			t.Errorf("without a passkey: %v", err)
		}
		c := w.ask(t, "")
		if _, err := w.FinishProof(t.Context(), anna.Session, c.Token, a.get(c.Options), home); !errors.Is(err, ErrCeremony) {
			t.Errorf("a sign-in's challenge proves: %v", err)
		}
		proof, err := w.BeginProof(t.Context(), anna.Session)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.FinishPasskeySignIn(t.Context(), proof.Token, "", a.get(proof.Options), home); !errors.Is(err, ErrCeremony) {
			t.Errorf("a proof's challenge signs in: %v", err)
		}
		if now, err := w.Authenticate(t.Context(), token); err != nil || now.Recent(w.clk.Now()) {
			t.Errorf("what was refused proves: %v", err)
		}
	})
}

func TestAChallengeExpiresAndIsForOnePurpose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		a := w.withPasskey(t, anna.Session)
		c := w.ask(t, "")
		if err := w.FinishPasskey(t.Context(), anna.Session, c.Token, "", a.get(c.Options), home); !errors.Is(err, ErrCeremony) {
			t.Errorf("a sign-in's challenge registers: %v", err)
		}
		w.clk.Advance(ceremonyLife)
		if _, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", a.get(c.Options), home); !errors.Is(err, ErrCeremony) {
			t.Errorf("%v", err)
		}
	})
}

func TestARemovedPasskeySignsInNoMore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		a := w.withPasskey(t, anna.Session)
		eve, err := w.SignUp(t.Context(), Registration{Name: "Eve", Email: "eve@example.com", Password: goodPassword}, home)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := w.Passkeys(t.Context(), anna.Session.Account.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.DeletePasskey(t.Context(), eve.Session, keys[0].ID, home); err == nil {
			t.Error("a stranger removed it")
		}
		if err := w.DeletePasskey(t.Context(), anna.Session, keys[0].ID, home); err != nil {
			t.Fatal(err)
		}
		c := w.ask(t, "")
		if _, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", a.get(c.Options), home); !errors.Is(err, ErrPasskey) {
			t.Errorf("%v", err)
		}
	})
}

func TestASuspendedAccountsPasskeyDoesNotSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		a := w.withPasskey(t, anna.Session)
		if err := w.Suspend(t.Context(), anna.Session.Account.ID, "abuse"); err != nil {
			t.Fatal(err)
		}
		c := w.ask(t, "")
		out, err := w.FinishPasskeySignIn(t.Context(), c.Token, "", a.get(c.Options), home)
		if err == nil || out.Token != "" {
			t.Errorf("%+v", out)
		}
	})
}

func TestPasskeysAreBoundedHoweverManyWereBegun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		anna := w.anna(t)
		var begun []Challenge
		for range maxPasskeys + 1 {
			c, err := w.BeginPasskey(t.Context(), anna.Session)
			if err != nil {
				t.Fatal(err)
			}
			begun = append(begun, c)
		}
		for i, c := range begun {
			err := w.FinishPasskey(t.Context(), anna.Session, c.Token, "", newAuthenticator(t).create(c.Options), home)
			if i < maxPasskeys && err != nil {
				t.Fatal(err)
			}
			if i == maxPasskeys && !errors.Is(err, fault.LimitReached) {
				t.Errorf("one more: %v", err)
			}
		}
		if all, err := w.Passkeys(t.Context(), anna.Session.Account.ID); err != nil || len(all) != maxPasskeys {
			t.Errorf("%d passkeys, %v", len(all), err)
		}
	})
}
