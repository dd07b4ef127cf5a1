package wallet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"stead.dev/stead/internal/platform/api"
	"stead.dev/stead/internal/platform/db"
	"stead.dev/stead/internal/platform/fault"
	"stead.dev/stead/internal/platform/i18n"
	"stead.dev/stead/internal/platform/money"
	"stead.dev/stead/internal/platform/secret"
	"stead.dev/stead/internal/port/gateway"
)

//go:embed pages/pay.html pages/pay.css
var pages embed.FS

var (
	payTemplate = template.Must(template.ParseFS(pages, "pages/pay.html"))
	payStyle    = mustRead("pages/pay.css")
	payPolicy   = "default-src 'none'; style-src 'sha256-" + styleHash(payStyle) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

func mustRead(name string) string {
	b, err := pages.ReadFile(name)
	if err != nil {
		panic(err) // the file is part of the binary
	}
	return string(b)
}

func styleHash(style string) string {
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}

const (
	maxForm    = 4 << 10
	maxWebhook = 64 << 10
)

// Pages serves what customers and gateways visit; it is mounted at /pay/:
//
//	GET  /pay/{token}              the payment page, or on to the gateway's own
//	GET  /pay/{token}?back=1       where the payment stands
//	POST /pay/{token}              a button of the page
//	POST /pay/webhooks/{gateway}   notifications of the gateway
//
// The token is the only key to a page, which shows one top-up and nothing of
// its owner.
func (s *Service) Pages() http.Handler {
	guard := http.NewCrossOriginProtection()
	if u, err := url.Parse(s.BaseURL); err == nil && u.Host != "" {
		// A proxy may have given us another Host than the browser's. An address
		// with a scheme and a host is always taken.
		_ = guard.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pay/{token}", s.showPayment)
	mux.Handle("POST /pay/{token}", guard.Handler(http.HandlerFunc(s.actOnPayment)))
	mux.HandleFunc("POST /pay/webhooks/{gateway}", s.notice)
	return mux
}

// showPayment begins the payment, or says where it stands.
func (s *Service) showPayment(w http.ResponseWriter, r *http.Request) {
	t, ok := s.visited(w, r)
	if !ok {
		return
	}
	if !t.Status.open() || t.Automatic || r.URL.Query().Has("back") {
		s.render(w, r, http.StatusOK, t, nil)
		return
	}
	if t.RedirectURL != "" {
		http.Redirect(w, r, t.RedirectURL, http.StatusSeeOther)
		return
	}
	t, begun, err := s.start(r.Context(), t)
	switch {
	case err != nil:
		s.refuse(w, r, t, err)
	case !t.Status.open():
		s.render(w, r, http.StatusOK, t, nil)
	case t.RedirectURL != "":
		http.Redirect(w, r, t.RedirectURL, http.StatusSeeOther)
	default:
		s.render(w, r, http.StatusOK, t, begun.Page)
	}
}

// actOnPayment takes a button of a page of ours.
func (s *Service) actOnPayment(w http.ResponseWriter, r *http.Request) {
	t, ok := s.visited(w, r)
	if !ok {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.refuse(w, r, t, fault.InvalidRequest.Wrap(err))
		return
	}
	if t.Status.open() && !t.Automatic { // nobody pays for what is being paid
		if err := s.act(r.Context(), t, r.PostForm.Get("action")); err != nil {
			s.refuse(w, r, t, err)
			return
		}
	}
	http.Redirect(w, r, r.URL.Path+"?back=1", http.StatusSeeOther) //nolint:gosec // the path is /pay/ and one segment: the mux matched it
}

func (s *Service) act(ctx context.Context, t topup, action string) error {
	g, _ := s.gateway(t.Gateway)
	acting, ok := g.(gateway.Acting)
	if !ok {
		return fault.InvalidRequest.New()
	}
	if t.Reference == nil {
		var err error
		if t, _, err = s.start(ctx, t); err != nil {
			return err
		}
	}
	ask, err := s.forGateway(t)
	if err != nil {
		return err
	}
	e, err := acting.Act(ctx, ask, action)
	switch {
	case errors.Is(err, gateway.ErrInvalid):
		return fault.InvalidRequest.Wrap(err)
	case err != nil:
		return ErrGatewayUnavailable.Wrap(err)
	}
	return s.apply(ctx, t.Gateway, e)
}

// visited finds the top-up of the page, or answers that there is none.
func (s *Service) visited(w http.ResponseWriter, r *http.Request) (topup, bool) {
	t, err := findTopupByToken(r.Context(), s.DB, secret.Hash(r.PathValue("token")))
	switch {
	case errors.Is(err, db.ErrNoRows):
		s.refuse(w, r, t, fault.NotFound.New())
		return t, false
	case err != nil:
		s.refuse(w, r, t, err)
		return t, false
	}
	return t, true
}

// notice takes a notification of a gateway. Whatever is answered other than 2xx
// makes the gateway send it again.
func (s *Service) notice(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	g, _ := s.gateway(r.PathValue("gateway"))
	notifying, ok := g.(gateway.Notifying)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	key := g.Info().Key
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	events, err := notifying.Webhook(r.Header, body)
	if err != nil {
		s.Log.WarnContext(ctx, "wallet: a notification was refused", "gateway", key, "error", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, e := range events {
		err := s.apply(ctx, key, e)
		attrs := []any{"gateway", key, "event", string(e.Kind), "topup", e.TopupID, "reference", e.Reference, "payment", e.Payment, "error", err}
		switch {
		case err == nil:
		case errors.Is(err, errForeign), errors.Is(err, errMismatch):
			s.Log.WarnContext(ctx, "wallet: a notification was passed over", attrs...)
		case errors.Is(err, errEarly):
			s.Log.WarnContext(ctx, "wallet: a notification came too early", attrs...)
			w.WriteHeader(http.StatusConflict)
			return
		default:
			s.Log.ErrorContext(ctx, "wallet: a notification failed", attrs...)
			w.WriteHeader(http.StatusServiceUnavailable) // the gateway sends it again
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

// labelled is a value or a button with its text.
type labelled struct{ Label, Value string }

type payView struct {
	Lang, Title, Company, Text string
	Style                      template.CSS
	Sums, Lines, Actions       []labelled
	Continue, Return           *labelled // label and address
}

// render shows a top-up: with content of the gateway while it can be paid here,
// else where it stands.
func (s *Service) render(w http.ResponseWriter, r *http.Request, code int, t topup, content *gateway.Page) {
	lang := languageOf(r, t)
	v := payView{
		Title: i18n.T(lang, "wallet.pay.title", nil), Text: i18n.T(lang, "wallet.pay.status."+string(t.Status), nil),
		Sums: []labelled{{i18n.T(lang, "wallet.pay.amount", nil), cents(t.Amount)}},
	}
	if t.Fee > 0 {
		v.Sums = append(v.Sums, labelled{i18n.T(lang, "wallet.pay.fee", nil), cents(t.Fee)},
			labelled{i18n.T(lang, "wallet.pay.total", nil), cents(t.total())})
	}
	switch {
	case content != nil:
		v.Text = i18n.T(lang, content.Text, nil)
		for _, l := range content.Lines {
			v.Lines = append(v.Lines, labelled{i18n.T(lang, l.Label, nil), l.Value})
		}
		for _, a := range content.Actions {
			v.Actions = append(v.Actions, labelled{i18n.T(lang, a.Label, nil), a.Name})
		}
	case t.Status.open():
		v.Continue = &labelled{i18n.T(lang, "wallet.pay.continue", nil), r.URL.Path}
		w.Header().Set("Refresh", "5")
	}
	if t.ReturnURL != "" {
		v.Return = &labelled{i18n.T(lang, "wallet.pay.return", nil), returnTo(t)}
		if !t.Status.open() {
			w.Header().Set("Refresh", "3; url="+v.Return.Value)
		}
	}
	s.write(w, r, code, lang, v)
}

// refuse shows an error on the page.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, t topup, err error) {
	f := api.Fault(err)
	lang := languageOf(r, t)
	if f.Def == fault.Internal || f.Def == fault.Unavailable || f.Def == ErrGatewayUnavailable {
		s.Log.ErrorContext(r.Context(), "wallet: payment page", "topup", t.ID, "error", err)
	}
	v := payView{Title: i18n.T(lang, "wallet.pay.title", nil), Text: i18n.T(lang, f.TextID(), f.Fields)}
	code := f.Def.Kind.Status()
	if f.Def == ErrGatewayUnavailable {
		code = http.StatusServiceUnavailable
		v.Continue = &labelled{i18n.T(lang, "wallet.pay.continue", nil), r.URL.Path}
	}
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", api.RetryUnavailable)
	}
	s.write(w, r, code, lang, v)
}

func (s *Service) write(w http.ResponseWriter, r *http.Request, code int, lang string, v payView) {
	v.Lang, v.Company, v.Style = lang, s.Brand().Name, template.CSS(payStyle) //nolint:gosec // embedded
	var buf bytes.Buffer
	if err := payTemplate.Execute(&buf, v); err != nil {
		s.Log.ErrorContext(r.Context(), "wallet: payment page", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", payPolicy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address is the key to the page
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	w.WriteHeader(code)
	_, _ = w.Write(buf.Bytes()) // a client that went away is nobody's error
}

// languageOf the page: the one asked for, else the one that the top-up was made
// in, else the browser's.
func languageOf(r *http.Request, t topup) string {
	if lang, ok := i18n.Lookup(r.URL.Query().Get("lang")); ok {
		return lang
	}
	if t.Language != "" {
		return t.Language
	}
	return i18n.Match(r.Header.Get("Accept-Language"))
}

func cents(c money.USDCents) string { return money.Format(money.USD, int64(c)) }

// returnTo is where the customer came from, told which top-up this was; what the
// address says besides stays as it is written. The top-up's state is to be read
// with the token of the application, not from here.
func returnTo(t topup) string {
	u, err := url.Parse(t.ReturnURL)
	if err != nil {
		return "" // checked when it was taken
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "topup=" + strconv.FormatInt(t.ID, 10)
	return u.String()
}
