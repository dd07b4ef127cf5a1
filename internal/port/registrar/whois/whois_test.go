package whois

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"stead.dev/stead/internal/port/registrar"
)

func TestLookup(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	answers := map[string]string{
		"free.example":  "% terms\r\nNo match for \"FREE.EXAMPLE\".\r\n",
		"taken.example": "Domain Name: TAKEN.EXAMPLE\r\nNotice: no match for your quota\r\n",
		"busy.example":  "Query rate exceeded\r\n",
		"both.example":  "No match for others\r\nDomain: both.example\r\n",
		"empty.example": "",
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, answers[strings.TrimSpace(line)])
			_ = c.Close()
		}
	}()
	s := New(func(_ context.Context, name string) Server {
		if name == "nowhere.example" {
			return Server{}
		}
		return Server{l.Addr().String(), "No match for"}
	})
	yes, no := true, false
	for name, want := range map[string]*bool{
		"free.example": &yes, "taken.example": &no, "busy.example": nil, "both.example": nil, "empty.example": nil, "nowhere.example": nil,
	} {
		got, err := s.Lookup(t.Context(), name)
		if (got.Available == nil) != (want == nil) || want != nil && *want != *got.Available {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestTheEndOfARegistration(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ends := map[string]string{
		"gtld.example":    "Registry Expiry Date: 2027-03-04T05:06:07Z",
		"uz.example":      "Expiration Date: 04-mar-2027",
		"ru.example":      "paid-till:     2027-03-04T05:06:07Z",
		"kz.example":      "Expiry date: 2027-03-04 05:06:07",
		"eu.example":      "Expires: 04.03.2027",
		"unix.example":    "Expires on: Thu Mar  4 05:06:07 2027",
		"silent.example":  "Status: active",
		"strange.example": "Expires: soon",
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			name := strings.TrimSpace(line)
			answer := "No match for " + name
			if end, ok := ends[name]; ok {
				answer = "Domain Name: " + strings.ToUpper(name) + "\r\n" + end + "\r\nfree-date: 2028-01-01"
			}
			_, _ = io.WriteString(c, answer+"\r\n")
			_ = c.Close()
		}
	}()
	s := New(func(context.Context, string) Server { return Server{l.Addr().String(), "No match for"} })
	for name := range ends {
		at, registered, err := s.Expires(t.Context(), name)
		if name == "silent.example" || name == "strange.example" {
			if !errors.Is(err, registrar.ErrNoExpiry) || registered {
				t.Error(name, at, registered, err)
			}
		} else if err != nil || !registered || at.Format(time.DateOnly) != "2027-03-04" {
			t.Error(name, at, registered, err)
		}
	}
	if at, registered, err := s.Expires(t.Context(), "free.example"); err != nil || registered {
		t.Error(at, registered, err)
	}
}
