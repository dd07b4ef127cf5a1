package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/oauth2"
)

// register submits the registration page.
func (d *demonstration) register(ctx context.Context) error {
	p, err := d.browser.open(ctx, d.base.String()+"/register")
	if err != nil {
		return err
	}
	f, err := p.form("name", "email", "password")
	if err != nil {
		return err
	}
	p, err = d.browser.submit(ctx, f, "", map[string]string{"name": d.name, "email": d.email, "password": d.password})
	if err != nil {
		return err
	}
	if p.find("name", "email", "password") != nil {
		return fmt.Errorf("the registration was not accepted: %s", shorten(p.text, 300))
	}
	d.report.note("registered %s", d.email)
	return nil
}

// signIn submits the sign-in page, when p is one, and returns the next page.
func (d *demonstration) signIn(ctx context.Context, p *page) (*page, error) {
	f := p.find("email", "password")
	if f == nil {
		return p, nil // signed in already
	}
	p, err := d.browser.submit(ctx, f, "", map[string]string{"email": d.email, "password": d.password})
	if err != nil {
		return nil, err
	}
	if p.find("email", "password") != nil {
		return nil, fmt.Errorf("the sign-in was not accepted: %s", shorten(p.text, 300))
	}
	return p, nil
}

// registerApplication registers a public client, which has no secret, as the panel does: by the session of the integrator's
// browser, because no token may do it.
func (d *demonstration) registerApplication(ctx context.Context) error {
	p, err := d.browser.open(ctx, d.base.String()+"/login")
	if err == nil {
		_, err = d.signIn(ctx, p)
	}
	if err != nil {
		return err
	}
	holder, err := d.holder(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"name": "Demo integration", "type": "public", "redirect_uris": []string{redirectURI}, "scopes": scopes})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base.String()+"/panel/api/v1/apps", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Stead-Panel", holder)
	res, err := d.browser.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // the recorder has read it to its end
	var made struct {
		ClientID string `json:"client_id"`
		Message  string `json:"message"`
	}
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil {
		return fmt.Errorf("the registration of an application: %w", err)
	}
	if d.ClientID = made.ClientID; d.ClientID == "" {
		return fmt.Errorf("the application was not registered: %d %s", res.StatusCode, made.Message)
	}
	d.report.note("client_id %s", d.ClientID)
	return nil
}

// holder is what pages of the panel send of themselves: the account that is signed in.
func (d *demonstration) holder(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.String()+"/panel/api/v1/me", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := d.browser.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }() // the recorder has read it to its end
	var me struct {
		ID json.Number `json:"id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&me); err != nil {
		return "", fmt.Errorf("the account that is signed in: %w", err)
	}
	if me.ID == "" {
		return "", fmt.Errorf("the account that is signed in was not told: %d", res.StatusCode)
	}
	return "account/" + me.ID.String(), nil
}

// discover reads the authorization server's metadata.
func (d *demonstration) discover(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base.String()+"/.well-known/oauth-authorization-server", nil)
	if err != nil {
		return err
	}
	c := &http.Client{Transport: d.report.recorded(calls, d.network), Timeout: d.Timeout}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // the recorder has read it to its end
	var server struct {
		Issuer        string   `json:"issuer"`
		Authorization string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		Challenges    []string `json:"code_challenge_methods_supported"`
	}
	if err := json.NewDecoder(res.Body).Decode(&server); err != nil {
		return fmt.Errorf("the description of the authorization server: %w", err)
	}
	switch {
	case server.Issuer != d.base.String():
		return fmt.Errorf("the installation calls itself %q, not %q: its base URL is not set right", server.Issuer, d.base)
	case server.Authorization == "" || server.Token == "":
		return errors.New("the description names no endpoints")
	case !slices.Contains(server.Challenges, "S256"):
		return errors.New("the server does not offer PKCE with S256")
	}
	d.oauth = &oauth2.Config{
		ClientID: d.ClientID, RedirectURL: redirectURI, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: server.Authorization, TokenURL: server.Token, AuthStyle: oauth2.AuthStyleInParams},
	}
	return nil
}

// authorize takes the customer, in a browser without a session, through sign-in and consent.
func (d *demonstration) authorize(ctx context.Context) error {
	if err := d.openBrowser(); err != nil {
		return err
	}
	verifier, state := oauth2.GenerateVerifier(), randomName()
	d.report.hide(verifier)
	p, err := d.browser.open(ctx, d.oauth.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)))
	if err != nil {
		return err
	}
	if _, err := p.form("email", "password"); err != nil {
		return fmt.Errorf("nobody was asked to sign in: %w", err)
	}
	if p, err = d.signIn(ctx, p); err != nil {
		return err
	}
	if p.location == nil { // a known application has consent already
		f, err := p.button("allow")
		if err != nil {
			return err
		}
		if p, err = d.browser.submit(ctx, f, "allow", nil); err != nil {
			return err
		}
	}
	if p.location == nil {
		return fmt.Errorf("the consent did not lead back to the application: %s", shorten(p.text, 300))
	}
	back := p.location.Query()
	switch {
	case back.Get("error") != "":
		return fmt.Errorf("authorization was refused: %s %s", back.Get("error"), back.Get("error_description"))
	case back.Get("state") != state:
		return errors.New("the state did not come back as it was sent")
	case back.Get("iss") != d.base.String():
		return fmt.Errorf("the answer is from %q (RFC 9207)", back.Get("iss"))
	case back.Get("code") == "":
		return errors.New("the application was given no code")
	}
	if d.token, err = d.oauth.Exchange(d.oauthContext(ctx), back.Get("code"), oauth2.VerifierOption(verifier)); err != nil {
		return err
	}
	d.hideToken()
	return nil
}

// refresh replaces both tokens.
func (d *demonstration) refresh(ctx context.Context) error {
	old := d.token
	fresh, err := d.oauth.TokenSource(d.oauthContext(ctx), &oauth2.Token{RefreshToken: old.RefreshToken}).Token()
	if err != nil {
		return err
	}
	d.token = fresh
	d.hideToken()
	if fresh.RefreshToken == old.RefreshToken || fresh.AccessToken == old.AccessToken {
		return errors.New("the tokens were not replaced")
	}
	return nil
}

// oauthContext makes the oauth2 package report its calls.
func (d *demonstration) oauthContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: d.report.recorded(calls, d.network), Timeout: d.Timeout})
}

func (d *demonstration) hideToken() {
	d.report.hide(d.token.AccessToken)
	d.report.hide(d.token.RefreshToken)
}
