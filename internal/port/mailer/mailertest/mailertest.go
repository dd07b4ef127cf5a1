// Package mailertest is the suite that every mailer adapter passes.
package mailertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"

	"stead.dev/stead/internal/port/mailer"
)

// Adapter is an adapter under test.
type Adapter struct {
	Mailer mailer.Mailer
	// Received are the raw messages that arrived, each once for every delivery.
	Received func() [][]byte
}

// Suite runs the tests; open makes an adapter whose sender is from.
func Suite(t *testing.T, from string, open func(t *testing.T) Adapter) {
	t.Helper()
	good := mailer.Message{ID: "account-7", To: "anna@example.com", Subject: "Пароль o\u02bbzgartirildi", Text: "Salom, Анна!\n\nhttps://stead.test/recover/abc\n"}

	t.Run("what is sent arrives as it was written", func(t *testing.T) {
		a := open(t)
		if err := a.Mailer.Send(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		m := only(t, a)
		subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil || subject != good.Subject {
			t.Errorf("subject %q, %v", subject, err)
		}
		sender, err := m.Header.AddressList("From")
		if err != nil || len(sender) != 1 || sender[0].String() != parse(t, from).String() {
			t.Errorf("sender %v, %v", sender, err)
		}
		to, err := m.Header.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Address != good.To {
			t.Errorf("recipient %v, %v", to, err)
		}
		if got := body(t, m); strings.TrimSpace(strings.ReplaceAll(got, "\r\n", "\n")) != strings.TrimSpace(good.Text) {
			t.Errorf("text %q", got)
		}
	})

	t.Run("a message sent again is the same message", func(t *testing.T) {
		a := open(t)
		for range 2 {
			if err := a.Mailer.Send(t.Context(), good); err != nil {
				t.Fatal(err)
			}
		}
		ids := map[string]bool{}
		for _, raw := range a.Received() {
			m, err := mail.ReadMessage(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			ids[m.Header.Get("Message-ID")] = true
		}
		if len(ids) != 1 {
			t.Errorf("message ids %v", ids)
		}
	})

	t.Run("a subscription can be ended by one click", func(t *testing.T) {
		a := open(t)
		m := good
		m.Unsubscribe = "https://stead.test/status/unsubscribe/" + strings.Repeat("x", 60)
		if err := a.Mailer.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		h := only(t, a).Header
		if h.Get("List-Unsubscribe") != "<"+m.Unsubscribe+">" || h.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
			t.Errorf("%v", h)
		}
	})

	t.Run("a message in two forms holds both", func(t *testing.T) {
		a := open(t)
		m := good
		m.HTML = "<p>Salom</p>"
		if err := a.Mailer.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if kind := only(t, a).Header.Get("Content-Type"); !strings.HasPrefix(kind, "multipart/alternative") {
			t.Errorf("content type %q", kind)
		}
	})

	for name, m := range map[string]mailer.Message{
		"a subject with a second header":   {ID: "a", To: good.To, Subject: "x\r\nBcc: eve@example.com", Text: "x"},
		"a recipient with a second header": {ID: "a", To: "anna@example.com\r\nBcc: eve@example.com", Subject: "x", Text: "x"},
		"two recipients":                   {ID: "a", To: "anna@example.com, eve@example.com", Subject: "x", Text: "x"},
		"no recipient":                     {ID: "a", Subject: "x", Text: "x"},
		"an id that leads elsewhere":       {ID: "../../etc/cron.d/x", To: good.To, Subject: "x", Text: "x"},
		"no text":                          {ID: "a", To: good.To, Subject: "x"},
	} {
		t.Run(name+" is rejected for good", func(t *testing.T) {
			a := open(t)
			if err := a.Mailer.Send(t.Context(), m); !errors.Is(err, mailer.ErrRejected) {
				t.Errorf("error %v", err)
			}
			if n := len(a.Received()); n != 0 {
				t.Errorf("%d messages arrived", n)
			}
		})
	}

	t.Run("nothing is sent for whom nobody waits", func(t *testing.T) {
		a := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Mailer.Send(ctx, good); err == nil || errors.Is(err, mailer.ErrRejected) {
			t.Errorf("error %v", err)
		}
		if n := len(a.Received()); n != 0 {
			t.Errorf("%d messages arrived", n)
		}
	})
}

func only(t *testing.T, a Adapter) *mail.Message {
	t.Helper()
	all := a.Received()
	if len(all) != 1 {
		t.Fatalf("%d messages arrived", len(all))
	}
	m, err := mail.ReadMessage(bytes.NewReader(all[0]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parse(t *testing.T, s string) *mail.Address {
	t.Helper()
	a, err := mail.ParseAddress(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func body(t *testing.T, m *mail.Message) string {
	t.Helper()
	r := m.Body
	switch strings.ToLower(m.Header.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		r = quotedprintable.NewReader(m.Body)
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, m.Body)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
